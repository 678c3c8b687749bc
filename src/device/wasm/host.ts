import { CommandKind } from '../pool/board.js';
import type { PoolBuffer } from '../pool/buffer.js';
import type { PoolQueue } from '../pool/queue.js';
import type { HostTransfers } from '../pool/stream.js';
import { TurnBudget } from '../turn.js';
import type { Allocation, DeviceMemory } from './memory.js';

/** Transfers are split into pieces of this size: about 50 µs of copying. */
const PIECE_BYTES = 2 ** 19;
/** The most bytes that this thread copies in one turn of its event loop, about 200 µs; the rest follows in the next. */
const TURN_BYTES = 2 ** 21;
/** The most bytes that one queue may have in flight, staged or returning. */
const QUEUE_BYTES = 2 ** 23;

/**
 * The host's arrays are not in the device's memory, so transfers go through ranges of it: this thread copies on one
 * side, workers on the other, in the queue's order.
 */
export class StagedTransfers implements HostTransfers {
  readonly #memory: DeviceMemory;
  readonly #turnShare: TurnBudget;
  readonly #noMemory: (content: string) => Error;
  readonly #stagedBytes = new WeakMap<PoolQueue, number>();
  /** A piece reserved for each stream, so that transfers proceed when buffers have taken all memory. */
  readonly #reserved: ReservedPiece[] = [];

  /** `resume` resumes the queues in a later turn. */
  constructor(memory: DeviceMemory, resume: () => void, noMemory: (content: string) => Error) {
    this.#memory = memory;
    this.#turnShare = new TurnBudget(TURN_BYTES, resume);
    this.#noMemory = noMemory;
  }

  /** True if this thread has copied its share of this turn. */
  get isTurnSpent(): boolean {
    return this.#turnShare.isSpent;
  }

  write(queue: PoolQueue, to: PoolBuffer, offset: number, data: ArrayBufferView): void {
    this.#reservedFor(queue);
    for (const { view, at } of pieces(data)) {
      let range: Allocation | undefined;
      const stage = (): readonly number[] | undefined => {
        range = this.#allocate(queue, view.length);
        if (!range) return undefined;
        this.#memory.bytes.set(view, range.at);
        return [CommandKind.copy, to.address + offset + at, range.at, view.length];
      };
      const finish = (): boolean => this.#free(queue, range);
      queue.push(stage, { uses: [to], finish });
    }
  }

  read(queue: PoolQueue, from: PoolBuffer, offset: number, into: ArrayBufferView): void {
    this.#reservedFor(queue);
    for (const { view, at } of pieces(into)) {
      let range: Allocation | undefined;
      const stage = (): readonly number[] | undefined => {
        range = this.#allocate(queue, view.length);
        return range && [CommandKind.copy, range.at, from.address + offset + at, view.length];
      };
      const finish = (): boolean => {
        if (!range || !this.#turnShare.spend(view.length)) return false;
        view.set(this.#memory.bytes.subarray(range.at, range.at + view.length));
        return this.#free(queue, range);
      };
      queue.push(stage, { uses: [from], finish });
    }
  }

  stageWords(words: Uint32Array): { readonly address: number; release(): void } {
    const range = this.#memory.allocate(words.byteLength);
    if (!range) throw this.#noMemory('the parameters of a launch');
    this.#memory.words.set(words, range.at / 4);
    return { address: range.at, release: () => this.#memory.free(range) };
  }

  /** Takes memory for a piece, if this queue and this turn may have it. */
  #allocate(queue: PoolQueue, bytes: number): Allocation | undefined {
    const staged = this.#stagedBytes.get(queue) ?? 0;
    if (staged > 0 && staged + bytes > QUEUE_BYTES) return undefined;
    if (!this.#turnShare.spend(bytes)) return undefined;
    const range = this.#memory.allocate(bytes) ?? this.#takeReserved(queue);
    if (range) this.#stagedBytes.set(queue, staged + range.bytes);
    return range;
  }

  #free(queue: PoolQueue, range: Allocation | undefined): boolean {
    if (!range) return true;
    const own = this.#reserved[queue.stream];
    if (own?.range === range) own.isBusy = false;
    else this.#memory.free(range);
    this.#stagedBytes.set(queue, (this.#stagedBytes.get(queue) ?? 0) - range.bytes);
    return true;
  }

  #reservedFor(queue: PoolQueue): ReservedPiece {
    const known = this.#reserved[queue.stream];
    if (known) return known;
    const range = this.#memory.allocate(PIECE_BYTES);
    if (!range) throw this.#noMemory("a stream's transfers");
    const own = { range, isBusy: false };
    this.#reserved[queue.stream] = own;
    return own;
  }

  /** The reserved piece is free again once this queue's own command is done, so waiting for it ends. */
  #takeReserved(queue: PoolQueue): Allocation | undefined {
    const own = this.#reservedFor(queue);
    if (own.isBusy) return undefined;
    own.isBusy = true;
    return own.range;
  }
}

interface ReservedPiece {
  readonly range: Allocation;
  isBusy: boolean;
}

/** Splits an array into pieces. */
function pieces(view: ArrayBufferView): { readonly view: Uint8Array; readonly at: number }[] {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return Array.from({ length: Math.ceil(bytes.length / PIECE_BYTES) }, (_, i) => ({
    view: bytes.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES),
    at: i * PIECE_BYTES,
  }));
}
