import { MillraceError } from '../error.js';
import type { HoistedProgram, Program } from '../ir/program.js';
import type { Origin } from '../language/origin.js';
import type { Kernel } from '../language/signature.js';
import { balancePipes, type PipeShares } from '../passes/arithmetic/balance-pipes.js';
import { splitU64 } from '../passes/arithmetic/split-u64.js';
import { cachedFloatingProgram } from '../passes/floating.js';
import { boundArrays } from '../passes/shape/bound-arrays.js';
import { makeGang } from '../passes/shape/gang.js';
import { canInlineAll } from '../passes/shape/inline.js';
import { makeLoopsLong, withLongLoops } from '../passes/shape/long-loops.js';
import { placeNodes } from '../passes/shape/place-nodes.js';
import { mergeTernaryLogic } from '../passes/shape/ternary.js';
import { renderC } from '../render/c/c.js';
import { withComments } from '../render/comments.js';
import { renderIr } from '../render/ir.js';
import { renderWat } from '../render/wat/wat.js';
import { bestLanes, type CpuFeatures, nativeKeys, plainCpu, vectorLanes, WASM_LANES } from './cpu.js';
import { type GpuTarget, lowerGpu } from './lower-gpu.js';

export interface LowerOptions {
  readonly target: 'c' | 'wat';
  readonly lanes: number | 'auto';
  readonly hoist: boolean;
  readonly checked: boolean;
  readonly cpu: CpuFeatures;
  readonly nativeBodies: boolean;
  /** Forces the 32-bit forms of u64, which targets without u64 get. For tests. */
  readonly wide?: boolean;
  /** The share of additions written as multiply-adds, 0 to 1. */
  readonly pipes?: number | PipeShares;
}

export interface LoweredKernel {
  readonly program: HoistedProgram;
  readonly text: string;
  readonly lanes: number;
  readonly statements: number;
  /** Checked builds: the origin of each trap. */
  readonly sites: readonly Origin[];
  /** The origin of each line of text. */
  readonly lineOrigins: readonly (Origin | undefined)[];
  /** WAT: bytes of constants, which the module writes to a given address, and bytes of memory per thread. */
  readonly constantBytes?: number;
  readonly threadBytes?: number;
}

/** Lowers a kernel to text for one target: traces, runs the passes, prints. */
export function lower(kernel: Kernel, options: LowerOptions): LoweredKernel {
  const { target, cpu } = options;
  const checked = options.checked || kernel.untrusted !== undefined;
  const natives = options.nativeBodies ? nativeKeys(cpu, target) : new Set<string>();
  const widest = target === 'wat' ? WASM_LANES : vectorLanes(cpu);
  const lanesOf = (traced: Program): number => {
    if (!canInlineAll(traced)) return 1; // a gang has no functions
    const best = kernel.signature.lanes ?? bestLanes(traced.body, widest);
    const requested = options.lanes === 'auto' ? best : options.lanes;
    return target === 'wat' && requested === 2 ? WASM_LANES : requested; // half a register is not a gang
  };
  const keepsFunctions = (traced: Program): boolean => lanesOf(traced) === 1;
  const { traced, program: made } = cachedFloatingProgram(kernel, natives, options.hoist, keepsFunctions);
  const lanes = lanesOf(traced);
  const floating = kernel.untrusted ? makeLoopsLong(made) : made;
  checkLanes(kernel, lanes);
  const ternaryLogic = target === 'c' && cpu.features.has('avx512f') && lanes === 16;
  // The host computes parameters and has 64-bit integers: `splitU64` changes the body alone.
  const program = balancePipes(checked ? withLongLoops(floating) : floating, options.pipes ?? 0);
  const bounded = checked ? program : boundArrays(program);
  const narrow = options.wide ? splitU64(bounded, checked) : bounded;
  const ganged = makeGang(placeNodes(ternaryLogic ? mergeTernaryLogic(narrow) : narrow), lanes);
  const text = target === 'wat' ? renderWat(ganged, { checked }) : renderC(ganged, { checked, ternaryLogic });
  return { program, lanes, ...text };
}

export interface TextOptions {
  readonly target: 'c' | 'wat' | 'ir' | GpuTarget;
  readonly lanes?: number | 'auto';
  readonly hoist?: boolean;
  readonly cpu?: CpuFeatures;
  /** Returns the comment for lines that were made from this place of the source. Not for the IR. */
  readonly comment?: (origin: Origin) => string;
}

/** Returns the text for a target. */
export function kernelText(
  kernel: Kernel,
  { target, lanes = 'auto', hoist: compute = true, cpu = plainCpu, comment }: TextOptions,
): string {
  if (target === 'ir') return renderIr(placeNodes(cachedFloatingProgram(kernel, new Set(), compute).program));
  const { text, lineOrigins } =
    target === 'c' || target === 'wat'
      ? lower(kernel, { target, lanes, hoist: compute, checked: false, cpu, nativeBodies: true })
      : lowerGpu(kernel, { target, hoist: compute });
  return comment ? withComments(text, lineOrigins, target === 'wat' ? ';;' : '//', comment) : text;
}

function checkLanes(kernel: Kernel, lanes: number): void {
  if (Number.isInteger(lanes) && lanes >= 1 && lanes <= 64 && (lanes & (lanes - 1)) === 0) return;
  throw new MillraceError({
    code: 'device-capability',
    message: `kernel ${kernel.name}: a gang cannot have ${lanes} lanes`,
    asked: `lanes: ${lanes}`,
    advice: "give a power of two from 1 to 64, or 'auto'",
  });
}
