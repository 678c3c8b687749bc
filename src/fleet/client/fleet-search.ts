import { addHits, type Indexed, startReorderBuffer, takeReady } from '../../engine/makers/reorder-buffer.js';
import type { JobProgress } from '../../engine/run/run.js';
import { checkAll, type Verifier } from '../../engine/verify/verify.js';
import { minBigint } from '../../engine/work/space.js';
import { displayText } from '../../network/fields.js';
import type { PackedJob, SigningKey } from '../manifest/index.js';
import type { FoundHit } from '../protocol/index.js';
import type { FleetClient, PolledJob, SubmitterVerdict } from './client.js';
import { hitText, ReceivedHits } from './received-hits.js';

export interface FleetSearchOptions {
  /** Tells the user why the job does not go on. */
  readonly say?: (message: string) => void;
  /** Checks each hit once: before it is committed, or before it is delivered if it was committed without this submitter. */
  readonly verify?: HitVerification;
  /** Called when more is known of the job's progress. */
  readonly onProgress?: (progress: JobProgress) => void;
  /** Called when the job is submitted, and when it is left. */
  readonly onStart?: () => void;
  readonly onEnd?: () => void;
}

export interface HitVerification {
  readonly verifier: Verifier<FleetHit>;
  /** The error for a hit that the check refuses although the kernel emits it. */
  error(hit: FleetHit, reason: string | undefined): Error;
}

/**
 * A search on a fleet. Like `search` it is iterated once and delivers hits in the order of its mode. When it is aborted, or
 * left early, the job is paused and stays in the coordinator's ledger.
 */
export class FleetSearch implements AsyncIterable<FleetHit> {
  readonly #client: FleetClient;
  readonly #packed: PackedJob;
  readonly #key: SigningKey;
  readonly #signal: AbortSignal;
  readonly #options: FleetSearchOptions;
  readonly #said = new Set<string>();
  /** Hits that the check has accepted. */
  readonly #checked = new Set<string>();
  #before: bigint | undefined;
  #last: PolledJob | undefined;
  #job: string | undefined;
  #workers = 0;
  #isPaused = false;

  constructor(
    client: FleetClient,
    packed: PackedJob,
    key: SigningKey,
    signal: AbortSignal,
    options: FleetSearchOptions = {},
  ) {
    this.#client = client;
    this.#packed = packed;
    this.#key = key;
    this.#signal = signal;
    this.#options = options;
  }

  /** The job's id, once it is submitted. */
  get job(): string | undefined {
    return this.#job;
  }

  get last(): PolledJob | undefined {
    return this.#last;
  }

  /** The most workers that were seen on the job. */
  get workers(): number {
    return this.#workers;
  }

  /** Indices that were done before this command. */
  get before(): bigint {
    return this.#before ?? 0n;
  }

  /** False if someone has stopped the job: it can be resumed. */
  get isOver(): boolean {
    return this.#last?.outcome !== undefined && this.#last.outcome !== 'cancelled';
  }

