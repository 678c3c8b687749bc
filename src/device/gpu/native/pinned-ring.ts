import { copyBytes } from '../../native/libc.js';
import type { NativeQueue } from './line.js';

/**
 * The operations that a ring needs from its stream. `M` is the runtime's type for page-locked memory; for `Event` see
 * `NativeQueue`.
 */
export interface Transport<M extends { readonly address: number }, Event> {
  readonly queue: Pick<NativeQueue<Event>, 'write' | 'read'>;
  alloc(bytes: number): M;
  /** Copies host memory; complete when it returns. */
  copy?(to: number, from: number, bytes: number): void;
  /** Records an event after the last command; `passed` queries it and releases it once it has completed. */
  record(sent: Event): number;
  passed(event: number): boolean;
}

interface Piece {
  readonly at: number;
  readonly bytes: number;
  readonly event: number;
  /** Reads: the destination of the bytes once they have arrived. */
  readonly into: number;
}

/** 16 MiB per stream, allocated on first use (3 ms): 10 GB/s of `memcpy` ahead of a bus of 50. */
export const RING_BYTES = 2 ** 24;
/** Large transfers are split into pieces of this size, so that copying and the bus overlap. */
const PIECE_BYTES = 2 ** 20;
/** The most bytes copied per turn, about half a millisecond, so that other streams are served too. */
const TURN_BYTES = 4 * PIECE_BYTES;
const MAX_PIECES = 512;
const ALIGN = 64;

/**
 * Transfers of one stream between the device and pageable memory. The driver would block the thread for such a
 * transfer, so the bytes go through a ring of page-locked memory. A stream works in order, and so does its ring.
 */
export class PinnedRing<M extends { readonly address: number }, Event = unknown> {
  readonly #transport: Transport<M, Event>;
  readonly #copy: (to: number, from: number, bytes: number) => void;
  readonly #bytes: number;
  #ring: M | undefined;
  #pieces: Piece[] = [];
  /** The offset of the next piece. */
  #head = 0;
  /** Bytes done of the current command. */
  #doneBytes = 0;
  /** In how many ms to resume the command; undefined if that depends on other work. */
  resumeMs: number | undefined;

  /** `bytes`: the size of the ring. */
  constructor(transport: Transport<M, Event>, bytes = RING_BYTES) {
    this.#transport = transport;
    this.#copy = transport.copy?.bind(transport) ?? copyBytes;
    this.#bytes = bytes;
  }

  /** Sends host bytes; false if it has to be called again, with the same arguments. */
  write(memory: number, offset: number, from: number, bytes: number): boolean {
    return this.#transfer('write', memory, offset, from, bytes);
  }

  /** Reads bytes into host memory, where they arrive when `settle` finds them. */
  read(memory: number, offset: number, into: number, bytes: number): boolean {
    return this.#transfer('read', memory, offset, into, bytes);
  }

  /** Frees finished pieces of the ring and copies bytes that have been read to their destination. */
  settle(): void {
    let settled = 0;
    for (const { at, bytes, event, into } of this.#pieces) {
      if (!this.#transport.passed(event)) break;
      // SAFETY: the event says that these bytes have arrived; the target is held until its mark has completed,
      // which is later.
      if (into !== 0) this.#copy(into, at, bytes);
      settled++;
    }
    if (settled > 0) this.#pieces = this.#pieces.slice(settled);
  }

  /** True if bytes are still in flight into this range of memory. Bytes that have arrived are copied first. */
  isReadingInto(address: number, bytes: number): boolean {
    if (!this.hasPending) return false;
    this.settle();
    return this.#pieces.some(({ into, bytes: own }) => into !== 0 && into < address + bytes && address < into + own);
  }

  get hasPending(): boolean {
    return this.#pieces.length > 0;
  }

  /** True if the current command has begun and must be called again. */
  get isPartlyDone(): boolean {
    return this.#doneBytes > 0;
  }

  /** The page-locked memory, to be released by the caller. */
  get memory(): M | undefined {
    return this.#ring;
  }

  #transfer(kind: 'write' | 'read', memory: number, offset: number, host: number, bytes: number): boolean {
    try {
      return this.#transferPieces(kind, memory, offset, host, bytes);
    } catch (error) {
      this.#doneBytes = 0; // the command has failed: it is not called again
      this.resumeMs = undefined;
      throw error;
    }
  }

  #transferPieces(kind: 'write' | 'read', memory: number, offset: number, host: number, bytes: number): boolean {
    this.settle();
    this.resumeMs = undefined;
    const ring = this.#memory();
    const { queue } = this.#transport;
    for (let turn = 0; this.#doneBytes < bytes; ) {
      const length = Math.min(PIECE_BYTES, bytes - this.#doneBytes);
      const place = turn < TURN_BYTES ? this.#reserve(length) : -1;
      if (place < 0) {
        // While bytes move, there is space again soon: a piece takes 20 µs on the bus. They may also be waiting for a
        // kernel.
        if (turn > 0) this.resumeMs = turn < TURN_BYTES ? 0.05 : 0;
        return false;
      }
      const at = ring.address + place;
      // SAFETY: `at` is a free part of the ring; the host's side is held by the main thread until its mark has completed.
      if (kind === 'write') this.#copy(at, host + this.#doneBytes, length);
      const event = this.#transport.record(queue[kind](memory, offset + this.#doneBytes, at, length));
      this.#pieces.push({ at, bytes: length, event, into: kind === 'read' ? host + this.#doneBytes : 0 });
      this.#head = place + Math.ceil(length / ALIGN) * ALIGN;
      this.#doneBytes += length;
      turn += length;
    }
    this.#doneBytes = 0;
    return true;
  }

  /** Returns the offset of `bytes` free bytes, from the head on; -1 if there are none. */
  #reserve(bytes: number): number {
    const first = this.#pieces[0];
    if (first === undefined) return 0;
    if (this.#pieces.length >= MAX_PIECES) return -1;
    const tail = first.at - this.#memory().address;
    if (this.#head > tail) {
      if (this.#head + bytes <= this.#bytes) return this.#head;
      return bytes < tail ? 0 : -1; // never up to the tail itself: that would look like an empty ring
    }
    return this.#head + bytes < tail ? this.#head : -1;
  }

  #memory(): M {
    this.#ring ??= this.#transport.alloc(this.#bytes);
    return this.#ring;
  }
}
