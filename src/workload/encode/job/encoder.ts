import type { BoundJob, Completion, Device, DeviceBuffer, HostMemory, Stream } from '../../../device/device.js';
import { openStreams } from '../../../device/streams.js';
import { programOf } from '../../../engine/flow/programs.js';
import type { Span } from '../../../engine/telemetry/overlap.js';
import { type Encoding, lengthOf, type Precision, type QubitOrder, type StateShape } from '../kernel/encoding.js';
import { bindingOf, type EncodePlan, planFor } from '../kernel/plan.js';
import { planCopies } from './copy-plan.js';
import { checkInputSize, type DeviceInput, DeviceInputCheck, followStream } from './device-input.js';
import { EncodeError } from './errors.js';
import { Gatherer, type GatherOptions } from './gather.js';
import { type InputSlot, lockSlot, normsIn, openInputSlot } from './input-slot.js';
import { checkMemory, sumOf } from './memory.js';
import type { Values } from './rows.js';
import { type CallCounts, EncodedStates } from './states.js';
import { checkBatch, checkLength, checkNorm } from './validate.js';

export interface EncoderOptions {
  readonly encoding: Encoding;
  readonly qubits: number;
  /** Values of a sample; default: the number that the encoding takes. */
  readonly length?: number;
  /** Default f32. */
  readonly precision?: Precision;
  readonly order?: QubitOrder;
  /** Largest batch, in samples; default 64. */
  readonly batch?: number;
  /** Batches whose input is in flight at a time; default 4. */
  readonly slots?: number;
  /** True if several tiles share a sample; see `PlanOptions`. */
  readonly shared?: boolean;
  /** Called for each batch with the device's times of its copy and its encoding. */
  readonly onTimes?: (times: BatchTimes) => void;
  /** Called for each batch with the number of free slots when it requested one, and its wait in nanoseconds. */
  readonly onSlot?: (free: number, waitedNs: number) => void;
}

export interface BatchTimes {
  /** Undefined if the samples were already on the device. */
  readonly copy: Span | undefined;
  readonly compute: Span;
}

/**
 * Makes states of one shape on one device, where they stay. Streams, programs and a ring of input buffers are made once;
 * buffers of states are reused after their release. Batches may be requested without waiting for the previous one: while
 * one is copied, the previous one is encoded. Page-locked input (`device.host`) is copied directly.
 */
export async function openEncoder(device: Device, options: EncoderOptions): Promise<Encoder> {
  const { encoding, qubits, precision = 'f32', batch = 64, slots = 4 } = options;
  const shape: StateShape = { encoding, qubits, length: options.length ?? defaultLength(encoding, qubits) };
  checkLength(shape);
  const plan = planFor(device.info, shape, {
    precision,
    ...(options.order && { order: options.order }),
    ...(options.shared !== undefined && { shared: options.shared }),
  });
  const { states = 0, ...others } = plan.bytes;
  await checkMemory(device, plan, batch, batch * (2 * states + slots * sumOf(others)));
  const launches = await Promise.all(
    plan.launches.map(async ({ kernel, tilesPerSample }) => {
      const program = await programOf(device, plan.kernels[kernel] as EncodePlan['kernels'][string]);
      const bindings = program.bindings.map(({ name }) => [name, bindingOf(plan, kernel, name)] as const);
      return { job: program.bind({}), tilesPerSample, bindings };
    }),
  );
  const inputSlots: InputSlot[] = [];
  try {
    for (let slot = 0; slot < slots; slot++) inputSlots.push(await openInputSlot(device, plan, batch));
    const [copyStream, computeStream] = openStreams(device, 2) as [Stream, Stream];
    return new Encoder(device, plan, batch, { launches, inputSlots, copyStream, computeStream }, options);
  } catch (error) {
    for (const inputSlot of inputSlots) inputSlot.free();
    throw error;
  }
}

/** `qubits` may be invalid; `checkLength` reports that better than a failed allocation of that length. */
const defaultLength = (encoding: Encoding, qubits: number): number =>
  lengthOf(encoding, Math.min(31, Math.max(1, qubits)));

interface BoundLaunch {
  readonly job: BoundJob;
  readonly tilesPerSample: number;
  /** The kernel's name of a buffer, and ours. */
  readonly bindings: readonly (readonly [string, string])[];
}

/** The resources that an encoder closes. */
interface EncoderResources {
  readonly launches: readonly BoundLaunch[];
  readonly inputSlots: readonly InputSlot[];
  readonly copyStream: Stream;
  readonly computeStream: Stream;
}

export class Encoder {
  readonly device: Device;
  readonly plan: EncodePlan;
  readonly batch: number;
  readonly #launches: readonly BoundLaunch[];
  readonly #inputSlots: readonly InputSlot[];
  readonly #copyStream: Stream;
  readonly #computeStream: Stream;
  readonly #free: DeviceBuffer[] = [];
  readonly #ownBuffers = new Set<DeviceBuffer>();
  readonly #callbacks: Pick<EncoderOptions, 'onTimes' | 'onSlot'>;
  /** Batches that have a slot or wait for one. */
  #batches = 0;
  #check: Promise<DeviceInputCheck | undefined> | undefined;
  #next = 0;

