import { deferred } from '../../device/deferred.js';
import type { Chunk, Work } from '../feed/chunk.js';
import { isOfDevice } from '../feed/device-health.js';
import { Lane } from '../feed/lane.js';
import type { ChunkOwner } from '../feed/owner.js';
import type { Pipeline } from '../feed/pipeline.js';
import { Overflow } from '../flow/flow.js';
import type { Canary, Job } from '../job.js';
import { sizeAfterOverflow } from '../makers/harvest.js';
import type { Piece } from '../work/space.js';
import { Account, chunkId } from '../work/tracker.js';
import { Audits, type Held } from './audit.js';
import { Handout, isAway } from './dispatcher.js';
import { noDeviceLeft, type Unusable } from './no-device-error.js';

/** How a run ended: complete, stopped early, or failed. */
export type Ending = { readonly kind: 'complete' | 'stopped' } | { readonly kind: 'failed'; readonly error: unknown };

export interface Progress {
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
  readonly ended: Promise<Ending>;
  /** Resolves when, in addition, no device works on the job. */
  readonly over: Promise<void>;
  /** Devices that could not be used, or failed during the run, and why. */
  readonly unusable: Unusable[] = [];
  readonly #account: Account;
  readonly #handout: Handout;
  readonly #audits: Audits;
  readonly #lanes = new Set<Lane>();
  readonly #chunks = new Map<number, Chunk>();
  /** Number of lanes that are compiling or allocating. */
  #opening = 0;
  /** Number of results being checked. */
  #checking = 0;
  #ending: Ending | undefined;
  #timers: ReturnType<typeof setTimeout>[] = [];
  #isLate = false;
  #isOpeningLate = false;
  #isOver = false;
  readonly #onEnd: (ending: Ending) => void;
  readonly #onOver: () => void;

  constructor(id: string, job: Job<unknown>) {
    this.id = id;
    this.job = job;
    this.#account = new Account(job.source);
    this.#handout = new Handout(job, this.#account);
    this.#audits = new Audits(job.canaries, job.hits?.count);
    const [ended, over] = [deferred<Ending>(), deferred<void>()];
    this.ended = ended.promise;
    this.over = over.promise;
    this.#onEnd = ended.resolve;
    this.#onOver = over.resolve;
  }

