/**
 * The board: shared memory through which the main thread and the workers of a pool communicate. The main thread is the
 * only producer of commands and takes no lock. Workers take work under one small lock (`schedule/lock.ts`).
 *
 * Each stream has a ring of fixed-size commands. `tail` is written by the main thread, `head` by workers; both count
 * commands modulo 2^32. A slot is reused only after the main thread has seen its command done, so a mark's result can
 * be stored in the mark's own slot.
 */
export const MAX_STREAMS = 32;
/** Commands per stream on the board; further ones wait in a list on the main thread. A power of two. */
export const RING_SLOTS = 256;

/** Words (i32) of the whole pool. Words that different threads write are 64 bytes apart. */
export const PoolWord = {
  lock: 0,
  /** Incremented when there may be work; idle workers sleep on it. */
  workSignal: 16,
  sleepers: 17,
  /** Incremented when there is something for the main thread, which watches this word. */
  mainSignal: 32,
  stop: 48,
  /** The stream that is served next. */
  nextStream: 64,
  /** Streams ever opened: workers check only these. */
  streams: 65,
} as const;
const POOL_BYTES = 512;

/** Words (i32) of one stream, relative to the stream's first. */
export const StreamWord = {
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
  notifyMain: 33,
  /** Marks completed, modulo 2^32. */
  marksPassed: 34,
  // The command at `head`. From here on, accessed under the lock.
  running: 48, // 1 when it has been started
  threads: 49, // workers inside it
  cutShort: 50, // 1 when it was cut short
  // Since the last mark.
  failedProgram: 51, // the number, from 1, of the program that trapped
  incomplete: 52,
} as const;
/** Doubles of one stream, relative to the stream's first; accessed under the lock. */
export const StreamDouble = {
  cursor: 32, // next unit (item or byte) to hand out
  total: 33,
  finished: 34,
} as const;
/** Signed 64-bit: when the first command since the last mark began, 0 if none has. */
export const STREAM_STARTED = 35;
const STREAM_BYTES = 512;

export const CommandKind = { launch: 1, copy: 2, fill: 3, wait: 4, mark: 5 } as const;
/** Doubles of one command. */
const COMMAND_DOUBLES = 8;

/** Offsets of a command's doubles; the first is its kind. */
export const LaunchField = { entry: 1, block: 2, count: 3, countAt: 4, lanes: 5, program: 6, epoch: 7 } as const;
export const CopyField = { to: 1, from: 2, bytes: 3 } as const;
export const FillField = { to: 1, word: 2, words: 3 } as const;
export const WaitField = { stream: 1, mark: 2 } as const;
/** Written by the worker that completes the mark. Times are signed 64-bit; index and length are doubles. */
export const MarkField = { started: 1, ended: 2, outcome: 3, program: 4, site: 5, index: 6, length: 7 } as const;
export const Outcome = { complete: 0, incomplete: 1, trapped: 2 } as const;

/** Slice statistics, direct-mapped by program number (from 1): the number, ns per unit, the last slice. */
const RATES = 1024;
export const RateField = { program: 0, nanoseconds: 1, slice: 2 } as const;
const RATE_DOUBLES = 4;

const STREAMS_OFFSET = POOL_BYTES;
const RINGS_OFFSET = STREAMS_OFFSET + MAX_STREAMS * STREAM_BYTES;
const RATES_OFFSET = RINGS_OFFSET + MAX_STREAMS * RING_SLOTS * COMMAND_DOUBLES * 8;
export const BOARD_BYTES = RATES_OFFSET + RATES * RATE_DOUBLES * 8;

export interface PoolBoard {
  readonly memory: SharedArrayBuffer;
  /** The board's offset in `memory`. */
  readonly offset: number;
  readonly words: Int32Array;
  readonly doubles: Float64Array;
  readonly bigints: BigInt64Array;
}

export function newBoard(): PoolBoard {
  return mapBoard(new SharedArrayBuffer(BOARD_BYTES));
}

/** The board in shared memory, at an offset that is a multiple of 64. */
export function mapBoard(memory: SharedArrayBuffer, offset = 0): PoolBoard {
  return {
    memory,
    offset,
    words: new Int32Array(memory, offset, BOARD_BYTES / 4),
    doubles: new Float64Array(memory, offset, BOARD_BYTES / 8),
    bigints: new BigInt64Array(memory, offset, BOARD_BYTES / 8),
  };
}

/** First word of a stream. */
export const streamWordOffset = (stream: number): number => (STREAMS_OFFSET + stream * STREAM_BYTES) / 4;
/** First double (or 64-bit integer) of a stream. */
export const streamDoubleOffset = (stream: number): number => (STREAMS_OFFSET + stream * STREAM_BYTES) / 8;
/** First double (or 64-bit integer) of a command's slot. */
export const slotOffset = (stream: number, sequence: number): number =>
  RINGS_OFFSET / 8 + (stream * RING_SLOTS + (sequence & (RING_SLOTS - 1))) * COMMAND_DOUBLES;
/** First double of a program's statistics. */
export const rateOffset = (program: number): number => RATES_OFFSET / 8 + (program % RATES) * RATE_DOUBLES;
