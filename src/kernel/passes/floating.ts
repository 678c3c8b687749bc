import { withRing } from '../abi/harness.js';
import type { Hoisted, Program } from '../ir/program.js';
import type { Kernel } from '../language/signature.js';
import { fold } from './arithmetic/fold.js';
import { hoist } from './shape/hoist.js';

/**
 * Runs the passes that are the same for all targets: ring, fold, hoist. Pure values float until `place` assigns them to
 * blocks.
 */
export function floatingProgram(program: Program, compute = true): Hoisted {
  return hoist(fold(withRing(program)), compute);
}

export interface Floating {
  readonly traced: Program;
  readonly program: Hoisted;
}

/**
 * Returns a kernel's trace and its floating program, cached for all devices and harnesses that need the same one. This is
 * most of the work from a kernel to text: 0.3 s for SHA-256d in a process that has just started.
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

/** Fills the cache while a device is being opened, when only the kernel is known. */
export const prepareKernel = (kernel: Kernel): void => void floatingOf(kernel);

interface Known extends Floating {
  readonly compute: boolean;
  /** The native bodies that the trace asked for, and whether the target had them. The trace depends on nothing else. */
  readonly asked: ReadonlyMap<string, boolean>;
}

const floating = new WeakMap<Kernel, readonly Known[]>();

/** A set that records the keys it was asked for. */
class Watched extends Set<string> {
  readonly asked = new Map<string, boolean>();

  override has(key: string): boolean {
    const has = super.has(key);
    this.asked.set(key, has);
    return has;
  }
}
