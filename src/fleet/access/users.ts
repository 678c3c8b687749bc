import { existsSync, readFileSync } from 'node:fs';
import { MillraceError } from '../../kernel/error.js';
import { type FieldReader, fieldReader } from '../../network/fields.js';
import { isUserName, type Role } from '../nats/index.js';
import { writeSafely } from '../safe-file.js';

/** A user that was invited. */
export interface FleetUser {
  readonly name: string;
  readonly role: Role;
  /** The public key. */
  readonly key: string;
  /** Unix times in seconds. */
  readonly expires: number;
  readonly revoked?: number;
  /** What its workers report counts without audits. */
  readonly isTrusted?: boolean;
}

/**
 * The users that were invited and have not expired, in a file. A user that has expired is forgotten: the server refuses it. One that
 * was revoked is kept until the next invite that finds its name in no job: a coordinator that starts later has to know whose word
 * does not count.
 */
export class Users {
  readonly #path: string;
  readonly #all = new Map<string, FleetUser>();

  constructor(path: string, now: number) {
    this.#path = path;
    for (const user of existsSync(path) ? readUsers(path) : [])
      if (user.expires > now || isRevoked(user)) this.#all.set(user.name, user);
  }

  get all(): Iterable<FleetUser> {
    return this.#all.values();
  }

  get(name: string): FleetUser | undefined {
    return this.#all.get(name);
  }

  /** Returns a user that another process has invited. */
  reload(name: string): FleetUser | undefined {
    const users = existsSync(this.#path) ? readUsers(this.#path) : [];
    return users.find((user) => user.name === name);
  }

  /** Throws `usage` if the name is not one, or is another user's. `isNamed` says whether jobs that are open rest on a user's word. */
  add(user: FleetUser, now: number, isNamed: (name: string) => boolean): void {
    for (const [name, known] of this.#all)
      if (known.expires <= now && !(isRevoked(known) && isNamed(name))) this.#all.delete(name);
    const other = this.#all.get(user.name);
    if (!isUserName(user.name)) throw badName(user.name, 'expected 1 to 40 letters, digits, _ and -');
    if (RESERVED.has(user.name)) throw badName(user.name, 'the fleet itself uses this name');
    if (other) throw badName(user.name, isRevoked(other) ? 'it was revoked' : 'it is invited already');
    this.#all.set(user.name, user);
    this.#save();
  }

  /** Adds a user that was invited elsewhere, or changes one. */
  put(user: FleetUser): void {
    this.#all.set(user.name, user);
    this.#save();
  }

  #save(): void {
    writeSafely(this.#path, `${JSON.stringify([...this.#all.values()], undefined, 1)}\n`);
  }
}

export const isRevoked = ({ revoked }: FleetUser): boolean => revoked !== undefined;

function readUsers(path: string): FleetUser[] {
  const read = fieldReader(
    `the file ${path}`,
    'remove it: users that were revoked and have not expired can then connect',
  );
  return read.list(JSON.parse(readFileSync(path, 'utf8')), 'the whole', 1e6).map((entry) => readUser(read, entry));
}

/** Returns a stored user. Throws if a field is missing or malformed. */
export function readUser(read: FieldReader, value: unknown): FleetUser {
  const { name, role, key, expires, revoked, isTrusted } = read.object(value, 'user');
  const time = (given: unknown, field: string): number => read.integer(given, field, 0, Number.MAX_SAFE_INTEGER);
  return {
    name: read.text(name, 'name', 40),
    role: read.text(role, 'role', 20) as Role,
    key: read.text(key, 'key', 100),
    expires: time(expires, 'expires'),
    ...(revoked !== undefined && { revoked: time(revoked, 'revoked') }),
    ...(isTrusted === true && { isTrusted }),
  };
}

const RESERVED: ReadonlySet<string> = new Set(['admin', 'coordinator', 'system']);

const badName = (name: string, why: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `${JSON.stringify(name)} cannot be invited: ${why}`,
    asked: `to invite ${name}`,
    advice: 'give another --name',
  });
