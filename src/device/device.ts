import type { MillraceError } from '../kernel/error.js';
import type { BufferDecl, Field, FieldValues, Kernel, PipeShares, RingLayout } from '../kernel/index.js';
import type { PrintedValue } from '../kernel/ir/prints.js';

export type { FieldValues, RingLayout } from '../kernel/index.js';

/**
 * The contract of every device. Nothing here blocks: calls on a stream queue a command and return; a `Completion`
 * reports the outcome. Commands of one stream run in order. Streams run independently.
 */
export interface Device {
  readonly info: DeviceInfo;
  compile(kernel: Kernel, options?: CompileOptions): Promise<DeviceProgram>;
  /** Allocates `bytes` bytes of zeroed device memory. */
  alloc(bytes: number): Promise<DeviceBuffer>;
  /**
   * Wraps device memory that another library allocated, by its pointer, as a buffer; `free` does not release it. The
   * owner must keep the memory until then and must have written its contents before a command uses it. CUDA only: other
   * devices expose no pointers.
   */
  adopt?(pointer: number, bytes: number): Promise<DeviceBuffer>;
  stream(): Stream;
  /**
   * Starts a grid of one job that stays on the device and is fed with ranges, so that a range costs no launch. Resolves
   * to undefined if the grid cannot be started at the moment. Devices that never support it omit the method.
   */
  resident?(job: BoundJob, options: ResidentOptions): Promise<Resident | undefined>;
  /** Allocates host memory for transfers without an intermediate copy: page-locked where that is faster. */
  host(bytes: number): Promise<HostMemory>;
  /** Reads the device's sensors; undefined if it reports nothing. */
  sensors?(): Promise<Sensors | undefined>;
  /** Counters of the device's worker since it was opened. */
  telemetry?(): Promise<DeviceTelemetry>;
  /**
   * The runtime's handles of the open streams, oldest first, for logs and profilers: `CUstream` on CUDA,
   * `cl_command_queue` on OpenCL. Empty if the runtime has none.
   */
  streamHandles?(): Promise<readonly number[]>;
  /** Frees everything. Abandons work in flight: its completions reject with `device-closed`. */
  close(): Promise<void>;
}

export interface DeviceInfo {
  /** The name that `--device` accepts: `native`, `cuda:0`, `interpreter`. */
  readonly id: string;
  readonly kind: 'interpreter' | 'native' | 'wasm' | 'cuda' | 'opencl' | 'webgpu';
  /** The processor that runs the kernels. OpenCL and WebGPU run on both. */
  readonly processor: 'cpu' | 'gpu';
  /** The hardware's name. */
  readonly name: string;
  readonly memoryBytes: number;
  /** Threads, compute units or multiprocessors. */
  readonly units: number;
  /** Features of the hardware that a kernel may require: 'f64', 'u64', 'sha', 'avx512' … */
  readonly capabilities: readonly string[];
  readonly limits: {
    readonly bufferBytes: number;
    readonly lanes: number;
    /** Workgroup memory of a GPU. */
    readonly nearBytes?: number;
    /** The most buffers that a kernel can have, if that number is small (WebGPU). */
    readonly buffers?: number;
    /** The most milliseconds that a chunk should take. Absent: a second. */
    readonly chunkMs?: number;
    /** The same for a chunk of an interactive job. Absent: 10. */
    readonly interactiveMs?: number;
  };
  /** Versions of the compiler, the driver and so on, for reports and cache keys. */
  readonly versions: Readonly<Record<string, string>>;
  /** Further facts for reports: clocks, the link to the host, compute capability. */
  readonly details?: Readonly<Record<string, string>>;
}

/** Host memory of a device. Views of `bytes` can be passed to `write` and `read`. */
export interface HostMemory {
  readonly bytes: Uint8Array;
  /** True if page-locked: transfers then run at bus speed and concurrently with other work. */
  readonly locked: boolean;
  /**
   * The same bytes as a buffer, if the device's kernels can access them (`native`). What a launch stores there is in `bytes`
   * when its completion resolves. `free` of the memory frees it.
   */
  readonly buffer?: DeviceBuffer;
  /** Call after the last transfer that uses the memory. `bytes` and other views may be empty afterwards. */
  free(): void;
}

