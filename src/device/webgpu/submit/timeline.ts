import { clockNs } from '../../clock.js';
import type { Device } from '../api.js';
import { Pages } from '../memory/pages.js';
import { type LastPass, Submission } from './submission.js';

export interface TimelineOptions {
  /** True if the device can record times. */
  readonly timestamps: boolean;
  /** True if a pending promise costs a core (Dawn in Node): only one is requested at a time, and late. */
  readonly spins: boolean;
  now(): number;
  /** Called when something has ended. */
  ended(): void;
  failed(cause: unknown): void;
}

/**
 * The share of the expected time before a promise is requested that occupies a core until it settles. Work may end much
 * sooner than expected, and the device must not be idle then.
 */
const ASLEEP = 0.5;
/** From then on the thread sleeps for this share of the expected time, at most MAX_NAP_MS, between turns. */
const NAP = 0.04;
const MAX_NAP_MS = 0.5;
/** The same while nothing is in flight and a kernel is compiled, by the time that this has taken so far. */
const MAX_COMPILE_NAP_MS = 2;
/** The resolution of timers. */
const TIMER_MS = 1;
/** The most submissions in flight; beyond that, commands wait. */
const MAX_IN_FLIGHT = 48;
/** How often the device's clock is read to align it with the host's. */
const SYNC_ROUNDS = 5;
/** The most bytes of writes that the runtime may hold. */
const MAX_STAGED_BYTES = 2 ** 26;

/** WebGPU's one queue: the submission being recorded, those in flight, in order, and the checks whether they have ended. */
export class Timeline {
  readonly #device: Device;
  readonly #options: TimelineOptions;
  readonly #pages: Pages;
  readonly #inFlight: Submission[] = [];
  readonly #last: LastPass = { endedNs: 0n };
  #open: Submission | undefined;
  /** When the last submission ended. */
  #endedMs = 0;
  #stagedBytes = 0;
  /** The offset of the device's clock to the clock of all devices, and the last time that was reported. */
  #clockOffsetNs: bigint | undefined;
  #lastReportedNs = 0n;
  #closed = false;
  /** Open promises of the runtime. */
  readonly #promises = new Set<Promise<unknown>>();
  /** How many kernels are being compiled, and since when there have been any. */
  #compiling = 0;
  #compilingSinceMs = 0;

  constructor(device: Device, options: TimelineOptions) {
    this.#device = device;
    this.#options = options;
    this.#pages = new Pages(device, options.timestamps);
  }

  /** Aligns the device's clock with that of all devices: the error is half of the shortest round trip. */
  async syncClock(): Promise<void> {
    let best: { readonly wayNs: bigint; readonly behindNs: bigint } | undefined;
    for (let round = 0; round < SYNC_ROUNDS; round++) {
      const sent = clockNs();
      const answer = new Promise<bigint>((resolve) => this.recording(1).stamp('end', resolve));
      this.flush();
      const stamp = await answer;
      const back = clockNs();
      if (best === undefined || back - sent < best.wayNs)
        best = { wayNs: back - sent, behindNs: (sent + back) / 2n - stamp };
    }
    this.#clockOffsetNs = best?.behindNs;
  }

