import type { Clock } from '../clock.js';
import type { CommitLog } from '../nats/index.js';
import { encodeRecord, type FleetRecord, RENEW_MS, type Replica } from '../replica/index.js';

export interface RecordWriterOptions {
  readonly log: CommitLog;
  readonly replica: Replica;
  readonly term: number;
  readonly clock: Clock;
  /** Aborted when the coordinator is over. */
  readonly signal: AbortSignal;
  /** The log does not accept more, or a change cannot be made. */
  readonly failed: (error: unknown) => void;
}

/** Writes records to the log, then makes their changes, one at a time. Standbys see in the log that this coordinator lives. */
export class RecordWriter {
  readonly #options: RecordWriterOptions;
  #stopRenewal: () => void = () => undefined;
  /** When something was last written to the log. */
  #writtenAt: number;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: RecordWriterOptions) {
    this.#options = options;
    this.#writtenAt = options.clock.now();
  }

  /** Resolves when every record so far is in the log, the ledger and the files. */
  get written(): Promise<void> {
    return this.#writing;
  }

  /** Writes a record, then makes the change. Returns the error of a job that cannot be opened. */
  append(record: FleetRecord): Promise<unknown> {
    const { log, replica, term, clock, signal, failed } = this.#options;
    const done = this.#writing.then(async () => {
      const number = replica.number + 1;
      await log.append(term, number, encodeRecord(record), signal);
      this.#writtenAt = clock.now();
      return replica.apply(record, number);
    });
    this.#writing = done.then(() => undefined, failed);
    return done;
  }

  /** Lets standbys know from now on that this coordinator lives, and finds out if one has taken over. */
  renew(): void {
    const { clock, signal, log, replica, term, failed } = this.#options;
    if (signal.aborted) return;
    const waitMs = this.#writtenAt + RENEW_MS - clock.now();
    this.#stopRenewal = clock.after(Math.max(1, waitMs), () => {
      if (clock.now() < this.#writtenAt + RENEW_MS) return this.renew();
      this.#writing = this.#writing.then(async () => {
        try {
          await log.append(term, replica.number, undefined, signal);
          this.#writtenAt = clock.now();
          this.renew();
        } catch (error) {
          failed(error);
        }
      });
    });
  }

  /** Resolves when nothing more is written. */
  async close(): Promise<void> {
    this.#stopRenewal();
    await this.#writing;
  }
}
