import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { firstLine, MillraceError } from '../../../kernel/error.js';
import type { Liveness } from '../liveness.js';
import type { NatsPackages } from '../packages.js';
import { subjectOf } from '../subjects.js';
import { type FrameHeader, frameBytes, framesOf, type LogFrame, readFrame } from './log-frames.js';
import { openStream } from './open-stream.js';

/**
 * A fleet's log of commits: a stream to which only the leader writes. Each write is on the condition that the stream has not
 * changed since the writer's last one, so its end is the key of leadership and its sequence the key's revision: the
 * coordinator that writes a larger term there leads, and an earlier leader that was paused or cut off fails at its next write. If the server
 * loses the stream, the newest leader writes again: for as long as that takes two may commit, each to its own ledger, which
 * costs work done twice.
 */
export class CommitLog {
  readonly #connection: NatsConnection;
  readonly #packages: NatsPackages;
  readonly #liveness: Liveness;
  readonly #options: LogOptions;
  /** The sequence of the stream's last message, which is ours. Undefined if that has to be looked up. */
  #last: number | undefined;
  #isReplaced = false;

  constructor(connection: NatsConnection, packages: NatsPackages, liveness: Liveness, options: LogOptions) {
    this.#connection = connection;
    this.#packages = packages;
    this.#liveness = liveness;
    this.#options = options;
  }

  /** Calls `run` when something is written, as far as that is heard. Returns a function that ends it. */
  watch(run: () => void): () => void {
    const subscription = this.#connection.subscribe(this.#subject, { callback: () => run() });
    return () => subscription.unsubscribe();
  }

  /** Returns the messages after a sequence, and that of the last one. All, if the server has lost the stream meanwhile. */
  async read(after: number): Promise<{ readonly frames: readonly LogFrame[]; readonly last: number }> {
    const { manager, state } = await this.#liveness.request(() => this.#open(), WRITE_MS);
    const frames: LogFrame[] = [];
    const first = state.last_seq < after ? 0 : after + 1;
    for (let from = Math.max(first, state.first_seq, 1); from <= state.last_seq; from += READ_AHEAD) {
      const count = Math.min(READ_AHEAD, state.last_seq - from + 1);
      const get = (_: unknown, at: number) => manager.streams.getMessage(this.#stream, { seq: from + at });
      const messages = await this.#liveness.request(() => Promise.all(Array.from({ length: count }, get)), WRITE_MS);
      for (const message of messages) if (message !== null) frames.push(readFrame(message.seq, message.data));
    }
    return { frames, last: state.last_seq };
  }

  /**
   * Returns where a reader that has all records up to a number begins: the sequence of a message before which nothing is new
   * to it, and the largest term up to there. A leader writes every two seconds, so that reading all takes longer from day to
   * day; this is a bisection, which takes as many messages as the log's length has bits.
   */
  async find(number: number): Promise<{ readonly sequence: number; readonly term: number }> {
    const { manager, state } = await this.#liveness.request(() => this.#open(), WRITE_MS);
    const next = async (sequence: number): Promise<LogFrame | undefined> => {
      const query = { seq: sequence, next_by_subj: this.#subject };
      const message = await this.#liveness.request(() => manager.streams.getMessage(this.#stream, query), WRITE_MS);
      return message === null ? undefined : readFrame(message.seq, message.data);
    };
    // Terms grow along the log, except that two coordinators may have begun an empty one.
    let term = state.messages === 0 ? 0 : ((await next(state.first_seq))?.term ?? 0);
    let [known, end] = [Math.max(state.first_seq, 1) - 1, state.last_seq + 1];
    // Usually nothing is new.
    for (let at = state.last_seq; end - known > 1; at = Math.floor((known + end) / 2)) {
      const frame = await next(at);
      if (frame === undefined || frame.sequence >= end || frame.number > number) end = at;
      else [known, term] = [frame.sequence, Math.max(term, frame.term)];
    }
    return { sequence: known, term };
  }

  /** Starts a term, if the stream's last message has this sequence. Returns false if another one has written. */
  async claim(term: number, number: number, last: number): Promise<boolean> {
    try {
      const bytes = frameBytes({ term, number, part: 0, parts: 0 });
      this.#last = await this.#liveness.request(() => this.#publish(bytes, last), WRITE_MS);
      return true;
    } catch (error) {
      if (this.#connection.isClosed()) throw error;
      return false;
    }
  }

  /**
   * Writes a record of this term, or without one that the leader lives. Waits while the server is away. Throws if a later
   * term has started.
   */
  async append(term: number, number: number, record: Uint8Array | undefined, signal: AbortSignal): Promise<void> {
    for (const { header, bytes } of framesOf(term, number, record)) await this.#write(header, bytes, signal);
  }

  async #write(header: FrameHeader, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      signal.throwIfAborted();
      try {
        const write = async () => {
          if (this.#last !== undefined) return this.#publish(bytes, this.#last);
          const { last, isWritten } = await this.#look(header);
          return isWritten ? last : this.#publish(bytes, last);
        };
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

  /** Returns the sequence of the stream's last message, and whether that is the one to be written. */
  async #look(header: FrameHeader): Promise<{ readonly last: number; readonly isWritten: boolean }> {
    const { manager, state } = await this.#open();
    const last = state.last_seq;
    const found = state.messages === 0 ? null : await manager.streams.getMessage(this.#stream, { seq: last });
    if (found === null) return { last, isWritten: false };
    const { term, number, part, parts } = readFrame(last, found.data);
    this.#isReplaced = term > header.term;
    if (this.#isReplaced) throw replacedError();
    const isSame = term === header.term && number === header.number;
    return { last, isWritten: isSame && part === header.part && parts === header.parts };
  }

  async #publish(bytes: Uint8Array, last: number): Promise<number> {
    const { jetstream } = this.#packages.jetstream;
    // Servers take an expected number of 0 for none: two may write to an empty stream, until the newer writes again.
    const expect = last > 0 ? { expect: { lastSequence: last } } : {};
    const { seq } = await jetstream(this.#connection).publish(this.#subject, bytes, { timeout: WRITE_MS, ...expect });
    return seq;
  }

  /** Creates the stream if the server does not have it. */
  async #open() {
    const { jetstreamManager, DiscardPolicy, StorageType } = this.#packages.jetstream;
    const manager = await jetstreamManager(this.#connection);
    const config = {
      name: this.#stream,
      subjects: [this.#subject],
      storage: StorageType.File,
      discard: DiscardPolicy.Old,
      max_bytes: LOG_BYTES,
    };
    const { state } = await openStream(manager, config, this.#options.replicas);
    return { manager, state };
  }

  get #subject(): string {
    return subjectOf(this.#options.fleet, 'log');
  }

  get #stream(): string {
    return `millrace-${this.#options.fleet}-log`;
  }
}

export interface LogOptions {
  readonly fleet: string;
  /** Copies on the servers of a cluster. */
  readonly replicas: number | undefined;
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
/** Messages that are asked for at once. The server ends a connection to which more than 64 MiB wait. */
const READ_AHEAD = 32;
const RETRY_MS = 250;
/** What a standby may lag behind, and a backup may be older than the leader's ledger. */
const LOG_BYTES = 1 << 28;
