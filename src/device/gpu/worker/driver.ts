import type { GridShape } from '../../../kernel/abi/grid.js';
import type { MillraceError } from '../../../kernel/error.js';
import type { DeviceInfo, ReportDetail, Sensors } from '../../device.js';
import type { CallTimer } from '../native/calls.js';
import type { LockedRegion } from '../native/locked-memory.js';
import type { ResidentMemory } from '../resident/memory.js';

/**
 * The interface of a runtime (CUDA, OpenCL, WebGPU) to the worker thread that owns it. `worker.ts` of each runtime
 * opens its driver by `serve` (`serve.ts`), which runs it in the loop (`loop.ts`). The loop takes commands off the
 * board, calls these methods and reports completed marks.
 *
 * Nothing here blocks, and everything but `load`, `alloc` and `close` is quick. Memory, streams and programs are the
 * driver's own objects; the loop only passes them around. A method that throws a MillraceError fails the mark that the
 * command belongs to; `fatal` errors (below) end the device. If the loop is synchronous (CUDA, OpenCL), no method may
 * return a promise: the thread never returns to its event loop.
 */
export interface Driver<Memory = unknown, Program = unknown, Line = unknown, Mark = unknown> {
  readonly info: DeviceInfo;

  /** Allocates zeroed memory; a multiple of 16, at least 16. Throws `device-memory` with free and total bytes if known. */
  alloc(bytes: number): Memory | Promise<Memory>;
  /** Called when every command that used the memory has completed. */
  free(memory: Memory): void;
  /** The memory's address, for other libraries. */
  pointer?(memory: Memory): number;
  /** Wraps memory that another library allocated, by its pointer; `free` does not release it. */
  adopt?(pointer: number, bytes: number): Memory;
  /**
   * Allocates zeroed page-locked host memory; undefined if there is none, and then plain shared memory is used. A view
   * of shared memory is for all threads. Runtimes that cannot page-lock that (OpenCL on GPUs) return memory of their
   * own, which the device shows to the main thread as a view over its address (`koffi.view`). Transfers of both are
   * `locked`.
   */
  lock?(bytes: number): LockedRegion | undefined;
  /**
   * Called when no transfer uses the memory any more, and the main thread has no view of runtime memory left. `close`
   * leaves memory mapped that still has a view.
   */
  unlock?(memory: LockedRegion): void;

  /**
   * Loads a program from text or from the output of `build`. Throws `CompileRefusal` if the runtime's compiler rejects
   * it.
   */
  load(source: GpuSource): Program | Promise<Program>;
  /** Called when every launch of the program has completed and no resident grid uses it. `close` unloads the rest. */
  unload(program: Program): void;
  /** The most threads of a launch that are resident at once, as a share of what the device can hold, 0 to 1. */
  occupancy?(program: Program): number | undefined;

  /** Opens a line. The host keeps the stream's epoch in word `epochWord` of the board, alone in its 64 bytes. */
  openLine(number: number, epochWord: number): Line;
  /** Called when all of its marks have completed. */
  closeLine(line: Line): void;
  /** The runtime's handles of all lines, oldest first. */
  handles?(): readonly number[];

  /** Called once before the first command since the last mark, waits excluded; for an empty group, before its mark. */
  begin(line: Line): void;
  /**
   * Commands, never of 0 bytes or items. Returns true when the whole command is in the runtime's queue; false if there
   * is no space (staging, slices in flight). The loop then calls again, with the same arguments, after something has
   * completed or some time has passed, and sends no later command of this stream before. The driver keeps the progress
   * per line. A launch that was cancelled before its first call is never made.
   */
  write(line: Line, to: Memory, offset: number, from: HostBytes): boolean;
  read(line: Line, from: Memory, offset: number, into: HostBytes): boolean;
  copy(line: Line, from: Memory, fromOffset: number, to: Memory, toOffset: number, bytes: number): boolean;
  fill(line: Line, memory: Memory, offset: number, word: number, bytes: number): boolean;
  launch(line: Line, launch: DriverLaunch<Memory, Program>): boolean;
  /** Delays the line, on the device, until the mark of another line has completed. */
  wait(line: Line, mark: Mark): boolean;
  /** The same for another library's stream, by its handle. */
  follow?(line: Line, handle: number): boolean;
  mark(line: Line): Mark;

  /**
   * Returns the mark's result if it has completed. Never blocks; called in the order of a line's marks. The result is
   * final.
   */
  poll(mark: Mark): MarkResult | undefined;
  /**
   * True if `poll` costs nothing and the driver calls `wake` when a mark has completed: the loop polls in each turn and
   * schedules no polls.
   */
  readonly notifies?: true;
  /**
   * In `callback` mode only: true if the runtime has set the mark's word, which is a memory read. The loop then polls
   * the mark.
   */
  signalled?(mark: Mark): boolean;
  /** Called when nothing waits for the mark any more: its events go back to their pool. */
  release(mark: Mark): void;
  /**
   * Called when the stream's epoch has changed (the board holds the new one): launches in flight must stop as soon as
   * they can.
   */
  cancel(line: Line, epoch: number): void;
  /** When the driver itself needs to be called next, in ms from now (slices, maps to request); undefined: not at all. */
  nextCallMs?(): number | undefined;

