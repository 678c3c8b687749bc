import { clockNs } from '../../clock.js';
import type { Device } from '../api.js';
import { Pages } from '../memory/pages.js';
import { type LastPass, Submission } from './submission.js';

export interface TimelineOptions {
  /** The device can take the time. */
  readonly timestamps: boolean;
  /** A pending promise costs a core (Dawn in Node): one at a time, and asked for late. */
  readonly spins: boolean;
  now(): number;
  /** Something has ended. */
  news(): void;
  failed(cause: unknown): void;
}

/** How much of the expected time passes before a promise is asked for that turns a core until it comes. */
const ASLEEP = 0.9;
/** Timers are no finer than this. */
const TIMER_MS = 1;
/** Submissions in flight, past which commands wait. */
const MOST_FLYING = 48;
/** Looks at the device's clock when it is tied to ours. */
const TIES = 5;
/** Bytes of writes that the runtime may hold. */
const MOST_STAGED = 2 ** 26;

/** WebGPU's one queue: what is being recorded, what was submitted, in order, and asking whether it has ended. */
export class Timeline {
  readonly #device: Device;
  readonly #options: TimelineOptions;
  readonly #pages: Pages;
  readonly #flying: Submission[] = [];
  readonly #last: LastPass = { endedNs: 0n };
  #open: Submission | undefined;
  /** When the last one that ended did so. */
  #endedMs = 0;
  #staged = 0;
  /** What the device's clock is behind that of all devices, and the last time that was told. */
  #behindNs: bigint | undefined;
  #toldNs = 0n;
  #closed = false;
  /** Promises of the runtime that are open. */
  readonly #promises = new Set<Promise<unknown>>();

  constructor(device: Device, options: TimelineOptions) {
    this.#device = device;
    this.#options = options;
    this.#pages = new Pages(device, options.timestamps);
  }

  /** Ties the device's clock to that of all devices: half of the shortest way there and back is the error. */
  async tie(): Promise<void> {
    let best: { readonly wayNs: bigint; readonly behindNs: bigint } | undefined;
    for (let round = 0; round < TIES; round++) {
      const sent = clockNs();
      const answer = new Promise<bigint>((resolve) => this.recording(1).stamp('end', resolve));
      this.flush();
      const stamp = await answer;
      const back = clockNs();
      if (best === undefined || back - sent < best.wayNs)
        best = { wayNs: back - sent, behindNs: (sent + back) / 2n - stamp };
    }
    this.#behindNs = best?.behindNs;
  }

  /** Never back, and never in the future; as it is until `tie`. */
  readonly #toHost = (ns: bigint): bigint => {
    if (this.#behindNs === undefined) return ns;
    const now = clockNs();
    const there = ns + this.#behindNs;
    const told = there > now ? now : there;
    if (told > this.#toldNs) this.#toldNs = told;
    return this.#toldNs;
  };

  /** The submission that is being recorded, with room for so many times and bytes of status words. */
  recording(stamps = 0, bytes = 0): Submission {
    if (this.#open && !this.#open.has(stamps, bytes)) this.flush();
    this.#open ??= new Submission(this.#device, this.#pages.take(), this.#last, this.#toHost);
    return this.#open;
  }

  /** May more commands come? */
  get hasRoom(): boolean {
    return this.#flying.length < MOST_FLYING && this.#staged < MOST_STAGED;
  }

  /** Milliseconds of work in the queue, as far as they are known. */
  get backlogMs(): number {
    return this.#flying.reduce((sum, { expectedMs }) => sum + expectedMs, 0);
  }

  /** What is written straight to the queue comes after everything that was recorded before. */
  write(bytes: number, act: () => void): void {
    if (this.#open?.isUsed) this.flush();
    act();
    this.recording().stagedBytes += bytes;
    this.#staged += bytes;
  }

  /** Hands what was recorded to the queue. */
  flush(): void {
    const submission = this.#open;
    if (!submission || this.#closed) return;
    this.#open = undefined;
    this.#device.queue.submit([submission.finish()]);
    submission.submittedMs = this.#options.now();
    this.#flying.push(submission);
    this.#ask();
  }

  /** Asks for what is due. Gives when to come again, in milliseconds; undefined where news will come by themselves. */
  turn(): number | undefined {
    this.flush();
    this.#ask();
    const first = this.#flying[0];
    return first && !first.isAsked ? Math.max(0, this.#dueMs(first) - this.#options.now()) : undefined;
  }

  /** Promises of the runtime, so that `close` can wait for them. */
  async track<T>(promise: Promise<T>): Promise<T> {
    this.#promises.add(promise);
    try {
      return await promise;
    } finally {
      this.#promises.delete(promise);
    }
  }

  /** Asks for nothing more; resolves when no promise is open. `destroy` makes the open ones settle. */
  async close(destroy: () => void): Promise<void> {
    this.#closed = true;
    destroy();
    while (this.#promises.size > 0) await Promise.allSettled(this.#promises);
  }

  #dueMs({ submittedMs, expectedMs }: Submission): number {
    const asleep = this.#options.spins && expectedMs > TIMER_MS ? ASLEEP * expectedMs : 0;
    return Math.max(submittedMs, this.#endedMs) + asleep;
  }

  #ask(): void {
    if (this.#closed) return;
    for (const submission of this.#flying) {
      if (!submission.isAsked) {
        if (this.#dueMs(submission) > this.#options.now()) return;
        submission.isAsked = true;
        this.track(submission.back()).then(
          () => this.#back(submission),
          (cause) => this.#closed || this.#options.failed(cause),
        );
      }
      if (this.#options.spins) return;
    }
  }

  /** Submissions end in order; those that were asked for later come back later. */
  #back(submission: Submission): void {
    submission.isBack = true;
    if (this.#closed) return;
    for (let first = this.#flying[0]; first?.isBack; first = this.#flying[0]) {
      this.#flying.shift();
      const startedMs = Math.max(first.submittedMs, this.#endedMs);
      this.#endedMs = this.#options.now();
      this.#staged -= first.stagedBytes;
      first.collect({ startedMs, endedMs: this.#endedMs });
      this.#pages.give(first.page);
    }
    this.#ask();
    this.#options.news();
  }
}