  get progress(): Progress {
    const { counted: done, waiting, frontier } = this.#account;
    return { done, held: this.#audits.items, waiting, frontier };
  }

  /** The smallest needed index that does not count yet. Undefined if all do. */
  get frontier(): bigint | undefined {
    return this.#account.frontier;
  }

  /** True if the lowest unfinished range is not assigned to any device. */
  get isFrontierWaiting(): boolean {
    return this.#account.isFrontierWaiting;
  }

  /** Opens the job on devices. Each starts as soon as it is ready. */
  start(pipelines: readonly Pipeline[]): void {
    const { signal, source } = this.job;
    const abort = (): void => this.fail(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    void this.ended.then(() => signal?.removeEventListener('abort', abort));
    if (signal?.aborted) abort();
    else for (const pipeline of pipelines) this.#open(pipeline);
    source.watch?.(() => {
      this.wake();
      this.#settle();
    });
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
  lower(bound: bigint): void {
    this.#account.lower(bound);
    this.#settle();
  }

  /** Makes all devices look for work again: the consumer has caught up, or time has passed. */
  wake(): void {
    if (this.#ending) return;
    for (const lane of this.#lanes) {
      lane.wants = true;
      lane.pipeline.wake();
    }
  }

  // Calls from pipelines (`ChunkOwner`).

  next(lane: Lane): Work | undefined {
    if (this.#ending) return undefined;
    try {
      const mustWait =
        lane.isFed ||
        this.#checking > MOST_CHECKING ||
        this.#account.storing > MAX_STORING ||
        this.#audits.hitsOf(lane) > MAX_UNPROVEN_HITS;
      const piece = () => (mustWait ? undefined : this.#handout.next(lane, this.#lanes, (id) => this.#chunks.has(id)));
      const work = this.#canary(lane, false) ?? piece();
      // A device without other work gets a canary, without which its results do not count.
      return work ?? (lane.items === 0 ? this.#canary(lane, true) : undefined);
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  needs({ id, canary, lane }: Chunk): boolean {
    if (this.#ending || !this.#lanes.has(lane)) return false;
    return canary !== undefined || !this.#account.isObsolete(id);
  }

  submitted(chunk: Chunk): void {
    this.#chunks.set(chunk.id, chunk);
  }

  landed({ id }: Chunk): void {
    this.#chunks.delete(id);
    if (this.#ending) this.#settle();
  }

  returned({ id, lane, canary }: Chunk): void {
    if (canary) this.#audits.lose(lane);
    else this.#giveBack(id);
    this.#settle();
  }

  refuted(chunk: Chunk, error: unknown): void {
    if (isOfDevice(error)) this.#refute(chunk, error instanceof Error ? error.message : String(error));
    else {
      chunk.lane.pipeline.note(chunk, 'failed');
      this.fail(error);
    }
  }

  /**
   * Lets other devices run an overdue chunk too. Without another device the run only waits. Results that wait for the
   * device's canary are kept until the device is lost: the canary may still end.
   */
  overdue({ id, lane }: Chunk): void {
    const hasOther = [...this.#lanes].some((other) => other.pipeline !== lane.pipeline && !isAway(other));
    if (!hasOther) return;
    this.#account.abandon(id);
    this.job.returned?.();
    this.wake();
  }

  async completed(chunk: Chunk, result: unknown, release: () => void): Promise<void> {
    this.#checking++;
    try {
      if (this.#ending) this.#drop({ chunk, result, release });
      else if (result instanceof Overflow) this.#overflowed(chunk, result);
      else if (chunk.canary) this.#audited(chunk, chunk.canary, result, release);
      else await this.#check({ chunk, result, release });
    } catch (error) {
      this.#drop({ chunk, result, release });
      this.fail(error);
    } finally {
      this.#checking--;
      if (this.#checking === MOST_CHECKING) this.wake();
      this.#settle();
    }
  }

  /** Removes a device that is no longer used. Its work goes to the others. */
  lost(pipeline: Pipeline, error: unknown): void {
    for (const lane of this.#lanes) if (lane.pipeline === pipeline) this.#leave(lane, error);
  }

  #open(pipeline: Pipeline): void {
    const lane = new Lane(this, pipeline);
    this.#lanes.add(lane);
    const { fault } = pipeline.conduct;
    if (fault) {
      this.#leave(lane, fault);
      return;
    }
    this.#opening++;
    lane
      .open()
      .then(
        () => this.#lanes.has(lane) && !this.#ending && pipeline.join(lane),
        (error) => (isOfDevice(error) ? this.#leave(lane, error) : this.fail(error)),
      )
      .finally(() => {
        this.#opening--;
        this.#settle();
      });
  }

  #leave(lane: Lane, error: unknown): void {
    this.#lanes.delete(lane);
    this.unusable.push({ device: lane.device, error });
    lane.pipeline.leave(lane);
    this.#distrust(lane);
    for (const { id, lane: at, canary } of this.#chunks.values()) if (at === lane && !canary) this.#giveBack(id);
    lane.close();
    this.#settle();
  }

  /** Discards a device's results since its last canary. */
  #distrust(lane: Lane): void {
    for (const held of this.#audits.fail(lane)) {
      this.#drop(held);
      this.#giveBack(held.chunk.id);
    }
    if (!this.#ending) this.job.held?.();
  }

  /** Releases a result that will not be used. */
  #drop({ chunk, release }: Held): void {
    release();
    chunk.lane.pipeline.note(chunk, 'dropped');
  }

  #giveBack(id: number): void {
    this.#account.giveBack(id);
    this.job.returned?.();
    this.wake();
  }

  #canary(lane: Lane, isIdle: boolean): Work | undefined {
    const canary = this.#audits.due(lane, isIdle);
    return canary && { id: chunkId(), piece: canary.piece, canary };
  }

  #audited(chunk: Chunk, canary: Canary<unknown>, result: unknown, release: () => void): void {
    const { lane } = chunk;
    const isFound = canary.isFound(result);
    release();
    lane.pipeline.note(chunk, isFound ? 'audit' : 'wrong');
    if (isFound) {
      for (const held of this.#audits.pass(lane)) this.#count(held);
      return;
    }
    this.#audits.lose(lane);
    const { start, count } = canary.piece;
    const where = `${start} to ${start + BigInt(count)}`;
    lane.pipeline.conduct.blame(
      'missed',
      `${lane.device} missed what is known to be in indices ${where} of ${this.job.name}`,
    );
  }

  #overflowed(chunk: Chunk, { found, room }: Overflow): void {
    const { id, piece, canary, lane } = chunk;
    if (canary) {
      this.#refute(chunk, 'its ring overflowed in a chunk whose hits are known');
      return;
    }
    lane.pipeline.note(chunk, 'overflow');
    this.#handout.found(found, piece.count, true);
    this.#account.tryAgain(id, sizeAfterOverflow(piece, found, room));
    this.job.returned?.();
    this.wake();
  }

  async #check(held: Held): Promise<void> {
    const { job } = this;
    const { chunk, result, release } = held;
    const { id, piece, lane } = chunk;
    if (job.hits) this.#handout.found(job.hits.count(result), piece.count);
    const found = job.verify(piece, result);
    const { checked, wrong } = found instanceof Promise ? await found : found;
    lane.pipeline.checked(chunk);
    if (this.#lanes.has(lane) && !this.#ending && wrong === undefined) {
      lane.pipeline.conduct.praise(checked);
      const kept = job.verified?.(piece, result); // may end the run
      if (kept) await kept;
    }
    const isTrusted = this.#lanes.has(lane);
    if (this.#ending) this.#drop(held);
    else if (!isTrusted) {
      this.#drop(held);
      this.#giveBack(id);
    } else if (wrong !== undefined) {
      release();
      this.#refute(chunk, wrong);
    } else if (this.#audits.areNone) this.#count(held);
    else {
      this.#audits.hold(held);
      job.held?.();
      this.wake(); // this may have been the device's last chunk, so a canary may be due
    }
  }

  #refute(chunk: Chunk, what: string): void {
    const { lane, id, canary } = chunk;
    lane.pipeline.note(chunk, 'wrong');
    if (canary) this.#audits.lose(lane);
    else this.#giveBack(id);
    lane.pipeline.conduct.blame('wrong', `${lane.device} (${lane.pipeline.device.info.name}): ${what}`);
  }

  #count({ chunk, result, release }: Held): void {
    const parts = this.#account.finish(chunk.id);
    const { pipeline } = chunk.lane;
    const counted = parts.reduce((sum, { count }) => sum + count, 0);
    pipeline.note(chunk, counted === 0 ? 'duplicate' : 'counted', counted);
    let unstored = parts.length;
    const stored = (): void => {
      unstored--;
      if (unstored === 0) pipeline.committed(chunk);
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
    isStored: () => void,
  ): void {
    const { job } = this;
    const isWhole = part.count === piece.count;
    const credit = { piece: part, result: isWhole ? result : job.part(piece, result, part), device, release };
    const tell = (): void => {
      this.#account.stored(part);
      isStored();
      if (this.#ending?.kind === 'failed') release();
      else job.credit(credit);
    };
    const failed = (error: unknown): void => {
      this.#account.stored(part);
      isStored();
      release();
      this.fail(error);
    };
    const stored = job.source.done(part, credit.result);
    if (stored === undefined) tell();
    else
      void stored
        .then(tell)
        .catch(failed)
        .then(() => {
          if (this.#account.storing === MAX_STORING) this.wake();
          this.#settle();
        });
  }

  /** Cancels chunks that are not needed. Ends the run if everything is done or no device is left. */
  #settle(): void {
    if (!this.#ending) {
      try {
        this.#handout.lease(1, this.#lanes.size);
      } catch (error) {
        this.fail(error);
      }
      if (this.#account.isComplete && this.#checking === 0) this.#end({ kind: 'complete' });
      else if (this.#lanes.size === 0) this.fail(noDeviceLeft(this.job.name, this.unusable));
    }
    for (const lane of this.#lanes) lane.pipeline.sweep();
    const isFlying = !this.#isLate && [...this.#chunks.values()].some(({ isLost }) => !isLost);
    const isOpening = !this.#isOpeningLate && this.#opening > 0;
    if (this.#isOver || this.#ending === undefined || isFlying || isOpening || this.#account.isStoring) return;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#isOver = true;
    this.#account.close();
    this.#onOver();
  }

  #end(ending: Ending): void {
    if (this.#ending) return;
    this.#ending = ending;
    this.#onEnd(ending);
    for (const lane of this.#lanes) {
      this.#distrust(lane);
      lane.pipeline.leave(lane);
      lane.close();
    }
    this.#settle();
    if (this.#isOver) return;
    const after = (ms: number, act: () => void): void => {
      this.#timers.push(
        setTimeout(() => {
          act();
          this.#settle();
        }, ms),
      );
    };
    // The wait for compilers is short: a lane that opens later frees what it opened.
    after(OPENING_MS, () => {
      this.#isOpeningLate = true;
    });
    // A device that does not confirm the cancel is not waited for.
    after(LATE_MS, () => {
      this.#isLate = true;
    });
  }
}

const LATE_MS = 2000;
const OPENING_MS = 700;
/** Maximum results being checked. Above it devices wait, as when every index hits and checks are slow. */
const MOST_CHECKING = 64;
/** Maximum pieces being stored by the source. Above it devices wait: a disk may be slower than they are. */
const MAX_STORING = 64;
/**
 * Maximum hits of a device that wait for its canary. Above it the device gets no chunks, and a canary once it is idle.
 */
const MAX_UNPROVEN_HITS = 65_536;
