import type { MillraceError } from '../kernel/error.js';
import type { BufferDecl, Field, Kernel, PipeShares, RingLayout, Values } from '../kernel/index.js';

export type { RingLayout, Values } from '../kernel/index.js';

/**
 * The contract that every device obeys. Nothing here blocks: calls on a stream put commands in its queue and return;
 * what happened is told by a `Completion`. Commands of one stream run in order, streams run independently.
 */
export interface Device {
  readonly info: DeviceInfo;
  compile(kernel: Kernel, options?: CompileOptions): Promise<DeviceProgram>;
  /** Memory of `bytes` bytes, zeroed. */
  alloc(bytes: number): Promise<DeviceBuffer>;
  /**
   * Memory of this device that somebody else has, by its pointer, as a buffer; `free` leaves it alone. Its owner keeps it
   * until then, and has written what it holds before a command uses it. Only where pointers are known (CUDA).
   */
  adopt?(pointer: number, bytes: number): Promise<DeviceBuffer>;
  stream(): Stream;
  /**
   * A grid of one job that stays on the device and is fed with ranges, so that a range costs no launch. Undefined where it
   * cannot be had just now; devices that never have one leave the method out.
   */
  resident?(job: BoundJob, options: ResidentOptions): Promise<Resident | undefined>;
  /** Memory of the host that transfers go to and from without a copy in between: page-locked where that is faster. */
  host(bytes: number): Promise<HostMemory>;
  /** What the card says about itself just now; undefined where it says nothing. */
  sensors?(): Promise<Sensors | undefined>;
  /** What the device's worker has done since it was opened. */
  telemetry?(): Promise<DeviceTelemetry>;
  /**
   * The runtime's own handles of the open streams, oldest first, for logs and profilers: of CUDA `CUstream`, of OpenCL
   * `cl_command_queue`. Empty where the runtime has none.
   */
  streamHandles?(): Promise<readonly number[]>;
  /** Frees everything. Work in flight is abandoned: its completions reject with `device-closed`. */
  close(): Promise<void>;
}

export interface DeviceInfo {
  /** What `--device` takes: `native`, `cuda:0`, `interpreter`. */
  readonly id: string;
  readonly kind: 'interpreter' | 'native' | 'wasm' | 'cuda' | 'opencl' | 'webgpu';
  /** What does the work, in the end: OpenCL and WebGPU run on both. */
  readonly processor: 'cpu' | 'gpu';
  /** The hardware's own name. */
  readonly name: string;
  readonly memoryBytes: number;
  /** Threads, compute units or multiprocessors. */
  readonly units: number;
  /** What a kernel may ask for, and what the hardware brings: 'f64', 'u64', 'sha', 'avx512' … */
  readonly capabilities: readonly string[];
  readonly limits: {
    readonly bufferBytes: number;
    readonly lanes: number;
    /** Workgroup memory of a GPU. */
    readonly nearBytes?: number;
    /** Buffers that a kernel can have, where that is a small number: WebGPU's. */
    readonly buffers?: number;
  };
  /** Compiler, driver and the like, for reports and cache keys. */
  readonly versions: Readonly<Record<string, string>>;
  /** More that people want to know: clocks, the link to the host, compute capability. */
  readonly details?: Readonly<Record<string, string>>;
}

/** Host memory of a device: views of `bytes` may be given to `write` and `read`. */
export interface HostMemory {
  readonly bytes: Uint8Array;
  /** Page-locked, so that transfers run at the speed of the bus and beside everything else. */
  readonly locked: boolean;
  /** After the last transfer that uses it. From then on `bytes` and other views may be empty. */
  free(): void;
}

/** Each only where it is known. */
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
  /** Calls of the driver's functions, the longest total first; empty unless the device was opened with `telemetry`. */
  readonly calls: readonly ApiCall[];
  readonly launches: number;
  /** Looks at marks in flight. */
  readonly polls: number;
  /** Waits that held the worker up: none in normal running. */
  readonly blockingWaits: number;
  readonly blockedNs: number;
  /** Callbacks that never came: polling found the end instead. */
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
  /** Lanes of a gang (CPU devices): 1, a power of two, or the kernel's best on this hardware. */
  readonly lanes?: number | 'auto';
  /** Move job and chunk values to the host (default). Off exists so that tests can compare. */
  readonly hoist?: boolean;
  /** Use native bodies of std functions where the hardware has them (default). */
  readonly nativeBodies?: boolean;
  /** Trap on an access outside a buffer or table: the completion then rejects with `kernel-bounds`. */
  readonly checked?: boolean;
  /** 64-bit integers in pairs of 32-bit words, also where the target has them: so that tests see what others execute. */
  readonly wide?: boolean;
  /**
   * The share of 32-bit additions written as multiply-adds, 0 to 1, or what exactly: a matter of tuning, not of results.
   * Where it is not given, GPUs choose for themselves and CPUs do without.
   */
  readonly pipes?: number | PipeShares;
}