  /** Converts a time: never backwards, and never in the future; unchanged until `syncClock`. */
  readonly #toHost = (ns: bigint): bigint => {
    if (this.#clockOffsetNs === undefined) return ns;
    const now = clockNs();
    const there = ns + this.#clockOffsetNs;
    const reportedNs = there > now ? now : there;
    if (reportedNs > this.#lastReportedNs) this.#lastReportedNs = reportedNs;
    return this.#lastReportedNs;
  };

  /** Returns the submission being recorded, with space for `stamps` times and `bytes` bytes of status words. */
  recording(stamps = 0, bytes = 0): Submission {
    if (this.#open && !this.#open.hasSpace(stamps, bytes)) this.flush();
    this.#open ??= new Submission(this.#device, this.#pages.acquire(), this.#last, this.#toHost);
    return this.#open;
  }

  /** True if more commands are accepted. */
  get hasSpace(): boolean {
    return this.#inFlight.length < MAX_IN_FLIGHT && this.#stagedBytes < MAX_STAGED_BYTES;
  }

  /** Milliseconds of launches that are recorded, but not submitted. */
  get recordedMs(): number {
    return this.#open?.assumedMs ?? 0;
  }

  /** Milliseconds of launches that wait for the submission that runs. */
  get waitingMs(): number {
    const running = this.#inFlight.findIndex(({ assumedMs }) => assumedMs > 0);
    if (running < 0) return 0;
    const waiting = this.#inFlight.slice(running + 1).reduce((sum, { assumedMs }) => sum + assumedMs, 0);
    return waiting + this.recordedMs;
  }

  /** A direct write to the queue comes after everything that was recorded before. */
  write(bytes: number, act: () => void): void {
    if (this.#open?.isUsed) this.flush();
    act();
    this.recording().stagedBytes += bytes;
    this.#stagedBytes += bytes;
  }

  /** Submits what was recorded to the queue. */
  flush(): void {
    const submission = this.#open;
    if (!submission || this.#closed) return;
    this.#open = undefined;
    this.#device.queue.submit([submission.finish()]);
    submission.submittedMs = this.#options.now();
    this.#inFlight.push(submission);
    this.#requestMaps();
  }

  /** Requests what is due. Returns when to call again, in milliseconds; undefined if a promise will report. */
  flushAndRequest(): number | undefined {
    this.flush();
    this.#requestMaps();
    const first = this.#inFlight[0];
    return first && !first.isAwaited ? Math.max(0, this.#dueMs(first) - this.#options.now()) : undefined;
  }

  /**
   * How long the thread may block between two turns of its event loop, in milliseconds: an open promise would keep it
   * turning. 0 if it must not, because what is awaited is short.
   */
  get napMs(): number {
    if (!this.#options.spins) return 0;
    const [first] = this.#inFlight;
    if (!first && this.#compiling > 0)
      return Math.min(MAX_COMPILE_NAP_MS, NAP * (this.#options.now() - this.#compilingSinceMs));
    if (!first?.isAwaited || first.expectedMs <= TIMER_MS) return 0;
    return Math.min(MAX_NAP_MS, NAP * first.expectedMs);
  }

  /** Tracks promises of the runtime, so that `close` can wait for them. */
  async track<T>(promise: Promise<T>): Promise<T> {
    this.#promises.add(promise);
    try {
      return await promise;
    } finally {
      this.#promises.delete(promise);
    }
  }

  /** Tracks the compilation of a kernel, which may take seconds. */
  async trackCompilation<T>(promise: Promise<T>): Promise<T> {
    if (this.#compiling++ === 0) this.#compilingSinceMs = this.#options.now();
    try {
      return await this.track(promise);
    } finally {
      this.#compiling--;
    }
  }

  /** Requests nothing more; resolves when no promise is open. `destroy` makes the open ones settle. */
  async close(destroy: () => void): Promise<void> {
    this.#closed = true;
    destroy();
    while (this.#promises.size > 0) await Promise.allSettled(this.#promises);
  }

  #dueMs({ submittedMs, expectedMs }: Submission): number {
    const asleep = this.#options.spins && expectedMs > TIMER_MS ? ASLEEP * expectedMs : 0;
    return Math.max(submittedMs, this.#endedMs) + asleep;
  }

  #requestMaps(): void {
    if (this.#closed) return;
    for (const [place, submission] of this.#inFlight.entries()) {
      if (!submission.isAwaited) {
        // Transfers behind the first are mapped with it: the promise that waits for it spins already.
        if (this.#options.spins && place > 0 && submission.expectedMs > 0) return;
        if (this.#dueMs(submission) > this.#options.now()) return;
        submission.isAwaited = true;
        this.track(submission.waitForEnd()).then(
          () => this.#submissionEnded(submission),
          (cause) => this.#closed || this.#options.failed(cause),
        );
      }
    }
  }

  /** Submissions end in order, and their promises settle in the order of the requests. */
  #submissionEnded(submission: Submission): void {
    submission.hasEnded = true;
    if (this.#closed) return;
    for (let first = this.#inFlight[0]; first?.hasEnded; first = this.#inFlight[0]) {
      this.#inFlight.shift();
      const startedMs = Math.max(first.submittedMs, this.#endedMs);
      this.#endedMs = this.#options.now();
      this.#stagedBytes -= first.stagedBytes;
      first.collect({ startedMs, endedMs: this.#endedMs });
      this.#pages.release(first.page);
    }
    this.#requestMaps();
    this.#options.ended();
  }
}
