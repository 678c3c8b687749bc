import { MillraceError } from '../../kernel/error.js';
import { fieldReader } from '../../network/fields.js';

/** What a machine needs to join a fleet. As text it is one line, which holds a secret. */
export interface Invite {
  /** The NATS server: `nats://127.0.0.1:4222`. */
  readonly url: string;
  /** The fleet's name on that server: letters and digits. */
  readonly fleet: string;
  /** The server's token. */
  readonly token?: string;
}

const PREFIX = 'millrace-fleet-1-';

export const formatInvite = ({ url, fleet, token }: Invite): string =>
  PREFIX + Buffer.from(JSON.stringify({ url, fleet, ...(token !== undefined && { token }) })).toString('base64url');

/** Reads an invite. Throws `usage` if the text is not one. */
export function parseInvite(text: string): Invite {
  const line = text.trim();
  if (!line.startsWith(PREFIX)) throw notAnInvite(`it does not start with ${PREFIX}`);
  const read = fieldReader('the invite', 'copy the whole line that `millrace fleet invite` prints');
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(line.slice(PREFIX.length), 'base64url').toString());
  } catch (cause) {
    throw notAnInvite('it is cut off or changed', cause);
  }
  const { url, fleet, token } = read.object(value, 'the whole');
  const name = read.text(fleet, 'fleet', 40);
  if (!/^[A-Za-z0-9]+$/.test(name)) throw notAnInvite('its fleet has no name of letters and digits');
  return {
    url: read.text(url, 'url', 1000),
    fleet: name,
    ...(token !== undefined && { token: read.text(token, 'token', 200) }),
  };
}

const notAnInvite = (message: string, cause?: unknown): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `not an invite to a fleet: ${message}`,
    advice: 'copy the whole line that `millrace fleet invite` prints',
    ...(cause === undefined ? {} : { cause }),
  });
