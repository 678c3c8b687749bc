import { type Buffer, type Device, Usage } from '../api.js';
import { outOfMemory } from '../errors.js';

/** Device memory. */
export interface Memory {
  /** Never reused. */
  readonly id: number;
  readonly buffer: Buffer;
}

/** Allocations, which WebGPU zeroes. */
export class DeviceMemory {
  readonly #device: Device;
  readonly #id: string;
  #nextMemoryId = 0;
  #allocatedBytes = 0;

  /** `id`: the device's id, for errors. */
  constructor(device: Device, id: string) {
    this.#device = device;
    this.#id = id;
  }

  async alloc(bytes: number): Promise<Memory> {
    const device = this.#device;
    const size = Math.max(16, 16 * Math.ceil(bytes / 16));
    device.pushErrorScope('validation');
    device.pushErrorScope('out-of-memory');
    const buffer = device.createBuffer({ size, usage: Usage.storage | Usage.copySource | Usage.copyTarget });
    const errors = await Promise.all([device.popErrorScope(), device.popErrorScope()]);
    const refused = errors.find((error) => error !== null);
    if (refused) {
      buffer.destroy();
      throw outOfMemory(this.#id, bytes, this.#allocatedBytes, refused.message);
    }
    this.#allocatedBytes += size;
    return { id: this.#nextMemoryId++, buffer };
  }

  free({ buffer }: Memory): void {
    this.#allocatedBytes -= buffer.size;
    buffer.destroy();
  }
}