/** Sensor readings. A field is absent if its value is unknown. */
export interface Sensors {
  readonly temperatureC?: number;
  readonly powerW?: number;
  readonly powerLimitW?: number;
  /** 0 to 1. */
  readonly utilisation?: number;
  readonly memoryUtilisation?: number;
  readonly clockMHz?: number;
  readonly memoryClockMHz?: number;
  readonly memoryUsedBytes?: number;
  /** Joules since the driver was loaded. */
  readonly energyJ?: number;
}

export interface DeviceTelemetry {
  /** Driver calls, sorted by total time, longest first. Empty unless the device was opened with `telemetry`. */
  readonly calls: readonly ApiCall[];
  readonly launches: number;
  /** Polls of marks in flight. */
  readonly polls: number;
  /** Waits that blocked the worker. None in normal operation. */
  readonly blockingWaits: number;
  readonly blockedNs: number;
  /** Callbacks that never arrived; polling detected the completion instead. */
  readonly lostCallbacks: number;
}

export interface ApiCall {
  readonly name: string;
  readonly calls: number;
  readonly totalNs: number;
  readonly medianNs: number;
  readonly minNs: number;
  readonly maxNs: number;
  readonly deviationNs: number;
}

export interface CompileOptions {
  /** Lanes of a gang (CPU devices): 1, a power of two, or `auto` for the kernel's best on this hardware. */
  readonly lanes?: number | 'auto';
  /** Evaluates job and chunk values on the host (default). Tests turn it off to compare. */
  readonly hoist?: boolean;
  /** Uses native bodies of std functions where the hardware has them (default). */
  readonly nativeBodies?: boolean;
  /** Traps on an access outside a buffer, table or array; the completion rejects with `kernel-bounds`. */
  readonly checked?: boolean;
  /** Splits 64-bit integers into pairs of 32-bit words even if the target has them, to test what other targets execute. */
  readonly wide?: boolean;
  /**
   * The share of 32-bit additions written as multiply-adds, 0 to 1, or exact shares. Affects speed, not results. By
   * default GPUs choose a share and CPUs use none.
   */
  readonly pipes?: number | PipeShares;
}

/** A compiled kernel, with the same metadata on every device. */
export interface DeviceProgram {
  readonly name: string;
  readonly device: Device;
  /** The generated text (IR text on the interpreter). */
  readonly text: string;
  readonly job: readonly Field[];
  readonly chunk: readonly Field[];
  readonly hit: readonly Field[];
  readonly bindings: readonly BufferDecl[];
  readonly params: { readonly jobWords: number; readonly chunkWords: number };
  /** Lanes of a gang, or threads of a workgroup. */
  readonly lanes: number;
  /** The most threads of a launch that are resident at once, as a share of what the device can hold, 0 to 1, if known. */
  readonly occupancy?: number | undefined;
  readonly statements: number;
  /**
   * A ring receives the hits of one launch. Word 0 counts them. The count may exceed the capacity: then some hits were
   * not stored, and the chunk must be scanned again in smaller pieces. Records start at word `headerWords`. A record is
   * the item's number, then the hit's fields in order. The caller zeroes the header before each launch.
   */
  readonly ring: RingLayout;
  readonly compile: { readonly milliseconds: number; readonly cached: boolean };
  /** Evaluates everything that depends only on the job, once. Throws `launch-arguments` if a value is missing. */
  bind(job: FieldValues): BoundJob;
  /**
   * Unloads the code after the queued launches have run and the resident grids that use it have ended. Later launches
   * are refused. A program that is dropped without a close is unloaded when it is garbage collected; `Device.close`
   * unloads the rest.
   */
  close(): void;
  readonly isClosed: boolean;
}

export interface BoundJob {
  readonly program: DeviceProgram;
}

export interface DeviceBuffer {
  readonly bytes: number;
  /** The address, for other libraries: the device pointer on CUDA, an address in this process on `native`. */
  readonly pointer?: number | undefined;
  /** Frees the buffer after the commands already queued on it have run. */
  free(): void;
}

