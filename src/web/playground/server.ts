import type { Device } from '../../device/device.js';
import { listDevices, openDevice } from '../../device/registry.js';
import { MillraceError } from '../../kernel/error.js';
import type { Reply } from '../server/replies.js';
import type { Route, RouteCall } from '../server/server.js';
import { faultOf } from './faults.js';
import { launchTask } from './launch.js';
import type { DevicesData, TaskData } from './messages.js';
import { readTask } from './task.js';
import { taskFromWire, toWire } from './wire.js';

/** Runs kernels of the playground on this machine's devices. They come as data, never as code. */
export class PlaygroundServer {
  readonly #open = new Map<string, Promise<Device>>();

  readonly routes: readonly Route[] = [
    { method: 'GET', path: '/api/playground/devices', handle: async () => ({ json: await devicesHere() }) },
    { method: 'POST', path: '/api/playground/run', handle: (call) => this.#run(call) },
  ];

  async close(): Promise<void> {
    const devices = await Promise.allSettled(this.#open.values());
    this.#open.clear();
    await Promise.all(devices.map((one) => one.status === 'fulfilled' && one.value.close()));
  }

  async #run({ body, signal }: RouteCall): Promise<Reply> {
    const { device: id, task: data } = requestOf(await body());
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
      return { json: toWire(await launchTask(await this.#device(id), readTask(data), { signal: limit })) };
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      if (error.code === 'device-failed') await this.#drop(id);
      return { json: faultOf(error), status: 422 };
    }
  }

  /** Devices stay open for the next run. */
  #device(id: string): Promise<Device> {
    const known = this.#open.get(id);
    if (known) return known;
    const opening = openDevice(id);
    this.#open.set(id, opening);
    opening.catch(() => this.#open.delete(id));
    return opening;
  }

  /** The next run opens the device again. */
  async #drop(id: string): Promise<void> {
    const device = await this.#open.get(id)?.catch(() => undefined);
    this.#open.delete(id);
    await device?.close();
  }
}

/** A run is stopped after this time; its loops check for that, except on WebGPU. */
const LIMIT_MS = 60_000;

async function devicesHere(): Promise<DevicesData> {
  const { devices, absent } = await listDevices();
  return { devices: devices.map(({ id, name }) => ({ id, name })), absent };
}

function requestOf(body: unknown): { readonly device: string; readonly task: TaskData } {
  const { device, task } = Object(body) as Record<string, unknown>;
  if (typeof device !== 'string') throw badRequest('the request names no device');
  try {
    return { device, task: taskFromWire(task) };
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw badRequest(cause.message);
  }
}

const badRequest = (message: string): MillraceError => new MillraceError({ code: 'input-format', message });
