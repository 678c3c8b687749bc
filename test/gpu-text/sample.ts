import type { Ability } from '../../src/device/conformance/case.js';
import type { LaunchSetup } from '../../src/device/conformance/rig.js';
import type { Kernel } from '../../src/kernel/index.js';

/** A kernel and one launch of it. The resulting buffers must equal the interpreter's. */
export interface Sample {
  readonly kernel: Kernel;
  readonly setup: LaunchSetup;
  /** Skipped on devices without these. */
  readonly needs?: readonly Ability[];
}

/** Returns words without a pattern. */
export const words = (length: number, seed = 1): Uint32Array =>
  Uint32Array.from({ length }, (_, i) => Math.imul(i + seed, 0x9e3779b9) ^ (Math.imul(i, i + seed) << 7));
