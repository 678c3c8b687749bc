import type { GridShape } from '../../../kernel/abi/grid.js';
import type { MillraceError } from '../../../kernel/error.js';
import type { DeviceInfo, ReportDetail, Sensors } from '../../device.js';
import type { Calls } from '../native/calls.js';
import type { Locked } from '../native/locked-memory.js';
import type { ResidentMemory } from '../resident/memory.js';

/**
 * What a runtime (CUDA, OpenCL, WebGPU) does for the worker thread that owns it. `worker.ts` of each runtime opens its
 * driver by `serve` (`serve.ts`), which runs it in the loop (`loop.ts`): that takes commands off the board, calls these
 * methods and settles marks.
 *
 * Nothing here blocks, and everything but `load`, `alloc` and `close` is quick. Memory, streams and programs are objects
 * of the driver's own; the loop only passes them around. A method that throws a MillraceError fails the mark that the
 * command belongs to; `fatal` errors (below) end the device. Where the loop is synchronous (CUDA, OpenCL) nothing may
 * give a promise: the thread never gets back to its event loop.
 */
export interface Driver<Memory = unknown, Program = unknown, Line = unknown, Mark = unknown> {
  readonly info: DeviceInfo;

  /** Zeroed; a multiple of 16, at least 16. Throws `device-memory` with asked, free and total where they can be known. */
  alloc(bytes: number): Memory | Promise<Memory>;
  /** Every command that named it has been passed by a mark. */
  free(memory: Memory): void;
  /** Where it is, for other libraries. */
  pointer?(memory: Memory): number;
  /** Memory of somebody else's, by its pointer; `free` leaves it alone. */
  adopt?(pointer: number, bytes: number): Memory;
  /**
   * Page-locked memory of the host, zeroed; undefined where there is none, and then plain shared memory does. A view of
   * shared memory is for all threads. Runtimes that cannot page-lock that (OpenCL on GPUs) give memory of their own: the
   * device shows it to the main thread as a view over its address (`koffi.view`). Transfers of both are `locked`.
   */
  lock?(bytes: number): Locked | undefined;
  /**
   * No transfer uses it any more; of the runtime's own memory the main thread has no view left, and `close` leaves mapped
   * what still has one.
   */
  unlock?(memory: Locked): void;

  /** From text or from what `build` made of it. Throws `CompileRefusal` where the runtime's compiler does not take it. */
  load(source: GpuSource): Program | Promise<Program>;
  /** Every launch of it has been passed by a mark, and no resident grid uses it. `close` unloads what is left. */
  unload(program: Program): void;
  /** The share of the threads that the device can hold that a launch of it keeps there at most, 0 to 1. */
  occupancy?(program: Program): number | undefined;

  /** The host keeps the stream's epoch in word `epochWord` of the board's words; nothing else lies in those 64 bytes. */
  openLine(number: number, epochWord: number): Line;
  /** All of its marks have passed. */
  closeLine(line: Line): void;
  /** The runtime's handles of all lines, oldest first. */
  handles?(): readonly number[];

  /** Called once before the first command since the last mark; waits do not count, an empty group has it too. */
  begin(line: Line): void;
  /**
   * Commands, never of 0 bytes or items. True when all of it is in the runtime's own queue; false when there is no room
   * (staging, slices in flight): the loop then calls again, with the same arguments, after something has completed or
   * some time has passed, and sends no later command of this stream before. The driver remembers how far it got, per
   * line. A launch that was cancelled before its first call is never made.
   */
  write(line: Line, to: Memory, offset: number, from: HostBytes): boolean;
  read(line: Line, from: Memory, offset: number, into: HostBytes): boolean;
  copy(line: Line, from: Memory, fromOffset: number, to: Memory, toOffset: number, bytes: number): boolean;
  fill(line: Line, memory: Memory, offset: number, word: number, bytes: number): boolean;
  launch(line: Line, launch: DriverLaunch<Memory, Program>): boolean;
  /** Holds the line back, on the device's side, until the mark of another line has passed. */
  wait(line: Line, mark: Mark): boolean;
  /** The same for a stream of somebody else's, by its handle. */
  follow?(line: Line, handle: number): boolean;
  mark(line: Line): Mark;

  /** Has it passed? Never blocks, and asked in the order of a line's marks. What it gives is final. */
  poll(mark: Mark): MarkResult | undefined;
  /** `poll` costs nothing, and the driver calls `wake` when a mark has passed: each turn looks, and none is taken for it. */
  readonly tells?: true;
  /** In `callback` mode only: has the runtime set the mark's word? A look at memory. The loop then polls the mark. */
  signalled?(mark: Mark): boolean;
  /** Nobody waits for the mark any more: its events go back to their pool. */
  release(mark: Mark): void;
  /** The stream's epoch has moved on (the board says to what): launches in flight must stop as soon as they can. */
  cancel(line: Line, epoch: number): void;
  /** When the driver itself wants to be called next, in ms from now (slices, maps to ask for); undefined: not at all. */
  next?(): number | undefined;

  /** Waits, in whatever way the runtime has, for this mark: the last resort of a poll limit. Counted by the loop. */
  block?(mark: Mark): void;

