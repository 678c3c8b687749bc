import { deferred } from '../../device/deferred.js';
import type { Range } from '../../engine/index.js';
import { backOff, realClock } from '../../network/failover.js';
import { MiningStats } from './mining-stats.js';
import type { Scan, ShareBase, SourceEvent, SourceListener, Verdict, WorkSource } from './source.js';

export interface MinerOptions<Share extends ShareBase> {
  readonly signal: AbortSignal;
  /** Ends after this many accepted blocks or shares. */
  readonly maxAccepted?: number | undefined;
  readonly onSourceEvent?: (event: SourceEvent) => void;
  /** Called when devices have left the old work and started the new one, with the milliseconds since its message. */
  readonly onSwitch?: (work: Share['work'], isClean: boolean, switchMs: number) => void;
  readonly onVerdict?: (share: Share, verdict: Verdict) => void;
}

/**
 * Mines the work that a source gives. New work replaces the old at once: chunks in flight are cancelled, and after
 * clean work no share of older work is sent.
 */
export class Miner<Share extends ShareBase> {
  readonly tally = new MiningStats();
  readonly #source: WorkSource<Share>;
  readonly #scanWork: Scan<Share>;
  readonly #options: MinerOptions<Share>;
  readonly #endController = new AbortController();
  readonly #scans = new Set<ActiveWork<Share['work']>>();
  readonly #submissions = new Set<Promise<void>>();
  #current: ActiveWork<Share['work']> | undefined;
  /** Set while the current work has not started. */
  #pendingSwitch: { readonly receivedMs: number; readonly isClean: boolean } | undefined;
  /** The work that was mined before the current one. */
  #previous: ActiveWork<Share['work']> | undefined;
  /** Incremented by each clean work. A share is sent only if the generation it was mined in is still current. */
  #generation = 0;
  #nextSegment = 0n;
  /** Consecutive blocks that were not accepted. */
  #rejections = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(source: WorkSource<Share>, scan: Scan<Share>, options: MinerOptions<Share>) {
    this.#source = source;
    this.#scanWork = scan;
    this.#options = options;
  }

  get work(): Share['work'] | undefined {
    return this.#current?.work;
  }

  /** The indices of the current work's search; undefined until it starts. */
  get space(): Range | undefined {
    return this.#current?.space;
  }

  /** Resolves when mining is stopped or has enough results; rejects if the source or the devices fail for good. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    const stop = (): void => this.#endController.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const listener: SourceListener<Share['work']> = {
      onWork: (work, isClean) => this.#switchTo(work, isClean),
      onIdle: () => this.#dropWork(),
      onEvent: (event) => this.#options.onSourceEvent?.(event),
    };
    const closing = new AbortController();
    this.#endController.signal.addEventListener('abort', () => {
      this.#dropWork();
      // Waits briefly for the answers to the last shares.
      void Promise.race([Promise.all(this.#submissions), realClock.wait(FINAL_ANSWER_MS, closing.signal)]).then(() =>
        closing.abort(),
      );
    });
    if (this.#endController.signal.aborted) closing.abort();
    try {
      await this.#source.run(listener, closing.signal);
    } finally {
      closing.abort();
      signal.removeEventListener('abort', stop);
      stop();
      await Promise.all([...[...this.#scans].map(({ ended }) => ended), ...this.#submissions]);
    }
    if (this.#failure) throw this.#failure.error;
  }

  #dropWork(): void {
    this.#generation += 1;
    this.#current?.stop.abort();
    this.#current = undefined;
    this.#pendingSwitch = undefined;
    this.#previous = undefined;
  }

  #switchTo(work: Share['work'], isClean: boolean): void {
    const receivedMs = performance.now();
    if (this.#endController.signal.aborted) return;
    if (isClean) this.#generation += 1;
    this.#previous ??= this.#current;
    this.#current?.stop.abort();
    this.#current = { work, stop: new AbortController(), generation: this.#generation, ended: Promise.resolve() };
    this.#pendingSwitch = { receivedMs, isClean: isClean || (this.#pendingSwitch?.isClean ?? false) };
    this.#startCurrent();
  }

  /** Starts the current work while the old one ends. If a server sends thousands of jobs at once, the last one is mined. */
  #startCurrent(): void {
    const [current, next, before] = [this.#current, this.#pendingSwitch, this.#previous];
    if (!current || !next || this.#scans.size >= MAX_SCANS) return;
    this.#pendingSwitch = undefined;
    this.#previous = undefined;
    const started = deferred<void>();
    current.ended = this.#scan(current, started.resolve)
      .catch((error: unknown) => this.#fail(error))
      .then(() => {
        this.#scans.delete(current);
        this.#startCurrent();
      });
    this.#scans.add(current);
    void Promise.all([before?.ended, started.promise]).then(() => {
      const ms = performance.now() - next.receivedMs;
      if (before) this.tally.recordSwitch(ms);
      this.#options.onSwitch?.(current.work, next.isClean, ms);
    });
  }

  async #scan(current: ActiveWork<Share['work']>, onStart: () => void): Promise<void> {
    let tried = 0n;
    const first = this.#nextSegment;
    const shares = this.#scanWork(current.work, {
      signal: current.stop.signal,
      firstSegment: first,
      onStart,
      // Segments continue across works, so that work that comes twice is not mined twice.
      onSegment: (segments) => {
        if (first + segments > this.#nextSegment) this.#nextSegment = first + segments;
      },
      onSpace: (space) => {
        current.space = space;
      },
      onProgress: (now) => {
        this.tally.addTries(now - tried);
        tried = now;
      },
    });
    for await (const share of shares) {
      // Shares of replaced work still count. After clean work they do not, and thousands may be waiting.
      if (current.generation !== this.#generation) break;
      this.#submit(share, current);
      // A template yields one block; the next template is new work.
      if (this.#source.unit === 'block') break;
      if (this.#submissions.size >= MAX_UNANSWERED) await Promise.race(this.#submissions);
    }
  }

  #submit(share: Share, current: ActiveWork<Share['work']>): void {
    const submission = this.#awaitVerdict(share, current)
      .catch((error: unknown) => this.#fail(error))
      .then(() => void this.#submissions.delete(submission));
    this.#submissions.add(submission);
  }

  async #awaitVerdict(share: Share, current: ActiveWork<Share['work']>): Promise<void> {
    const verdict = await this.#source.submit(share);
    this.tally.recordVerdict(share, verdict);
    this.#options.onVerdict?.(share, verdict);
    const { maxAccepted } = this.#options;
    if (maxAccepted !== undefined && this.tally.counts.accepted >= maxAccepted) this.#endController.abort();
    else if (this.#source.unit === 'block') await this.#resumeAfterRejection(current, verdict);
  }

  /** Ends mining: `run` rejects with the first error. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#endController.abort();
  }

  /** After a rejected block, resumes the same work if there is no new one, with a delay that grows. */
  async #resumeAfterRejection(current: ActiveWork<Share['work']>, { state }: Verdict): Promise<void> {
    this.#rejections = state === 'accepted' ? 0 : this.#rejections + 1;
    if (state === 'accepted') return;
    await realClock.wait(backOff(this.#rejections - 1), current.stop.signal);
    if (this.#current === current) this.#switchTo(current.work, false);
  }
}

interface ActiveWork<Work> {
  readonly work: Work;
  readonly stop: AbortController;
  readonly generation: number;
  space?: Range;
  /** Resolves when no device works on it. */
  ended: Promise<void>;
}

/** Scans at a time, including one that is ending. */
const MAX_SCANS = 2;
/** Shares waiting for an answer. At this limit devices wait, so that the pool is not flooded. */
const MAX_UNANSWERED = 64;
/** How long to wait for answers to the last shares when mining ends. A node takes this long to check a full block. */
const FINAL_ANSWER_MS = 1000;
