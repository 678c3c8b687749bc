import type { CompileOptions, Device, DeviceProgram } from '../../device/device.js';
import type { Kernel } from '../../kernel/index.js';

/** Unused programs that stay loaded per device, for the next job with the same kernel. */
const MAX_UNUSED = 64;

interface ProgramEntry {
  readonly program: Promise<DeviceProgram>;
  /** Leases that have not been released. */
  uses: number;
  /** True if it was returned without a lease: a caller may still use it. */
  isLent: boolean;
}

/** A program that stays loaded until it is released. */
export interface ProgramLease {
  readonly program: DeviceProgram;
  release(): void;
}

/**
 * Compiles a kernel, or returns its cached program. The program is evicted when least recently used, and unloaded by
 * garbage collection.
 */
export function programOf(device: Device, kernel: Kernel, options: CompileOptions = {}): Promise<DeviceProgram> {
  const entry = entryOf(device, kernel, options);
  entry.isLent = true;
  return entry.program;
}

/** Like `programOf`, for callers that release the program. It is unloaded when released and least recently used. */
export async function leaseProgram(
  device: Device,
  kernel: Kernel,
  options: CompileOptions = {},
): Promise<ProgramLease> {
  const entry = entryOf(device, kernel, options);
  entry.uses++;
  let isReleased = false;
  return {
    program: await entry.program,
    release: () => {
      if (isReleased) return;
      isReleased = true;
      entry.uses--;
      trim(entriesOf(device));
    },
  };
}

/** Leases several programs, by name: all of them or none. */
export async function leasePrograms<Name extends string>(
  device: Device,
  kernels: readonly (readonly [Name, Kernel])[],
  options: CompileOptions = {},
): Promise<{ readonly programs: Readonly<Record<Name, DeviceProgram>>; release(): void }> {
  const results = await Promise.allSettled(kernels.map(([, kernel]) => leaseProgram(device, kernel, options)));
  const leases = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const release = (): void => {
    for (const lease of leases) lease.release();
  };
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) {
    release();
    throw failed.reason;
  }
  const named = kernels.map(([name], i) => [name, leases[i]?.program]);
  return { programs: Object.fromEntries(named) as Record<Name, DeviceProgram>, release };
}

/** Programs by kernel and options, the most recently used last. */
const devices = new WeakMap<Device, Map<string, ProgramEntry>>();
const numbers = new WeakMap<Kernel, number>();
let kernels = 0;

function entriesOf(device: Device): Map<string, ProgramEntry> {
  const known = devices.get(device) ?? new Map<string, ProgramEntry>();
  devices.set(device, known);
  return known;
}

function entryOf(device: Device, kernel: Kernel, options: CompileOptions): ProgramEntry {
  const number = numbers.get(kernel) ?? ++kernels;
  numbers.set(kernel, number);
  const key = `${number} ${JSON.stringify(options)}`;
  const entries = entriesOf(device);
  const entry = entries.get(key) ?? { program: device.compile(kernel, options), uses: 0, isLent: false };
  entries.delete(key);
  entries.set(key, entry);
  entry.program.catch(() => {
    if (entries.get(key) === entry) entries.delete(key);
  });
  trim(entries);
  return entry;
}

/** Unloads the least recently used of the unused programs. */
function trim(entries: Map<string, ProgramEntry>): void {
  const unused = [...entries].filter(([, { uses }]) => uses === 0);
  for (const [key, { program, isLent }] of unused.slice(0, Math.max(0, unused.length - MAX_UNUSED))) {
    entries.delete(key);
    if (isLent) continue; // garbage collection unloads it
    program.then(
      (loaded) => loaded.close(),
      () => undefined, // the callers got the error
    );
  }
}
