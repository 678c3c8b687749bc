import { firstLine, MillraceError } from '../../kernel/error.js';
import type { Clock } from '../clock.js';
import type { CommitLog, LogFrame } from '../nats/index.js';
import { decodeRecord } from './records.js';
import type { Replica } from './replica.js';

/** Brings a replica up to date with the log, and waits for the moment at which it should lead. */
export class Follower {
  readonly #log: CommitLog;
  readonly #replica: Replica;
  readonly #warn: (message: string) => void;
  /** The sequence of the last message that was read, and its record as far as it has come. Undefined before the first. */
  #sequence: number | undefined;
  #pending: LogFrame[] = [];
  #term = 0;

  constructor(log: CommitLog, replica: Replica, warn: (message: string) => void) {
    this.#log = log;
    this.#replica = replica;
    this.#warn = warn;
  }

  /** The largest term in the log. */
  get term(): number {
    return this.#term;
  }

  /** The sequence of the log's last message. */
  get sequence(): number {
    return this.#sequence ?? 0;
  }

  /** Applies what is new in the log. Returns false if nothing is. Throws if records are missing. */
  async catchUp(): Promise<boolean> {
    if (this.#sequence === undefined) {
      const { sequence, term } = await this.#log.find(this.#replica.number);
      [this.#sequence, this.#term] = [sequence, term];
    }
    const { frames, last } = await this.#log.read(this.#sequence);
    for (const frame of frames) await this.#take(frame);
    this.#sequence = last;
    return frames.length > 0;
  }

  /** Resolves when nothing was written for the time of a term. */
  async untilSilent(clock: Clock, signal: AbortSignal): Promise<void> {
    let wake = (): void => undefined;
    const unwatch = this.#log.watch(() => wake());
    try {
      for (let heardAt = clock.now(); clock.now() - heardAt < TERM_MS; ) {
        signal.throwIfAborted();
        const woken = new Promise<void>((resolve) => {
          const stop = clock.after(LOOK_MS, resolve);
          wake = () => {
            stop();
            resolve();
          };
        });
        try {
          if (await this.catchUp()) heardAt = clock.now();
        } catch (error) {
          if (error instanceof MillraceError) throw error;
          heardAt = clock.now(); // the server is away: nothing is known of the leader
        }
        await woken;
      }
    } finally {
      unwatch();
    }
  }

  async #take(frame: LogFrame): Promise<void> {
    const { sequence, term, number, part, parts, bytes } = frame;
    this.#sequence = sequence; // so far, if one cannot be applied
    this.#term = Math.max(this.#term, term);
    if (number > this.#replica.number + (parts === 0 ? 0 : 1)) throw gapError();
    const [first] = this.#pending;
    const continues = first?.term === term && first.number === number && part === this.#pending.length;
    this.#pending = part === 0 ? [] : continues ? this.#pending : [];
    if (parts === 0 || part !== this.#pending.length) return;
    this.#pending.push({ ...frame, bytes });
    if (this.#pending.length < parts) return;
    const record = Buffer.concat(this.#pending.map((one) => one.bytes));
    this.#pending = [];
    if (number <= this.#replica.number) return;
    const failed = await this.#replica.apply(decodeRecord(record), number);
    if (failed !== undefined) this.#warn(`a job cannot be followed: ${firstLine(failed)}`);
  }
}

/** Without a word from the leader for this long, a standby takes over. A leader writes every `RENEW_MS`. */
export const TERM_MS = 8_000;
export const RENEW_MS = 2_000;
const LOOK_MS = 500;

const gapError = (): MillraceError =>
  new MillraceError({
    code: 'io',
    message: "the fleet's log no longer has all that is missing here",
    asked: 'to follow the leader of the fleet',
    advice: 'restore a newer backup of the leader (`millrace fleet backup`), and start again',
  });
