import type { Device, DeviceBuffer } from '../../../device/device.js';
import { MillraceError } from '../../../kernel/error.js';
import { CHAINS } from '../kernel/kernel.js';
import { PAD_BYTES } from '../kernel/pads.js';
import { type Plan, type PlanOptions, perPadOf, planFor, roundUpToThree } from '../kernel/plan.js';

/**
 * The memory of batches: gigabytes, so it is allocated once and kept between searches. The batch size follows from the
 * memory that a device really has: it is reduced until the requested number of batches can be allocated.
 */
export class ScratchMemory {
  readonly #pools = new Map<Device, Promise<ScratchPool>>();

  /** The device's memory for `slots` batches. Memory that was allocated for other options is freed. */
  poolFor(device: Device, asked: PlanOptions, slots: number): Promise<ScratchPool> {
    const key = JSON.stringify([asked, slots]);
    const next = async (known?: Promise<ScratchPool>): Promise<ScratchPool> => {
      const pool = await known?.catch(() => undefined);
      if (pool?.key === key) return pool;
      pool?.close();
      return openPool(device, asked, slots, key);
    };
    const pool = next(this.#pools.get(device));
    this.#pools.set(device, pool);
    return pool;
  }

  /** Frees all memory; buffers in use are freed when their batch ends. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    for (const pool of pools) (await pool.catch(() => undefined))?.close();
  }
}

/** Buffers of one batch on a device. Their contents are undefined before and after. */
export interface ScratchBuffers {
  readonly state: DeviceBuffer;
  /** By buffer name in the kernels: `pad0` … */
  readonly pads: Readonly<Record<string, DeviceBuffer>>;
}

export class ScratchPool {
  readonly device: Device;
  readonly plan: Plan;
  readonly key: string;
  readonly #free: ScratchBuffers[];
  readonly #waiting: ((buffers: ScratchBuffers) => void)[] = [];
  #closed = false;

  constructor(device: Device, plan: Plan, key: string, all: readonly ScratchBuffers[]) {
    this.device = device;
    this.plan = plan;
    this.key = key;
    this.#free = [...all];
  }

  /**
   * Takes the buffers of one batch. With `isNeeded` it waits until some are free: the previous search may be cancelled but
   * not have ended yet. Otherwise it throws as if memory were short, and the engine works with fewer batches.
   */
  async acquire(isNeeded: boolean): Promise<ScratchBuffers> {
    const buffers = this.#free.pop();
    if (buffers !== undefined) return buffers;
    if (!isNeeded || this.#closed) throw noFreeBuffers(this.device, this.plan);
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  release(buffers: ScratchBuffers): void {
    const next = this.#waiting.shift();
    if (next) next(buffers);
    else if (this.#closed) freeBuffers(buffers);
    else this.#free.push(buffers);
  }

  close(): void {
    this.#closed = true;
    for (const buffers of this.#free.splice(0)) freeBuffers(buffers);
  }
}

/** The factor by which a batch shrinks if memory is short. */
const SHRINK_FACTOR = 0.8;

async function openPool(device: Device, asked: PlanOptions, slots: number, key: string): Promise<ScratchPool> {
  let plan = planFor(device.info, asked);
  for (;;) {
    const all: ScratchBuffers[] = [];
    try {
      for (let at = 0; at < Math.min(slots, plan.slots); at++) all.push(await allocate(device, plan));
      return new ScratchPool(device, plan, key, all);
    } catch (error) {
      for (const buffers of all) freeBuffers(buffers);
      if (!(error instanceof MillraceError) || error.code !== 'device-memory') throw error;
      if (plan.batch <= 3) throw tooSmall(device, error);
      plan = planFor(device.info, { ...asked, batch: roundUpToThree(Math.floor(plan.batch * SHRINK_FACTOR)) - 3 });
    }
  }
}

async function allocate(device: Device, plan: Plan): Promise<ScratchBuffers> {
  const allocated: DeviceBuffer[] = [];
  const alloc = async (bytes: number): Promise<DeviceBuffer> => {
    const buffer = await device.alloc(bytes);
    allocated.push(buffer);
    return buffer;
  };
  try {
    const pads: Record<string, DeviceBuffer> = {};
    for (let at = 0; at < plan.pads; at++) pads[`pad${at}`] = await alloc(perPadOf(plan) * PAD_BYTES);
    return { pads, state: await alloc(roundUpToThree(plan.batch) * CHAINS * 32) };
  } catch (error) {
    for (const buffer of allocated) buffer.free();
    throw error;
  }
}

function freeBuffers({ state, pads }: ScratchBuffers): void {
  for (const buffer of [state, ...Object.values(pads)]) buffer.free();
}

function noFreeBuffers({ info: { id } }: Device, { slots }: Plan): MillraceError {
  return new MillraceError({
    code: 'device-memory',
    message: `${id} has no memory for another batch`,
    asked: `more than ${slots} batches at a time on ${id}`,
    advice: 'wait for the search that uses it, or give each search its own scratch memory',
  });
}

function tooSmall({ info: { id } }: Device, cause: MillraceError): MillraceError {
  return new MillraceError({
    code: 'device-memory',
    message: `${id} has no memory for three hashes at a time`,
    asked: `scratchpads of 2 MiB a nonce on ${id}`,
    advice: 'free some of its memory, ask for fewer streams and slots, or use another device',
    cause,
  });
}
