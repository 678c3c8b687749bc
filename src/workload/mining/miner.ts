import { deferred } from '../../device/deferred.js';
import { backOff, realClock } from '../../network/failover.js';
import type { Mined, Scan, SourceListener, Told, Verdict, WorkSource } from './source.js';
import { Tally } from './tally.js';

export interface MinerOptions<Share extends Mined> {
  readonly signal: AbortSignal;
  /** Ends after this many accepted blocks or shares. */
  readonly enough?: number | undefined;
  readonly onTold?: (told: Told) => void;
  /** Called when devices have left the old work and started the new one, with the milliseconds since its message. */
  readonly onSwitch?: (work: Share['work'], isClean: boolean, switchMs: number) => void;
  readonly onVerdict?: (share: Share, verdict: Verdict) => void;
}

/**
 * Mines the work that a source gives. New work replaces the old at once: chunks in flight are cancelled, and after
 * clean work no share of older work is sent.
 */
export class Miner<Share extends Mined> {
  readonly tally = new Tally();
  readonly #source: WorkSource<Share>;
  readonly #scanWork: Scan<Share>;
  readonly #options: MinerOptions<Share>;
  readonly #over = new AbortController();
  readonly #scans = new Set<Current<Share['work']>>();
  readonly #submissions = new Set<Promise<void>>();
  #current: Current<Share['work']> | undefined;
  /** Set while the current work has not started. */
  #next: { readonly heardMs: number; readonly isClean: boolean } | undefined;
  /** The work that was mined before the current one. */
  #before: Current<Share['work']> | undefined;
  /** Incremented by each clean work. A share is sent only if the generation it was mined in is still current. */
  #generation = 0;
  #nextTurn = 0n;
  /** Consecutive blocks that were not accepted. */
  #refusals = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(source: WorkSource<Share>, scan: Scan<Share>, options: MinerOptions<Share>) {
    this.#source = source;
    this.#scanWork = scan;
    this.#options = options;
  }

  get work(): Share['work'] | undefined {
    return this.#current?.work;
  }

  /** Resolves when mining is stopped or has enough results; rejects if the source or the devices fail for good. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    const stop = (): void => this.#over.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const listener: SourceListener<Share['work']> = {
      work: (work, isClean) => this.#switch(work, isClean),
      idle: () => this.#drop(),
      told: (told) => this.#options.onTold?.(told),
    };
    const closing = new AbortController();
    this.#over.signal.addEventListener('abort', () => {
      this.#drop();
      // Waits briefly for the answers to the last shares.
      void Promise.race([Promise.all(this.#submissions), realClock.wait(LAST_MS, closing.signal)]).then(() =>
        closing.abort(),
      );
    });
    if (this.#over.signal.aborted) closing.abort();
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

  #drop(): void {
    this.#generation += 1;
    this.#current?.stop.abort();
    this.#current = undefined;
    this.#next = undefined;
    this.#before = undefined;
  }

  #switch(work: Share['work'], isClean: boolean): void {
    const heardMs = performance.now();
    if (this.#over.signal.aborted) return;
    if (isClean) this.#generation += 1;
    this.#before ??= this.#current;
    this.#current?.stop.abort();
    this.#current = { work, stop: new AbortController(), generation: this.#generation, ended: Promise.resolve() };
    this.#next = { heardMs, isClean: isClean || (this.#next?.isClean ?? false) };
    this.#begin();
  }

  /** Starts the current work while the old one ends. If a server sends thousands of jobs at once, the last one is mined. */
  #begin(): void {
    const [current, next, before] = [this.#current, this.#next, this.#before];
    if (!current || !next || this.#scans.size >= AT_ONCE) return;
    this.#next = undefined;
    this.#before = undefined;
    const started = deferred<void>();
    current.ended = this.#scan(current, started.resolve)
      .catch((error: unknown) => this.#fail(error))
      .then(() => {
        this.#scans.delete(current);
        this.#begin();
      });
    this.#scans.add(current);
    void Promise.all([before?.ended, started.promise]).then(() => {
      const ms = performance.now() - next.heardMs;
      if (before) this.tally.switched(ms);
      this.#options.onSwitch?.(current.work, next.isClean, ms);
    });
  }

  async #scan(current: Current<Share['work']>, begun: () => void): Promise<void> {
    let tried = 0n;
    const first = this.#nextTurn;
    const shares = this.#scanWork(current.work, {
      signal: current.stop.signal,
      firstTurn: first,
      onStart: begun,
      // Turns continue across works, so that work that comes twice is not mined twice.
      onTurn: (turns) => {
        if (first + turns > this.#nextTurn) this.#nextTurn = first + turns;
      },
      onProgress: (now) => {
        this.tally.tried(now - tried);
        tried = now;
      },
    });
    for await (const share of shares) {
      // Shares of replaced work still count. After clean work they do not, and thousands may be waiting.
      if (current.generation !== this.#generation) break;
      this.#submit(share, current);
      // A template yields one block; the next template is new work.
      if (this.#source.unit === 'block') break;
      if (this.#submissions.size >= MOST_UNANSWERED) await Promise.race(this.#submissions);
    }
  }

  #submit(share: Share, current: Current<Share['work']>): void {
    const submission = this.#judge(share, current)
      .catch((error: unknown) => this.#fail(error))
      .then(() => void this.#submissions.delete(submission));
    this.#submissions.add(submission);
  }

  async #judge(share: Share, current: Current<Share['work']>): Promise<void> {
    const verdict = await this.#source.submit(share);
    this.tally.judged(share, verdict);
    this.#options.onVerdict?.(share, verdict);
    const { enough } = this.#options;
    if (enough !== undefined && this.tally.counts.accepted >= enough) this.#over.abort();
    else if (this.#source.unit === 'block') await this.#goOn(current, verdict);
  }

  /** Ends mining: `run` rejects with the first error. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#over.abort();
  }

  /** After a rejected block, resumes the same work if there is no new one, with a delay that grows. */
  async #goOn(current: Current<Share['work']>, { state }: Verdict): Promise<void> {
    this.#refusals = state === 'accepted' ? 0 : this.#refusals + 1;
    if (state === 'accepted') return;
    await realClock.wait(backOff(this.#refusals - 1), current.stop.signal);
    if (this.#current === current) this.#switch(current.work, false);
  }
}

interface Current<Work> {
  readonly work: Work;
  readonly stop: AbortController;
  readonly generation: number;
  /** Resolves when no device works on it. */
  ended: Promise<void>;
}

/** Scans at a time, including one that is ending. */
const AT_ONCE = 2;
/** Shares waiting for an answer. At this limit devices wait, so that the pool is not flooded. */
const MOST_UNANSWERED = 64;
/** How long to wait for answers to the last shares when mining ends. A node takes this long to check a full block. */
const LAST_MS = 1000;
