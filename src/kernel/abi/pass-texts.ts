import type { Program } from '../ir/program.js';
import type { Kernel } from '../language/signature.js';
import { fold } from '../passes/arithmetic/fold.js';
import { splitU64 } from '../passes/arithmetic/split-u64.js';
import { boundArrays } from '../passes/shape/bound-arrays.js';
import { makeGang } from '../passes/shape/gang.js';
import { hoist } from '../passes/shape/hoist.js';
import { canInlineAll, inlineCalls } from '../passes/shape/inline.js';
import { lowerReturns } from '../passes/shape/lower-returns.js';
import { placeNodes } from '../passes/shape/place-nodes.js';
import { renderIr } from '../render/ir.js';
import { withRing } from './harness.js';

/** The program after a pass, as text. */
export interface PassText {
  readonly pass: string;
  /** What the pass does, in a few words. */
  readonly does: string;
  readonly text: string;
}

/**
 * Returns the program as it was traced and after each pass: first those that all targets share, then those of some targets.
 * Between `fold` and `place` pure values belong to no block; they are printed where `place` would put them.
 */
export function passTexts(kernel: Kernel): PassText[] {
  const texts: PassText[] = [];
  const show = <P extends Program>(pass: string, does: string, program: P, isPlaced = false): P => {
    texts.push({ pass, does, text: renderIr(isPlaced ? program : placeNodes(program)) });
    return program;
  };
  const traced = show('trace', 'what the kernel wrote', kernel.trace(), true);
  const inlined = show('inline', 'calls of functions', inlineCalls(traced, canInlineAll(traced)), true);
  const ringed = show('ring', 'emit() becomes stores in the ring of hits', withRing(inlined), true);
  const returned = show('returns', 'returnItem() becomes tests', lowerReturns(ringed), true);
  const folded = show('fold', 'constants, equal values and dead code', fold(returned));
  const hoisted = show('hoist', 'values known before a launch move to the host', hoist(folded, true));
  const bounded = show('bound arrays', 'indices stay inside their arrays', boundArrays(hoisted));
  show('place', 'each value in the deepest block that covers its uses', placeNodes(bounded), true);
  show('split u64 (wgsl)', 'pairs of 32-bit words', placeNodes(splitU64(bounded, false)), true);
  if (canInlineAll(traced))
    show('gang (c, wat)', 'four lanes run as one', makeGang(placeNodes(bounded), 4).program, true);
  return texts;
}
