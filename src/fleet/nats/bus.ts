import type { Consumer, JetStreamManager, JsMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { firstLine } from '../../kernel/error.js';
import { connectAs } from './connection.js';
import { checkExpiry, type Invite } from './invite.js';
import { Liveness } from './liveness.js';
import { CALL_MS, inboxOf, MemberBus } from './member-bus.js';
import { loadNats, type NatsPackages } from './packages.js';
import { CommitLog } from './streams/commit-log.js';
import { openStream } from './streams/open-stream.js';
import { type Caller, callerOf, senderOf, subjectOf } from './subjects.js';

/**
 * A fleet's messages with what only the coordinator uses: answers to calls, and `results`, which the server keeps until they
 * are acknowledged.
 */
export class Bus extends MemberBus {
  readonly #connection: NatsConnection;
  readonly #liveness: Liveness;
  readonly #packages: NatsPackages;
  readonly #fleet: string;
  readonly #replicas: number | undefined;

  private constructor(connection: NatsConnection, packages: NatsPackages, invite: Invite, options: BusOptions) {
    const { callMs = CALL_MS, replicas } = options;
    const liveness = new Liveness(connection);
    super(connection, liveness, invite, callMs);
    this.#connection = connection;
    this.#liveness = liveness;
    this.#packages = packages;
    this.#fleet = invite.fleet;
    this.#replicas = replicas;
  }

  /** Connects to the fleet's server. Later it reconnects by itself. */
  static async connect(invite: Invite, name: string, options: BusOptions = {}): Promise<Bus> {
    checkExpiry(invite);
    const packages = await loadNats();
    const connection = await connectAs(packages, invite, { name, inboxPrefix: inboxOf(invite) });
    return new Bus(connection, packages, invite, options);
  }

  /** The server's version. */
  get serverVersion(): string {
    return this.#connection.info?.version ?? 'unknown';
  }

  /** True if the server checks who connects. */
  get hasUsers(): boolean {
    return this.#connection.info?.auth_required === true && this.#connection.info.nonce !== undefined;
  }

  /**
   * Answers requests. An answer goes to an inbox of the user that has asked: the server does not check where a user wants
   * answers to be sent, and what the coordinator publishes would be taken for its own words. `hears` is asked first, for each
   * request. Without an answer nothing is sent.
   */
  serve(
    hears: (user: string) => boolean,
    answer: (bytes: Uint8Array, caller: Caller) => Promise<Uint8Array | undefined>,
  ): void {
    this.#connection.subscribe(this.#name('call', '*', '*'), {
      callback: (error, message) => {
        if (error !== null) return;
        const caller = callerOf(message.subject);
        if (caller === undefined || !hears(caller.user)) return;
        if (!message.reply?.startsWith(`${this.#name('inbox', caller.user)}.`)) return;
        void answer(message.data, caller).then((bytes) => bytes && message.respond(bytes));
      },
    });
  }

  /** Calls `receive` for each result, again and again until it is acknowledged. Runs until `signal` is aborted. */
  async results(
    receive: (result: StoredResult) => void,
    warn: (message: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted && !this.#connection.isClosed()) {
      try {
        const consumer = await this.#liveness.request(() => this.#consumer(), CALL_MS);
        const messages = await consumer.consume({
          max_messages: MAX_PENDING,
          expires: PULL_MS,
          abort_on_missing_resource: true,
        });
        const stop = (): void => void messages.close();
        signal.addEventListener('abort', stop, { once: true });
        // The server that comes back may have lost anything.
        const unwatch = this.#liveness.onceUp(stop);
        try {
          for await (const message of messages) receive(storedResult(message));
        } finally {
          unwatch();
          signal.removeEventListener('abort', stop);
        }
      } catch (error) {
        if (!signal.aborted) warn(`results cannot be read, trying again: ${firstLine(error)}`);
      }
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  }

  /** Removes the results of a user that have not been read. */
  async removeResults(user: string): Promise<void> {
    const manager = await this.#packages.jetstream.jetstreamManager(this.#connection);
    await manager.streams.purge(this.#stream, { filter: this.#name('result', user) });
  }

  /** The log of commits. */
  log(warn: (message: string) => void): CommitLog {
    return new CommitLog(this.#connection, this.#packages, this.#liveness, {
      fleet: this.#fleet,
      replicas: this.#replicas,
      warn,
    });
  }

  /** Lets results that an earlier coordinator has read and not acknowledged come again at once. */
  async rereadResults(): Promise<void> {
    const manager = await this.#packages.jetstream.jetstreamManager(this.#connection);
    await manager.consumers.delete(this.#stream, CONSUMER).catch(() => undefined); // there is none yet
  }

  /** Creates the stream and its consumer if the server does not have them, or no longer has them. */
  async #consumer(): Promise<Consumer> {
    const { jetstream, jetstreamManager, AckPolicy, DiscardPolicy, RetentionPolicy, StorageType } =
      this.#packages.jetstream;
    const manager: JetStreamManager = await jetstreamManager(this.#connection);
    const stream = this.#stream;
    const config = {
      name: stream,
      subjects: [this.#name('result', '*')],
      retention: RetentionPolicy.Workqueue,
      storage: StorageType.File,
      // A full stream refuses new results, which workers then keep, instead of losing old ones.
      discard: DiscardPolicy.New,
      max_bytes: STREAM_BYTES,
      // A user that floods fills its own share.
      max_msgs_per_subject: MAX_USER_RESULTS,
      discard_new_per_subject: true,
      // The server sends confirmations wherever a message asks for them, past the permissions of its sender.
      no_ack: true,
    };
    await openStream(manager, config, this.#replicas);
    const add = () =>
      manager.consumers.add(stream, {
        durable_name: CONSUMER,
        ack_policy: AckPolicy.Explicit,
        ack_wait: ACK_WAIT_NS,
        max_ack_pending: MAX_PENDING,
      });
    const consumers = await manager.consumers.list(stream).next();
    const { delivered } = consumers.find(({ name }) => name === CONSUMER) ?? (await add());
    // A server whose files were damaged may number results as it did earlier ones, which the consumer would not deliver.
    if (delivered.stream_seq > (await manager.streams.info(stream)).state.last_seq) {
      await manager.consumers.delete(stream, CONSUMER);
      await add();
    }
    return jetstream(this.#connection).consumers.get(stream, CONSUMER);
  }

  get #stream(): string {
    return `millrace-${this.#fleet}-results`;
  }

  #name(...tokens: readonly string[]): string {
    return subjectOf(this.#fleet, ...tokens);
  }
}

export interface BusOptions {
  /** A call that is not answered within this time fails. */
  readonly callMs?: number;
  /** Copies of the coordinator's streams on the servers of a cluster. Default: as they are, or one. */
  readonly replicas?: number | undefined;
}

export interface StoredResult {
  readonly bytes: Uint8Array;
  readonly user: string;
  acknowledge(): void;
}

const storedResult = (message: JsMsg): StoredResult => ({
  bytes: message.data,
  user: senderOf(message.subject),
  acknowledge: () => message.ack(),
});

const CONSUMER = 'coordinator';
const RECONNECT_MS = 250;
const MAX_PENDING = 1_000;
/** A request for results that was lost is noticed within this time; the default is 30 s. */
const PULL_MS = 2_000;
const STREAM_BYTES = 1 << 30;
const MAX_USER_RESULTS = 10_000;
const ACK_WAIT_NS = 30_000_000_000;
