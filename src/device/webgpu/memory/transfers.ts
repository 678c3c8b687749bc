import type { HostBytes } from '../../gpu/worker/driver.js';
import { type Buffer, type Device, Usage } from '../api.js';
import type { WebGpuLine } from '../line.js';
import type { Submission } from '../submit/submission.js';
import type { Timeline } from '../submit/timeline.js';
import type { BlockRing } from './blocks.js';
import { StagingPool } from './staging.js';
import { type WordWriter, wordsBlock } from './words.js';

/** Writes go to the queue in pieces of this size; a read piece at least as large is submitted at once. */
const PIECE_BYTES = 2 ** 20;
/** Copies inside one buffer, which WebGPU does not support, go through another of this size. */
const COPY_BUFFER_BYTES = 2 ** 20;
const ALL_BITS = 0xffff_ffff;

/**
 * Transfers. WebGPU moves words; a length that ends inside a word is rounded up when read, and merged on the device
 * when written. Methods return false if there is no space; `line.doneBytes` holds their progress.
 */
export class Transfers {
  readonly #device: Device;
  readonly #timeline: Timeline;
  readonly #blocks: BlockRing;
  readonly #words: WordWriter;
  readonly #staging: StagingPool;
  /** Dawn must not see shared memory (see `api.ts`), so writes are copied once more. */
  readonly #scratch = new Uint8Array(PIECE_BYTES);
  #copyBuffer: Buffer | undefined;

  constructor(device: Device, timeline: Timeline, blocks: BlockRing, words: WordWriter) {
    this.#device = device;
    this.#timeline = timeline;
    this.#blocks = blocks;
    this.#words = words;
    this.#staging = new StagingPool(device);
  }

  write(line: WebGpuLine, to: Buffer, offset: number, from: HostBytes): boolean {
    const view = viewOf(from);
    for (; line.doneBytes < view.length; line.doneBytes += PIECE_BYTES) {
      if (!this.#timeline.hasSpace) return false;
      const piece = view.subarray(line.doneBytes, line.doneBytes + PIECE_BYTES);
      const whole = piece.length & ~3;
      const at = offset + line.doneBytes;
      // The partial word goes first: if there is no space for it, nothing of the piece has been done.
      if (whole < piece.length && !this.#writePartialWord(to, at + whole, piece.subarray(whole))) return false;
      if (whole === 0) continue;
      this.#scratch.set(piece.subarray(0, whole));
      this.#timeline.write(whole, () => this.#device.queue.writeBuffer(to, at, this.#scratch, 0, whole));
    }
    line.doneBytes = 0;
    return true;
  }

  read(line: WebGpuLine, from: Buffer, offset: number, into: HostBytes): boolean {
    const view = viewOf(into);
    while (line.doneBytes < view.length) {
      const staging = this.#timeline.hasSpace ? this.#staging.acquire(view.length - line.doneBytes) : undefined;
      if (!staging) return false;
      const piece = view.subarray(line.doneBytes, line.doneBytes + staging.size);
      const recording = this.#recording();
      recording.encoder.copyBufferToBuffer(from, offset + line.doneBytes, staging, 0, 4 * Math.ceil(piece.length / 4));
      recording.map(staging, (range) => piece.set(new Uint8Array(range, 0, piece.length)));
      recording.onEnd(() => this.#staging.release(staging));
      line.doneBytes += piece.length;
      if (piece.length >= PIECE_BYTES) this.#timeline.flush();
    }
    line.doneBytes = 0;
    return true;
  }

  copy(from: Buffer, fromOffset: number, to: Buffer, toOffset: number, bytes: number): boolean {
    if (!this.#timeline.hasSpace) return false;
    const { encoder } = this.#recording();
    if (from !== to) {
      encoder.copyBufferToBuffer(from, fromOffset, to, toOffset, bytes);
      return true;
    }
    this.#copyBuffer ??= this.#device.createBuffer({
      size: COPY_BUFFER_BYTES,
      usage: Usage.copySource | Usage.copyTarget,
    });
    for (let at = 0; at < bytes; at += COPY_BUFFER_BYTES) {
      const piece = Math.min(COPY_BUFFER_BYTES, bytes - at);
      encoder.copyBufferToBuffer(from, fromOffset + at, this.#copyBuffer, 0, piece);
      encoder.copyBufferToBuffer(this.#copyBuffer, 0, to, toOffset + at, piece);
    }
    return true;
  }

  fill(to: Buffer, offset: number, word: number, bytes: number): boolean {
    if (!this.#timeline.hasSpace) return false;
    if (word !== 0) return this.#setWords(to, offset / 4, bytes / 4, word, ALL_BITS);
    this.#recording().encoder.clearBuffer(to, offset, bytes);
    return true;
  }

  /** Writes the last bytes of a write that ends inside a word; the bytes after them are kept. */
  #writePartialWord(to: Buffer, offset: number, bytes: Uint8Array): boolean {
    let value = 0;
    let mask = 0;
    bytes.forEach((byte, i) => {
      value |= byte << (8 * i);
      mask |= 0xff << (8 * i);
    });
    return this.#setWords(to, offset / 4, 1, value, mask);
  }

  #setWords(to: Buffer, first: number, count: number, value: number, mask: number): boolean {
    const recording = this.#recording();
    const placed = this.#blocks.put(wordsBlock({ first, count, value, mask }), recording);
    if (!placed) return false;
    this.#words.record(recording.encoder, to, count, placed.buffer, placed.offset);
    return true;
  }

  #recording(): Submission {
    const recording = this.#timeline.recording();
    recording.isUsed = true;
    return recording;
  }
}

function viewOf({ view }: HostBytes): Uint8Array {
  if (!view) throw new TypeError('WebGPU cannot access memory by its address');
  return view;
}
