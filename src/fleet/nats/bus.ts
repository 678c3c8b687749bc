import type { Consumer, JetStreamManager, JsMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { firstLine, MillraceError } from '../../kernel/error.js';
import type { Invite } from './invite.js';
import { loadNats, type NatsPackages } from './packages.js';

/**
 * A fleet's messages on NATS. Everything is best effort but `results`, which the server keeps until they are
 * acknowledged; the protocol repairs whatever is lost.
 *
 *   millrace.F.from         to the coordinator: requests for leases, heartbeats
 *   millrace.F.to.WORKER    to one worker
 *   millrace.F.all          to all workers
 *   millrace.F.result       results, kept by the stream millrace-F-results
 *   millrace.F.call         requests with an answer: submit, status, fetch
 */
export class Bus {
  readonly #connection: NatsConnection;
  readonly #packages: NatsPackages;
  readonly #fleet: string;

  private constructor(connection: NatsConnection, packages: NatsPackages, fleet: string) {
    this.#connection = connection;
    this.#packages = packages;
    this.#fleet = fleet;
  }

  /** Connects to the fleet's server. Later it reconnects by itself. */
  static async connect({ url, fleet, token }: Invite, name: string): Promise<Bus> {
    const packages = await loadNats();
    try {
      const connection = await packages.transport.connect({
        servers: url,
        name,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RECONNECT_MS,
        // A server that is gone without a word is noticed within two of these.
        pingInterval: PING_MS,
        ...(token !== undefined && { token }),
      });
      return new Bus(connection, packages, fleet);
    } catch (cause) {
      throw new MillraceError({
        code: 'io',
        message: `the fleet's server at ${url} cannot be reached: ${firstLine(cause)}`,
        asked: `to connect to the fleet ${fleet}`,
        advice: 'start it with `millrace fleet serve`, or get a new invite',
        cause,
      });
    }
  }

  /** The server's version. */
  get serverVersion(): string {
    return this.#connection.info?.version ?? 'unknown';
  }

  publish(subject: FleetSubject, bytes: Uint8Array): void {
    if (!this.#connection.isClosed()) this.#connection.publish(this.#name(subject), bytes);
  }

  subscribe(subject: FleetSubject, receive: (bytes: Uint8Array) => void): void {
    this.#connection.subscribe(this.#name(subject), {
      callback: (error, message) => {
        if (error === null) receive(message.data);
      },
    });
  }

  /** Answers requests. */
  serve(answer: (bytes: Uint8Array) => Promise<Uint8Array>): void {
    this.#connection.subscribe(this.#name('call'), {
      callback: (error, message) => {
        if (error === null) void answer(message.data).then((bytes) => message.respond(bytes));
      },
    });
  }

  /** Asks the coordinator. Throws `io` if it does not answer. */
  async call(bytes: Uint8Array, timeoutMs = CALL_MS): Promise<Uint8Array> {
    try {
      return (await this.#connection.request(this.#name('call'), bytes, { timeout: timeoutMs })).data;
    } catch (cause) {
      throw new MillraceError({
        code: 'io',
        message: `the fleet's coordinator does not answer: ${firstLine(cause)}`,
        asked: `to ask the coordinator of the fleet ${this.#fleet}`,
        advice: 'check that `millrace fleet serve` runs',
        cause,
      });
    }
  }

  /** Calls `receive` for each result, again and again until it is acknowledged. Runs until `signal` is aborted. */
  async results(
    receive: (result: StoredResult) => void,
    warn: (message: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted && !this.#connection.isClosed()) {
      try {
        const consumer = await this.#consumer();
        const messages = await consumer.consume({ max_messages: MAX_PENDING, abort_on_missing_resource: true });
        const stop = (): void => void messages.close();
        signal.addEventListener('abort', stop, { once: true });
        for await (const message of messages) receive(storedResult(message));
        signal.removeEventListener('abort', stop);
      } catch (error) {
        if (!signal.aborted) warn(`results cannot be read, trying again: ${firstLine(error)}`);
      }
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  }

  /** Creates the stream and its consumer if the server does not have them, or no longer has them. */
  async #consumer(): Promise<Consumer> {
    const { jetstream, jetstreamManager, AckPolicy, DiscardPolicy, RetentionPolicy, StorageType } =
      this.#packages.jetstream;
    const manager: JetStreamManager = await jetstreamManager(this.#connection);
    const stream = this.#stream;
    await manager.streams.add({
      name: stream,
      subjects: [this.#name('result')],
      retention: RetentionPolicy.Workqueue,
      storage: StorageType.File,
      // A full stream refuses new results, which workers then keep, instead of losing old ones.
      discard: DiscardPolicy.New,
      max_bytes: STREAM_BYTES,
    });
    const consumers = await manager.consumers.list(stream).next();
    if (!consumers.some(({ name }) => name === CONSUMER))
      await manager.consumers.add(stream, {
        durable_name: CONSUMER,
        ack_policy: AckPolicy.Explicit,
        ack_wait: ACK_WAIT_NS,
        max_ack_pending: MAX_PENDING,
      });
    return jetstream(this.#connection).consumers.get(stream, CONSUMER);
  }

  get #stream(): string {
    return `millrace-${this.#fleet}-results`;
  }

  #name(subject: FleetSubject): string {
    return `millrace.${this.#fleet}.${subject}`;
  }

  /** Waits until everything is sent. */
  async flush(): Promise<void> {
    if (!this.#connection.isClosed()) await this.#connection.flush();
  }

  async close(): Promise<void> {
    if (!this.#connection.isClosed()) await this.#connection.close();
  }
}

export type FleetSubject = 'from' | 'all' | 'result' | 'call' | `to.${string}`;

export interface StoredResult {
  readonly bytes: Uint8Array;
  acknowledge(): void;
}

const storedResult = (message: JsMsg): StoredResult => ({ bytes: message.data, acknowledge: () => message.ack() });

const CONSUMER = 'coordinator';
const RECONNECT_MS = 250;
const PING_MS = 5_000;
const CALL_MS = 5_000;
const MAX_PENDING = 1_000;
const STREAM_BYTES = 1 << 30;
const ACK_WAIT_NS = 30_000_000_000;