  get progress(): JobProgress | undefined {
    if (this.#last === undefined) return undefined;
    const { done, frontier, outcome } = this.#last;
    const { length } = this.#packed.manifest.space;
    const isWhole = outcome === 'complete';
    return {
      done: done - this.before,
      held: 0n,
      waiting: length - done,
      frontier: isWhole ? undefined : frontier,
    };
  }

  /** Pauses or resumes the job on all workers. A call that fails changes nothing. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (this.#job === undefined || this.isOver) return;
    this.#client.control(this.#job, isPaused ? 'paused' : 'running').catch(() => undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FleetHit, void, undefined> {
    if (this.#signal.aborted) return;
    this.#job = await this.#client.submit(this.#packed, this.#key);
    this.#options.onStart?.();
    try {
      yield* this.#follow(this.#job);
    } finally {
      if (!this.isOver) await this.#client.control(this.#job, 'paused').catch(() => undefined); // it stays as it is
      this.#options.onEnd?.();
    }
  }

  async *#follow(job: string): AsyncGenerator<FleetHit, void, undefined> {
    const { space, mode } = this.#packed.manifest;
    let buffer = startReorderBuffer<FleetHit>(mode);
    let [term, after] = [0, 0];
    let waitMs = FIRST_POLL_MS;
    const received = new ReceivedHits();
    while (!this.#signal.aborted) {
      const polled = await this.#client.poll(job, term, after, this.#options.verify !== undefined);
      if (polled === undefined) {
        await this.#client.submit(this.#packed, this.#key);
        if (this.#isPaused) this.pause(true);
        continue;
      }
      this.#last = polled;
      // Less may be done than before: what a worker did that is revoked is done again.
      this.#before = minBigint(this.#before ?? polled.done, polled.done);
      this.#workers = Math.max(this.#workers, polled.workers);
      this.#notice(polled);
      if (polled.hasChecks) await this.#checkPending(job);
      if (this.progress) this.#options.onProgress?.(this.progress);
      if (polled.from === 0) received.restart();
      const fresh = polled.hits.map(hitOf).filter((hit) => received.isNew(hit));
      [term, after] = [polled.term, polled.from + polled.hits.length];
      buffer = addHits(buffer, fresh, [space]).buffer;
      // Hits below the frontier may be in the part that has not been sent.
      const isOver = polled.outcome !== undefined && !polled.more;
      const frontier = isOver ? undefined : polled.more ? space.start : polled.frontier;
      const ready = takeReady(buffer, frontier);
      buffer = ready.buffer;
      for (const hit of ready.hits) {
        const refused = await this.#check([hit]);
        if (refused) throw refused;
        yield hit;
      }
      if (isOver || buffer.isOver) return;
      if (!polled.more && !polled.hasChecks) await pause(waitMs, this.#signal);
      waitMs = Math.min(POLL_MS, 2 * waitMs);
    }
  }

  /** Checks the hits that the coordinator is about to commit. */
  async #checkPending(job: string): Promise<void> {
    for (let last: SubmitterVerdict | undefined; ; ) {
      const { term, number, hits } = await this.#client.check(job, last);
      if (number === 0) return;
      const refused = await this.#check(hits.map(hitOf));
      last = { term, checked: number, ...(refused && { wrong: refused.message.slice(0, MAX_REASON) }) };
      if (refused === undefined) continue;
      await this.#client.check(job, last);
      throw refused;
    }
  }

  /** Returns the error for the first hit that the check refuses. */
  async #check(hits: readonly FleetHit[]): Promise<Error | undefined> {
    const { verify } = this.#options;
    if (verify === undefined) return undefined;
    const unknown = hits.filter((hit) => !this.#checked.has(hitText(hit)));
    const refused = await checkAll(verify.verifier, unknown);
    if (refused) return verify.error(refused.value, refused.reason);
    for (const hit of unknown) this.#checked.add(hitText(hit));
    return undefined;
  }

  #notice({ fleetWorkers, refusals, outcome, lacksAuditor }: PolledJob): void {
    const notes = refusals.map(([worker, reason]) => `worker ${worker} cannot run this job: ${displayText(reason)}`);
    if (fleetWorkers === 0 && outcome === undefined) notes.push('the fleet has no workers: the job waits');
    if (lacksAuditor) notes.push('results wait for a second worker: the only one is not trusted yet');
    for (const note of notes) {
      if (this.#said.has(note)) continue;
      this.#said.add(note);
      this.#options.say?.(note);
    }
  }
}

export type FleetHit = Indexed & Readonly<Record<string, unknown>>;

const hitOf = ({ index, fields }: FoundHit): FleetHit => ({ ...fields, index });

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });

/** A small job is over soon; a long one is asked for five times a second. */
const FIRST_POLL_MS = 10;
const POLL_MS = 200;
const MAX_REASON = 500;
