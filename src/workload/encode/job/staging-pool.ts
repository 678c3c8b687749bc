import type { Device, HostMemory } from '../../../device/device.js';
import { type Precision, realBytes } from '../kernel/encoding.js';

/** Where a reader puts samples: arrays of so many values, to be filled and given on. */
export type AllocateValues = (values: number, precision: Precision) => Promise<Float64Array | Float32Array>;

/**
 * Memory from which a device copies by itself, for samples that a file's reader fills: nobody copies them in between. It is
 * taken once and filled again and again; what is left goes with the device.
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

  /** The device has taken what is in there. Memory that is not of here stays whose it is. */
  release({ buffer }: ArrayBufferView): void {
    const memory = this.#inUse.get(buffer);
    if (memory === undefined) return;
    this.#inUse.delete(buffer);
    if (this.#free.length < MAX_FREE) this.#free.push(memory);
    else memory.free();
  }
}

/** As many as are read ahead, and are on their way. */
const MAX_FREE = 16;

const pools = new WeakMap<Device, StagingPool>();

export function stagingPoolOf(device: Device): StagingPool {
  const rooms = pools.get(device) ?? new StagingPool(device);
  pools.set(device, rooms);
  return rooms;
}