  constructor(
    device: Device,
    plan: EncodePlan,
    batch: number,
    { launches, inputSlots, copyStream, computeStream }: EncoderResources,
    callbacks: Pick<EncoderOptions, 'onTimes' | 'onSlot'>,
  ) {
    this.device = device;
    this.plan = plan;
    this.batch = batch;
    this.#launches = launches;
    this.#inputSlots = inputSlots;
    this.#callbacks = callbacks;
    this.#copyStream = copyStream;
    this.#computeStream = computeStream;
  }

  /** Encodes one sample. */
  encode(values: Values): Promise<EncodedStates> {
    return this.encodeBatch(values, 1);
  }

  /** Encodes up to `batch` consecutive samples. The values must not change until the states are complete. */
  async encodeBatch(
    values: Values,
    samples = values.length / this.plan.shape.length,
    first = 0,
  ): Promise<EncodedStates> {
    checkBatch(this.plan.shape, samples, values.length);
    return this.encodeParts([values], first);
  }

  /** Encodes samples in several arrays as one batch; each array is copied directly. */
  async encodeParts(parts: readonly Values[], first = 0): Promise<EncodedStates> {
    const { shape, precision } = this.plan;
    const { copies, samples } = planCopies(this.device.info, shape, precision, parts, first);
    checkBatch(shape, samples, samples * shape.length);
    this.#checkSamples(samples);
    // Values without a norm were checked with the copies' plan.
    const check = this.plan.norm && (await this.#openCheck());
    const calls = { copies: copies.length, ...callsOf(check) };
    const inputSlot = this.#nextSlot();
    return this.#encode(inputSlot, { samples, first, calls }, () => {
      const x = inputSlot.buffers.x as DeviceBuffer;
      if (inputSlot.lastUse) this.#copyStream.wait(inputSlot.lastUse);
      for (const { rows, offset } of copies) this.#copyStream.write(x, rows, offset);
      const copied = this.#copyStream.mark();
      this.#computeStream.wait(copied);
      return { x, copied, verify: check?.queue(this.#computeStream, { buffer: x, samples, first }) };
    });
  }

  /** Encodes samples that are already on this device: nothing is copied, and the caller keeps the buffer. */
  async encodeFromDevice(deviceInput: DeviceInput): Promise<EncodedStates> {
    const { samples, first = 0, buffer, after } = deviceInput;
    checkBatch(this.plan.shape, samples, samples * this.plan.shape.length);
    this.#checkSamples(samples);
    checkInputSize(this.plan, deviceInput);
    const check = await this.#openCheck();
    return this.#encode(this.#nextSlot(), { samples, first, calls: callsOf(check) }, () => {
      if (typeof after === 'number') followStream(this.#computeStream, after);
      else if (after) this.#computeStream.wait(after);
      return { x: buffer, verify: check?.queue(this.#computeStream, deviceInput) };
    });
  }

  /** Encodes a list of samples, an array each, as one batch. */
  async encodeList(list: readonly Values[]): Promise<EncodedStates> {
    for (const one of list) checkBatch(this.plan.shape, 1, one.length);
    return this.encodeParts(list);
  }

  /** Yields batches in order, `inFlight` of them at a time. An error is thrown in the place of its batch. */
  async *stream(
    batches: Iterable<Values> | AsyncIterable<Values>,
    { inFlight = 4 }: { readonly inFlight?: number } = {},
  ): AsyncGenerator<EncodedStates, void, undefined> {
    const waiting: Promise<EncodedStates>[] = [];
    let first = 0;
    try {
      for await (const values of batches) {
        const encoding = this.encodeBatch(values, undefined, first);
        encoding.catch(() => undefined); // thrown in the place of its batch
        waiting.push(encoding);
        first += values.length / this.plan.shape.length;
        if (waiting.length >= inFlight) yield (await waiting.shift()) as EncodedStates;
      }
      while (waiting.length > 0) yield (await waiting.shift()) as EncodedStates;
    } finally {
      for (const left of waiting) void left.then((states) => states.release()).catch(() => undefined);
    }
  }

  /** Gathers small requests into batches; see `Gatherer`. */
  gather(options: GatherOptions = {}): Gatherer {
    return new Gatherer(this, options);
  }

  /** Allocates host memory from which batches are copied at the speed of the bus. */
  async allocInput(samples = this.batch): Promise<HostMemory> {
    return this.device.host(samples * (this.plan.bytes.x ?? 0));
  }

  close(): void {
    // A check that could not be opened was reported by the batch that opened it.
    this.#check?.then((check) => check?.free()).catch(() => undefined);
    this.#copyStream.close();
    this.#computeStream.close();
    for (const inputSlot of this.#inputSlots) inputSlot.free();
    for (const buffer of this.#ownBuffers) buffer.free();
    this.#ownBuffers.clear();
  }

  #openCheck(): Promise<DeviceInputCheck | undefined> {
    this.#check ??= DeviceInputCheck.open(this.device, this.plan, this.batch);
    return this.#check;
  }

  #nextSlot(): InputSlot {
    return this.#inputSlots[this.#next++ % this.#inputSlots.length] as InputSlot;
  }

  /** `begin` queues the input and returns its buffer; `verify` is called when the states are complete. */
  async #encode(
    inputSlot: InputSlot,
    { samples, first, calls }: { samples: number; first: number; calls: Partial<CallCounts> },
    begin: () => {
      readonly x: DeviceBuffer;
      readonly copied?: Completion;
      readonly verify: (() => Promise<void>) | undefined;
    },
  ): Promise<EncodedStates> {
    const releaseSlot = await this.#takeSlot(inputSlot);
    let states: DeviceBuffer | undefined;
    try {
      states = await this.#takeBuffer();
      const { x, copied, verify } = begin();
      const used = this.#launch(inputSlot, x, states, samples);
      inputSlot.lastUse = used;
      const [copy, compute] = await Promise.all([copied?.done, used.done]);
      this.#callbacks.onTimes?.({ copy, compute });
      await verify?.();
      this.#checkNorms(inputSlot, samples, first);
    } catch (error) {
      if (states) this.#returnBuffer(states);
      throw error;
    } finally {
      releaseSlot();
    }
    const { shape, precision, path } = this.plan;
    const { copies = 0, launches = 0, reads = 0 } = calls;
    return new EncodedStates(
      { ...shape, samples, precision },
      {
        device: this.device.info,
        path,
        calls: {
          copies,
          launches: launches + this.#launches.length,
          reads: reads + (inputSlot.norms ? 1 : 0),
          waits: 1,
        },
      },
      this.#statesMemory(states),
    );
  }

  async #takeSlot(inputSlot: InputSlot): Promise<() => void> {
    const free = Math.max(0, this.#inputSlots.length - this.#batches);
    this.#batches += 1;
    const begun = performance.now();
    const unlock = await lockSlot(inputSlot);
    this.#callbacks.onSlot?.(free, free > 0 ? 0 : Math.round(1e6 * (performance.now() - begun)));
    return () => {
      this.#batches -= 1;
      unlock();
    };
  }

  #launch(inputSlot: InputSlot, x: DeviceBuffer, states: DeviceBuffer, samples: number): Completion {
    const others: Readonly<Record<string, DeviceBuffer>> = { ...inputSlot.buffers, x, states };
    for (const { job, tilesPerSample, bindings } of this.#launches) {
      const named = bindings.map(([name, buffer]) => [name, others[buffer] as DeviceBuffer] as const);
      this.#computeStream.launch({ job, count: tilesPerSample * samples, buffers: Object.fromEntries(named) });
    }
    if (inputSlot.norms)
      this.#computeStream.read(inputSlot.buffers.norms as DeviceBuffer, normsIn(inputSlot.norms, this.plan, samples));
    return this.#computeStream.mark();
  }

