import type { Device, HostMemory } from '../../../device/device.js';
import { type Precision, realBytes } from '../kernel/encoding.js';

/** Allocates an array that a reader fills with samples. */
export type AllocateValues = (values: number, precision: Precision) => Promise<Float64Array | Float32Array>;

/**
 * Page-locked memory for the samples of a file: the reader fills it and the device copies from it, without a copy in
 * between. Memory is reused, and freed with the device.
 */
class StagingPool {
  readonly #device: Device;
  readonly #free: HostMemory[] = [];
  readonly #inUse = new Map<ArrayBufferLike, HostMemory>();

  constructor(device: Device) {
    this.#device = device;
  }

  readonly allocate: AllocateValues = async (values, precision) => {
    const bytes = values * realBytes(precision);
    const at = this.#free.findIndex((one) => one.bytes.length >= bytes);
    const memory = at < 0 ? await this.#device.host(bytes) : (this.#free.splice(at, 1)[0] as HostMemory);
    const { buffer, byteOffset } = memory.bytes;
    this.#inUse.set(buffer, memory);
    return precision === 'f64'
      ? new Float64Array(buffer, byteOffset, values)
      : new Float32Array(buffer, byteOffset, values);
  };

  /** Takes back memory that the device has copied. Memory from elsewhere is ignored. */
  release({ buffer }: ArrayBufferView): void {
    const memory = this.#inUse.get(buffer);
    if (memory === undefined) return;
    this.#inUse.delete(buffer);
    if (this.#free.length < MAX_FREE) this.#free.push(memory);
    else memory.free();
  }
}

/** Enough for the arrays that are read ahead and in flight. */
const MAX_FREE = 16;

const pools = new WeakMap<Device, StagingPool>();

export function stagingPoolOf(device: Device): StagingPool {
  const pool = pools.get(device) ?? new StagingPool(device);
  pools.set(device, pool);
  return pool;
}