  /** Resident grids, where the runtime can have them. */
  readonly grids?: GridDriver<Memory, Program>;

  sensors?(): Sensors | undefined | Promise<Sensors | undefined>;
  /** Abandons what is in flight and frees everything. False where something still runs and its memory must stay. */
  close(): void | boolean | Promise<void>;
}

/** What a runtime does for resident grids (`resident-grids.ts`). Nothing here blocks. */
export interface GridDriver<Memory = unknown, Program = unknown, Grid extends GridHandle = GridHandle> {
  /** So many may run side by side. */
  readonly most: number;
  /** How long a launch should run at most, in ms, where the system ends those that take long. */
  readonly boundMs: number | undefined;
  /** Undefined where the memory cannot be shared with the device. */
  open(setup: GridSetup<Memory, Program>): Grid | undefined;
  launch(grid: Grid, launch: GridLaunch): void;
  /** Whether its launch is over; its `state` has then been copied. Throws FatalError where it died. */
  ended(grid: Grid): boolean;
  /** Nothing of it runs any more. */
  close(grid: Grid): void;
  /** `pause` is called before every call of the runtime that may wait until nothing runs on the device. */
  beforeWaiting(pause: () => void): void;
}

export interface GridHandle {
  /** Parts of an entry: a power of two, by its exponent. */
  readonly partsLog: number;
}

export interface GridSetup<Memory = unknown, Program = unknown> {
  readonly program: Program;
  readonly memory: ResidentMemory;
  /** The launch block; the driver fills its header in. */
  readonly block: Uint32Array;
  /** In the order of the shape's buffer bindings, without the ring. */
  readonly buffers: readonly Memory[];
}

export interface GridLaunch {
  readonly epoch: number;
  /** The part that it begins with. */
  readonly head: number;
  /** Nothing of earlier launches counts any more: counters and rings are zeroed. */
  readonly isFresh: boolean;
  /** Which share of the device's processors is its own: number `at` of `of`. */
  readonly share: { readonly at: number; readonly of: number };
}

/** What a driver gets from the thread that it lives in. */
export interface DriverHost {
  /** All words of the board, in shared memory: a runtime that maps them into its kernels' memory locks the whole. */
  readonly words: Int32Array;
  readonly completion: 'poll' | 'callback' | 'sync';
  /** Times the runtime's functions, when the device was opened with `telemetry`. */
  readonly calls: Calls;
  /** Threads that help to copy memory of the host (`Crew`), where there may be some. */
  readonly crew?: SharedArrayBuffer;
  /** A line for the device's log: handles, decisions. */
  log(line: string): void;
  /** Has the loop turn now and look at every mark: something has ended (asynchronous loops). */
  wake(): void;
}

/** Text for one kernel with what the runtime must know to launch it. */
export interface GpuSource {
  /** From 1; traps name the program by it. */
  readonly number: number;
  readonly name: string;
  readonly text: string;
  /** What the runtime's compiler made of the text, where the device compiles apart from the worker or found it on disk. */
  readonly binary?: Uint8Array;
  readonly shape: GridShape;
}

export interface DriverLaunch<Memory, Program> {
  readonly program: Program;
  /** From the program's shape: header, sizes, parameters. The driver owns it from here on. */
  readonly block: Uint32Array;
  readonly epoch: number;
  /** How many items there are, or at most are. */
  readonly count: number;
  readonly countFrom?: { readonly memory: Memory; readonly offset: number };
  /** In the order of the shape's buffer bindings, the ring last where the kernel emits. */
  readonly buffers: readonly Memory[];
}

/**
 * Bytes on the host's side of a transfer. `address` for runtimes that reach all memory of the process; `view` for those
 * that do not (WebGPU), a view of shared memory. `locked`: lies in memory that `lock` gave.
 */
export interface HostBytes {
  readonly bytes: number;
  readonly locked: boolean;
  readonly address?: number;
  readonly view?: Uint8Array;
}

export type MarkResult =
  | {
      readonly kind: 'passed';
      readonly startedNs: bigint;
      readonly endedNs: bigint;
      readonly complete: boolean;
      /** With telemetry, where the runtime can tell it. */
      readonly detail?: MarkDetail;
    }
  | {
      readonly kind: 'trapped';
      /** The source's number. */
      readonly program: number;
      readonly site: number;
      readonly index: number;
      readonly length: number;
    }
  | { readonly kind: 'failed'; readonly error: MillraceError };

export type MarkDetail = Pick<ReportDetail, 'sentNs' | 'launches'>;

/** Thrown by `load`: the runtime's compiler refused the text. The device adds the lines, generated and written. */
export class CompileRefusal extends Error {
  /** "NVRTC 13.0", "the OpenCL compiler of …". */
  readonly compiler: string;
  /** The line of the text that it is about, from 1, where that is known. */
  readonly line: number | undefined;
  constructor(compiler: string, line: number | undefined, message: string) {
    super(message);
    this.compiler = compiler;
    this.line = line;
  }
}

/** Thrown by a driver when the device is of no more use: everything in flight fails with it. */
export class FatalError extends Error {
  readonly error: MillraceError;
  constructor(error: MillraceError) {
    super(error.message);
    this.error = error;
  }
}