  /** Checks norms once the states are complete: nothing waits in between. */
  #checkNorms({ norms }: InputSlot, samples: number, first: number): void {
    if (!norms) return;
    normsIn(norms, this.plan, samples).forEach((squares, sample) => {
      checkNorm(this.plan.shape, squares, first + sample, this.plan.norm);
    });
  }

  #statesMemory(buffer: DeviceBuffer) {
    return {
      buffer,
      read: async (into: Float64Array | Float32Array, offset: number): Promise<void> => {
        this.#computeStream.read(buffer, into, offset);
        await this.#computeStream.mark().done;
      },
      returnBuffer: () => this.#returnBuffer(buffer),
      detach: () => void this.#ownBuffers.delete(buffer),
    };
  }

  async #takeBuffer(): Promise<DeviceBuffer> {
    const known = this.#free.pop();
    if (known) return known;
    const made = await this.device.alloc(this.batch * (this.plan.bytes.states ?? 0));
    this.#ownBuffers.add(made);
    return made;
  }

  #returnBuffer(buffer: DeviceBuffer): void {
    if (this.#ownBuffers.has(buffer)) this.#free.push(buffer);
  }

  #checkSamples(samples: number): void {
    if (samples <= this.batch) return;
    throw new EncodeError('size', {
      message: `${samples} samples exceed a batch`,
      asked: `batches of up to ${this.batch} samples`,
      advice: 'open the encoder with a larger batch, or split them',
    });
  }
}

/** What a check on the device adds to a batch. */
const callsOf = (check: DeviceInputCheck | undefined): Partial<CallCounts> => (check ? { launches: 1, reads: 1 } : {});
