import { MillraceError } from '../../kernel/error.js';
import type { Authority, FleetUser, InviteTraits } from '../access/index.js';
import { type AccountUpdates, formatInvite, type Invite, type Role } from '../nats/index.js';

export interface AccessOptions {
  readonly authority: Authority;
  /** What all invites have in common. */
  readonly address: Pick<Invite, 'url' | 'fleet' | 'ca' | 'token'>;
  /** The server's address for browsers, and the page that works for the fleet. Missing if there is none. */
  readonly browsers?: { readonly url: string; readonly page: string } | undefined;
  /** Missing if the server has accounts of its own: it then cannot be told of revoked users. */
  readonly updates?: AccountUpdates | undefined;
  /** Whether an open job rests on a user's word, so that its name cannot be given to another user if it was revoked. */
  readonly isNamed: (user: string) => boolean;
}

/** Invites and revokes users, and tells the server. */
export class AccessControl {
  readonly #options: AccessOptions;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Tells the server who is revoked: it may be one that was started by an earlier coordinator. */
  static async start(options: AccessOptions): Promise<AccessControl> {
    const access = new AccessControl(options);
    await access.push();
    return access;
  }

  /** Returns the line of an invite. */
  async invite(
    role: Role,
    seconds: number,
    { name, isTrusted }: InviteTraits = {},
  ): Promise<{ readonly user: string; readonly line: string }> {
    const { authority, address, isNamed } = this.#options;
    const credentials = await authority.invite(role, seconds, { name, isTrusted }, isNamed);
    return { user: credentials.user, line: formatInvite({ ...address, ...credentials }) };
  }

  /**
   * Returns the address of the page that works for the fleet, with an invite in its fragment, which browsers do not send.
   * Throws a `usage` error if the fleet serves no page.
   */
  async link(seconds: number, traits: InviteTraits = {}): Promise<{ readonly user: string; readonly line: string }> {
    const { authority, address, browsers, isNamed } = this.#options;
    if (browsers === undefined) throw noPage();
    const credentials = await authority.invite('worker', seconds, traits, isNamed);
    const invite = formatInvite({ url: browsers.url, fleet: address.fleet, ...credentials });
    return { user: credentials.user, line: `${browsers.page}#${invite}` };
  }

  user(name: string): FleetUser | undefined {
    return this.#options.authority.user(name);
  }

  /** Whether a user's results count at once: the administrator's, and those of users invited as trusted. */
  isTrusted(name: string): boolean {
    return this.#options.authority.isTrusted(name);
  }

  isRevoked(name: string): boolean {
    return this.#options.authority.isRevoked(name);
  }

  /** Ends the connections of users that are revoked, and refuses new ones. */
  async push(): Promise<void> {
    const { authority, updates } = this.#options;
    await updates?.push(authority.account, authority.accountClaims);
  }
}

const noPage = (): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: 'this fleet has no page for browsers',
    asked: 'an invite for a browser',
    advice: 'start it with `millrace fleet serve --browsers`',
  });
