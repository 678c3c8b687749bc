import { afterAll } from 'vitest';
import { type Data, type LaunchSetup, runKernel } from '../src/device/conformance/rig.js';
import type { CompileOptions, Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import type { Kernel } from '../src/kernel/index.js';

export type { CompileOptions };

export interface Runner {
  readonly id: string;
  /** Why it cannot run anything here. */
  readonly absent?: string;
  /** Runs a kernel once and returns the resulting buffers. */
  run(kernel: Kernel, setup: LaunchSetup, options?: CompileOptions): Promise<Readonly<Record<string, Data>>>;
}

/**
 * For the tests of std functions: the interpreter, which defines the language, and the native device where there is a
 * compiler.
 */
export const kernelRunners = (): Promise<{ interpreter: Runner; native: Runner }> => runnersOn('interpreter', 'native');

/** Opens devices for the tests of a file. One that is absent here has a reason and runs nothing. */
export async function runnersOn<Id extends string>(...ids: readonly Id[]): Promise<Record<Id, Runner>> {
  const open: Device[] = [];
  afterAll(async () => {
    for (const device of open) await device.close();
  });
  const { devices, absent } = await listDevices();
  const runner = async (id: string): Promise<Runner> => {
    // `opencl` is the first device of its kind.
    if (!devices.some((info) => info.id === id || info.kind === id)) {
      const reason = absent.find((kind) => kind.id === id)?.reason ?? `there is no device ${id}`;
      console.warn(`skipped on ${id}: ${reason}`);
      return { id, absent: reason, run: () => Promise.reject(new Error(reason)) };
    }
    const device = await openDevice(id);
    open.push(device);
    return {
      id,
      run: async (kernel, setup, options) => (await runKernel(device, kernel, setup, options)).buffers,
    };
  };
  const runners: Partial<Record<Id, Runner>> = {};
  for (const id of ids) runners[id] = await runner(id);
  return runners as Record<Id, Runner>;
}

/** The little-endian words of a hexadecimal string. */
export function wordsOfHex(hex: string): number[] {
  const bytes = Buffer.from(hex, 'hex');
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readUInt32LE(4 * i));
}

export function hexOfWords(words: ArrayLike<number>): string {
  const bytes = Buffer.alloc(words.length * 4);
  Array.from(words).forEach((word, i) => {
    bytes.writeUInt32LE(word, 4 * i);
  });
  return bytes.toString('hex');
}
