import type { Device, DeviceBuffer, DeviceInfo, Stream } from '../../../device/device.js';
import { openDevices } from '../../../device/registry.js';
import { completionOf } from '../../../engine/devices.js';
import { Engine } from '../../../engine/engine.js';
import { attempt } from '../../../engine/feed/device-health.js';
import { STREAMS } from '../../../engine/feed/slots.js';
import type { Batch } from '../../../engine/makers/batches.js';
import { batches } from '../../../engine/makers/batches.js';
import type { Partition, Share } from '../../../engine/run/partition.js';
import { MemorySource } from '../../../engine/work/source.js';
import { between } from '../../../engine/work/space.js';
import { type ReferenceJob, referenceRow, referenceText } from '../kernel/reference.js';
import type { Asked, Course } from '../reader/batch-reader.js';
import { StraightBatches } from '../reader/unscheduled-batches.js';
import { latin } from '../space/charset.js';
import { Configuration, checkRange, type Made } from '../space/configuration.js';
import { type Layout, separatorOf } from '../space/layout.js';
import { referenceOf } from './batches.js';
import { type DeviceBatch, DeviceRing } from './device-ring.js';
import { DirectBatches } from './direct.js';
import { fillFromDevices } from './fill-job.js';
import { HeldFlow } from './held.js';
import { borrowStream } from './shared-stream.js';
import { Status, WordsError, wordsError } from './status.js';

export interface GeneratorOptions {
  /** A list of names such as `cuda:0,cpu`, or opened devices, which then stay open. Default `auto`, the best device. */
  readonly devices?: string | Device | readonly Device[];
  /** `sync`: one chunk at a time. `async`: several in flight on each device. The bytes are the same. Default `sync`. */
  readonly mode?: 'sync' | 'async';
  /** How several devices share a host batch: each pulls, or gets a part, equal or by its measured speed. Default `pull`. */
  readonly share?: Share;
  /** True if a device that has finished its part helps the others. Default true. */
  readonly steal?: boolean;
  /** Bytes of a chunk; default by device. */
  readonly batchBytes?: number;
  /** Places of the ring of device batches. Default 2. */
  readonly ring?: number;
}

/** Opens devices and makes a generator of words on them. */
export async function createGenerator(options: GeneratorOptions = {}): Promise<Generator> {
  const { devices = 'auto', ring = 2 } = options;
  if (!Number.isInteger(ring) || ring < 2 || ring > 64) {
    throw new WordsError(Status.badParameter, `${ring} is no size of a ring`, `ring ${ring}`, 'give 2 to 64');
  }
  const isOpened = typeof devices !== 'string';
  const opened = isOpened ? [devices as Device | readonly Device[]].flat() : await openNamed(devices, options.mode);
  if (opened.length === 0) {
    throw new WordsError(Status.badParameter, 'there is no device in the list', 'a generator', 'give one at least');
  }
  return new Generator(opened as readonly Device[], options, !isOpened);
}

async function openNamed(names: string, mode: GeneratorOptions['mode']): Promise<Device[]> {
  try {
    return await openDevices(names, { completion: completionOf(mode === 'async' ? 'poll' : 'sync') });
  } catch (error) {
    throw wordsError(error, `a generator on ${names}`);
  }
}

/**
 * Makes words by their index, on one device or several: into the caller's memory, as views of page-locked memory, or on
 * the device. Any number of generators may be open.
 */
export class Generator {
  readonly #configuration = new Configuration();
  readonly #devices: readonly Device[];
  readonly #options: GeneratorOptions;
  readonly #isOwner: boolean;
  readonly #borrowed: ReturnType<typeof borrowStream>;
  #engine: Engine | undefined;
  #held: { readonly made: Made; readonly flow: HeldFlow } | undefined;
  #direct: { readonly flow: HeldFlow; readonly batches: Promise<DirectBatches> } | undefined;
  #straight: { readonly flow: HeldFlow; readonly batches: StraightBatches } | undefined;
  /** Of `#straight`, whatever the flow. */
  readonly #streams: Stream[] = [];
  #ring: { readonly made: Made; readonly ring: Promise<DeviceRing> } | undefined;
  #lastError: WordsError | undefined;
  #isClosed = false;

  constructor(devices: readonly Device[], options: GeneratorOptions, isOwner: boolean) {
    this.#devices = devices;
    this.#options = options;
    this.#isOwner = isOwner;
    this.#borrowed = borrowStream(this.#device);
  }

