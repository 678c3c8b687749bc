import { jwtAuthenticator, type NatsConnection, wsconnect } from '@nats-io/nats-core';
import { checkExpiry, type Invite, inboxOf, Liveness, MemberBus } from '../../../fleet/nats/index.js';
import { firstLine, MillraceError } from '../../../kernel/error.js';

/** A fleet's messages over a WebSocket. It reconnects by itself. */
export interface PageConnection {
  readonly bus: MemberBus;
  /** Calls `changed` whenever the connection is lost or comes back, until it has ended. */
  watch(changed: (isUp: boolean) => void): void;
}

/**
 * Connects to the server of an invite. Throws `usage` if the server does not accept it, and `io` if it cannot be reached:
 * browsers do not tell pages why.
 */
export async function connectPage(invite: Invite, name: string): Promise<PageConnection> {
  checkExpiry(invite);
  const connection = await open(invite, name);
  return {
    bus: new MemberBus(connection, new Liveness(connection), invite),
    watch: (changed) => void watch(connection, changed),
  };
}

async function open(invite: Invite, name: string): Promise<NatsConnection> {
  try {
    return await wsconnect({
      servers: invite.url,
      name,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS,
      timeout: CONNECT_MS,
      // A server that is gone without a word is noticed within two of these.
      pingInterval: PING_MS,
      authenticator: jwtAuthenticator(invite.jwt, new TextEncoder().encode(invite.seed)),
      inboxPrefix: inboxOf(invite),
    });
  } catch (cause) {
    const isRefused = /authorization|authentication/i.test(firstLine(cause));
    throw new MillraceError({
      code: isRefused ? 'usage' : 'io',
      message: isRefused
        ? "the fleet's server does not accept the invite: it was revoked, has expired, or is of another fleet"
        : "the fleet's server cannot be reached",
      asked: 'to connect to a fleet',
      cause,
    });
  }
}

async function watch(connection: NatsConnection, changed: (isUp: boolean) => void): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === 'disconnect') changed(false);
    if (type === 'reconnect') changed(true);
  }
}

const RECONNECT_MS = 500;
const CONNECT_MS = 10_000;
const PING_MS = 5_000;
