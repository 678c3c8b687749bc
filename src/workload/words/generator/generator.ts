import type { Device, DeviceBuffer, DeviceInfo, Stream } from '../../../device/device.js';
import { openDevices } from '../../../device/registry.js';
import { completionOf } from '../../../engine/devices.js';
import { Engine } from '../../../engine/engine.js';
import { ignoreErrors } from '../../../engine/feed/device-health.js';
import { STREAMS } from '../../../engine/feed/slots.js';
import type { Batch } from '../../../engine/makers/batches.js';
import { batches } from '../../../engine/makers/batches.js';
import type { Partition, PartitionMode } from '../../../engine/run/partition.js';
import { MemorySource } from '../../../engine/work/source.js';
import { between } from '../../../engine/work/space.js';
import { type ReferenceJob, referenceRow, referenceText } from '../kernel/reference.js';
import type { BatchReader, RowRequest } from '../reader/batch-reader.js';
import { UnscheduledBatches } from '../reader/unscheduled-batches.js';
import { toByteString } from '../space/charset.js';
import { Configuration, type ConfiguredWords, checkRange } from '../space/configuration.js';
import { type Layout, separatorOf } from '../space/layout.js';
import { referenceOf } from './batches.js';
import { type DeviceBatch, DeviceRing } from './device-ring.js';
import { DirectBatches } from './direct.js';
import { fillFromDevices } from './fill-job.js';
import { PooledFlow } from './pooled-flow.js';
import { borrowStream } from './shared-stream.js';
import { Status, WordsError, wordsError } from './status.js';

export interface GeneratorOptions {
  /** A list of names such as `cuda:0,cpu`, or opened devices, which then stay open. Default `auto`, the best device. */
  readonly devices?: string | Device | readonly Device[];
  /** `sync`: one chunk at a time. `async`: several in flight on each device. The bytes are the same. Default `sync`. */
  readonly mode?: 'sync' | 'async';
  /** How several devices share a host batch: each pulls, or gets a part, equal or by its measured speed. Default `pull`. */
  readonly share?: PartitionMode;
  /** True if a device that has finished its part helps the others. Default true. */
  readonly steal?: boolean;
  /** Bytes of a chunk; default by device. */
  readonly batchBytes?: number;
  /** Slots in the ring of device batches. Default 2. */
  readonly ringSize?: number;
}

