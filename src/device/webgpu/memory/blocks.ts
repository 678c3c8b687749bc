import { type Buffer, type Device, OFFSET_GRAIN, Usage } from '../api.js';
import type { Submission } from '../submit/submission.js';

const RING_BYTES = 2 ** 20;
/** Larger blocks temporarily get a separate buffer. */
const LARGE_BYTES = RING_BYTES / 4;

/**
 * Launch blocks on the device, in a ring. A block is written directly to the queue. Its place is no longer read, since
 * it is free only when the last submission that used it has ended.
 */
export class BlockRing {
  readonly ring: Buffer;
  readonly #device: Device;
  /** Total bytes taken and given back. */
  #allocatedBytes = 0;
  #releasedBytes = 0;

  constructor(device: Device) {
    this.#device = device;
    this.ring = device.createBuffer({ size: RING_BYTES, usage: USAGE });
  }

  /** Stores the words until `submission` has ended and returns their place; undefined if there is no space now. */
  put(words: Uint32Array, submission: Submission): { readonly buffer: Buffer; readonly offset: number } | undefined {
    if (words.byteLength > LARGE_BYTES) return this.#putLarge(words, submission);
    const bytes = OFFSET_GRAIN * Math.ceil(words.byteLength / OFFSET_GRAIN);
    const at = this.#allocatedBytes % RING_BYTES;
    const skipped = at + bytes > RING_BYTES ? RING_BYTES - at : 0;
    if (this.#allocatedBytes + skipped + bytes - this.#releasedBytes > RING_BYTES) return undefined;
    const offset = skipped > 0 ? 0 : at;
    this.#allocatedBytes += skipped + bytes;
    const { ring } = this;
    this.#device.queue.writeBuffer(ring, offset, words);
    const end = this.#allocatedBytes;
    // Submissions end in order, so this also gives back everything before it.
    submission.onEnd(() => {
      this.#releasedBytes = end;
    });
    return { buffer: ring, offset };
  }

  #putLarge(words: Uint32Array, submission: Submission): { readonly buffer: Buffer; readonly offset: number } {
    const buffer = this.#device.createBuffer({ size: words.byteLength, usage: USAGE });
    this.#device.queue.writeBuffer(buffer, 0, words);
    submission.onEnd(() => buffer.destroy());
    return { buffer, offset: 0 };
  }
}

const USAGE = Usage.uniform | Usage.storage | Usage.copyTarget | Usage.copySource;
