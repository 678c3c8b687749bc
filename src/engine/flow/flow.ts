import type {
  BoundJob,
  CompileOptions,
  Completion,
  Device,
  DeviceBuffer,
  DeviceProgram,
  FieldValues,
  Resident,
  ResidentRange,
  Stream,
} from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';
import type { Kernel } from '../../kernel/index.js';
import type { ChunkShape } from '../feed/chunk-size.js';
import { MAX_ITEMS, type Piece } from '../work/space.js';
import { needsChecks } from './checked.js';
import { type OnPrint, printCalls } from './prints.js';
import { leasePrograms } from './programs.js';
import { openSlot } from './slot.js';

/**
 * How the chunks of a job run on a device: what is compiled and allocated once, what each slot has, which commands a
 * chunk consists of, and what is read afterwards. `flow()` makes one from data.
 */
export interface Flow<Result> {
  readonly name: string;
  /** Returns without a promise if the flow is already open on the device. */
  open(device: Device, options?: FlowOptions): OpenFlow<Result> | Promise<OpenFlow<Result>>;
}

export interface FlowOptions {
  /** Uses a resident grid if flow and device support one. */
  readonly persistent?: boolean;
  /** Maximum number of chunks in flight. */
  readonly slots?: number;
  /** Receives what the kernels print. */
  readonly onPrint?: OnPrint;
}

/** A flow on one device: compiled, with the data that all slots share. */
export interface OpenFlow<Result> {
  readonly device: Device;
  readonly shape: ChunkShape;
  /** Threads of a workgroup, or lanes of a gang, of the first kernel. */
  readonly lanes?: number | undefined;
  /** Occupancy of the first kernel, if the device reports it: see `DeviceProgram.occupancy`. */
  readonly occupancy?: number | undefined;
  /** True if a resident grid takes the chunks, as `persistent` asks. */
  readonly isResident?: boolean;
  /**
   * Makes a slot on a stream: it holds one chunk and has its own buffers. Returns without a promise if the slot exists
   * already.
   */
  slot(stream: Stream): FlowSlot<Result> | Promise<FlowSlot<Result>>;
  close(): void;
}

export interface FlowSlot<Result> {
  /**
   * Queues the commands of a chunk. `values` selects a set of job values other than the job's own (see
   * `FlowSpec.extraJobs`).
   */
  submit(piece: Piece, values?: number): Completion;
  /** Returns the result of a complete chunk. Views into the slot's memory are valid until the next submit. */
  reap(piece: Piece): Result | Overflow;
  /** Bytes that the last submit copies in each direction, for telemetry. */
  readonly copiedBytes?: { readonly toDevice: number; readonly toHost: number } | undefined;
  /** Cancels what was submitted on all slots. Present if the slots share a resident grid. */
  readonly cancel?: (() => void) | undefined;
  close(): void;
}

/** The chunk had more hits than its ring holds. None of it counts; it is run again in smaller pieces. */
export class Overflow {
  readonly found: number;
  readonly capacity: number;
  constructor(found: number, capacity: number) {
    this.found = found;
    this.capacity = capacity;
  }
}

export type JobValues<Name extends string> = Readonly<Partial<Record<Name, FieldValues>>>;

/** A flow as data. Buffers are referred to by name. Each slot has its own, so that chunks share no memory. */
export interface FlowSpec<Result, Name extends string = string> {
  readonly name: string;
  /** The kernels that a chunk launches. Several form a chain that stays on the device. */
  readonly kernels: Readonly<Record<Name, Kernel>>;
  /** Compile options. Default: the device's choice. */
  readonly compile?: CompileOptions;
  /**
   * Runs chunks in a checked build until the first has completed, on each device: an access outside a buffer is then
   * an error with its line instead of undefined behaviour. Kernels without accesses and loops have only one build.
   */
  readonly checkFirst?: boolean;
  /** The kernels' job values. */
  readonly job?: JobValues<Name>;
  /** Further sets of job values, numbered from 1, for chunks with known results. */
  readonly extraJobs?: readonly JobValues<Name>[];
  /** Data that every chunk reads, written to each device once. */
  readonly shared?: Readonly<Record<string, ArrayBufferView>>;
  /** Buffers of each slot, in bytes. */
  readonly buffers?: Readonly<Record<string, number>>;
  /**
   * Rings of each slot: the kernel that writes the hits, and the capacity. They are zeroed before each chunk and read
   * after it.
   */
  readonly rings?: Readonly<Record<string, { readonly kernel: Name; readonly hits: number }>>;
  /** Host memory of each slot, in bytes: the destination of `read`. */
  readonly host?: Readonly<Record<string, number>>;
  /**
   * Buffers that are the named host memory itself, on devices whose kernels access host memory: reading such a buffer into
   * that memory copies nothing. Both have the same size.
   */
  readonly inPlace?: Readonly<Record<string, string>>;
  /** The commands of one chunk, in order. */
  steps(piece: Piece, host: HostViews): readonly FlowStep<Name>[];
  reap(piece: Piece, slot: ReapContext<Name>): Result | Overflow;
  /** Returns the launch of a flow that is one launch with one ring, for devices with resident grids. */
  resident?(piece: Piece): ResidentRange;
  readonly granularity?: number;
  readonly min?: number;
  readonly max?: number;
  /** See `ChunkShape`. */
  readonly batch?: ((queued: number, capacity: number) => number) | undefined;
  /** See `ChunkShape`. */
  readonly expectedPerMs?: number | undefined;
  /** Default: computed from the device's units and the first kernel's lanes. */
  readonly stride?: (device: Device, programs: Readonly<Record<Name, DeviceProgram>>) => number;
}

