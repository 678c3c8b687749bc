import type { HostBytes } from '../../gpu/worker/driver.js';
import { type Buffer, type Device, Usage } from '../api.js';
import type { WebGpuLine } from '../line.js';
import type { Submission } from '../submit/submission.js';
import type { Timeline } from '../submit/timeline.js';
import type { BlockRing } from './blocks.js';
import { type BufferPool, type MappedBuffer, readBuffers, writeBuffers } from './staging.js';
import { type WordWriter, wordsBlock } from './words.js';

/** Writes go to the queue in pieces of this size; a piece of another transfer that is as large is submitted at once. */
const PIECE_BYTES = 2 ** 20;
/** Shorter writes go to the queue, if larger ones go through mapped buffers. */
const MIN_MAPPED_BYTES = 2 ** 16;
/** Copies inside one buffer, which WebGPU does not support, go through another of this size. */
const COPY_BUFFER_BYTES = 2 ** 20;
const ALL_BITS = 0xffff_ffff;

/** Copies bytes between the host's memory and a mapped buffer. The lengths are equal. */
export type CopyBytes = (to: Uint8Array, from: Uint8Array) => void;

/**
 * Transfers. WebGPU moves words; a length that ends inside a word is rounded up when read, and merged on the device
 * when written. Methods return false if there is no space; `line.doneBytes` holds their progress.
 */
export class Transfers {
  readonly #device: Device;
  readonly #timeline: Timeline;
  readonly #blocks: BlockRing;
  readonly #words: WordWriter;
  readonly #copy: CopyBytes;
  readonly #staging: BufferPool<Buffer>;
  /** Undefined in a page, where a mapped buffer is memory of another process. */
  readonly #uploads: BufferPool<MappedBuffer> | undefined;
  /** Dawn must not see shared memory (see `api.ts`), so writes are copied once more. */
  readonly #scratch = new Uint8Array(PIECE_BYTES);
  #copyBuffer: Buffer | undefined;

  /** `copy`: how large pieces are copied, if their writes are to go through mapped buffers. */
  constructor(device: Device, timeline: Timeline, blocks: BlockRing, words: WordWriter, copy?: CopyBytes) {
    this.#device = device;
    this.#timeline = timeline;
    this.#blocks = blocks;
    this.#words = words;
    this.#copy = copy ?? ((to, from) => to.set(from));
    this.#staging = readBuffers(device);
    this.#uploads = copy && writeBuffers(device);
  }

  write(line: WebGpuLine, to: Buffer, offset: number, from: HostBytes): boolean {
    const view = viewOf(from);
    while (line.doneBytes < view.length) {
      const rest = view.subarray(line.doneBytes);
      const isMapped = this.#uploads !== undefined && rest.length >= MIN_MAPPED_BYTES;
      const at = offset + line.doneBytes;
      const written = isMapped ? this.#writeMapped(to, at, rest) : this.#writeQueued(to, at, rest);
      if (written === 0) return false;
      line.doneBytes += written;
    }
    line.doneBytes = 0;
    return true;
  }

  /** Writes the first piece of `bytes` through a mapped buffer. Returns its length, or 0 if none is free. */
  #writeMapped(to: Buffer, offset: number, bytes: Uint8Array): number {
    const upload = this.#timeline.hasSpace ? this.#uploads?.acquire(bytes.length) : undefined;
    if (!upload) return 0;
    const { buffer, size } = upload;
    const piece = bytes.subarray(0, size);
    const whole = piece.length & ~3;
    if (whole < piece.length && !this.#writePartialWord(to, offset + whole, piece.subarray(whole))) {
      this.#uploads?.release(upload);
      return 0;
    }
    this.#copy(upload.bytes.subarray(0, whole), piece.subarray(0, whole));
    buffer.unmap();
    const recording = this.#recording();
    recording.encoder.copyBufferToBuffer(buffer, 0, to, offset, whole);
    recording.mapForWriting(buffer, (range) => this.#uploads?.release({ buffer, size, bytes: new Uint8Array(range) }));
    if (whole >= PIECE_BYTES) this.#timeline.flush();
    return piece.length;
  }

  /** The same, directly to the queue. */
  #writeQueued(to: Buffer, offset: number, bytes: Uint8Array): number {
    if (!this.#timeline.hasSpace) return 0;
    const piece = bytes.subarray(0, PIECE_BYTES);
    const whole = piece.length & ~3;
    // The partial word goes first: if it does not fit, no part of the piece has been written.
    if (whole < piece.length && !this.#writePartialWord(to, offset + whole, piece.subarray(whole))) return 0;
    if (whole > 0) {
      this.#scratch.set(piece.subarray(0, whole));
      this.#timeline.write(whole, () => this.#device.queue.writeBuffer(to, offset, this.#scratch, 0, whole));
    }
    return piece.length;
  }

  read(line: WebGpuLine, from: Buffer, offset: number, into: HostBytes): boolean {
    const view = viewOf(into);
    while (line.doneBytes < view.length) {
      const staging = this.#timeline.hasSpace ? this.#staging.acquire(view.length - line.doneBytes) : undefined;
      if (!staging) return false;
      const piece = view.subarray(line.doneBytes, line.doneBytes + staging.size);
      const recording = this.#recording();
      recording.encoder.copyBufferToBuffer(from, offset + line.doneBytes, staging, 0, 4 * Math.ceil(piece.length / 4));
      recording.map(staging, (range) => this.#copy(piece, new Uint8Array(range, 0, piece.length)));
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
