import type { TurnShare } from '../../turn.js';
import { Kind, putWide, TRANSFER_WORDS } from '../wire/commands.js';
import type { Lane } from './lane.js';

/** The shared memory of a stream's transfers, and the size of their pieces: about 50 µs of copying. */
const STAGE_BYTES = 2 ** 22;
const PIECE = 2 ** 19;
/** Pieces begin on a multiple of this. */
const ALIGN = 256;

/** Bytes that have arrived, or will arrive, for an array of the host. */
export interface StagedRead {
  readonly into: Uint8Array;
  readonly at: number;
}

/** The services that a stage needs from its owner. */
export interface StageOwner {
  readonly lane: Lane;
  readonly share: TurnShare;
  /** Registers the memory with the worker. Its number is set once the worker has it. */
  announce(memory: SharedArrayBuffer): { readonly number: number | undefined };
  /** Sends a note, so that the owner learns when everything staged so far has passed. False if that is not possible now. */
  note(): boolean;
  /** Adds a read whose bytes arrive when the commands sent so far have passed. */
  expect(read: StagedRead): void;
}

/**
 * For runtimes that cannot access the host's arrays: transfers are copied through shared memory, a ring of pieces in
 * the stream's order. Each stream has its own, so that none waits for another's.
 */
export class Stage {
  readonly #owner: StageOwner;
  readonly #memory = new SharedArrayBuffer(STAGE_BYTES);
  readonly #bytes = new Uint8Array(this.#memory);
  readonly #known: { readonly number: number | undefined };
  /** Total bytes ever taken, and released. */
  #taken = 0;
  #given = 0;

  constructor(owner: StageOwner) {
    this.#owner = owner;
    this.#known = owner.announce(this.#memory);
  }

  /** The position up to which the stage has been used, for `release`. */
  get position(): number {
    return this.#taken;
  }

  get number(): number | undefined {
    return this.#known.number;
  }

  write(memory: number, offset: number, data: ArrayBufferView): void {
    for (const { view, from } of pieces(data)) {
      this.#owner.lane.later(() => {
        if (!this.#ready(view.length) || !this.#owner.share.spend(view.length)) return false;
        const at = this.#take(view.length);
        this.#bytes.set(view, at);
        this.#send(Kind.write, memory, offset + from, view.length, at);
        return true;
      });
    }
  }

  read(memory: number, offset: number, into: ArrayBufferView): void {
    for (const { view, from } of pieces(into)) {
      this.#owner.lane.later(() => {
        if (!this.#ready(view.length)) return false;
        const at = this.#take(view.length);
        this.#send(Kind.read, memory, offset + from, view.length, at);
        this.#owner.expect({ into: view, at });
        return true;
      });
    }
  }

  /** Copies bytes that have arrived; false if this turn's share is spent. */
  deliver({ into, at }: StagedRead): boolean {
    if (!this.#owner.share.spend(into.length)) return false;
    into.set(this.#bytes.subarray(at, at + into.length));
    return true;
  }

  /** Releases everything taken before this position. */
  release(position: number): void {
    this.#given = Math.max(this.#given, position);
  }

  /** True if there is space for a piece, here and in the ring. If there is none here, sends a note that will free some. */
  #ready(bytes: number): boolean {
    if (this.#known.number === undefined || !this.#owner.lane.hasRoom(TRANSFER_WORDS)) return false;
    if (this.#next(bytes).end - this.#given <= STAGE_BYTES) return true;
    this.#owner.note();
    return false;
  }

  /** A piece is contiguous: if it would cross the end, it starts at offset 0. */
  #next(bytes: number): { readonly begin: number; readonly end: number } {
    const size = Math.ceil(bytes / ALIGN) * ALIGN;
    const at = this.#taken % STAGE_BYTES;
    const begin = at + size > STAGE_BYTES ? this.#taken + STAGE_BYTES - at : this.#taken;
    return { begin, end: begin + size };
  }

  #take(bytes: number): number {
    const { begin, end } = this.#next(bytes);
    this.#taken = end;
    return begin % STAGE_BYTES;
  }

  #send(kind: number, memory: number, offset: number, bytes: number, at: number): void {
    const host = this.#known.number ?? 0;
    sendTransfer(this.#owner.lane, kind, { memory, offset, bytes, host, address: undefined, at });
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

export function sendTransfer(lane: Lane, kind: number, transfer: Transfer): void {
  const { memory, offset, bytes, host, address, at: place } = transfer;
  const at = lane.begin(kind, TRANSFER_WORDS);
  const { words } = lane;
  words[at] = memory;
  putWide(words, at + 1, offset);
  putWide(words, at + 3, bytes);
  words[at + 5] = host;
  words[at + 6] = address === undefined ? 0 : 1;
  putWide(words, at + 7, address ?? place);
  lane.send();
}

function* pieces(view: ArrayBufferView): Generator<{ readonly view: Uint8Array; readonly from: number }> {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  for (let from = 0; from < bytes.length; from += PIECE) yield { view: bytes.subarray(from, from + PIECE), from };
}
