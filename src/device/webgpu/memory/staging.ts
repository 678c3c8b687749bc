import { type Buffer, type Device, Usage } from '../api.js';

/**
 * Sizes of staging buffers, and the maximum number of each: 4 MiB for hits and headers, 32 and 64 MiB for batches. On an
 * H200, whose bus moves 50 GB/s, six threads copied 20 GB/s in pieces of 4 MiB and 28 in pieces of 16.
 */
const SIZE_CLASSES = [
  { bytes: 2 ** 16, max: 64 },
  { bytes: 2 ** 22, max: 8 },
  { bytes: 2 ** 24, max: 4 },
] as const;

/** Buffers by size: created when first needed, then reused. */
class BufferPool<T extends { readonly size: number }> {
  readonly #create: (bytes: number) => T;
  readonly #classes = SIZE_CLASSES.map(({ bytes, max }) => ({ bytes, max, created: 0, free: [] as T[] }));

  constructor(create: (bytes: number) => T) {
    this.#create = create;
  }

  /** Returns a buffer for `bytes`, or for a part of them; undefined if all are in use. */
  acquire(bytes: number): T | undefined {
    const sizeClass = this.#classes.find((one) => bytes <= one.bytes) ?? this.#classes.at(-1);
    const free = sizeClass?.free.pop();
    if (free || !sizeClass || sizeClass.created === sizeClass.max) return free;
    sizeClass.created++;
    return this.#create(sizeClass.bytes);
  }

  release(buffer: T): void {
    this.#classes.find(({ bytes }) => bytes === buffer.size)?.free.push(buffer);
  }
}

/** Reads go through buffers that the host can map. */
export const readBuffers = (device: Device): BufferPool<Buffer> =>
  new BufferPool((size) => device.createBuffer({ size, usage: Usage.mapRead | Usage.copyTarget }));

/** A buffer whose bytes the host may write. */
export interface MappedBuffer {
  readonly buffer: Buffer;
  readonly size: number;
  readonly bytes: Uint8Array;
}

/** Large writes go through buffers that stay mapped while they are free. */
export const writeBuffers = (device: Device): BufferPool<MappedBuffer> =>
  new BufferPool((size) => {
    const usage = Usage.mapWrite | Usage.copySource;
    const buffer = device.createBuffer({ size, usage, mappedAtCreation: true });
    return { buffer, size, bytes: new Uint8Array(buffer.getMappedRange()) };
  });

export type { BufferPool };
