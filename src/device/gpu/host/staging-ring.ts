import { newMemory } from '../../host-memory.js';
import type { TurnBudget } from '../../turn.js';
import { CommandKind, TRANSFER_WORDS, writeWide } from '../wire/commands.js';
import type { CommandWriter } from './command-writer.js';

/** The shared memory of a stream's transfers, and the size of their pieces: about 50 µs of copying. */
const STAGING_BYTES = 2 ** 22;
const PIECE_BYTES = 2 ** 19;
/** Pieces begin on a multiple of this. */
const ALIGN = 256;

/** Bytes that have arrived, or will arrive, for an array of the host. */
export interface StagedRead {
  readonly into: Uint8Array;
  readonly at: number;
}

/** The services that a staging ring needs from its owner. */
export interface StagingOwner {
  readonly writer: CommandWriter;
  readonly turnBudget: TurnBudget;
  /** Registers the memory with the worker. Its number is set once the worker has it. */
  shareMemory(memory: ArrayBufferLike): { readonly number: number | undefined };
  /** Sends a note, which reports when everything staged so far has completed. False if that is not possible now. */
  sendNote(): boolean;
  /** Adds a read whose bytes arrive when the commands sent so far have completed. */
  expectRead(read: StagedRead): void;
}

/**
 * For runtimes that cannot access the host's arrays: transfers are copied through shared memory, a ring of pieces in
 * the stream's order. Each stream has its own, so that none waits for another's.
 */
export class StagingRing {
  readonly #owner: StagingOwner;
  readonly #memory = newMemory(STAGING_BYTES);
  readonly #bytes = new Uint8Array(this.#memory);
  readonly #registration: { readonly number: number | undefined };
  /** Total bytes ever taken, and released. */
  #allocatedBytes = 0;
  #releasedBytes = 0;

  constructor(owner: StagingOwner) {
    this.#owner = owner;
    this.#registration = owner.shareMemory(this.#memory);
  }

  /** The position up to which the ring has been used, for `release`. */
  get position(): number {
    return this.#allocatedBytes;
  }

  get number(): number | undefined {
    return this.#registration.number;
  }

  write(memory: number, offset: number, data: ArrayBufferView): void {
    for (const { view, from } of pieces(data)) {
      this.#owner.writer.sendInOrder(() => {
        if (!this.#hasSpace(view.length) || !this.#owner.turnBudget.spend(view.length)) return false;
        const at = this.#allocate(view.length);
        this.#bytes.set(view, at);
        this.#send(CommandKind.write, memory, offset + from, view.length, at);
        return true;
      });
    }
  }

  read(memory: number, offset: number, into: ArrayBufferView): void {
    for (const { view, from } of pieces(into)) {
      this.#owner.writer.sendInOrder(() => {
        if (!this.#hasSpace(view.length)) return false;
        const at = this.#allocate(view.length);
        this.#send(CommandKind.read, memory, offset + from, view.length, at);
        this.#owner.expectRead({ into: view, at });
        return true;
      });
    }
  }

  /** Copies bytes that have arrived; false if this turn's share is spent. */
  deliver({ into, at }: StagedRead): boolean {
    if (!this.#owner.turnBudget.spend(into.length)) return false;
    into.set(this.#bytes.subarray(at, at + into.length));
    return true;
  }

  /** Releases everything taken before this position. */
  release(position: number): void {
    this.#releasedBytes = Math.max(this.#releasedBytes, position);
  }

  /** True if both rings, this one and that of commands, have space for a piece. If this one is full, sends a note. */
  #hasSpace(bytes: number): boolean {
    if (this.#registration.number === undefined || !this.#owner.writer.hasSpace(TRANSFER_WORDS)) return false;
    if (this.#next(bytes).end - this.#releasedBytes <= STAGING_BYTES) return true;
    this.#owner.sendNote();
    return false;
  }

  /** A piece is contiguous: if it would cross the end, it starts at offset 0. */
  #next(bytes: number): { readonly begin: number; readonly end: number } {
    const size = Math.ceil(bytes / ALIGN) * ALIGN;
    const at = this.#allocatedBytes % STAGING_BYTES;
    const begin = at + size > STAGING_BYTES ? this.#allocatedBytes + STAGING_BYTES - at : this.#allocatedBytes;
    return { begin, end: begin + size };
  }

  #allocate(bytes: number): number {
    const { begin, end } = this.#next(bytes);
    this.#allocatedBytes = end;
    return begin % STAGING_BYTES;
  }

  #send(kind: number, memory: number, offset: number, bytes: number, at: number): void {
    const host = this.#registration.number ?? 0;
    sendTransfer(this.#owner.writer, kind, { memory, offset, bytes, host, address: undefined, at });
  }
}

/** A transfer between device memory and host memory, by address or by an offset in shared memory. */
export interface Transfer {
  readonly memory: number;
  readonly offset: number;
  readonly bytes: number;
  /** The number of the host memory; 0 if it is identified by its address alone. */
  readonly host: number;
  readonly address: number | undefined;
  readonly at: number;
}

export function sendTransfer(writer: CommandWriter, kind: number, transfer: Transfer): void {
  const { memory, offset, bytes, host, address, at: hostOffset } = transfer;
  const at = writer.begin(kind, TRANSFER_WORDS);
  const { words } = writer;
  words[at] = memory;
  writeWide(words, at + 1, offset);
  writeWide(words, at + 3, bytes);
  words[at + 5] = host;
  words[at + 6] = address === undefined ? 0 : 1;
  writeWide(words, at + 7, address ?? hostOffset);
  writer.send();
}

function* pieces(view: ArrayBufferView): Generator<{ readonly view: Uint8Array; readonly from: number }> {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  for (let from = 0; from < bytes.length; from += PIECE_BYTES)
    yield { view: bytes.subarray(from, from + PIECE_BYTES), from };
}
