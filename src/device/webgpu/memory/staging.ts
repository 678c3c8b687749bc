import { type Buffer, type Device, Usage } from '../api.js';

/** Sizes of staging buffers, and the maximum number of each: 4 MiB for hits and headers, 32 MiB for batches. */
const SIZE_CLASSES = [
  { bytes: 2 ** 16, max: 64 },
  { bytes: 2 ** 22, max: 8 },
] as const;

/** Reads go through buffers that the host can map: created when first needed, then reused. */
export class StagingPool {
  readonly #device: Device;
  readonly #pools = SIZE_CLASSES.map(({ bytes, max }) => ({ bytes, max, created: 0, free: [] as Buffer[] }));

  constructor(device: Device) {
    this.#device = device;
  }

  /** Returns a buffer for `bytes`, or for a part of them; undefined if all are in use. */
  acquire(bytes: number): Buffer | undefined {
    const pool = this.#pools.find((sizeClass) => bytes <= sizeClass.bytes) ?? this.#pools.at(-1);
    const free = pool?.free.pop();
    if (free || !pool || pool.created === pool.max) return free;
    pool.created++;
    return this.#device.createBuffer({ size: pool.bytes, usage: Usage.mapRead | Usage.copyTarget });
  }

  release(buffer: Buffer): void {
    this.#pools.find(({ bytes }) => bytes === buffer.size)?.free.push(buffer);
  }
}
