import { withRing } from '../abi/harness.js';
import { functionsOf, type HoistedProgram, type Program } from '../ir/program.js';
import type { Kernel } from '../language/signature.js';
import { fold } from './arithmetic/fold.js';
import { hoist } from './shape/hoist.js';
import { inlineCalls } from './shape/inline.js';
import { lowerReturns } from './shape/lower-returns.js';

/**
 * Runs the passes that are the same for all targets: inlining, ring, fold, hoist. Pure values float until `placeNodes` assigns
 * them to blocks. Unless `keepsFunctions` is set all calls are inlined.
 */
export function floatingProgram(program: Program, compute = true, keepsFunctions = false): HoistedProgram {
  return hoist(fold(lowerReturns(withRing(inlineCalls(program, !keepsFunctions)))), compute);
}

export interface FloatingKernel {
  readonly traced: Program;
  readonly program: HoistedProgram;
}

/**
 * Returns a kernel's trace and its floating program, cached for all devices and harnesses that need the same one. This is
 * most of the work from a kernel to text: 0.3 s for SHA-256d in a process that has just started.
 */
export function cachedFloatingProgram(
  kernel: Kernel,
  natives: ReadonlySet<string> = new Set(),
  compute = true,
  keepsFunctions: (traced: Program) => boolean = () => true,
): FloatingKernel {
  const cached = floatingCache.get(kernel) ?? [];
  const likely = cached.filter(
    (entry) => entry.compute === compute && [...entry.requested].every(([key, has]) => natives.has(key) === has),
  );
  const match = likely.find(({ traced, keeps }) => keeps === undefined || keeps === keepsFunctions(traced));
  if (match) return match;
  const watched = new RecordingSet(natives);
  const traced = kernel.trace({ natives: watched });
  const keeps = functionsOf(traced).length === 0 ? undefined : keepsFunctions(traced);
  const program = floatingProgram(traced, compute, keeps);
  const made = { traced, program, compute, keeps, requested: watched.requested };
  floatingCache.set(kernel, [...cached, made]);
  return made;
}

/** Fills the cache while a device is being opened, when only the kernel is known. */
export const prepareKernel = (kernel: Kernel): void => void cachedFloatingProgram(kernel);

interface CachedProgram extends FloatingKernel {
  readonly compute: boolean;
  /** Whether functions were kept; undefined if the kernel has none. */
  readonly keeps: boolean | undefined;
  /** The native bodies that the trace asked for, and whether the target had them. The trace depends on nothing else. */
  readonly requested: ReadonlyMap<string, boolean>;
}

const floatingCache = new WeakMap<Kernel, readonly CachedProgram[]>();

/** A set that records the keys it was asked for. */
class RecordingSet extends Set<string> {
  readonly requested = new Map<string, boolean>();

  override has(key: string): boolean {
    const has = super.has(key);
    this.requested.set(key, has);
    return has;
  }
}
