import type { MillraceError } from '../../kernel/error.js';
import type { GridShape } from '../../kernel/grid.js';
import type { DeviceInfo, Sensors } from '../device.js';

/**
 * What a runtime (CUDA, OpenCL, WebGPU) does for the worker thread that owns it. `worker.ts` of each runtime opens its
 * driver and hands it to the loop (`loop.ts`), which takes commands off the board, calls these methods and settles marks.
 *
 * Nothing here blocks, and everything but `load`, `alloc` and `close` is quick. Memory, streams and programs are objects
 * of the driver's own; the loop only passes them around. A method that throws a MillraceError fails the mark that the
 * command belongs to; `fatal` errors (below) end the device.
 */
export interface Driver<Memory = unknown, Program = unknown, Line = unknown, Mark = unknown> {
  readonly info: DeviceInfo;

  /** Zeroed. Throws `device-memory` with asked, free and total where they can be known. */
  alloc(bytes: number): Memory | Promise<Memory>;
  /** No command that was queued names it any more. */
  free(memory: Memory): void;
  /** Page-locks memory that both threads see, or makes such memory; see `HostMemory` in device.ts. */
  lock?(memory: SharedArrayBuffer): boolean;
  unlock?(memory: SharedArrayBuffer): void;

  /** From text or from what `build` made of it. */
  load(source: GpuSource): Program | Promise<Program>;

  /** `epoch` is where the host keeps the stream's epoch: word `epochWord` of the board's words. */
  openLine(number: number, epochWord: number): Line;
  closeLine(line: Line): void;

  /** Called once before the first command since the last mark. */
  begin(line: Line): void;
  /**
   * Commands. True when all of it is in the runtime's own queue; false when there is no room (staging, slices in flight):
   * the loop then calls again, with the same arguments, after something has completed or some time has passed, and sends
   * no later command of this stream before. The driver remembers how far it got, per line.
   */
  write(line: Line, to: Memory, offset: number, from: HostBytes): boolean;
  read(line: Line, from: Memory, offset: number, into: HostBytes): boolean;
  copy(line: Line, from: Memory, fromOffset: number, to: Memory, toOffset: number, bytes: number): boolean;
  fill(line: Line, memory: Memory, offset: number, word: number, bytes: number): boolean;
  launch(line: Line, launch: DriverLaunch<Memory, Program>): boolean;
  /** Holds the line back, on the device's side, until the mark of another line has passed. */
  wait(line: Line, mark: Mark): boolean;
  mark(line: Line): Mark;

  /** Has it passed? Never blocks. What it gives is final. */
  poll(mark: Mark): MarkResult | undefined;
  /** Nobody waits for the mark any more: its events go back to their pool. */
  release(mark: Mark): void;
  /** The stream's epoch has moved on (the board says to what): launches in flight must stop as soon as they can. */
  cancel(line: Line, epoch: number): void;
  /** When the driver itself wants to be called next, in ms from now (slices, maps to ask for); undefined: not at all. */
  next?(): number | undefined;

  /** Waits, in whatever way the runtime has, for this mark: the last resort of a poll limit. Counted by the loop. */
  block?(mark: Mark): void;

  sensors?(): Sensors | undefined | Promise<Sensors | undefined>;
  /** Abandons what is in flight and frees everything. */
  close(): void | Promise<void>;
}

/** Text for one kernel with what the runtime must know to launch it. */
export interface GpuSource {
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
 * that do not (WebGPU), a view of shared memory. `locked`: lies in memory that `lock` took.
 */
export interface HostBytes {
  readonly bytes: number;
  readonly locked: boolean;
  readonly address?: number;
  readonly view?: Uint8Array;
}

export type MarkResult =
  | { readonly kind: 'passed'; readonly startedNs: bigint; readonly endedNs: bigint; readonly complete: boolean }
  | {
      readonly kind: 'trapped';
      readonly program: string;
      readonly site: number;
      readonly index: number;
      readonly length: number;
    }
  | { readonly kind: 'failed'; readonly error: MillraceError };

/** Thrown by a driver when the device is of no more use: everything in flight fails with it. */
export class FatalError extends Error {
  readonly error: MillraceError;
  constructor(error: MillraceError) {
    super(error.message);
    this.error = error;
  }
}
