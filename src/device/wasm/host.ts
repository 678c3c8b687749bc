import { Command } from '../pool/board.js';
import type { PoolBuffer } from '../pool/buffer.js';
import type { Queue } from '../pool/queue.js';
import type { HostTransfers } from '../pool/stream.js';
import { TurnShare } from '../turn.js';
import type { DeviceMemory, Stretch } from './memory.js';

/** Transfers are split into pieces of this size: about 50 µs of copying. */
const PIECE = 2 ** 19;
/** The most bytes that this thread copies in one turn of its event loop, about 200 µs; the rest follows in the next. */
const TURN = 2 ** 21;
/** The most bytes that one queue may have in flight, staged or returning. */
const QUEUE = 2 ** 23;

/**
 * The host's arrays are not in the device's memory, so transfers go through ranges of it: this thread copies on one
 * side, workers on the other, in the queue's order.
 */
export class StagedHost implements HostTransfers {
  readonly #memory: DeviceMemory;
  readonly #share: TurnShare;
  readonly #noMemory: (what: string) => Error;
  readonly #staged = new WeakMap<Queue, number>();
  /** A piece reserved for each line, so that transfers proceed when buffers have taken all memory. */
  readonly #own: Own[] = [];

  /** `lookAgain` resumes the queues in a later turn. */
  constructor(memory: DeviceMemory, lookAgain: () => void, noMemory: (what: string) => Error) {
    this.#memory = memory;
    this.#share = new TurnShare(TURN, lookAgain);
    this.#noMemory = noMemory;
  }

  /** True if this thread has copied its share of this turn. */
  get tired(): boolean {
    return this.#share.spent;
  }

  write(queue: Queue, to: PoolBuffer, offset: number, data: ArrayBufferView): void {
    this.#ownOf(queue);
    for (const { view, at } of pieces(data)) {
      let stretch: Stretch | undefined;
      const stage = (): readonly number[] | undefined => {
        stretch = this.#take(queue, view.length);
        if (!stretch) return undefined;
        this.#memory.bytes.set(view, stretch.at);
        return [Command.copy, to.address + offset + at, stretch.at, view.length];
      };
      const after = (): boolean => this.#give(queue, stretch);
      queue.push(stage, { uses: [to], after });
    }
  }

  read(queue: Queue, from: PoolBuffer, offset: number, into: ArrayBufferView): void {
    this.#ownOf(queue);
    for (const { view, at } of pieces(into)) {
      let stretch: Stretch | undefined;
      const stage = (): readonly number[] | undefined => {
        stretch = this.#take(queue, view.length);
        return stretch && [Command.copy, stretch.at, from.address + offset + at, view.length];
      };
      const after = (): boolean => {
        if (!stretch || !this.#share.spend(view.length)) return false;
        view.set(this.#memory.bytes.subarray(stretch.at, stretch.at + view.length));
        return this.#give(queue, stretch);
      };
      queue.push(stage, { uses: [from], after });
    }
  }

  lend(words: Uint32Array): { readonly address: number; giveBack(): void } {
    const stretch = this.#memory.take(words.byteLength);
    if (!stretch) throw this.#noMemory('the parameters of a launch');
    this.#memory.words.set(words, stretch.at / 4);
    return { address: stretch.at, giveBack: () => this.#memory.give(stretch) };
  }

  /** Takes memory for a piece, if this queue and this turn may have it. */
  #take(queue: Queue, bytes: number): Stretch | undefined {
    const staged = this.#staged.get(queue) ?? 0;
    if (staged > 0 && staged + bytes > QUEUE) return undefined;
    if (!this.#share.spend(bytes)) return undefined;
    const stretch = this.#memory.take(bytes) ?? this.#takeOwn(queue);
    if (stretch) this.#staged.set(queue, staged + stretch.bytes);
    return stretch;
  }

  #give(queue: Queue, stretch: Stretch | undefined): boolean {
    if (!stretch) return true;
    const own = this.#own[queue.line];
    if (own?.stretch === stretch) own.busy = false;
    else this.#memory.give(stretch);
    this.#staged.set(queue, (this.#staged.get(queue) ?? 0) - stretch.bytes);
    return true;
  }

  #ownOf(queue: Queue): Own {
    const known = this.#own[queue.line];
    if (known) return known;
    const stretch = this.#memory.take(PIECE);
    if (!stretch) throw this.#noMemory("a stream's transfers");
    const own = { stretch, busy: false };
    this.#own[queue.line] = own;
    return own;
  }

  /** The reserved piece is free again once this queue's own command is done, so waiting for it ends. */
  #takeOwn(queue: Queue): Stretch | undefined {
    const own = this.#ownOf(queue);
    if (own.busy) return undefined;
    own.busy = true;
    return own.stretch;
  }
}

interface Own {
  readonly stretch: Stretch;
  busy: boolean;
}

/** Splits an array into pieces. */
function pieces(view: ArrayBufferView): { readonly view: Uint8Array; readonly at: number }[] {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, i) => ({
    view: bytes.subarray(i * PIECE, (i + 1) * PIECE),
    at: i * PIECE,
  }));
}