/** One shape of metadata for all devices. */
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
  /** The share of the threads that the device can hold that a launch keeps there at most, 0 to 1, where it is known. */
  readonly occupancy?: number | undefined;
  readonly statements: number;
  /**
   * A ring takes the hits of one launch. Word 0 counts them (it may pass the capacity: then some were not stored, and the
   * chunk must be scanned again in smaller pieces); records start at word `headerWords`. A record is the item's number,
   * then the hit's fields in order. The caller zeroes the header before each launch.
   */
  readonly ring: RingLayout;
  readonly compile: { readonly milliseconds: number; readonly cached: boolean };
  /** Evaluates everything that depends on the job alone, once. Throws `launch-arguments` where a value is missing. */
  bind(job: Values): BoundJob;
  /**
   * Unloads the code once the launches already queued have run and the resident grids that use it have ended. Launches
   * made afterwards are refused. A program that is dropped without a close is unloaded when it is garbage collected;
   * `Device.close` unloads the rest.
   */
  close(): void;
  readonly isClosed: boolean;
}

export interface BoundJob {
  readonly program: DeviceProgram;
}

export interface DeviceBuffer {
  readonly bytes: number;
  /** Where it is, for other libraries: on CUDA the device's pointer, on `native` an address of this process. */
  readonly pointer?: number | undefined;
  /** Frees it once the commands already queued on it have run. */
  free(): void;
}

export interface Launch {
  readonly job: BoundJob;
  readonly chunk?: Values;
  /** The index of item 0. `base` to `base + count` must not cross a multiple of 2^32. */
  readonly base?: bigint;
  /** How many items, up to 2^32; or a u32 in device memory, at most `max`. */
  readonly count: number | { readonly buffer: DeviceBuffer; readonly word: number; readonly max: number };
  readonly buffers?: Readonly<Record<string, DeviceBuffer>>;
  /** Required for kernels that emit. */
  readonly ring?: DeviceBuffer;
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
  /** Holds this stream back, on the device's side, until another stream's completion. */
  wait(completion: Completion): void;
  /**
   * The same for a stream of another library's, by the runtime's own handle (CUDA: 1 is the default stream, 2 the
   * thread's): for what it has been given by the time this command is carried out.
   */
  follow?(handle: number): void;
  /** Everything queued since the last mark. */
  mark(): Completion;
  /** Stops the launches queued so far as soon as they notice; their completions say `complete: false`. */
  cancel(): void;
  close(): void;
}

export interface ResidentOptions {
  /** Ranges that may be queued at a time. */
  readonly entries: number;
  /** Hits that each range's ring holds. */
  readonly hits: number;
  /** The kernel's bindings. They may be freed when the grid is closed, not before. */
  readonly buffers?: Readonly<Record<string, DeviceBuffer>>;
}

/** As of a launch. */
export interface ResidentRange {
  readonly base?: bigint;
  /** At least 1. */
  readonly count: number;
  readonly chunk?: Values;
}

export interface Resident {
  /** Queues a range. Its hits, laid out as `DeviceProgram.ring` says, are in `ring` once the completion has resolved. */
  submit(range: ResidentRange, ring: Uint32Array): Completion;
  /** Stops the ranges queued so far; completions of those that had not ended say `complete: false`. */
  cancel(): void;
  /**
   * Why the grid has ended for good: its launch was refused, or it stood still. The completions of what it had not done
   * say `complete: false`, and so do all that are submitted now: the ranges are for launches on a stream.
   */
  readonly fault?: MillraceError | undefined;
  /** How often the grid was launched: once, as long as it has work and nobody needs the device to stand still. */
  readonly launches?: number;
  /** Ends the grid and frees what it has. */
  close(): void;
}

export interface Completion {
  /** Rejects when any command since the last mark failed: an error and "no hits" never look the same. */
  readonly done: Promise<Report>;
}

export interface Report {
  /** Device time in nanoseconds on a monotonic clock, of the first and after the last command. */
  readonly startedNs: bigint;
  readonly endedNs: bigint;
  /** When the device's own thread saw that it had ended, where there is such a thread. */
  readonly noticedNs?: bigint;
  /** False when a launch was cancelled before it had tried all of its items. */
  readonly complete: boolean;
  /** More, of a device that was opened with `telemetry`, as far as its runtime tells it. */
  readonly detail?: ReportDetail;
}

/** On the same clock. */
export interface ReportDetail {
  /** When its first command was given to the driver. */
  readonly sentNs: bigint;
  /** Of the first launch, and after the last: what lies before and behind are copies. Undefined where none was made. */
  readonly launches: { readonly startedNs: bigint; readonly endedNs: bigint } | undefined;
  /** Waits that held the device's thread up since the completion before it, and for how long. */
  readonly blockingWaits: number;
  readonly blockedNs: number;
}
