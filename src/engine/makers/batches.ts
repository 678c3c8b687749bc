import type { DeviceSelection } from '../devices.js';
import type { Aim } from '../feed/chunk-size.js';
import { type ArrayOf, arrayView, type ElementType } from '../flow/arrays.js';
import { type Flow, Overflow } from '../flow/flow.js';
import type { CheckResult, DeliveredResult, Job } from '../job.js';
import type { JobProgress, Run } from '../run/run.js';
import { disagreement, formatRow, recompute } from '../verify/recompute.js';
import { checkAll, type FailedCheck, type Verifier, type Verify } from '../verify/verify.js';
import type { ChunkSource } from '../work/source.js';
import { type Piece, rangeOf } from '../work/space.js';
import { JobIterator } from './job-iterator.js';
import { Outbox } from './outbox.js';
import { ReleaseWatch, WARN_AFTER_S } from './release-watch.js';
import { addHits, type Indexed, type ReorderBuffer, startReorderBuffer, takeReady } from './reorder-buffer.js';

/** Consecutive rows of an output, in host memory of the device. */
export interface Batch extends Piece {
  readonly bytes: Uint8Array;
  /** Frees the memory for the next batch. If batches are not released, the device runs out of slots and stops. */
  release(): void;
}

/** A batch of `generate` or `transform`. */
export interface RowBatch extends Batch {
  /** Returns the bytes as an array of a type: `batch.as(u32)`. It is a view of the same memory, valid until `release`. */
  as<T extends ElementType>(type: T): ArrayOf<T>;
}

/** Options of both `generate` and `transform`. */
export type BatchOptions<Row> = DeviceSelection & {
  /** Bytes of output per index. */
  readonly rowBytes: number;
  /** Maximum bytes of a batch. Each slot of each device holds one. Default 8 MiB. */
  readonly batchBytes?: number;
  /** Checks some rows of each batch before the batch is delivered. */
  readonly verify?: Verify<Row>;
  /**
   * Number of rows checked per batch, or a function that returns it. Default 4. The first and the last row are among
   * them.
   */
  readonly samples?: number | (() => number);
  readonly signal?: AbortSignal;
  readonly aim?: Aim;
  /** Called each time more indices count. */
  readonly onProgress?: (progress: JobProgress) => void;
};

/** Batches in ascending order of index. Can be iterated once. */
export interface Batches extends AsyncIterable<RowBatch> {
  /** The job's progress. Undefined until iteration begins. */
  readonly progress: JobProgress | undefined;
}

export const BATCH_BYTES = 8 * 2 ** 20;
/** Default number of rows checked per batch. */
export const DEFAULT_SAMPLES = 4;

export interface BatchJob<Row> {
  readonly flow: Flow<Uint8Array>;
  readonly options: BatchOptions<Row>;
  /** Called when iteration begins. Throws if the job cannot run. */
  check?(): void;
  /** Makes the source. Called when iteration begins. */
  source(): ChunkSource<Uint8Array>;
  /** Returns the argument of `verify` for one row. */
  row(index: bigint, bytes: Uint8Array): Row;
  /** True if each row has an item of its own, so that a row can be computed alone. */
  readonly isPerRow?: boolean;
}

/** Runs a job whose results are bytes, and delivers them in order. */
export function batches<Row>(job: BatchJob<Row>): Batches {
  return new OrderedBatches(job);
}

class OrderedBatches<Row> implements Batches {
  readonly #job: BatchJob<Row>;
  readonly #outbox = new Outbox<RowBatch>();
  readonly #watch = new ReleaseWatch();
  #buffer: ReorderBuffer<SlotBatch> = startReorderBuffer('all');
  readonly #iterator: JobIterator<RowBatch, Row, Uint8Array>;

  constructor(job: BatchJob<Row>) {
    this.#job = job;
    const { flow, options } = job;
    this.#iterator = new JobIterator({
      name: `the output of ${flow.name}`,
      selection: options,
      verify: options.verify,
      signal: options.signal,
      outbox: this.#outbox,
      check: () => job.check?.(),
      job: (verifier) => this.#engineJob(verifier),
      onStart: (run) => this.#watchReleases(run),
      onComplete: () => this.#deliverReady(undefined),
      cleanUp: () => {
        this.#watch.stop();
        for (const batch of [...this.#outbox.drain(), ...this.#buffer.pending]) batch.release();
      },
    });
  }

  get progress(): JobProgress | undefined {
    return this.#iterator.run?.progress;
  }

  [Symbol.asyncIterator](): AsyncIterator<RowBatch, void, undefined> {
    return this.#iterator[Symbol.asyncIterator]();
  }

