import { QUEUE_STATE_WORDS, QUEUE_TIMES, QueueControl } from '../../../kernel/abi/resident-abi.js';

/** The sizes of a resident grid's queue. */
export interface QueueSizes {
  /** The capacity in entries: a power of two, given by its exponent. */
  readonly capacityLog: number;
  readonly entryWords: number;
  /** Words of one ring; 0 if the kernel emits nothing. */
  readonly ringWords: number;
}

/** Times of an entry on the device's clock, in nanoseconds. */
export interface EntryTimes {
  readonly began: bigint;
  readonly ended: bigint;
  readonly arrived: bigint;
}

/** Words of the control page, including those that the grid does not use. Each has one writer. */
export const ControlWord = {
  ...QueueControl,
  // Written by the main thread.
  /** 64 bits: the first entry queued after the last change of the epoch. */
  first: 4,
  /** The epoch that `first` belongs to: a grid may run again. */
  resumed: 6,
  // Written by the worker.
  /** The last epoch after which nothing ran any more: an entry without a flag now never gets one. */
  ended: 16,
  launches: 17,
} as const;
/** The offset, in bytes, to which the worker has `state` copied when a launch has ended. */
export const STATE_AT = 128;

/**
 * Memory shared by the main thread, the worker and the grid; `kernel/abi/resident-abi.ts` describes how the grid uses
 * it. Byte offsets are the same for all three.
 *
 * An entry is written before `tail`: the store is atomic, so it has release order, and the GPU reads host memory
 * through cache coherence. The grid writes hits and times before a fence of system scope, then the flag; a host that
 * loads the flag, atomically, before the rest sees all of it.
 */
export class ResidentMemory {
  readonly memory: SharedArrayBuffer;
  readonly sizes: QueueSizes;
  readonly capacity: number;
  /** In bytes. */
  readonly offsets: ReturnType<typeof offsets>;
  readonly words: Int32Array;
  readonly bigints: BigInt64Array;
  readonly entries: Uint32Array;
  readonly rings: Uint32Array;

  constructor(memory: SharedArrayBuffer, sizes: QueueSizes) {
    this.memory = memory;
    this.sizes = sizes;
    this.capacity = 2 ** sizes.capacityLog;
    this.offsets = offsets(sizes);
    this.words = new Int32Array(memory, 0, this.offsets.end / 4);
    this.bigints = new BigInt64Array(memory, 0, this.offsets.end / 8);
    this.entries = new Uint32Array(memory, this.offsets.entries, this.capacity * sizes.entryWords);
    this.rings = new Uint32Array(memory, this.offsets.rings, this.capacity * sizes.ringWords);
  }

  static allocate(sizes: QueueSizes): ResidentMemory {
    return new ResidentMemory(new SharedArrayBuffer(offsets(sizes).end), sizes);
  }

  slot(number: number): number {
    return number % this.capacity;
  }

  /** True if the grid has done entry `number`; its slot may have been reused since. */
  isDone(number: number): boolean {
    return Atomics.load(this.bigints, this.offsets.flags / 8 + this.slot(number)) >= BigInt(number + 1);
  }

  get tail(): number {
    return Number(Atomics.load(this.bigints, ControlWord.tail / 2));
  }

  set tail(number: number) {
    Atomics.store(this.bigints, ControlWord.tail / 2, BigInt(number));
  }

  get first(): number {
    return Number(Atomics.load(this.bigints, ControlWord.first / 2));
  }

  set first(number: number) {
    Atomics.store(this.bigints, ControlWord.first / 2, BigInt(number));
  }

  load(word: 'epoch' | 'order' | 'resumed' | 'ended' | 'launches'): number {
    return Atomics.load(this.words, ControlWord[word]);
  }

  store(word: 'epoch' | 'order' | 'resumed' | 'ended' | 'launches', value: number): void {
    Atomics.store(this.words, ControlWord[word], value);
  }

  /** Items of entry `number`. */
  count(number: number): number {
    return (this.entries[this.slot(number) * this.sizes.entryWords] ?? 0) + 1;
  }

  /**
   * When the entry's first part began, its last ended, and the grid saw the entry, on the device's clock; 0 if the device has
   * none.
   */
  times(number: number): EntryTimes {
    const at = this.offsets.times / 8 + QUEUE_TIMES * this.slot(number);
    return { began: this.bigints[at] ?? 0n, ended: this.bigints[at + 1] ?? 0n, arrived: this.bigints[at + 2] ?? 0n };
  }

  /** The index of the times at which the worker saw the flags, on the host's clock. */
  get seenIndex(): number {
    return this.offsets.seen / 8;
  }

  /** A word of `state` as it was when the last launch ended. */
  state(word: number): number {
    return Number(this.bigints[STATE_AT / 8 + word] ?? 0n);
  }
}

function offsets({ capacityLog, entryWords, ringWords }: QueueSizes) {
  const capacity = 2 ** capacityLog;
  let end = STATE_AT + QUEUE_STATE_WORDS * 8;
  const part = (bytes: number): number => {
    const at = Math.ceil(end / 64) * 64;
    end = at + bytes;
    return at;
  };
  const flags = part(8 * capacity);
  const times = part(8 * QUEUE_TIMES * capacity);
  const seen = part(8 * capacity);
  const entries = part(4 * capacity * entryWords);
  const rings = part(4 * capacity * ringWords);
  return { flags, times, seen, entries, rings, end: Math.ceil(end / 64) * 64 };
}
