import { MillraceError } from '../../kernel/error.js';
import { fieldReader } from '../../network/fields.js';
import { fromBase64 } from '../digest.js';
import { isRole, isUserName, type Role } from './subjects.js';

/** What a program needs to take part in a fleet. As text it is one line, which holds a secret. */
export interface Invite extends Credentials {
  /** The NATS server: `nats://127.0.0.1:4222`, or `tls://…`. */
  readonly url: string;
  /** The fleet's name on that server: letters and digits. */
  readonly fleet: string;
  /** The certificate of the authority that has signed the server's, in DER as base64. Missing if the system knows it. */
  readonly ca?: string;
  /** The token of a server that wants one. */
  readonly token?: string;
}

/** A user of a fleet. */
export interface Credentials {
  readonly user: string;
  readonly role: Role;
  /** Signed by the fleet's account. */
  readonly jwt: string;
  /** The seed of the user's key: a secret. */
  readonly seed: string;
  /** Unix time in seconds. The server ends the connection then. */
  readonly expires?: number;
}

const PREFIX = 'millrace-fleet-2-';

/** True if a text is the line of an invite, maybe of another version. */
export const isInvite = (text: string): boolean => text.trimStart().startsWith('millrace-fleet-');

export function formatInvite({ url, fleet, user, role, jwt, seed, expires, ca, token }: Invite): string {
  const optional = {
    ...(expires !== undefined && { expires }),
    ...(ca !== undefined && { ca }),
    ...(token !== undefined && { token }),
  };
  const text = JSON.stringify({ url, fleet, user, role, jwt, seed, ...optional });
  return PREFIX + Buffer.from(text).toString('base64url');
}

/** Reads an invite. Throws `usage` if the text is not one. */
export function parseInvite(text: string): Invite {
  const line = text.trim();
  if (!line.startsWith(PREFIX)) throw notAnInvite(`it does not start with ${PREFIX}`);
  const read = fieldReader('the invite', 'copy the whole line that `millrace fleet invite` prints');
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(fromBase64(line.slice(PREFIX.length))));
  } catch (cause) {
    throw notAnInvite('it is cut off or changed', cause);
  }
  const { url, fleet, user, role, jwt, seed, expires, ca, token } = read.object(value, 'the whole');
  const name = read.text(fleet, 'fleet', 40);
  const userName = read.text(user, 'user', 40);
  const userRole = read.text(role, 'role', 20);
  if (!/^[A-Za-z0-9]+$/.test(name)) throw notAnInvite('its fleet has no name of letters and digits');
  if (!isUserName(userName) || !isRole(userRole)) throw notAnInvite('it names no user of a fleet');
  return {
    url: read.text(url, 'url', 1000),
    fleet: name,
    user: userName,
    role: userRole,
    jwt: read.text(jwt, 'jwt', 4000),
    seed: read.text(seed, 'seed', 100),
    ...(expires !== undefined && { expires: read.integer(expires, 'expires', 0, Number.MAX_SAFE_INTEGER) }),
    ...(ca !== undefined && { ca: read.text(ca, 'ca', 4000) }),
    ...(token !== undefined && { token: read.text(token, 'token', 200) }),
  };
}

/** Throws `usage` if the invite can no longer be used. */
export function checkExpiry({ expires, user }: Credentials, now = Date.now()): void {
  if (expires === undefined || expires * 1000 > now) return;
  throw new MillraceError({
    code: 'usage',
    message: `the invite of ${user} has expired (${new Date(expires * 1000).toISOString()})`,
    asked: 'to connect to a fleet',
    advice: 'ask the person who runs the coordinator for a new one: `millrace fleet invite`',
  });
}

const notAnInvite = (message: string, cause?: unknown): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `not an invite to a fleet: ${message}`,
    advice: 'copy the whole line that `millrace fleet invite` prints',
    ...(cause === undefined ? {} : { cause }),
  });
