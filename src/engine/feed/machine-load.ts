/** The machine's processor time at a moment, in milliseconds from an arbitrary origin. */
export interface ProcessorTimes {
  readonly atMs: number;
  /** Used by this process, on all processors. */
  readonly ownMs: number;
  /** Idle time, on all processors. */
  readonly idleMs: number;
  readonly processors: number;
}

/** A smaller share cannot be distinguished from a stopped machine. */
const MIN_SHARE = 1 / 16;

/**
 * Returns the share of the machine that this process used or could have used between two moments, 1/16 to 1. The rest
 * went to other programs or other virtual machines on the same processors, so a delay of that length is not a fault of
 * the device.
 */
export function availableShare(before: ProcessorTimes, after: ProcessorTimes): number {
  const totalMs = (after.atMs - before.atMs) * after.processors;
  const availableMs = after.ownMs - before.ownMs + after.idleMs - before.idleMs;
  if (!(totalMs > 0) || !(availableMs >= 0)) return 1;
  return Math.min(1, Math.max(MIN_SHARE, availableMs / totalMs));
}

/** The system's counters advance in steps of 10 ms, and reading them takes 0.2 ms. */
const SAMPLE_MS = 500;

/** Measures the recent share of the machine that was available to this process. */
export class MachineLoad {
  readonly #read: () => ProcessorTimes | undefined;
  #before: ProcessorTimes | undefined;
  #share = 1;

  constructor(read: () => ProcessorTimes | undefined = processorTimes) {
    this.#read = read;
    this.#before = read();
  }

  /** See `availableShare`. Returns 1 if the system does not report processor times, as in a browser. */
  availableShare(nowMs: number): number {
    const before = this.#before;
    if (before === undefined || nowMs - before.atMs < SAMPLE_MS) return this.#share;
    const after = this.#read();
    if (after === undefined) return this.#share;
    this.#share = availableShare(before, after);
    this.#before = after;
    return this.#share;
  }
}

/** Browsers have no `process`. */
type GlobalProcess = {
  process?: { getBuiltinModule?: (id: 'node:os') => typeof import('node:os'); cpuUsage(): NodeJS.CpuUsage };
};

function processorTimes(): ProcessorTimes | undefined {
  const { process } = globalThis as GlobalProcess;
  const processors = process?.getBuiltinModule?.('node:os').cpus() ?? [];
  if (process === undefined || processors.length === 0) return undefined;
  const { user, system } = process.cpuUsage();
  return {
    atMs: performance.now(),
    ownMs: (user + system) / 1000,
    idleMs: processors.reduce((sum, { times }) => sum + times.idle, 0),
    processors: processors.length,
  };
}