/** A slot's host memory by name. */
export type HostViews = Readonly<Record<string, Uint8Array>>;

export type FlowStep<Name extends string = string> =
  | {
      readonly do: 'fill';
      readonly buffer: string;
      readonly word: number;
      readonly offset?: number;
      readonly bytes?: number;
    }
  | { readonly do: 'write'; readonly buffer: string; readonly data: ArrayBufferView; readonly offset?: number }
  | { readonly do: 'read'; readonly buffer: string; readonly into: ArrayBufferView; readonly offset?: number }
  | {
      readonly do: 'copy';
      readonly from: string;
      readonly to: string;
      readonly bytes: number;
      readonly fromOffset?: number;
      readonly toOffset?: number;
    }
  | {
      readonly do: 'launch';
      readonly kernel: Name;
      readonly base?: bigint;
      /** A number, or a word that an earlier step of the chain has written. */
      readonly count: number | { readonly buffer: string; readonly word: number; readonly max: number };
      readonly chunk?: FieldValues;
      /** Maps the kernel's bindings to the flow's buffers. Default: the buffer of the same name. */
      readonly buffers?: Readonly<Record<string, string>>;
      readonly ring?: string;
    };

/** The memory that `reap` reads. */
export interface ReapContext<Name extends string = string> {
  readonly host: HostViews;
  /** A ring's words as the device left them, and the program that wrote them. */
  ring(name: string): { readonly words: Uint32Array; readonly program: DeviceProgram; readonly hits: number };
  readonly programs: Readonly<Record<Name, DeviceProgram>>;
}

