import type { Ability } from '../../src/device/conformance/case.js';
import type { LaunchSetup } from '../../src/device/conformance/rig.js';
import type { Kernel } from '../../src/kernel/index.js';

/** A kernel and one launch of it whose buffers must come out as the interpreter's do. */
export interface Sample {
  readonly kernel: Kernel;
  readonly setup: LaunchSetup;
  /** Elsewhere it is left out. */
  readonly needs?: readonly Ability[];
}

/** Words without a pattern. */
export const words = (length: number, seed = 1): Uint32Array =>
  Uint32Array.from({ length }, (_, i) => Math.imul(i + seed, 0x9e3779b9) ^ (Math.imul(i, i + seed) << 7));
