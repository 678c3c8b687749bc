import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { MillraceError } from '../kernel/error.js';
import type { Endpoint } from './endpoint.js';
import type { Credentials } from './json-rpc.js';

/** Credentials from the command line, its files and the environment. */
export interface CredentialOptions {
  readonly user?: string;
  readonly password?: string;
  readonly passwordFile?: string;
  /** A file that holds `name:password`, as nodes write it. */
  readonly cookie?: string;
}

/** Returns the given password, or the first line of its file. */
export function readPassword({ password, passwordFile }: CredentialOptions): string | undefined {
  if (passwordFile === undefined) return password;
  return firstLine(passwordFile, 'a password');
}

/**
 * Returns the name and password for a server. Credentials in the server's own address take precedence and are sent to no
 * other server; otherwise the ones given for all servers apply.
 */
export function credentialsFor(
  endpoint: Endpoint,
  given: CredentialOptions,
): { readonly user: string | undefined; readonly password: string | undefined } {
  if (endpoint.user !== undefined) return { user: endpoint.user, password: endpoint.password };
  return { user: given.user, password: readPassword(given) };
}

/**
 * Returns the credentials for a node. A cookie is read for every call, because a node writes a new one whenever it
 * starts.
 */
export function rpcCredentials(
  endpoint: Endpoint,
  given: CredentialOptions,
  onSecret: (secret: string) => void,
): Credentials {
  const { cookie } = given;
  const { user, password } = credentialsFor(endpoint, given);
  if (password !== undefined) onSecret(password);
  if (user !== undefined) return () => ({ user, password: password ?? '' });
  if (cookie === undefined) return () => undefined;
  return () => {
    const line = firstLine(cookie, 'a cookie');
    const at = line.indexOf(':');
    if (at < 0) throw unreadable(cookie, 'a cookie', 'expected name:password in its first line');
    const secret = line.slice(at + 1);
    onSecret(secret);
    return { user: line.slice(0, at), password: secret };
  };
}

const MAX_FILE_BYTES = 4096;

/** Reads the first line of a regular file. Others are refused: a pipe or a device could block. */
function firstLine(path: string, content: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    if (!fstatSync(file).isFile()) throw new Error('not a regular file');
    const bytes = Buffer.alloc(MAX_FILE_BYTES);
    const [line = ''] = bytes.toString('utf8', 0, readSync(file, bytes)).split(/\r?\n/, 1);
    if (line === '') throw new Error('its first line is empty');
    return line;
  } catch (cause) {
    throw unreadable(path, content, (cause as Error).message, cause);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function unreadable(path: string, content: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError({
    code: 'io',
    message: `cannot read ${content} from ${path} (${why})`,
    asked: `${content} from a file`,
    advice: 'give a file that you can read',
    cause,
  });
}
