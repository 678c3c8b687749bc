import type { TurnShare } from '../../turn.js';
import { Kind, putWide, TRANSFER_WORDS } from '../wire/commands.js';
import type { Lane } from './lane.js';

/** Shared memory that a stream's transfers pass through, and the pieces that they go in: about 50 µs of copying. */
const STAGE_BYTES = 2 ** 22;
const PIECE = 2 ** 19;
/** Pieces begin on a multiple of this. */
const ALIGN = 256;

/** Bytes that have come, or will have, for an array of the host's. */
export interface StagedRead {
  readonly into: Uint8Array;
  readonly at: number;
}

/** What the owner of a stage does for it. */
export interface StageOwner {
  readonly lane: Lane;
  readonly share: TurnShare;
  /** Makes the memory known to the worker; its number is there once the worker has it. */
  announce(memory: SharedArrayBuffer): { readonly number: number | undefined };
  /** Sees to it that the owner learns when what was staged so far is through. False where that is not possible now. */
  note(): boolean;
  /** Bytes will be there when the commands sent so far are through. */
  expect(read: StagedRead): void;
}

/**
 * For runtimes that do not reach the host's arrays: transfers are copied through shared memory, a ring of pieces in the
 * stream's order. Each stream has its own, so that none waits for another's.
 */
export class Stage {
  readonly #owner: StageOwner;
  readonly #memory = new SharedArrayBuffer(STAGE_BYTES);
  readonly #bytes = new Uint8Array(this.#memory);
  readonly #known: { readonly number: number | undefined };
  /** Bytes ever taken, and given back. */
  #taken = 0;
  #given = 0;

  constructor(owner: StageOwner) {
    this.#owner = owner;
    this.#known = owner.announce(this.#memory);
  }

  /** How far the stage has been used: what `release` takes. */
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

  /** Hands over bytes that have come; false when this turn's share is spent. */
  deliver({ into, at }: StagedRead): boolean {
    if (!this.#owner.share.spend(into.length)) return false;
    into.set(this.#bytes.subarray(at, at + into.length));
    return true;
  }

  /** What was taken before this position is through. */
  release(position: number): void {
    this.#given = Math.max(this.#given, position);
  }

  /** Is there room for a piece, here and in the ring? Where there is none here, a note will bring it. */
  #ready(bytes: number): boolean {
    if (this.#known.number === undefined || !this.#owner.lane.hasRoom(TRANSFER_WORDS)) return false;
    if (this.#next(bytes).end - this.#given <= STAGE_BYTES) return true;
    this.#owner.note();
    return false;
  }

  /** In one piece: where it would cross the end, it begins at the beginning. */
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

/** A transfer between device memory and the host's: by address, or by a place in shared memory. */
export interface Transfer {
  readonly memory: number;
  readonly offset: number;
  readonly bytes: number;
  /** The number of the host's memory; 0 where it is known by its address alone. */
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