  /**
   * How long the thread may block between turns, in ms, for a runtime whose promises keep the event loop turning; 0: not
   * at all.
   */
  readonly napMs?: number;

  /** Blocks until this mark has completed: the last resort at the poll limit. Counted by the loop. */
  block?(mark: Mark): void;

  /** Resident grids, if the runtime supports them. */
  readonly grids?: GridDriver<Memory, Program>;

  sensors?(): Sensors | undefined | Promise<Sensors | undefined>;
  /** Abandons work in flight and frees everything. False if something still runs and its memory must stay. */
  close(): void | boolean | Promise<void>;
}

/** The interface of a runtime to resident grids (`resident/grids.ts`). Nothing here blocks. */
export interface GridDriver<Memory = unknown, Program = unknown, Grid extends GridHandle = GridHandle> {
  /** The most grids that may run side by side. */
  readonly maxGrids: number;
  /** The most that a launch should run, in ms, if the system ends long launches. */
  readonly maxLaunchMs: number | undefined;
  /** Opens a grid. Undefined if the memory cannot be shared with the device. */
  open(setup: GridSetup<Memory, Program>): Grid | undefined;
  launch(grid: Grid, launch: GridLaunch): void;
  /** True if its launch has ended; its `state` has then been copied. Throws FatalError if it died. */
  hasEnded(grid: Grid): boolean;
  /** Called when nothing of the grid runs any more. */
  close(grid: Grid): void;
  /** `pause` is called before every call of the runtime that may wait until nothing runs on the device. */
  beforeWaiting(pause: () => void): void;
}

export interface GridHandle {
  /** Parts of an entry: a power of two, given by its exponent. */
  readonly partsLog: number;
}

export interface GridSetup<Memory = unknown, Program = unknown> {
  readonly program: Program;
  readonly memory: ResidentMemory;
  /** The launch block. The driver fills in its header. */
  readonly block: Uint32Array;
  /** In the order of the shape's buffer bindings, without the ring. */
  readonly buffers: readonly Memory[];
}

export interface GridLaunch {
  readonly epoch: number;
  /** The part at which the launch begins. */
  readonly head: number;
  /** True if earlier launches no longer count: counters and rings are zeroed. */
  readonly isFresh: boolean;
  /** The share of the device's multiprocessors that the grid uses: number `at` of `of`. */
  readonly share: { readonly at: number; readonly of: number };
}

/** The services that a thread provides to its driver. */
export interface DriverHost {
  /** All words of the board, in shared memory. A runtime that maps them into its kernels' memory locks the whole. */
  readonly words: Int32Array;
  readonly completion: 'poll' | 'callback' | 'sync';
  /** Times the runtime's functions if the device was opened with `telemetry`. */
  readonly calls: CallTimer;
  /** Threads that help to copy host memory (`ParallelCopier`), if there are any. */
  readonly copyMemory?: SharedArrayBuffer;
  /** Writes a line to the device's log: handles, decisions. */
  log(line: string): void;
  /** Makes the loop run a turn now and poll every mark: something has ended (asynchronous loops). */
  wake(): void;
}

/** The text of one kernel and what the runtime needs to launch it. */
export interface GpuSource {
  /** From 1; traps identify the program by it. */
  readonly number: number;
  readonly name: string;
  readonly text: string;
  /** The compiled text, if the device compiles outside the worker or found the binary on disk. */
  readonly binary?: Uint8Array;
  readonly shape: GridShape;
}

export interface DriverLaunch<Memory, Program> {
  readonly program: Program;
  /** Header, sizes and parameters in the layout of the program's shape. The driver owns the block from here on. */
  readonly block: Uint32Array;
  readonly epoch: number;
  /** The number of items, or an upper bound. */
  readonly count: number;
  readonly countFrom?: { readonly memory: Memory; readonly offset: number };
  /** In the order of the shape's buffer bindings; the ring is last if the kernel emits. */
  readonly buffers: readonly Memory[];
}

/**
 * The host side of a transfer. `address` is for runtimes that access all memory of the process; `view`, a view of
 * shared memory, for those that do not (WebGPU). `locked`: in memory that `lock` returned.
 */
export interface HostBytes {
  readonly bytes: number;
  readonly locked: boolean;
  readonly address?: number;
  readonly view?: Uint8Array;
}

/** How a mark ended. `passed`: without an error or a trap. */
export type MarkResult =
  | {
      readonly kind: 'passed';
      readonly startedNs: bigint;
      readonly endedNs: bigint;
      readonly complete: boolean;
      /** With telemetry, if the runtime reports it. */
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

/** Thrown by `load` if the runtime's compiler rejected the text. The device adds the generated line and its source line. */
export class CompileRefusal extends Error {
  /** "NVRTC 13.0", "the OpenCL compiler of …". */
  readonly compiler: string;
  /** The line of the text, from 1, if known. */
  readonly line: number | undefined;
  constructor(compiler: string, line: number | undefined, message: string) {
    super(message);
    this.compiler = compiler;
    this.line = line;
  }
}

/** Thrown by a driver when the device is unusable: everything in flight fails with it. */
export class FatalError extends Error {
  readonly error: MillraceError;
  constructor(error: MillraceError) {
    super(error.message);
    this.error = error;
  }
}
