import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fieldReader } from '../../network/fields.js';
import { type Credentials, loadJwt, permissionsOf, type Role } from '../nats/index.js';
import { writeSafely } from '../safe-file.js';
import { type FleetUser, isRevoked, Users } from './users.js';

type Jwt = Awaited<ReturnType<typeof loadJwt>>;

/**
 * Decides who takes part in a fleet: it has the keys of the operator and of the accounts, which only the person who runs the
 * coordinator can read, and signs users and revocations with them. The server checks signatures and has no secrets.
 */
export class Authority {
  readonly #jwt: Jwt;
  readonly #fleet: string;
  readonly #keys: Keys;
  readonly #users: Users;
  readonly #now: () => number;
  readonly #systemClaims: string;
  readonly #operatorClaims: string;
  #accountClaims: string;

  private constructor({ jwt, fleet, keys, users, now, claims }: AuthorityParts) {
    this.#jwt = jwt;
    this.#fleet = fleet;
    this.#keys = keys;
    this.#users = users;
    this.#now = now;
    [this.#operatorClaims, this.#systemClaims, this.#accountClaims] = claims;
  }

  /** Opens the keys of a fleet, or makes them. Invites expire by `now`, Unix time in seconds. */
  static async open(folder: string, fleet: string, now = unixSeconds): Promise<Authority> {
    const jwt = await loadJwt();
    const path = join(folder, KEYS);
    const keys = existsSync(path) ? readKeys(path) : newKeys(jwt);
    if (!existsSync(path)) writeSafely(path, `${JSON.stringify(keys)}\n`);
    const system = jwt.fromSeed(bytesOf(keys.system));
    const signer = jwt.fromSeed(bytesOf(keys.operator));
    const users = new Users(join(folder, USERS), now());
    const claims = [
      await jwt.encodeOperator('millrace', signer, { system_account: system.getPublicKey() }),
      await jwt.encodeAccount('system', system, { limits: { ...NO_LIMITS, conn: 10 } }, { signer }),
      await accountClaims(jwt, keys, users),
    ] as const;
    return new Authority({ jwt, fleet, keys, users, now, claims });
  }

  /** The public key of the fleet's account. */
  get account(): string {
    return this.#publicKey(this.#keys.account);
  }

  /** The account's claims, which name the users that are revoked. */
  get accountClaims(): string {
    return this.#accountClaims;
  }

  /** Lines of a server's configuration: who it trusts. Nothing in them is secret. */
  get serverLines(): string[] {
    const system = this.#publicKey(this.#keys.system);
    return [
      `operator: "${this.#operatorClaims}"`,
      `system_account: "${system}"`,
      'resolver: MEMORY',
      `resolver_preload: { ${this.account}: "${this.#accountClaims}", ${system}: "${this.#systemClaims}" }`,
    ];
  }

  /** Makes a user. Throws `usage` if its name cannot be used: one that was revoked and `isNamed` by an open job stays revoked. */
  async invite(
    role: Role,
    lifeSeconds: number,
    { name = `${role}-${randomBytes(3).toString('hex')}`, isTrusted = false }: InviteTraits = {},
    isNamed: (name: string) => boolean = () => true,
  ): Promise<Credentials> {
    const key = this.#jwt.createUser();
    const now = this.#now();
    const expires = now + Math.ceil(lifeSeconds);
    const trust = isTrusted ? { isTrusted } : {};
    this.#users.add({ name, role, key: key.getPublicKey(), expires, ...trust }, now, isNamed);
    return this.#sign(name, role, key, expires);
  }

  /** Whether a user was invited as trusted. Reads the file of users again for one that is not known. */
  isTrusted(name: string): boolean {
    return name === ADMIN || (this.#users.get(name) ?? this.#users.reload(name))?.isTrusted === true;
  }

  /** The person who runs the coordinator: may do everything that users may, and invite and revoke them. */
  admin(): Promise<Credentials> {
    return this.#sign(ADMIN, 'admin', this.#jwt.createUser());
  }

  /** The coordinator may use all subjects. */
  async coordinator(): Promise<Credentials> {
    const key = this.#jwt.createUser();
    const jwt = await this.#jwt.encodeUser('coordinator', key, bytesOf(this.#keys.account), {});
    return { user: 'coordinator', role: 'admin', jwt, seed: textOf(key.getSeed()) };
  }

  /** A user of the server's system account. */
  async system(): Promise<Pick<Credentials, 'jwt' | 'seed'>> {
    const key = this.#jwt.createUser();
    const jwt = await this.#jwt.encodeUser('system', key, bytesOf(this.#keys.system), {});
    return { jwt, seed: textOf(key.getSeed()) };
  }

  user(name: string): FleetUser | undefined {
    return this.#users.get(name);
  }

  /** Adds a user that was invited elsewhere, or changes one. The server has to be told of those that are revoked. */
  async put(user: FleetUser): Promise<void> {
    this.#users.put(user);
    this.#accountClaims = await accountClaims(this.#jwt, this.#keys, this.#users);
  }

  isRevoked(name: string): boolean {
    const user = this.#users.get(name);
    return user !== undefined && isRevoked(user);
  }

  async #sign(user: string, role: Role, key: ReturnType<Jwt['createUser']>, expires?: number): Promise<Credentials> {
    const { publish, subscribe } = permissionsOf(this.#fleet, user, role);
    const claims = {
      pub: { allow: [...publish] },
      sub: { allow: [...subscribe] },
      subs: MAX_SUBSCRIPTIONS,
      payload: MAX_PAYLOAD,
    };
    const account = bytesOf(this.#keys.account);
    const jwt = await this.#jwt.encodeUser(user, key, account, claims, expires === undefined ? {} : { exp: expires });
    return { user, role, jwt, seed: textOf(key.getSeed()), ...(expires !== undefined && { expires }) };
  }

  #publicKey(seed: string): string {
    return this.#jwt.fromSeed(bytesOf(seed)).getPublicKey();
  }
}

/** What may be said of a user that is invited. */
export interface InviteTraits {
  readonly name?: string | undefined;
  /** What its workers report counts without audits. */
  readonly isTrusted?: boolean | undefined;
}

interface AuthorityParts {
  readonly jwt: Jwt;
  readonly fleet: string;
  readonly keys: Keys;
  readonly users: Users;
  readonly now: () => number;
  /** Of the operator, the system account and the fleet's account. */
  readonly claims: readonly [string, string, string];
}

/** Seeds of nkeys. */
interface Keys {
  readonly operator: string;
  readonly system: string;
  readonly account: string;
}

const newKeys = ({ createOperator, createAccount }: Jwt): Keys => ({
  operator: textOf(createOperator().getSeed()),
  system: textOf(createAccount().getSeed()),
  account: textOf(createAccount().getSeed()),
});

function readKeys(path: string): Keys {
  const read = fieldReader(
    `the file ${path}`,
    'remove it: the fleet then gets new keys, and all invites become invalid',
  );
  const { operator, system, account } = read.object(JSON.parse(readFileSync(path, 'utf8')), 'the whole');
  return {
    operator: read.text(operator, 'operator', 100),
    system: read.text(system, 'system', 100),
    account: read.text(account, 'account', 100),
  };
}

function accountClaims(jwt: Jwt, { operator, account }: Keys, users: Users): Promise<string> {
  const revoked = [...users.all].flatMap(({ key, revoked: at }) => (at === undefined ? [] : [[key, at] as const]));
  const limits = {
    ...NO_LIMITS,
    imports: 0,
    exports: 0,
    wildcards: false,
    leaf: 0,
    disallow_bearer: true,
    mem_storage: 0,
    disk_storage: MAX_STORAGE,
    streams: 8,
    consumer: 16,
  };
  const claims = { limits, ...(revoked.length > 0 && { revocations: Object.fromEntries(revoked) }) };
  return jwt.encodeAccount('fleet', bytesOf(account), claims, { signer: bytesOf(operator) });
}

/** Of one connection. A worker has three. */
const MAX_SUBSCRIPTIONS = 16;
/** Bytes of a message. */
const MAX_PAYLOAD = 1 << 20;
/** Bytes of all streams, with five copies of each. */
const MAX_STORAGE = 2 ** 33;
const NO_LIMITS = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };

const ADMIN = 'admin';
const KEYS = 'keys.json';
const USERS = 'users.json';

const unixSeconds = (): number => Math.floor(Date.now() / 1000);
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
