import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { firstLine, MillraceError } from '../../kernel/error.js';
import type { Liveness } from './liveness.js';
import type { NatsPackages } from './packages.js';
import { subjectOf } from './subjects.js';

/**
 * Lets only the newest coordinator commit. Before each commit it writes its term to a stream, on the condition that the
 * stream has not changed since its last write. A coordinator that starts writes there first; so an earlier one that was
 * paused or cut off fails at its next commit. If the server loses the stream, the newest writes again: for as long as that
 * takes two may commit, each to its own ledger, which costs work done twice.
 */
export class CommitFence {
  readonly #connection: NatsConnection;
  readonly #packages: NatsPackages;
  readonly #liveness: Liveness;
  readonly #options: FenceOptions;
  /** The number of the stream's last message, which is ours. Undefined if that has to be looked up. */
  #last: number | undefined;
  #isReplaced = false;

  constructor(connection: NatsConnection, packages: NatsPackages, liveness: Liveness, options: FenceOptions) {
    this.#connection = connection;
    this.#packages = packages;
    this.#liveness = liveness;
    this.#options = options;
  }

  /** Resolves when this coordinator may commit; waits while the server is away. Throws if a later one has started. */
  async pass(signal: AbortSignal): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      signal.throwIfAborted();
      try {
        const write = async () => this.#write(this.#last ?? (await this.#look()));
        this.#last = await unlessAborted(signal, this.#liveness.request(write, WRITE_MS));
        return;
      } catch (error) {
        if (this.#isReplaced || signal.aborted) throw error;
        // The server is away, has lost the stream, or another coordinator has written.
        this.#last = undefined;
        if (this.#connection.isClosed()) throw error;
        if (isFirst) continue;
        this.#options.warn(`the log of commits cannot be written, trying again: ${firstLine(error)}`);
        await pause(RETRY_MS, undefined, { signal });
      }
    }
  }

  /** Makes the stream's last message ours, and returns its number. */
  async #look(): Promise<number> {
    const { jetstreamManager, DiscardPolicy, StorageType } = this.#packages.jetstream;
    const manager = await jetstreamManager(this.#connection);
    const { state } = await manager.streams.add({
      name: this.#stream,
      subjects: [this.#subject],
      storage: StorageType.File,
      discard: DiscardPolicy.Old,
      max_msgs: 1,
      max_bytes: 1 << 20,
    });
    const found = state.messages === 0 ? null : await manager.streams.getMessage(this.#stream, { seq: state.last_seq });
    const term = found === null ? 0 : termOf(found.data);
    this.#isReplaced = term > this.#options.term;
    if (this.#isReplaced) throw replacedError();
    if (term === this.#options.term) return state.last_seq;
    return this.#write(state.last_seq);
  }

  async #write(last: number): Promise<number> {
    const { jetstream } = this.#packages.jetstream;
    const bytes = new TextEncoder().encode(JSON.stringify({ term: this.#options.term }));
    // Servers take an expected number of 0 for none: two may write to an empty stream, until the newer writes again.
    const expect = last > 0 ? { expect: { lastSequence: last } } : {};
    const { seq } = await jetstream(this.#connection).publish(this.#subject, bytes, { timeout: WRITE_MS, ...expect });
    return seq;
  }

  get #subject(): string {
    return subjectOf(this.#options.fleet, 'commit');
  }

  get #stream(): string {
    return `millrace-${this.#options.fleet}-commits`;
  }
}

export interface FenceOptions {
  readonly fleet: string;
  readonly term: number;
  readonly warn: (message: string) => void;
}

/** The error of a coordinator after which another one has started. */
export const replacedError = (): MillraceError =>
  new MillraceError({
    code: 'io',
    message: 'another coordinator of this fleet has taken over',
    asked: 'to coordinate the fleet',
    advice: 'nothing is lost: results that were not committed here are committed there',
  });

/** Whoever may write to the stream is a coordinator; what cannot be read is not from a later version of it. */
function termOf(bytes: Uint8Array): number {
  try {
    const { term } = JSON.parse(new TextDecoder().decode(bytes)) as { readonly term?: unknown };
    return typeof term === 'number' ? term : 0;
  } catch {
    return 0;
  }
}

/** Throws as soon as the signal is aborted. */
async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const WRITE_MS = 3_000;
const RETRY_MS = 250;
