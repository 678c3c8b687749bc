import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { MillraceError } from '../kernel/error.js';
import type { Endpoint } from './endpoint.js';
import type { Credentials } from './json-rpc.js';

/** What the command line, its files and the environment give. */
export interface GivenCredentials {
  readonly user?: string;
  readonly password?: string;
  readonly passwordFile?: string;
  /** A file that holds `name:password`, as nodes write it. */
  readonly cookie?: string;
}

/** The password: as given, or the first line of its file. */
export function passwordOf({ password, passwordFile }: GivenCredentials): string | undefined {
  if (passwordFile === undefined) return password;
  return firstLine(passwordFile, 'a password');
}

/**
 * Whom a server sees. What stands in its own address counts first, and goes to no other server; else what is given for
 * all of them.
 */
export function identityOf(
  endpoint: Endpoint,
  given: GivenCredentials,
): { readonly user: string | undefined; readonly password: string | undefined } {
  if (endpoint.user !== undefined) return { user: endpoint.user, password: endpoint.password };
  return { user: given.user, password: passwordOf(given) };
}

/** For a node. A cookie is read with every call: another one is written whenever the node starts. */
export function rpcCredentials(
  endpoint: Endpoint,
  given: GivenCredentials,
  onSecret: (secret: string) => void,
): Credentials {
  const { cookie } = given;
  const { user, password } = identityOf(endpoint, given);
  if (password !== undefined) onSecret(password);
  if (user !== undefined) return () => ({ user, password: password ?? '' });
  if (cookie === undefined) return () => undefined;
  return () => {
    const line = firstLine(cookie, 'a cookie');
    const at = line.indexOf(':');
    if (at < 0) throw unreadable(cookie, 'a cookie', 'it holds no name:password');
    const secret = line.slice(at + 1);
    onSecret(secret);
    return { user: line.slice(0, at), password: secret };
  };
}

const LONGEST = 4096;

/** Of a plain file: a pipe or a device would hold everything up. */
function firstLine(path: string, what: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    if (!fstatSync(file).isFile()) throw new Error('it is no plain file');
    const bytes = Buffer.alloc(LONGEST);
    const [line = ''] = bytes.toString('utf8', 0, readSync(file, bytes)).split(/\r?\n/, 1);
    if (line === '') throw new Error('its first line is empty');
    return line;
  } catch (cause) {
    throw unreadable(path, what, (cause as Error).message, cause);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function unreadable(path: string, what: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError({
    code: 'io',
    message: `cannot read ${what} from ${path}: ${why}`,
    asked: `${what} from a file`,
    advice: 'name a file that you may read',
    cause,
  });
}
