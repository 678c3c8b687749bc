import { deferred } from '../../device/deferred.js';
import type { Chunk, PlannedChunk } from '../feed/chunk.js';
import { isDeviceError } from '../feed/device-health.js';
import { Lane } from '../feed/lane.js';
import type { ChunkOwner } from '../feed/owner.js';
import type { Pipeline } from '../feed/pipeline.js';
import { Overflow } from '../flow/flow.js';
import type { Canary, Job } from '../job.js';
import { sizeAfterOverflow } from '../makers/reorder-buffer.js';
import type { WorkCoverage } from '../work/bins.js';
import type { Piece } from '../work/space.js';
import { nextChunkId, WorkTracker } from '../work/tracker.js';
import { CanaryChecks, type UnprovenResult } from './canary-checks.js';
import { Dispatcher, isUnavailable } from './dispatcher.js';
import { noDeviceError, type UnusableDevice } from './no-device-error.js';

/** How a run ended: complete, stopped early, or failed. */
export type RunOutcome =
  | { readonly kind: 'complete' | 'stopped' }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface JobProgress {
  /** Indices that count. */
  readonly done: bigint;
  /** Indices that have been tried and count once their device has found a canary. */
  readonly held: bigint;
  /** Known indices that are not assigned to any device. */
  readonly waiting: bigint;
  /** The smallest needed index that does not count yet. Undefined if all do. */
  readonly frontier: bigint | undefined;
}

/**
 * Runs one job on all devices: assigns indices, decides which results count, and ends the job. Devices pull (`next`)
 * and report the outcome of each chunk. Every index counts once, even if chunks are cancelled, duplicated or lost.
 */
export class Run implements ChunkOwner {
  readonly id: string;
  readonly job: Job<unknown>;
  /** Resolves when nothing more will count. Never rejects. */
  readonly outcome: Promise<RunOutcome>;
  /** Resolves when, in addition, no device works on the job. */
  readonly drained: Promise<void>;
  /** Devices that could not be used, or failed during the run, and why. */
  readonly unusableDevices: UnusableDevice[] = [];
  /** Tells the user something that is not an error. */
  readonly warn: (message: string) => void;
  readonly #tracker: WorkTracker;
  readonly #dispatcher: Dispatcher;
  readonly #canaryChecks: CanaryChecks;
  readonly #lanes = new Set<Lane>();
  readonly #chunks = new Map<number, Chunk>();
  /** Number of lanes that are compiling or allocating. */
  #openingLanes = 0;
  /** Number of results being checked. */
  #checking = 0;
  #outcome: RunOutcome | undefined;
  #timers: ReturnType<typeof setTimeout>[] = [];
  #isLate = false;
  #isOpeningLate = false;
  #isDrained = false;
  readonly #onEnd: (outcome: RunOutcome) => void;
  readonly #onDrained: () => void;

  constructor(id: string, job: Job<unknown>, warn: (message: string) => void = () => undefined) {
    this.id = id;
    this.job = job;
    this.warn = warn;
    this.#tracker = new WorkTracker(job.source);
    this.#dispatcher = new Dispatcher(job, this.#tracker);
    this.#canaryChecks = new CanaryChecks(job.canaries, job.hits?.count);
    const [outcome, drained] = [deferred<RunOutcome>(), deferred<void>()];
    this.outcome = outcome.promise;
    this.drained = drained.promise;
    this.#onEnd = outcome.resolve;
    this.#onDrained = drained.resolve;
  }

