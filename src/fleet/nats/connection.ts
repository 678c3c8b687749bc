import { X509Certificate } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { firstLine, MillraceError } from '../../kernel/error.js';
import type { Credentials, Invite } from './invite.js';
import { isLoopback } from './listening.js';
import { loadNats, type NatsPackages } from './packages.js';

export type Server = Pick<Invite, 'url' | 'ca' | 'token'>;

/** Connects to a server as a user. */
export async function connectAs(
  { transport }: NatsPackages,
  { url, ca, token, jwt, seed }: Server & Pick<Credentials, 'jwt' | 'seed'>,
  { name, inboxPrefix }: { readonly name: string; readonly inboxPrefix?: string },
): Promise<NatsConnection> {
  try {
    return await transport.connect({
      servers: url,
      name,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS,
      // A server that accepts a connection and then says nothing; the default is 20 s.
      timeout: CONNECT_MS,
      // A server that is gone without a word is noticed within two of these.
      pingInterval: PING_MS,
      authenticator: transport.jwtAuthenticator(jwt, new TextEncoder().encode(seed)),
      ...(inboxPrefix !== undefined && { inboxPrefix }),
      ...(token !== undefined && { token }),
      // With this option the client refuses a server without TLS, so that an attacker in between cannot switch it off.
      ...(url.startsWith('tls:') && { tls: ca === undefined ? {} : { ca: pemOf(ca) } }),
    });
  } catch (cause) {
    throw connectError(url, cause);
  }
}

/** Throws `usage` unless a server that other machines can reach has TLS and checks who connects. */
export async function checkRemoteServer({ url, ca }: Server): Promise<void> {
  const { hostname, protocol } = new URL(url);
  if (isLoopback(hostname)) return;
  if (protocol !== 'tls:')
    throw unsafeServer(url, 'it is on another machine, and would be used without TLS', 'give it as tls://HOST:PORT');
  if (await isOpen(url, ca))
    throw unsafeServer(url, 'it lets anyone connect', 'start it with the lines that `millrace fleet config` prints');
}

/** True if a client without a name can connect. */
async function isOpen(url: string, ca: string | undefined): Promise<boolean> {
  const { transport } = await loadNats();
  try {
    const tls = ca === undefined ? {} : { ca: pemOf(ca) };
    await (await transport.connect({ servers: url, reconnect: false, tls })).close();
    return true;
  } catch (cause) {
    if (/authorization/i.test(firstLine(cause))) return false;
    throw connectError(url, cause);
  }
}

const unsafeServer = (url: string, why: string, advice: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `the server at ${url} is not safe: ${why}`,
    asked: `--nats ${url}`,
    advice,
  });

/** Says why the server has ended a connection for good: it does so if a user is revoked or expires. */
export async function whyEnded(connection: NatsConnection, user: string): Promise<MillraceError> {
  let last: unknown;
  const watch = async (): Promise<void> => {
    for await (const status of connection.status()) {
      if (status.type === 'error' && /revoked|expired|authorization/i.test(String(status.error))) last ??= status.error;
    }
  };
  void watch();
  const error = await connection.closed();
  const why = String(last ?? error ?? '');
  const isRevoked = /revoked/i.test(why);
  const isExpired = /expired/i.test(why);
  return new MillraceError({
    code: isRevoked || isExpired ? 'usage' : 'io',
    message: isRevoked
      ? `${user} was revoked: the fleet takes nothing more from it`
      : isExpired
        ? `the invite of ${user} has expired`
        : `the fleet's server has ended the connection: ${firstLine(last ?? error ?? 'closed')}`,
    asked: `to take part in a fleet as ${user}`,
    advice: 'ask the person who runs the coordinator for a new invite',
  });
}

function connectError(url: string, cause: unknown): MillraceError {
  const reason = firstLine(cause);
  const isRefused = /authorization|authentication/i.test(reason);
  return new MillraceError({
    code: isRefused ? 'usage' : 'io',
    message: isRefused
      ? `the fleet's server at ${url} does not accept the invite: it was revoked, has expired, or is of another fleet`
      : `the fleet's server at ${url} cannot be reached: ${reason}`,
    asked: 'to connect to a fleet',
    advice: isRefused
      ? 'ask the person who runs the coordinator for a new one: `millrace fleet invite`'
      : 'start it with `millrace fleet serve`, or get a new invite',
    cause,
  });
}

const pemOf = (der: string): string => new X509Certificate(Buffer.from(der, 'base64')).toString();

const RECONNECT_MS = 250;
const PING_MS = 5_000;
const CONNECT_MS = 10_000;
