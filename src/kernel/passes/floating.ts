import { withRing } from '../abi/harness.js';
import type { Hoisted, Program } from '../ir/program.js';
import type { Kernel } from '../language/signature.js';
import { fold } from './arithmetic/fold.js';
import { hoist } from './shape/hoist.js';

/** The passes that no target changes: ring, fold, hoist. Pure values float: `place` gives them their places. */
export function floatingProgram(program: Program, compute = true): Hoisted {
  return hoist(fold(withRing(program)), compute);
}

export interface Floating {
  readonly traced: Program;
  readonly program: Hoisted;
}

/**
 * A kernel's trace and what these passes make of it, once for all devices and harnesses that would get the same: most of
 * the way from a kernel to text, 0.3 s for SHA-256d when the process has just begun.
 */
export function floatingOf(kernel: Kernel, natives: ReadonlySet<string> = new Set(), compute = true): Floating {
  const known = floating.get(kernel) ?? [];
  const same = known.find(
    (one) => one.compute === compute && [...one.asked].every(([key, has]) => natives.has(key) === has),
  );
  if (same) return same;
  const watched = new Watched(natives);
  const traced = kernel.trace({ natives: watched });
  const made = { traced, program: floatingProgram(traced, compute), compute, asked: watched.asked };
  floating.set(kernel, [...known, made]);
  return made;
}

/** Does it ahead, where no more is known of a device that is being opened than that it will be asked for this kernel. */
export const prepareKernel = (kernel: Kernel): void => void floatingOf(kernel);

interface Known extends Floating {
  readonly compute: boolean;
  /** The native bodies that the trace asked for, and whether the target had them: all that it depends on. */
  readonly asked: ReadonlyMap<string, boolean>;
}

const floating = new WeakMap<Kernel, readonly Known[]>();

/** A set that remembers what it was asked for. */
class Watched extends Set<string> {
  readonly asked = new Map<string, boolean>();

  override has(key: string): boolean {
    const has = super.has(key);
    this.asked.set(key, has);
    return has;
  }
}
