import { type Buffer, type Device, Usage } from '../api.js';

/** The size of buffers for long transfers. */
const LARGE_BYTES = 2 ** 22;
const MAX_LARGE = 8;
/** Sizes of staging buffers, and the maximum number of each: 4 MiB for hits and headers, 32 MiB for batches. */
const SIZE_CLASSES = [
  { bytes: 2 ** 16, max: 64 },
  { bytes: LARGE_BYTES, max: MAX_LARGE },
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

/** A buffer whose bytes the host may write. */
export interface MappedBuffer {
  readonly buffer: Buffer;
  readonly bytes: Uint8Array;
}

/** Large writes go through buffers that stay mapped while they are free: created when first needed, then reused. */
export class UploadPool {
  readonly #device: Device;
  readonly #free: MappedBuffer[] = [];
  #created = 0;

  constructor(device: Device) {
    this.#device = device;
  }

  /** Returns a buffer, which may be too small; undefined if all are in use. */
  acquire(): MappedBuffer | undefined {
    const free = this.#free.pop();
    if (free || this.#created === MAX_LARGE) return free;
    this.#created++;
    const usage = Usage.mapWrite | Usage.copySource;
    const buffer = this.#device.createBuffer({ size: LARGE_BYTES, usage, mappedAtCreation: true });
    return { buffer, bytes: new Uint8Array(buffer.getMappedRange()) };
  }

  /** Takes back a buffer that is mapped again. */
  release(mapped: MappedBuffer): void {
    this.#free.push(mapped);
  }
}
