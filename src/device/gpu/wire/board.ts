import { newMemory } from '../../host-memory.js';
import { notifyChange } from '../../pool/schedule/signal.js';

/**
 * The board: shared memory through which the main thread and the worker of a GPU device communicate. There is no lock:
 * each word has one writer, except the flags `sleeping` and `wantsSpace`, which the other thread clears. The main thread
 * writes commands into a ring (`ring.ts`); the worker writes the results of marks into another (`results.ts`).
 *
 * A runtime may map the board into its kernels' memory: they read their stream's epoch from it.
 */

/** Words (i32). Words written by different threads are 64 bytes apart. */
export const Word = {
  // Written by the main thread.
  /** Incremented when there may be work; the worker sleeps on it. */
  work: 0,
  /** Messages posted, modulo 2^32. */
  messages: 1,
  /** Words put into the ring of commands, modulo 2^32. */
  tail: 2,
  /** Set to 1 to be notified when the ring advances. */
  wantsSpace: 3,
  /** Results taken, modulo 2^32. */
  taken: 4,
  stop: 5,
  // Written by the worker.
  /** 1 while the worker sleeps; the thread that wakes it clears it. */
  sleeping: 16,
  /** Incremented when there is something for the main thread, which watches this word. */
  news: 17,
  /** Words taken out of the ring, modulo 2^32. */
  head: 18,
  /** Results written, modulo 2^32. */
  results: 19,
} as const;
const WORDS = 32;

/** Lines of streams: twice the limit of open streams, since a closed one may still have work to do. */
export const LINES = 128;
/** 64 bytes, of which a stream's epoch is the first word. */
const LINE_WORDS = 16;
export const epochWord = (line: number): number => WORDS + line * LINE_WORDS;

/** Doubles (times: signed 64-bit) of a result. */
export const ResultField = {
  outcome: 0,
  line: 1,
  /** The number of the mark or note on its line, modulo 2^32. */
  mark: 2,
  started: 3,
  ended: 4,
  noticed: 5,
  /** With telemetry: when it was sent (0 without), its launches, waits in the driver and their nanoseconds. */
  sent: 6,
  launchStarted: 7,
  launchEnded: 8,
  waits: 9,
  blocked: 10,
  program: 3,
  site: 4,
  index: 5,
  length: 6,
} as const;
/** The outcome of a mark. `noted` belongs to a note, which only tracks progress; `closed` is a line's last result. */
export const Outcome = { complete: 0, incomplete: 1, trapped: 2, noted: 3, closed: 4 } as const;
export const RESULT_CAPACITY = 1024;
const RESULT_DOUBLES = 16;
const RESULTS_AT = (WORDS + LINES * LINE_WORDS) / 2;
/** First double of a result. */
export const resultIndex = (sequence: number): number =>
  RESULTS_AT + (sequence & (RESULT_CAPACITY - 1)) * RESULT_DOUBLES;

/** Words of the command ring: 1 MiB. */
export const RING_WORDS = 2 ** 18;
const RING_AT = (RESULTS_AT + RESULT_CAPACITY * RESULT_DOUBLES) * 8;
const BOARD_BYTES = RING_AT + RING_WORDS * 4;

export interface Board {
  readonly memory: ArrayBufferLike;
  readonly words: Int32Array;
  readonly doubles: Float64Array;
  readonly bigints: BigInt64Array;
  readonly ring: Uint32Array;
}

/** Returns a zeroed board. */
export function newBoard(): Board {
  const board = boardIn(spareMemory.pop() ?? newMemory(BOARD_BYTES));
  board.words.fill(0);
  return board;
}

/** Keeps a board that is no longer used for reuse: V8 does not know that it is large, and collects it late. */
export function recycleBoard({ memory }: Board): void {
  spareMemory.push(memory);
}
const spareMemory: ArrayBufferLike[] = [];

export function boardIn(memory: ArrayBufferLike): Board {
  return {
    memory,
    words: new Int32Array(memory),
    doubles: new Float64Array(memory, 0, RING_AT / 8),
    bigints: new BigInt64Array(memory, 0, RING_AT / 8),
    ring: new Uint32Array(memory, RING_AT, RING_WORDS),
  };
}

/** Wakes the worker: there is something to do. */
export function wakeWorker(words: Int32Array): void {
  Atomics.add(words, Word.work, 1);
  if (Atomics.exchange(words, Word.sleeping, 0) === 1) notifyChange(words, Word.work);
}

/** Notifies the main thread: there is something to process. */
export function notifyMain(words: Int32Array): void {
  Atomics.add(words, Word.news, 1);
  notifyChange(words, Word.news);
}

/** Cancels every launch, stops the worker and ends the watch. */
export function stopWorker({ words }: Board): void {
  Atomics.store(words, Word.stop, 1);
  for (let line = 0; line < LINES; line++) Atomics.add(words, epochWord(line), 1);
  wakeWorker(words);
  notifyMain(words);
}
