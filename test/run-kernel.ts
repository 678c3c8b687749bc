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
export async function kernelRunners(): Promise<{ interpreter: Runner; native: Runner }> {
  const open: Device[] = [];
  afterAll(async () => {
    for (const device of open) await device.close();
  });
  const { devices, absent } = await listDevices();
  const runner = async (id: string): Promise<Runner> => {
    if (!devices.some((info) => info.id === id)) {
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
  return { interpreter: await runner('interpreter'), native: await runner('native') };
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