  /** The devices in use. */
  get devices(): readonly DeviceInfo[] {
    return this.#devices.map(({ info }) => info);
  }

  /** The error of the last call; undefined if it succeeded. */
  get lastError(): WordsError | undefined {
    return this.#lastError;
  }

  /** Defines or replaces charset 1 to 255. */
  setCharset(id: number, characters: Uint8Array | string): void {
    this.#now(`charset ${id}`, () => this.#configuration.setCharset(id, characters));
  }

  /** Sets the mask: a charset number for each position. */
  setMask(ids: ArrayLike<number>): void {
    this.#now('a mask', () => this.#configuration.setMask(ids));
  }

  /** Sets the separator that follows each word. */
  setFormat(layout: Layout): void {
    this.#now(`layout ${layout}`, () => this.#configuration.setLayout(layout));
  }

  get format(): Layout {
    return this.#configuration.layout;
  }

  /** The exact number of words; 0 without a mask. */
  get keyspace(): bigint {
    return this.#now('the keyspace', () => this.#configuration.words?.size ?? 0n);
  }

  /** Returns the bytes of `words` words; 0 without a mask. */
  bufferSize(words: number): number {
    return this.#now('a size', () => {
      return this.#configuration.words ? words * this.#configuration.made('a size').plan.stride : 0;
    });
  }

  /** Returns the index of a word; undefined if the keyspace does not contain it. */
  indexOf(word: Uint8Array | string): bigint | undefined {
    return this.#now('an index', () => {
      const text = typeof word === 'string' ? word : latin(word);
      return this.#configuration.made('an index').words.indexOf(text);
    });
  }

  wordAt(index: bigint): Uint8Array {
    return this.#now(`word ${index}`, () => {
      const { words } = this.#configuration.made(`word ${index}`);
      checkRange(words, index, 1);
      return Uint8Array.from(words.wordAt(index), (character) => character.charCodeAt(0));
    });
  }

  /** Writes words from `start` on into the caller's memory; returns the bytes written. */
  generate(start: bigint, count: number, into: Uint8Array, signal?: AbortSignal): Promise<number> {
    const asked = `${count} words from ${start} on`;
    return this.#later(asked, async () => {
      if (!(into instanceof Uint8Array)) {
        throw new WordsError(Status.badParameter, 'there is no memory to write to', asked, 'give a Uint8Array');
      }
      const made = this.#configuration.made(asked);
      const bytes = count * made.plan.stride;
      if (into.length < bytes) {
        const message = `${bytes} bytes are needed, there are ${into.length}`;
        throw new WordsError(Status.bufferTooSmall, message, asked, 'ask bufferSize() first');
      }
      checkRange(made.words, start, count);
      await this.#fill(made, start, count, into, signal);
      return bytes;
    });
  }

  /** Passes one batch of at most `batchBytes` to `use`, in the memory the device copied it to, page-locked if possible. */
  withBatch<T>(start: bigint, count: number, use: (bytes: Uint8Array) => T | Promise<T>): Promise<T> {
    const asked = `${count} words from ${start} on`;
    return this.#later(asked, async () => {
      const made = this.#configuration.made(asked);
      checkRange(made.words, start, count);
      const direct = await this.#directFor(made);
      if (count < 1 || count > direct.most) {
        const advice = `${direct.most} at most; batches() gives any number, one batch after the other`;
        throw new WordsError(Status.badParameter, 'they are no single batch', asked, advice);
      }
      return direct.batch(start, count, use);
    });
  }

  /** Yields batches in order, as views of page-locked memory, which is refilled after `release()`. */
  async *batches(start: bigint, count: bigint | number, signal?: AbortSignal): AsyncGenerator<Batch, void, undefined> {
    const asked = `${count} words from ${start} on`;
    const made = this.#now(asked, () => {
      const configured = this.#configuration.made(asked);
      if (start < 0n || start + BigInt(count) > configured.words.size) {
        checkRange(configured.words, start, Number(count));
      }
      return configured;
    });
    if (BigInt(count) === 0n) return;
    const { words, plan } = made;
    const reference = referenceOf(words, separatorOf(this.format));
    const flow = this.#flowFor(made);
    const expected = (index: bigint) => referenceText(reference, index);
    const request = { start, count: BigInt(count), rowBytes: plan.stride, expected, signal };
    try {
      signal?.throwIfAborted();
      const beginning = this.#begin(flow, request);
      const course = beginning instanceof Promise ? await beginning : beginning;
      if (course) {
        try {
          for (let batch = await course.next(); batch; batch = await course.next()) yield batch;
        } finally {
          const ending = course.end();
          if (ending) await ending;
        }
      }
      const given = course?.given ?? 0n;
      if (given < request.count && !this.#isClosed) yield* this.#byJob(flow, reference, request, given);
    } catch (error) {
      throw this.#failed(error, asked);
    }
  }

  /** Makes words that stay on the first device; resolves when they are complete. */
  generateOnDevice(start: bigint, count: number, into?: DeviceBuffer): Promise<DeviceBatch> {
    return this.#later(`${count} words from ${start} on the device`, async () => {
      const batch = await this.#launch(this.#borrowed.stream, start, count, into);
      await batch.ready.done;
      return batch;
    });
  }

  /** Like `generateOnDevice`, on the caller's stream; resolves when queued. Commands queued after it see the words. */
  generateOnStream(stream: Stream, start: bigint, count: number, into?: DeviceBuffer): Promise<DeviceBatch> {
    return this.#later(`${count} words from ${start} on a stream`, () => this.#launch(stream, start, count, into));
  }

  /** Frees everything. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#engine?.close();
    await this.#letGo();
    this.#borrowed.giveBack();
    if (this.#isOwner) await Promise.all(this.#devices.map((device) => device.close()));
  }

  /** The number of slots ever made; constant while batches allocate nothing. */
  get slots(): number {
    return this.#held?.flow.slots ?? 0;
  }

  get #device(): Device {
    return this.#devices[0] as Device;
  }

  async #fill(made: Made, start: bigint, count: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    if (count === 0) return;
    const isAlone = this.#devices.length === 1;
    const direct = isAlone ? await this.#directFor(made) : undefined;
    if (direct && count <= direct.most) {
      await direct.batch(start, count, (bytes) => into.set(bytes));
      return;
    }
    if (isAlone && this.#options.mode === 'async') {
      for await (const batch of this.batches(start, count, signal)) {
        into.set(batch.bytes, Number(batch.start - start) * made.plan.stride);
        batch.release();
      }
      this.#checkOpen(`${count} words from ${start} on`); // batches of a closed generator end without an error
      return;
    }
    const { share = 'pull', steal = true } = this.#options;
    const partition: Partition | undefined = share === 'pull' ? undefined : { by: share, steal };
    const reference = referenceOf(made.words, separatorOf(this.format));
    const flow = this.#flowFor(made);
    await fillFromDevices(this.#engineFor(), {
      flow,
      plan: made.plan,
      reference,
      start,
      count,
      into,
      partition,
      signal,
    });
  }

  /** Makes the batches as an engine job, skipping the first `given` words. */
  async *#byJob(
    flow: HeldFlow,
    reference: ReferenceJob,
    request: Asked,
    given: bigint,
  ): AsyncGenerator<Batch, void, undefined> {
    const { count, rowBytes, signal } = request;
    const first = request.start + given;
    const made = batches({
      flow: flow.from(first),
      options: {
        engine: this.#engineFor(),
        rowBytes,
        verify: ({ index, bytes }: { readonly index: bigint; readonly bytes: Uint8Array }) =>
          referenceRow(reference, { index: first + index, bytes }),
        ...(signal && { signal }),
      },
      source: () => new MemorySource(between(0n, count - given)),
      row: (index, bytes) => ({ index, bytes }),
    });
    for await (const batch of made) {
      const { count: length, bytes } = batch;
      yield { start: first + batch.start, count: length, bytes, release: () => batch.release() };
    }
  }

  async #launch(stream: Stream, start: bigint, count: number, into: DeviceBuffer | undefined): Promise<DeviceBatch> {
    const asked = `${count} words from ${start} on the device`;
    const made = this.#configuration.made(asked);
    checkRange(made.words, start, count);
    const bytes = count * made.plan.stride;
    if (count === 0 || bytes > MOST_DEVICE_BYTES) {
      throw new WordsError(
        Status.badParameter,
        `a device batch has 1 byte to 32 GiB`,
        asked,
        'ask for several batches',
      );
    }
    const ring = await this.#ringFor(made);
    const room = ring.roomFor(count);
    if (into !== undefined && into.bytes < room) {
      const message = `${room} bytes are needed, there are ${into.bytes}`;
      throw new WordsError(Status.bufferTooSmall, message, asked, 'sizes are rounded up to what a thread writes');
    }
    return ring.launch(stream, start, count, this.format, into);
  }

  /** The engine, for more than one chunk or several devices; made on first use. */
  #engineFor(): Engine {
    this.#engine ??= new Engine(this.#devices, { pipeline: this.#options.mode === 'async' ? 'poll' : 'sync' });
    return this.#engine;
  }

  #flowFor(made: Made): HeldFlow {
    if (this.#held?.made !== made) {
      this.#held?.flow.close();
      this.#held = { made, flow: new HeldFlow(made.plan, made.words.size, this.#options.batchBytes) };
    }
    return this.#held.flow;
  }

  /** Begins without a job if there is one fast device. Undefined if the engine has to do it, or report the error. */
  #begin(flow: HeldFlow, request: Asked): Course | undefined | Promise<Course | undefined> {
    const [device, ...others] = this.#devices;
    if (!device || others.length > 0 || this.#options.mode !== 'async' || !SWIFT.has(device.info.kind))
      return undefined;
    const begun =
      this.#straight?.flow === flow
        ? this.#straight.batches.begin(request)
        : this.#openStraight(flow, device).then((straight) => straight.begin(request));
    return begun instanceof Promise ? begun.catch(() => undefined) : begun;
  }

  async #openStraight(flow: HeldFlow, device: Device): Promise<StraightBatches> {
    const seen = await flow.from(0n).open(device);
    this.#checkOpen('batches');
    if (this.#straight?.flow === flow) return this.#straight.batches;
    while (this.#streams.length < STREAMS) this.#streams.push(device.stream());
    void this.#straight?.batches.close();
    this.#straight = { flow, batches: new StraightBatches(seen, this.#streams) };
    return this.#straight.batches;
  }

  #directFor(made: Made): Promise<DirectBatches> {
    const flow = this.#flowFor(made);
    if (this.#direct?.flow !== flow) {
      void closeOpened(this.#direct?.batches);
      const opening = DirectBatches.open(flow, this.#device, [this.#borrowed.stream]);
      this.#direct = { flow, batches: opening };
      // The next call opens it again: memory may be free by then.
      opening.catch(() => {
        if (this.#direct?.batches === opening) this.#direct = undefined;
      });
    }
    return this.#direct.batches;
  }

  #ringFor(made: Made): Promise<DeviceRing> {
    if (this.#ring?.made !== made) {
      void closeOpened(this.#ring?.ring);
      const opening = DeviceRing.open(this.#device, made.plan, this.#options.ring ?? 2);
      this.#ring = { made, ring: opening };
      opening.catch(() => {
        if (this.#ring?.ring === opening) this.#ring = undefined;
      });
    }
    return this.#ring.ring;
  }

  async #letGo(): Promise<void> {
    await this.#straight?.batches.close();
    for (const stream of this.#streams) attempt(() => stream.close());
    await closeOpened(this.#ring?.ring);
    await closeOpened(this.#direct?.batches);
    this.#held?.flow.close();
  }

  #now<T>(asked: string, act: () => T): T {
    try {
      this.#checkOpen(asked);
      const result = act();
      this.#lastError = undefined;
      return result;
    } catch (error) {
      throw this.#failed(error, asked);
    }
  }

  async #later<T>(asked: string, act: () => Promise<T>): Promise<T> {
    try {
      this.#checkOpen(asked);
      const result = await act();
      this.#lastError = undefined;
      return result;
    } catch (error) {
      throw this.#failed(error, asked);
    }
  }

  #failed(error: unknown, asked: string): WordsError {
    this.#lastError = wordsError(error, asked);
    return this.#lastError;
  }

  #checkOpen(asked: string): void {
    if (this.#isClosed) throw new WordsError(Status.badHandle, 'the generator was closed', asked, 'make another');
  }
}

/** Kinds of devices that take milliseconds for a batch. Others need chunk sizes that only a job measures. */
const SWIFT: ReadonlySet<DeviceInfo['kind']> = new Set(['cuda', 'opencl', 'native']);

/** A launch counts its quads in 31 bits. */
const MOST_DEVICE_BYTES = 2 ** 35;

/** Closes a resource once it is open. If opening failed, the caller has the error and there is nothing to close. */
async function closeOpened(opening: Promise<{ close(): void | Promise<void> }> | undefined): Promise<void> {
  await opening?.then((opened) => opened.close()).catch(() => undefined);
}