/** Opens devices and makes a generator of words on them. */
export async function createGenerator(options: GeneratorOptions = {}): Promise<Generator> {
  const { devices = 'auto', ringSize = 2 } = options;
  if (!Number.isInteger(ringSize) || ringSize < 2 || ringSize > 64) {
    throw new WordsError(Status.badParameter, `invalid ring size ${ringSize}`, `ring ${ringSize}`, 'give 2 to 64');
  }
  const isOpened = typeof devices !== 'string';
  const opened = isOpened ? [devices as Device | readonly Device[]].flat() : await openNamed(devices, options.mode);
  if (opened.length === 0) {
    throw new WordsError(Status.badParameter, 'no devices were given', 'a generator', 'give at least one');
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
  readonly #sharedStream: ReturnType<typeof borrowStream>;
  #engine: Engine | undefined;
  #pooled: { readonly configured: ConfiguredWords; readonly flow: PooledFlow } | undefined;
  #direct: { readonly flow: PooledFlow; readonly batches: Promise<DirectBatches> } | undefined;
  #unscheduled: { readonly flow: PooledFlow; readonly batches: UnscheduledBatches } | undefined;
  /** Streams of `#unscheduled`, reused by the next flow. */
  readonly #streams: Stream[] = [];
  #ring: { readonly configured: ConfiguredWords; readonly ring: Promise<DeviceRing> } | undefined;
  #lastError: WordsError | undefined;
  #isClosed = false;

  constructor(devices: readonly Device[], options: GeneratorOptions, isOwner: boolean) {
    this.#devices = devices;
    this.#options = options;
    this.#isOwner = isOwner;
    this.#sharedStream = borrowStream(this.#device);
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
    this.#callSync(`charset ${id}`, () => this.#configuration.setCharset(id, characters));
  }

  /** Sets the mask: a charset number for each position. */
  setMask(ids: ArrayLike<number>): void {
    this.#callSync('a mask', () => this.#configuration.setMask(ids));
  }

  /** Sets the separator that follows each word. */
  setFormat(layout: Layout): void {
    this.#callSync(`layout ${layout}`, () => this.#configuration.setLayout(layout));
  }

  get format(): Layout {
    return this.#configuration.layout;
  }

  /** The exact number of words; 0 without a mask. */
  get keyspace(): bigint {
    return this.#callSync('the keyspace', () => this.#configuration.words?.size ?? 0n);
  }

  /** Returns the bytes of `words` words; 0 without a mask. */
  bufferSize(words: number): number {
    return this.#callSync('a size', () => {
      return this.#configuration.words ? words * this.#configuration.build('a size').plan.stride : 0;
    });
  }

  /** Returns the index of a word; undefined if the keyspace does not contain it. */
  indexOf(word: Uint8Array | string): bigint | undefined {
    return this.#callSync('an index', () => {
      const text = typeof word === 'string' ? word : toByteString(word);
      return this.#configuration.build('an index').words.indexOf(text);
    });
  }

  wordAt(index: bigint): Uint8Array {
    return this.#callSync(`word ${index}`, () => {
      const { words } = this.#configuration.build(`word ${index}`);
      checkRange(words, index, 1);
      return Uint8Array.from(words.wordAt(index), (character) => character.charCodeAt(0));
    });
  }

  /** Writes words from `start` on into the caller's memory; returns the bytes written. */
  generate(start: bigint, count: number, into: Uint8Array, signal?: AbortSignal): Promise<number> {
    const asked = `${count} words from ${start} on`;
    return this.#callAsync(asked, async () => {
      if (!(into instanceof Uint8Array)) {
        throw new WordsError(Status.badParameter, '`into` is not a Uint8Array', asked, 'give a Uint8Array');
      }
      const configured = this.#configuration.build(asked);
      const bytes = count * configured.plan.stride;
      if (into.length < bytes) {
        const message = `${bytes} bytes are needed, the buffer has ${into.length}`;
        throw new WordsError(Status.bufferTooSmall, message, asked, 'bufferSize() returns the size');
      }
      checkRange(configured.words, start, count);
      await this.#fill(configured, start, count, into, signal);
      return bytes;
    });
  }

  /** Passes one batch of at most `batchBytes` to `use`, in the memory the device copied it to, page-locked if possible. */
  withBatch<T>(start: bigint, count: number, use: (bytes: Uint8Array) => T | Promise<T>): Promise<T> {
    const asked = `${count} words from ${start} on`;
    return this.#callAsync(asked, async () => {
      const configured = this.#configuration.build(asked);
      checkRange(configured.words, start, count);
      const direct = await this.#directFor(configured);
      if (count < 1 || count > direct.maxWords) {
        const advice = 'batches() yields any number of words in several batches';
        throw new WordsError(Status.badParameter, `a batch has 1 to ${direct.maxWords} words`, asked, advice);
      }
      return direct.batch(start, count, use);
    });
  }

  /** Yields batches in order, as views of page-locked memory, which is refilled after `release()`. */
  async *batches(start: bigint, count: bigint | number, signal?: AbortSignal): AsyncGenerator<Batch, void, undefined> {
    const asked = `${count} words from ${start} on`;
    const configured = this.#callSync(asked, () => {
      const current = this.#configuration.build(asked);
      if (start < 0n || start + BigInt(count) > current.words.size) {
        checkRange(current.words, start, Number(count));
      }
      return current;
    });
    if (BigInt(count) === 0n) return;
    const { words, plan } = configured;
    const reference = referenceOf(words, separatorOf(this.format));
    const flow = this.#flowFor(configured);
    const expected = (index: bigint) => referenceText(reference, index);
    const request = { start, count: BigInt(count), rowBytes: plan.stride, expected, signal };
    try {
      signal?.throwIfAborted();
      const starting = this.#startReader(flow, request);
      const reader = starting instanceof Promise ? await starting : starting;
      if (reader) {
        try {
          for (let batch = await reader.next(); batch; batch = await reader.next()) yield batch;
        } finally {
          const ending = reader.end();
          if (ending) await ending;
        }
      }
      const rowsRead = reader?.rowsRead ?? 0n;
      if (rowsRead < request.count && !this.#isClosed) yield* this.#batchesByJob(flow, reference, request, rowsRead);
    } catch (error) {
      throw this.#recordError(error, asked);
    }
  }

  /** Makes words that stay on the first device; resolves when they are complete. */
  generateOnDevice(start: bigint, count: number, into?: DeviceBuffer): Promise<DeviceBatch> {
    return this.#callAsync(`${count} words from ${start} on the device`, async () => {
      const batch = await this.#launch(this.#sharedStream.stream, start, count, into);
      await batch.ready.done;
      return batch;
    });
  }

  /** Like `generateOnDevice`, on the caller's stream; resolves when queued. Commands queued after it see the words. */
  generateOnStream(stream: Stream, start: bigint, count: number, into?: DeviceBuffer): Promise<DeviceBatch> {
    return this.#callAsync(`${count} words from ${start} on a stream`, () => this.#launch(stream, start, count, into));
  }

  /** Frees everything. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#engine?.close();
    await this.#closeBatches();
    this.#sharedStream.release();
    if (this.#isOwner) await Promise.all(this.#devices.map((device) => device.close()));
  }

  /** The number of slots ever made; constant while batches allocate nothing. */
  get slotsMade(): number {
    return this.#pooled?.flow.slotsMade ?? 0;
  }

  get #device(): Device {
    return this.#devices[0] as Device;
  }

  async #fill(
    configured: ConfiguredWords,
    start: bigint,
    count: number,
    into: Uint8Array,
    signal?: AbortSignal,
  ): Promise<void> {
    if (count === 0) return;
    const isAlone = this.#devices.length === 1;
    const direct = isAlone ? await this.#directFor(configured) : undefined;
    if (direct && count <= direct.maxWords) {
      await direct.batch(start, count, (bytes) => into.set(bytes));
      return;
    }
    if (isAlone && this.#options.mode === 'async') {
      for await (const batch of this.batches(start, count, signal)) {
        into.set(batch.bytes, Number(batch.start - start) * configured.plan.stride);
        batch.release();
      }
      this.#checkOpen(`${count} words from ${start} on`); // batches of a closed generator end without an error
      return;
    }
    const { share = 'pull', steal = true } = this.#options;
    const partition: Partition | undefined = share === 'pull' ? undefined : { by: share, steal };
    const reference = referenceOf(configured.words, separatorOf(this.format));
    const flow = this.#flowFor(configured);
    await fillFromDevices(this.#engineFor(), {
      flow,
      plan: configured.plan,
      reference,
      start,
      count,
      into,
      partition,
      signal,
    });
  }

  /** Makes the batches as an engine job, skipping the first `rowsRead` words. */
  async *#batchesByJob(
    flow: PooledFlow,
    reference: ReferenceJob,
    request: RowRequest,
    rowsRead: bigint,
  ): AsyncGenerator<Batch, void, undefined> {
    const { count, rowBytes, signal } = request;
    const first = request.start + rowsRead;
    const made = batches({
      flow: flow.startingAt(first),
      options: {
        engine: this.#engineFor(),
        rowBytes,
        verify: ({ index, bytes }: { readonly index: bigint; readonly bytes: Uint8Array }) =>
          referenceRow(reference, { index: first + index, bytes }),
        ...(signal && { signal }),
      },
      source: () => new MemorySource(between(0n, count - rowsRead)),
      row: (index, bytes) => ({ index, bytes }),
    });
    for await (const batch of made) {
      const { count: length, bytes } = batch;
      yield { start: first + batch.start, count: length, bytes, release: () => batch.release() };
    }
  }

  async #launch(stream: Stream, start: bigint, count: number, into: DeviceBuffer | undefined): Promise<DeviceBatch> {
    const asked = `${count} words from ${start} on the device`;
    const configured = this.#configuration.build(asked);
    checkRange(configured.words, start, count);
    const bytes = count * configured.plan.stride;
    if (count === 0 || bytes > MAX_DEVICE_BYTES) {
      throw new WordsError(
        Status.badParameter,
        'a device batch has 1 byte to 32 GiB',
        asked,
        'request several batches',
      );
    }
    const ring = await this.#ringFor(configured);
    const requiredBytes = ring.requiredBytes(count);
    if (into !== undefined && into.bytes < requiredBytes) {
      const message = `${requiredBytes} bytes are needed, the buffer has ${into.bytes}`;
      throw new WordsError(Status.bufferTooSmall, message, asked, 'sizes are rounded up to whole items of the kernel');
    }
    return ring.launch(stream, start, count, this.format, into);
  }

  /** The engine, for more than one chunk or several devices; made on first use. */
  #engineFor(): Engine {
    this.#engine ??= new Engine(this.#devices, { pipeline: this.#options.mode === 'async' ? 'poll' : 'sync' });
    return this.#engine;
  }

  #flowFor(configured: ConfiguredWords): PooledFlow {
    if (this.#pooled?.configured !== configured) {
      this.#pooled?.flow.close();
      this.#pooled = {
        configured,
        flow: new PooledFlow(configured.plan, configured.words.size, this.#options.batchBytes),
      };
    }
    return this.#pooled.flow;
  }

  /** Starts a reader if there is one fast device. Undefined if a job has to make the batches, or report the error. */
  #startReader(flow: PooledFlow, request: RowRequest): BatchReader | undefined | Promise<BatchReader | undefined> {
    const [device, ...others] = this.#devices;
    if (!device || others.length > 0 || this.#options.mode !== 'async' || !FAST_KINDS.has(device.info.kind))
      return undefined;
    const begun =
      this.#unscheduled?.flow === flow
        ? this.#unscheduled.batches.read(request)
        : this.#openUnscheduled(flow, device).then((unscheduled) => unscheduled.read(request));
    return begun instanceof Promise ? begun.catch(() => undefined) : begun;
  }

  async #openUnscheduled(flow: PooledFlow, device: Device): Promise<UnscheduledBatches> {
    const opened = await flow.startingAt(0n).open(device);
    this.#checkOpen('batches');
    if (this.#unscheduled?.flow === flow) return this.#unscheduled.batches;
    while (this.#streams.length < STREAMS) this.#streams.push(device.stream());
    void this.#unscheduled?.batches.close();
    this.#unscheduled = { flow, batches: new UnscheduledBatches(opened, this.#streams) };
    return this.#unscheduled.batches;
  }

  #directFor(configured: ConfiguredWords): Promise<DirectBatches> {
    const flow = this.#flowFor(configured);
    if (this.#direct?.flow !== flow) {
      void closeOpened(this.#direct?.batches);
      const opening = DirectBatches.open(flow, this.#device, [this.#sharedStream.stream]);
      this.#direct = { flow, batches: opening };
      // The next call opens it again: memory may be free by then.
      opening.catch(() => {
        if (this.#direct?.batches === opening) this.#direct = undefined;
      });
    }
    return this.#direct.batches;
  }

  #ringFor(configured: ConfiguredWords): Promise<DeviceRing> {
    if (this.#ring?.configured !== configured) {
      void closeOpened(this.#ring?.ring);
      const opening = DeviceRing.open(this.#device, configured.plan, this.#options.ringSize ?? 2);
      this.#ring = { configured, ring: opening };
      opening.catch(() => {
        if (this.#ring?.ring === opening) this.#ring = undefined;
      });
    }
    return this.#ring.ring;
  }

  async #closeBatches(): Promise<void> {
    await this.#unscheduled?.batches.close();
    for (const stream of this.#streams) ignoreErrors(() => stream.close());
    await closeOpened(this.#ring?.ring);
    await closeOpened(this.#direct?.batches);
    this.#pooled?.flow.close();
  }

  #callSync<T>(asked: string, act: () => T): T {
    try {
      this.#checkOpen(asked);
      const result = act();
      this.#lastError = undefined;
      return result;
    } catch (error) {
      throw this.#recordError(error, asked);
    }
  }

  async #callAsync<T>(asked: string, act: () => Promise<T>): Promise<T> {
    try {
      this.#checkOpen(asked);
      const result = await act();
      this.#lastError = undefined;
      return result;
    } catch (error) {
      throw this.#recordError(error, asked);
    }
  }

  #recordError(error: unknown, asked: string): WordsError {
    this.#lastError = wordsError(error, asked);
    return this.#lastError;
  }

  #checkOpen(asked: string): void {
    if (this.#isClosed) throw new WordsError(Status.badHandle, 'the generator was closed', asked, 'create another');
  }
}

/** Kinds of devices that take milliseconds for a batch. Others need chunk sizes that only a job measures. */
const FAST_KINDS: ReadonlySet<DeviceInfo['kind']> = new Set(['cuda', 'opencl', 'native']);

/** A launch counts its quads in 31 bits. */
const MAX_DEVICE_BYTES = 2 ** 35;

/** Closes a resource once it is open. If opening failed, the caller has the error and there is nothing to close. */
async function closeOpened(opening: Promise<{ close(): void | Promise<void> }> | undefined): Promise<void> {
  await opening?.then((opened) => opened.close()).catch(() => undefined);
}