/** Makes a flow from its description. */
export function flow<Result, const Name extends string = string>(spec: FlowSpec<Result, Name>): Flow<Result> {
  return {
    name: spec.name,
    async open(device, options = {}) {
      const { programs, checked, release } = await leaseBuilds(spec, device);
      try {
        const ready = await prepareFlow(spec, device, { programs, checked }, options);
        const [first] = Object.values<DeviceProgram>(programs);
        return {
          device,
          shape: shapeOf(ready),
          lanes: first?.lanes,
          occupancy: first?.occupancy,
          isResident: ready.resident !== undefined,
          slot: (stream) => openSlot(ready, stream),
          close: () => {
            ready.resident?.close();
            for (const buffer of Object.values(ready.shared)) buffer.free();
            release();
          },
        };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

type Programs<Name extends string> = Readonly<Record<Name, DeviceProgram>>;

/** Compiles the kernels; also with checks, at the same time, if the first chunk runs with them. */
async function leaseBuilds<Result, Name extends string>(
  { kernels: named, compile, checkFirst = false }: FlowSpec<Result, Name>,
  device: Device,
): Promise<{ programs: Programs<Name>; checked: Programs<Name> | undefined; release(): void }> {
  const kernels = Object.entries(named) as [Name, Kernel][];
  const isTwice = checkFirst && kernels.some(([, kernel]) => needsChecks(kernel));
  const [plain, checked] = await Promise.allSettled([
    leasePrograms(device, kernels, compile),
    isTwice ? leasePrograms(device, kernels, { ...compile, checked: true }) : undefined,
  ]);
  if (plain.status === 'fulfilled' && (checked.status === 'fulfilled' || isTooLong(checked.reason))) {
    const [{ programs }, trial] = [plain.value, checked.status === 'fulfilled' ? checked.value : undefined];
    const release = (): void => {
      plain.value.release();
      trial?.release();
    };
    return { programs, checked: trial?.programs, release };
  }
  if (plain.status === 'fulfilled') plain.value.release();
  if (checked.status === 'fulfilled') checked.value?.release();
  throw plain.status === 'rejected' ? plain.reason : (checked as PromiseRejectedResult).reason;
}

/** True if the checks make a kernel longer than its target accepts. It then runs without them. */
const isTooLong = (error: unknown): boolean => error instanceof MillraceError && error.code === 'kernel-budget';

/** Binds the job values, writes the shared data, and opens the resident grid if there can be one. */
async function prepareFlow<Result, Name extends string>(
  spec: FlowSpec<Result, Name>,
  device: Device,
  { programs, checked }: { programs: Programs<Name>; checked: Programs<Name> | undefined },
  options: FlowOptions,
): Promise<ReadyFlow<Result, Name>> {
  const names = Object.keys(programs) as Name[];
  const bind = (build: Programs<Name>, job?: JobValues<Name>): BoundJobs<Name> =>
    Object.fromEntries(
      names.map((name) => [name, build[name].bind(job?.[name] ?? spec.job?.[name] ?? {})]),
    ) as BoundJobs<Name>;
  const bindAll = (build: Programs<Name>): BoundJobs<Name>[] => [
    bind(build),
    ...(spec.extraJobs ?? []).map((values) => bind(build, values)),
  ];
  const jobs = bindAll(programs);
  const trial = checked && { jobs: bindAll(checked), hasPassed: false };
  const shared = await writeShared(device, spec.shared ?? {});
  const common = { device, spec, programs, jobs, trial, shared, onPrint: options.onPrint };
  try {
    return { ...common, resident: await openResident(common, options) };
  } catch (error) {
    for (const buffer of Object.values(shared)) buffer.free();
    throw error;
  }
}

/** The data that all slots of a flow on a device share. */
export interface ReadyFlow<Result, Name extends string = string> {
  readonly device: Device;
  readonly spec: FlowSpec<Result, Name>;
  readonly programs: Readonly<Record<Name, DeviceProgram>>;
  /** Bound job values. Index 0 is the job's own set. */
  readonly jobs: readonly BoundJobs<Name>[];
  /** The same jobs in a checked build, which chunks use until one of them has completed. */
  readonly trial: { readonly jobs: readonly BoundJobs<Name>[]; hasPassed: boolean } | undefined;
  readonly shared: Readonly<Record<string, DeviceBuffer>>;
  readonly onPrint: OnPrint | undefined;
  readonly resident: Resident | undefined;
}

type BoundJobs<Name extends string> = Readonly<Record<Name, BoundJob>>;

/** Items per thread in one pass: enough to make the cost of starting a thread negligible. */
const PASS_ITEMS = { gpu: 64, cpu: 256 } as const;

/** Returns the items of one pass over the whole device. */
export function passItems({ info }: Device, programs: Readonly<Record<string, DeviceProgram>>): number {
  const [first] = Object.values(programs);
  return info.units * (first?.lanes ?? 1) * PASS_ITEMS[info.processor];
}

function shapeOf<Result, Name extends string>({ device, spec, programs }: ReadyFlow<Result, Name>): ChunkShape {
  const { granularity = 1, min = 1, max = MAX_ITEMS } = spec;
  const stride = spec.stride?.(device, programs) ?? passItems(device, programs);
  const { batch, expectedPerMs } = spec;
  return { granularity, min, max, stride: Math.max(stride, granularity), batch, expectedPerMs };
}

async function openResident<Result, Name extends string>(
  { device, spec, jobs, shared }: Omit<ReadyFlow<Result, Name>, 'resident'>,
  { persistent = false, slots = 1 }: FlowOptions,
): Promise<Resident | undefined> {
  const [ring, ...others] = Object.values(spec.rings ?? {});
  const job = ring && jobs[0]?.[ring.kernel];
  if (!persistent || !spec.resident || !job || others.length > 0 || printCalls(job.program)) return undefined;
  return device.resident?.(job, { entries: slots, hits: ring.hits, buffers: shared });
}

async function writeShared(
  device: Device,
  data: Readonly<Record<string, ArrayBufferView>>,
): Promise<Record<string, DeviceBuffer>> {
  const entries = Object.entries(data);
  if (entries.length === 0) return {};
  const buffers: Record<string, DeviceBuffer> = {};
  const stream = device.stream();
  try {
    for (const [name, view] of entries) {
      const buffer = await device.alloc(view.byteLength);
      buffers[name] = buffer;
      stream.write(buffer, view);
    }
    await stream.mark().done;
    return buffers;
  } catch (error) {
    for (const buffer of Object.values(buffers)) buffer.free();
    throw error;
  } finally {
    stream.close();
  }
}