export interface Launch {
  readonly job: BoundJob;
  readonly chunk?: FieldValues;
  /** The index of item 0. `base` to `base + count` must not cross a multiple of 2^32. */
  readonly base?: bigint;
  /** The number of items, up to 2^32; or the location of a u32 in device memory that holds it, at most `max`. */
  readonly count: number | { readonly buffer: DeviceBuffer; readonly word: number; readonly max: number };
  readonly buffers?: Readonly<Record<string, DeviceBuffer>>;
  /** Required for kernels that emit. */
  readonly ring?: DeviceBuffer;
  /** Receives what the kernel prints while it runs. Only the interpreter calls it; everywhere the print buffer has all. */
  readonly onPrint?: (printed: PrintedValue) => void;
}

export interface Stream {
  /** Copies bytes into the buffer. The array must not change until a later completion resolves. */
  write(buffer: DeviceBuffer, data: ArrayBufferView, offset?: number): void;
  /** Copies bytes out of the buffer into `into`, which is filled once a later completion resolves. */
  read(buffer: DeviceBuffer, into: ArrayBufferView, offset?: number): void;
  copy(from: DeviceBuffer, to: DeviceBuffer, bytes: number, fromOffset?: number, toOffset?: number): void;
  /** Fills whole words. */
  fill(buffer: DeviceBuffer, word: number, offset?: number, bytes?: number): void;
  launch(launch: Launch): void;
  /** Delays this stream, on the device, until another stream's completion. */
  wait(completion: Completion): void;
  /**
   * Delays this stream until the work that another library has queued on its stream by the time this command executes
   * is done. `handle` is the runtime's stream handle (CUDA: 1 is the default stream, 2 the per-thread default stream).
   */
  follow?(handle: number): void;
  /** Returns a completion of everything queued since the last mark. */
  mark(): Completion;
  /** Stops the launches queued so far as soon as they notice; their completions report `complete: false`. */
  cancel(): void;
  close(): void;
}

export interface ResidentOptions {
  /** The most ranges that may be queued at a time. */
  readonly entries: number;
  /** The capacity of each range's ring, in hits. */
  readonly hits: number;
  /** The kernel's bindings. They must not be freed before the grid is closed. */
  readonly buffers?: Readonly<Record<string, DeviceBuffer>>;
}

/** A range of items, with the same fields as a launch. */
export interface ResidentRange {
  readonly base?: bigint;
  /** At least 1. */
  readonly count: number;
  readonly chunk?: FieldValues;
}

export interface Resident {
  /** Queues a range. When the completion resolves, `ring` holds its hits in the layout of `DeviceProgram.ring`. */
  submit(range: ResidentRange, ring: Uint32Array): Completion;
  /** Stops the ranges queued so far; completions of unfinished ranges report `complete: false`. */
  cancel(): void;
  /**
   * Why the grid has ended for good: its launch was refused, or it stalled. Completions of unfinished ranges, and of
   * all ranges submitted from now on, report `complete: false`. The caller must launch those ranges on a stream.
   */
  readonly fault?: MillraceError | undefined;
  /** How often the grid was launched. It stays at 1 as long as the grid has work and no operation needs the device idle. */
  readonly launches?: number;
  /** Ends the grid and frees its resources. */
  close(): void;
}

export interface Completion {
  /** Rejects if any command since the last mark failed, so an error never looks like "no hits". */
  readonly done: Promise<Report>;
}

export interface Report {
  /** Device time in nanoseconds on a monotonic clock: start of the first command, end of the last. */
  readonly startedNs: bigint;
  readonly endedNs: bigint;
  /** When the device's thread noticed the end, if the device has a thread. */
  readonly noticedNs?: bigint;
  /** False if a launch was cancelled before it had processed all of its items. */
  readonly complete: boolean;
  /** Present if the device was opened with `telemetry`; contains what the runtime reports. */
  readonly detail?: ReportDetail;
}

/** Times are on the clock of `Report`. */
export interface ReportDetail {
  /** When the first command was passed to the driver. */
  readonly sentNs: bigint;
  /**
   * Start of the first launch and end of the last; the time before and after is spent on copies. Undefined if there was
   * no launch.
   */
  readonly launches: { readonly startedNs: bigint; readonly endedNs: bigint } | undefined;
  /** Waits that blocked the device's thread since the previous completion, and their duration. */
  readonly blockingWaits: number;
  readonly blockedNs: number;
}
