import type { NatsConnection } from '@nats-io/transport-node';
import { firstLine } from '../../kernel/error.js';
import { connectAs, type Server } from './connection.js';
import type { Credentials } from './invite.js';
import { loadNats } from './packages.js';

/** A connection to the server's system account, through which accounts change while the server runs. */
export class AccountUpdates {
  readonly #connection: NatsConnection;

  private constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  static async connect(server: Server, system: Pick<Credentials, 'jwt' | 'seed'>): Promise<AccountUpdates> {
    return new AccountUpdates(
      await connectAs(await loadNats(), { ...server, ...system }, { name: 'millrace accounts' }),
    );
  }

  /** Replaces an account's claims. The server ends the connections of users that they revoke. */
  async push(account: string, jwt: string): Promise<void> {
    const answer = await this.#connection.request(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.UPDATE`, jwt, {
      timeout: UPDATE_MS,
    });
    const { error } = answer.json<{ readonly error?: { readonly description?: string } }>();
    if (error) throw new Error(`the server does not take the account: ${firstLine(error.description ?? '')}`);
  }

  async close(): Promise<void> {
    if (!this.#connection.isClosed()) await this.#connection.close();
  }
}

const UPDATE_MS = 5_000;
