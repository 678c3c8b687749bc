/**
 * The board: shared memory through which the main thread and the workers of a pool communicate. The main thread is the
 * only producer of commands and takes no lock. Workers take work under one small lock (`turnstile.ts`).
 *
 * Each stream has a ring of fixed-size commands. `tail` is written by the main thread, `head` by workers; both count
 * commands modulo 2^32. A slot is reused only after the main thread has seen its command done, so a mark's result can
 * be stored in the mark's own slot.
 */
export const STREAMS = 32;
/** Commands per stream on the board; further ones wait in a list on the main thread. A power of two. */
export const RING = 256;

/** Words (i32) of the whole pool. Words that different threads write are 64 bytes apart. */
export const Pool = {
  lock: 0,
  /** Incremented when there may be work; idle workers sleep on it. */
  work: 16,
  sleepers: 17,
  /** Incremented when there is something for the main thread, which watches this word. */
  news: 32,
  stop: 48,
  /** The stream that is served next. */
  turn: 64,
  /** Streams ever opened: workers need not look beyond. */
  lines: 65,
} as const;
const POOL_BYTES = 512;

/** Words (i32) of one stream, relative to the stream's first. */
export const Line = {
  // Read and written by generated code: `control` in its ABI.
  epoch: 0,
  trap: 1,
  trapSite: 2,
  trapIndex: 3, // low word, then high word
  trapLength: 5, // low word, then high word: the number of elements, 0 if not reported
  // The queue.
  tail: 16,
  head: 32,
  /** Set by the main thread to be notified when this queue advances. */
  want: 33,
  /** Marks passed, modulo 2^32. */
  passed: 34,
  // The command at `head`. From here on, accessed under the lock.
  running: 48, // 1 when it has been started
  threads: 49, // workers inside it
  short: 50, // 1 when it was cut short
  // Since the last mark.
  failed: 51, // the number, from 1, of the program that trapped
  incomplete: 52,
} as const;
/** Doubles of one stream, relative to the stream's first; accessed under the lock. */
export const LineNumber = {
  cursor: 32, // next unit (item or byte) to hand out
  total: 33,
  finished: 34,
} as const;
/** Signed 64-bit: when the first command since the last mark began, 0 if none has. */
export const LINE_STARTED = 35;
const LINE_BYTES = 512;

export const Command = { launch: 1, copy: 2, fill: 3, wait: 4, mark: 5 } as const;
/** Doubles of one command. */
const COMMAND_NUMBERS = 8;

/** Offsets of a command's doubles; the first is its kind. */
export const Launch = { entry: 1, block: 2, count: 3, countAt: 4, lanes: 5, program: 6, epoch: 7 } as const;
export const Copy = { to: 1, from: 2, bytes: 3 } as const;
export const Fill = { to: 1, word: 2, words: 3 } as const;
export const Wait = { stream: 1, mark: 2 } as const;
/** Written by the worker that passes the mark. Times are signed 64-bit; index and length are doubles. */
export const Mark = { started: 1, ended: 2, outcome: 3, program: 4, site: 5, index: 6, length: 7 } as const;
export const Outcome = { complete: 0, incomplete: 1, trapped: 2 } as const;

/** Slice statistics, direct-mapped by program number (from 1): the number, ns per unit, the last slice. */
const RATES = 1024;
export const Rate = { program: 0, nanoseconds: 1, slice: 2 } as const;
const RATE_NUMBERS = 4;

const LINES_AT = POOL_BYTES;
const RINGS_AT = LINES_AT + STREAMS * LINE_BYTES;
const RATES_AT = RINGS_AT + STREAMS * RING * COMMAND_NUMBERS * 8;
export const BOARD_BYTES = RATES_AT + RATES * RATE_NUMBERS * 8;

export interface Board {
  readonly memory: SharedArrayBuffer;
  /** The board's offset in `memory`. */
  readonly at: number;
  readonly words: Int32Array;
  readonly numbers: Float64Array;
  readonly bigs: BigInt64Array;
}

export function newBoard(): Board {
  return boardOver(new SharedArrayBuffer(BOARD_BYTES));
}

/** The board in shared memory, at an offset that is a multiple of 64. */
export function boardOver(memory: SharedArrayBuffer, at = 0): Board {
  return {
    memory,
    at,
    words: new Int32Array(memory, at, BOARD_BYTES / 4),
    numbers: new Float64Array(memory, at, BOARD_BYTES / 8),
    bigs: new BigInt64Array(memory, at, BOARD_BYTES / 8),
  };
}

/** First word of a stream's line. */
export const lineWord = (stream: number): number => (LINES_AT + stream * LINE_BYTES) / 4;
/** First double (or 64-bit integer) of a stream's line. */
export const lineNumber = (stream: number): number => (LINES_AT + stream * LINE_BYTES) / 8;
/** First double (or 64-bit integer) of a command's slot. */
export const slotNumber = (stream: number, sequence: number): number =>
  RINGS_AT / 8 + (stream * RING + (sequence & (RING - 1))) * COMMAND_NUMBERS;
/** First double of a program's statistics. */
export const rateNumber = (program: number): number => RATES_AT / 8 + (program % RATES) * RATE_NUMBERS;
