import type { NatsConnection } from '@nats-io/transport-node';
import { firstLine, MillraceError } from '../../kernel/error.js';
import { whyEnded } from './connection.js';
import type { Invite } from './invite.js';
import type { Liveness } from './liveness.js';
import { type Role, senderOf, subjectOf } from './subjects.js';

/**
 * A fleet's messages on NATS, as one user of the fleet (`subjects.ts`), over any connection: Node's, or a page's WebSocket.
 * Everything is best effort; the protocol repairs whatever is lost.
 */
export class MemberBus {
  readonly #connection: NatsConnection;
  readonly #liveness: Liveness;
  readonly #fleet: string;
  readonly user: string;
  readonly #role: Role;
  readonly #callMs: number;
  /** Resolves with the reason when the server has ended the connection for good. */
  readonly ended: Promise<MillraceError>;

  constructor(connection: NatsConnection, liveness: Liveness, member: Member, callMs = CALL_MS) {
    this.#connection = connection;
    this.#liveness = liveness;
    this.#fleet = member.fleet;
    this.user = member.user;
    this.#role = member.role;
    this.#callMs = callMs;
    this.ended = whyEnded(connection, member.user);
  }

  /** As a user: `from` and `result`. As the coordinator: `all`, and `to.WORKER`. */
  publish(subject: FleetSubject, bytes: Uint8Array): void {
    if (this.#connection.isClosed()) return;
    const isOwn = subject === 'from' || subject === 'result';
    this.#connection.publish(isOwn ? this.#name(subject, this.user) : this.#name(subject), bytes);
  }

  /**
   * Receives messages, until the returned function is called; those of `from` and `result` with the user that has sent
   * them.
   */
  subscribe(subject: FleetSubject, receive: (bytes: Uint8Array, user: string) => void): () => void {
    const isOfUsers = subject === 'from' || subject === 'result';
    const name = isOfUsers ? this.#name(subject, '*') : this.#name(subject);
    const subscription = this.#connection.subscribe(name, {
      callback: (error, message) => {
        if (error === null) receive(message.data, senderOf(message.subject));
      },
    });
    return () => subscription.unsubscribe();
  }

  /** Asks the coordinator. Throws `io` if it does not answer. */
  async call(bytes: Uint8Array): Promise<Uint8Array> {
    const subject = this.#name('call', this.#role, this.user);
    const ask = () => this.#connection.request(subject, bytes, { timeout: this.#callMs });
    try {
      return (await this.#liveness.request(ask, this.#callMs)).data;
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

  /** Waits until everything is sent. */
  async flush(): Promise<void> {
    if (!this.#connection.isClosed()) await this.#connection.flush();
  }

  async close(): Promise<void> {
    if (!this.#connection.isClosed()) await this.#connection.close();
  }

  #name(...tokens: readonly string[]): string {
    return subjectOf(this.#fleet, ...tokens);
  }
}

/** The prefix of inboxes to which answers for a user come. */
export const inboxOf = ({ fleet, user }: Member): string => subjectOf(fleet, 'inbox', user);

export type Member = Pick<Invite, 'fleet' | 'user' | 'role'>;

export type FleetSubject = 'from' | 'all' | 'result' | `to.${string}`;

export const CALL_MS = 5_000;