  get progress(): JobProgress {
    const { counted: done, waiting, frontier } = this.#tracker;
    return { done, held: this.#canaryChecks.heldItems, waiting, frontier };
  }

  /** Where the indices are. */
  get coverage(): WorkCoverage {
    return this.#tracker.places((id) => this.#chunks.has(id));
  }

  /** The smallest needed index that does not count yet. Undefined if all do. */
  get frontier(): bigint | undefined {
    return this.#tracker.frontier;
  }

  /** True if the lowest unfinished range is not assigned to any device. */
  get isFrontierWaiting(): boolean {
    return this.#tracker.isFrontierWaiting;
  }

  /** True if results that are not released hold every slot of every device, and no chunk is in flight. */
  get isOutOfSlots(): boolean {
    return this.#chunks.size === 0 && this.#lanes.size > 0 && [...this.#lanes].every((lane) => lane.isOutOfSlots);
  }

  /** Opens the job on devices. Each starts as soon as it is ready. */
  start(pipelines: readonly Pipeline[]): void {
    const { signal, source } = this.job;
    const abort = (): void => this.fail(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    void this.outcome.then(() => signal?.removeEventListener('abort', abort));
    if (signal?.aborted) abort();
    else for (const pipeline of pipelines) this.#open(pipeline);
    const wake = (): void => {
      this.wake();
      this.#settle();
    };
    source.watch?.(wake, (range) => this.#tracker.forget(range));
    this.#settle();
  }

  /** Stops the run. Chunks in flight are cancelled and do not count. */
  stop(): void {
    this.#end({ kind: 'stopped' });
  }

  fail(error: unknown): void {
    this.#end({ kind: 'failed', error });
  }

  /** Drops the indices from `bound` on: they are no longer needed. */
  dropFrom(bound: bigint): void {
    this.#tracker.dropFrom(bound);
    this.#settle();
  }

  /** Makes all devices look for work again: the consumer has caught up, or time has passed. */
  wake(): void {
    if (this.#outcome) return;
    for (const lane of this.#lanes) {
      lane.wantsWork = true;
      lane.pipeline.wake();
    }
  }

  // Calls from pipelines (`ChunkOwner`).

  next(lane: Lane): PlannedChunk | undefined {
    if (this.#outcome) return undefined;
    try {
      const mustWait =
        lane.hasEnoughWork ||
        this.#checking > MAX_CHECKING ||
        this.#tracker.unstoredCount > MAX_STORING ||
        this.#canaryChecks.heldHits(lane) > MAX_UNPROVEN_HITS;
      const piece = () =>
        mustWait ? undefined : this.#dispatcher.next(lane, this.#lanes, (id) => this.#chunks.has(id));
      const work = this.#canary(lane, false) ?? piece();
      // A device without other work gets a canary, without which its results do not count.
      return work ?? (lane.items === 0 ? this.#canary(lane, true) : undefined);
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  needs({ id, canary, lane }: Chunk): boolean {
    if (this.#outcome || !this.#lanes.has(lane)) return false;
    return canary !== undefined || !this.#tracker.isObsolete(id);
  }

  submitted(chunk: Chunk): void {
    this.#chunks.set(chunk.id, chunk);
  }

  leftDevice({ id }: Chunk): void {
    this.#chunks.delete(id);
    if (this.#outcome) this.#settle();
  }

  returned({ id, lane, canary }: Chunk): void {
    if (canary) this.#canaryChecks.reset(lane);
    else this.#giveBack(id);
    this.#settle();
  }

  resultInvalid(chunk: Chunk, error: unknown): void {
    if (isDeviceError(error)) this.#rejectResult(chunk, error instanceof Error ? error.message : String(error));
    else {
      chunk.lane.pipeline.recordOutcome(chunk, 'failed');
      this.fail(error);
    }
  }

  /**
   * Lets other devices run an overdue chunk too. Without another device the run only waits. Results that wait for the
   * device's canary are kept until the device is lost: the canary may still end.
   */
  overdue({ id, lane }: Chunk): void {
    const hasOther = [...this.#lanes].some((other) => other.pipeline !== lane.pipeline && !isUnavailable(other));
    if (!hasOther) return;
    this.#tracker.abandon(id);
    this.job.onRequeue?.();
    this.wake();
  }

  async completed(chunk: Chunk, result: unknown, release: () => void): Promise<void> {
    this.#checking++;
    try {
      if (this.#outcome) this.#drop({ chunk, result, release });
      else if (result instanceof Overflow) this.#overflowed(chunk, result);
      else if (chunk.canary) this.#canaryDone(chunk, chunk.canary, result, release);
      else await this.#check({ chunk, result, release });
    } catch (error) {
      this.#drop({ chunk, result, release });
      this.fail(error);
    } finally {
      this.#checking--;
      if (this.#checking === MAX_CHECKING) this.wake();
      this.#settle();
    }
  }

  /** Removes a device that is no longer used. Its work goes to the others. */
  lost(pipeline: Pipeline, error: unknown): void {
    for (const lane of this.#lanes) if (lane.pipeline === pipeline) this.#removeLane(lane, error);
  }

  #open(pipeline: Pipeline): void {
    const lane = new Lane(this, pipeline);
    this.#lanes.add(lane);
    const { fault } = pipeline.health;
    if (fault) {
      this.#removeLane(lane, fault);
      return;
    }
    this.#openingLanes++;
    lane
      .open()
      .then(
        () => this.#lanes.has(lane) && !this.#outcome && pipeline.join(lane),
        (error) => (isDeviceError(error) ? this.#removeLane(lane, error) : this.fail(error)),
      )
      .finally(() => {
        this.#openingLanes--;
        this.#settle();
      });
  }

  #removeLane(lane: Lane, error: unknown): void {
    this.#lanes.delete(lane);
    this.unusableDevices.push({ device: lane.device, error });
    lane.pipeline.leave(lane);
    this.#discardUnproven(lane);
    for (const { id, lane: owner, canary } of this.#chunks.values()) if (owner === lane && !canary) this.#giveBack(id);
    lane.close();
    this.#settle();
  }

  /** Discards a device's results since its last canary. */
  #discardUnproven(lane: Lane): void {
    for (const held of this.#canaryChecks.fail(lane)) {
      this.#drop(held);
      this.#giveBack(held.chunk.id);
    }
    if (!this.#outcome) this.job.onHeldChange?.();
  }

  /** Releases a result that will not be used. */
  #drop({ chunk, release }: UnprovenResult): void {
    release();
    chunk.lane.pipeline.recordOutcome(chunk, 'dropped');
  }

  #giveBack(id: number): void {
    this.#tracker.giveBack(id);
    this.job.onRequeue?.();
    this.wake();
  }

  #canary(lane: Lane, isIdle: boolean): PlannedChunk | undefined {
    const canary = this.#canaryChecks.nextCanary(lane, isIdle);
    return canary && { id: nextChunkId(), piece: canary.piece, canary };
  }

  #canaryDone(chunk: Chunk, canary: Canary<unknown>, result: unknown, release: () => void): void {
    const { lane } = chunk;
    const isFound = canary.isFound(result);
    release();
    lane.pipeline.recordOutcome(chunk, isFound ? 'audit' : 'wrong');
    if (isFound) {
      for (const held of this.#canaryChecks.pass(lane)) this.#count(held);
      return;
    }
    this.#canaryChecks.reset(lane);
    const { start, count } = canary.piece;
    const indices = `indices ${start} to ${start + BigInt(count)}`;
    lane.pipeline.health.recordFault('missed', `${lane.device} missed known hits in ${indices} of ${this.job.name}`);
  }

  #overflowed(chunk: Chunk, { found, capacity }: Overflow): void {
    const { id, piece, canary, lane } = chunk;
    if (canary) {
      this.#rejectResult(chunk, 'its ring overflowed in a chunk whose hits are known');
      return;
    }
    lane.pipeline.recordOutcome(chunk, 'overflow');
    this.#dispatcher.recordHits(found, piece.count, true);
    this.#tracker.queueRetry(id, sizeAfterOverflow(piece, found, capacity));
    this.job.onRequeue?.();
    this.wake();
  }

  async #check(held: UnprovenResult): Promise<void> {
    const { job } = this;
    const { chunk, result, release } = held;
    const { id, piece, lane } = chunk;
    if (job.hits) this.#dispatcher.recordHits(job.hits.count(result), piece.count);
    const check = job.verify(piece, result);
    const { checked, wrong } = check instanceof Promise ? await check : check;
    lane.pipeline.recordVerified(chunk);
    if (this.#lanes.has(lane) && !this.#outcome && wrong === undefined) {
      lane.pipeline.health.recordOk(checked);
      const handled = job.onVerified?.(piece, result); // may end the run
      if (handled) await handled;
    }
    const isTrusted = this.#lanes.has(lane);
    if (this.#outcome) this.#drop(held);
    else if (!isTrusted) {
      this.#drop(held);
      this.#giveBack(id);
    } else if (wrong !== undefined) {
      release();
      this.#rejectResult(chunk, wrong);
    } else if (this.#canaryChecks.hasNoCanaries) this.#count(held);
    else {
      this.#canaryChecks.hold(held);
      job.onHeldChange?.();
      this.wake(); // this may have been the device's last chunk, so a canary may be due
    }
  }

  #rejectResult(chunk: Chunk, reason: string): void {
    const { lane, id, canary } = chunk;
    lane.pipeline.recordOutcome(chunk, 'wrong');
    if (canary) this.#canaryChecks.reset(lane);
    else this.#giveBack(id);
    lane.pipeline.health.recordFault('wrong', `${lane.device} (${lane.pipeline.device.info.name}): ${reason}`);
  }

  #count({ chunk, result, release }: UnprovenResult): void {
    if (this.job.isIndivisible && !this.#tracker.isUncounted(chunk.id)) {
      this.#drop({ chunk, result, release });
      this.#giveBack(chunk.id);
      return;
    }
    const parts = this.#tracker.finish(chunk.id);
    const { pipeline } = chunk.lane;
    const counted = parts.reduce((sum, { count }) => sum + count, 0);
    pipeline.recordOutcome(chunk, counted === 0 ? 'duplicate' : 'counted', counted);
    let unstored = parts.length;
    const stored = (): void => {
      unstored--;
      if (unstored === 0) pipeline.recordCommitted(chunk);
    };
    let left = parts.length;
    if (left === 0) release();
    const releasePart = (): void => {
      left--;
      if (left === 0) release();
    };
    for (const part of parts) this.#store(chunk, result, part, releasePart, stored);
  }

  /** Stores a part of a chunk, usually all of it, and delivers it once it is stored. */
  #store(
    { piece, lane: { device } }: Chunk,
    result: unknown,
    part: Piece,
    release: () => void,
    onStored: () => void,
  ): void {
    const { job } = this;
    const isWhole = part.count === piece.count;
    const delivery = { piece: part, result: isWhole ? result : job.part(piece, result, part), device, release };
    const deliver = (): void => {
      this.#tracker.markStored(part);
      onStored();
      if (this.#outcome?.kind === 'failed') release();
      else job.deliver(delivery);
    };
    const failed = (error: unknown): void => {
      this.#tracker.markStored(part);
      onStored();
      release();
      this.fail(error);
    };
    const stored = job.source.commit(part, delivery.result);
    if (stored === undefined) deliver();
    else
      void stored
        .then(deliver)
        .catch(failed)
        .then(() => {
          if (this.#tracker.unstoredCount === MAX_STORING) this.wake();
          this.#settle();
        });
  }

  /** Cancels chunks that are not needed. Ends the run if everything is done or no device is left. */
  #settle(): void {
    if (!this.#outcome) {
      try {
        this.#dispatcher.lease(1, this.#lanes.size);
      } catch (error) {
        this.fail(error);
      }
      if (this.#tracker.isComplete && this.#checking === 0) this.#end({ kind: 'complete' });
      else if (this.#lanes.size === 0) this.fail(noDeviceError(this.job.name, this.unusableDevices));
    }
    for (const lane of this.#lanes) lane.pipeline.cancelUnneeded();
    const hasInFlight = !this.#isLate && [...this.#chunks.values()].some(({ isLost }) => !isLost);
    const isOpening = !this.#isOpeningLate && this.#openingLanes > 0;
    if (this.#isDrained || this.#outcome === undefined || hasInFlight || isOpening || this.#tracker.isStoring) return;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#isDrained = true;
    this.#tracker.close();
    this.#onDrained();
  }

  #end(outcome: RunOutcome): void {
    if (this.#outcome) return;
    this.#outcome = outcome;
    this.#onEnd(outcome);
    for (const lane of this.#lanes) {
      this.#discardUnproven(lane);
      lane.pipeline.leave(lane);
      // Before memory is freed: NVIDIA's OpenCL frees when running kernels have ended, and sends no cancel until then.
      lane.pipeline.cancelUnneeded();
      lane.close();
    }
    this.#settle();
    if (this.#isDrained) return;
    const after = (ms: number, act: () => void): void => {
      this.#timers.push(
        setTimeout(() => {
          act();
          this.#settle();
        }, ms),
      );
    };
    // The wait for compilers is short: a lane that opens later frees what it opened.
    after(MAX_OPENING_MS, () => {
      this.#isOpeningLate = true;
    });
    // A device that does not confirm the cancel is not waited for.
    after(MAX_CANCEL_MS, () => {
      this.#isLate = true;
    });
  }
}

const MAX_CANCEL_MS = 2000;
const MAX_OPENING_MS = 700;
/** Maximum results being checked. Above it devices wait, as when every index hits and checks are slow. */
const MAX_CHECKING = 64;
/** Maximum pieces being stored by the source. Above it devices wait: a disk may be slower than they are. */
const MAX_STORING = 64;
/**
 * Maximum hits of a device that wait for its canary. Above it the device gets no chunks, and a canary once it is idle.
 */
const MAX_UNPROVEN_HITS = 65_536;
