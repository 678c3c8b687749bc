import { type BuildResult, GpuDevice, openLink } from '../../src/device/gpu/host/device.js';
import { CompileRefusal, type GpuSource } from '../../src/device/gpu/worker/driver.js';
import type { OpenOptions } from '../../src/device/kinds.js';
import { addressOf, bytesAt } from '../../src/device/native/libc.js';
import type { Script } from './driver.mjs';

export interface ScriptedOptions extends OpenOptions {
  readonly script?: Script & { readonly refuse?: string; readonly closeMs?: number };
  readonly joinMs?: number;
  /** Uses promises and shared memory, like a runtime that needs an event loop. */
  readonly asynchronous?: boolean;
}

/** A simulated device: the real streams, worker thread and loop around the scripted driver. */
export class ScriptedDevice extends GpuDevice {
  protected readonly target = 'opencl';
  protected readonly nearLimit = undefined;

  static async open({
    script = {},
    asynchronous = false,
    joinMs,
    ...options
  }: ScriptedOptions = {}): Promise<ScriptedDevice> {
    const worker = new URL(asynchronous ? 'worker-async.mjs' : 'worker.mjs', import.meta.url);
    const startData = { ...script, asynchronous };
    const link = await openLink({ device: 'scripted', worker, startData, options, ...(joinMs && { joinMs }) });
    return asynchronous ? new ScriptedDevice(link) : new ScriptedDevice(link, addressOf, bytesAt);
  }

  protected workgroup(): number {
    return 64;
  }

  protected async build(source: GpuSource): Promise<BuildResult> {
    if (source.name === 'faulty') throw new CompileRefusal('scriptc 1', 9, 'expected a semicolon');
    return { cached: source.name === 'known' };
  }
}