  #engineJob(verifier: Verifier<Row>): Job<Uint8Array> {
    const { flow, options, source } = this.#job;
    const { signal, aim, rowBytes } = options;
    return {
      name: flow.name,
      flow,
      source: source(),
      keepsSlot: true,
      ...(signal && { signal }),
      ...(aim && { aim }),
      verify: (piece, bytes) => this.#verify(verifier, piece, bytes),
      part: (piece, bytes, { start, count }) => {
        const from = Number(start - piece.start) * rowBytes;
        return bytes.subarray(from, from + count * rowBytes);
      },
      deliver: (delivered) => this.#deliver(delivered),
      onRequeue: () => this.#freeSlots(),
    };
  }

  #watchReleases(run: Run): void {
    const warn = (): void =>
      run.warn(
        `${this.#job.flow.name}: all batches of the last ${WARN_AFTER_S} s are still in use, and no device can make ` +
          'more: call release() on each batch when you are done with its bytes, or copy them first',
      );
    this.#watch.start(() => this.#outbox.isAwaited && run.isOutOfSlots, warn);
  }

  #verify(verifier: Verifier<Row>, piece: Piece, bytes: Uint8Array): CheckResult | Promise<CheckResult> {
    const { options, row } = this.#job;
    if (verifier.isNone) return { checked: 0 };
    const { rowBytes, samples = DEFAULT_SAMPLES } = options;
    const sampled = sampleRows(piece, typeof samples === 'number' ? samples : samples());
    const rows = sampled.map((at) => row(piece.start + BigInt(at), bytes.subarray(at * rowBytes, (at + 1) * rowBytes)));
    const resultOf = async (refused: FailedCheck<Row>): Promise<CheckResult> => {
      const at = sampled[rows.indexOf(refused.value)] ?? 0;
      const index = piece.start + BigInt(at);
      await this.#recheck(index, bytes.subarray(at * rowBytes, (at + 1) * rowBytes), refused.reason);
      return { checked: rows.length, wrong: `row ${index} is wrong: ${refused.reason ?? 'the check refuses it'}` };
    };
    const right = { checked: rows.length };
    const refused = checkAll(verifier, rows);
    if (refused instanceof Promise) return refused.then((failed) => (failed ? resultOf(failed) : right));
    return refused ? resultOf(refused) : right;
  }

  /** Throws if the kernel itself is the reason that the check refuses a row. */
  async #recheck(index: bigint, row: Uint8Array, reason: string | undefined): Promise<void> {
    const { flow, isPerRow } = this.#job;
    if (!isPerRow) return;
    const computed = await recompute(flow, index);
    const isRight = !(computed instanceof Overflow) && computed.every((byte, at) => byte === row[at]);
    if (isRight) throw disagreement(flow.name, index, formatRow(row), reason);
  }

  #deliver({ piece, result, release }: DeliveredResult<Uint8Array>): void {
    const batch = new SlotBatch(piece, result, release);
    this.#buffer = addHits(this.#buffer, [batch], [rangeOf(piece)]).buffer;
    this.#deliverReady(this.#iterator.run?.frontier);
    this.#freeSlots();
    const { run } = this.#iterator;
    if (run) this.#job.options.onProgress?.(run.progress);
  }

  #deliverReady(frontier: bigint | undefined): void {
    const { buffer, hits } = takeReady(this.#buffer, frontier);
    this.#buffer = buffer;
    for (const batch of hits) this.#outbox.put(batch);
  }

  /**
   * Copies held batches out of their slots if the next batch must be run again, for example after a device failed.
   * Otherwise they could keep every slot from it.
   */
  #freeSlots(): void {
    if (this.#iterator.run?.isFrontierWaiting) for (const batch of this.#buffer.pending) batch.copyOut();
  }
}

class SlotBatch implements RowBatch, Indexed {
  readonly start: bigint;
  readonly count: number;
  #bytes: Uint8Array;
  #release: (() => void) | undefined;

  constructor({ start, count }: Piece, bytes: Uint8Array, release: () => void) {
    this.start = start;
    this.count = count;
    this.#bytes = bytes;
    this.#release = release;
  }

  get index(): bigint {
    return this.start;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  as<T extends ElementType>(type: T): ArrayOf<T> {
    return arrayView(type, this.#bytes);
  }

  copyOut(): void {
    this.#bytes = this.#bytes.slice();
    this.release();
  }

  release(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }
}

/** Chooses the rows of a piece to check: the first, the last, and some between that depend only on the piece. */
export function sampleRows({ start, count }: Piece, samples: number): number[] {
  const chosen = new Set([0, count - 1]);
  let state = Number(BigInt.asUintN(32, start)) ^ count;
  for (let tries = 0; chosen.size < Math.min(samples, count) && tries < 8 * samples; tries++) {
    state = (Math.imul(state, 0x19660d) + 0x3c6ef35f) >>> 0;
    chosen.add(Math.floor((state / 2 ** 32) * count));
  }
  return [...chosen].slice(0, samples);
}
