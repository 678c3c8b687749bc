import { MillraceError } from '../../../kernel/error.js';
import type { Endpoint } from '../../../network/endpoint.js';
import { type Clock, keepConnected, realClock } from '../../../network/failover.js';
import { reasonOf } from '../../../network/line-client.js';
import type { Share } from './scan-work.js';
import type { SourceListener, Verdict, WorkSource } from './source.js';
import { StratumSession, Unconfigured } from './stratum.js';
import type { Work } from './work.js';

/** A pool, and whom it sees. */
export interface Pool {
  readonly endpoint: Endpoint;
  readonly user: string;
  readonly password: string;
}

export interface PoolsOptions {
  /** The first is the one that is wanted most. */
  readonly pools: readonly Pool[];
  readonly agent: string;
  /** Version bits that are asked for; 0: none. */
  readonly mask: number;
  readonly suggested?: number | undefined;
  readonly authority?: string | undefined;
  readonly log?: ((text: string) => void) | undefined;
  readonly clock?: Clock;
  readonly returnMs?: number;
  readonly answerMs?: number;
}

/** Mines for pools: for the first of them that answers, and back to the first as soon as it does. */
export class Pools implements WorkSource {
  readonly unit = 'share';
  readonly name: string;
  readonly #options: PoolsOptions;
  /** Which session a work came from: its shares go there or nowhere. */
  readonly #origins = new WeakMap<Work, StratumSession>();
  readonly #unconfigurable = new Set<number>();
  /** Where a pool has asked to be called again. */
  readonly #asked = new Map<number, NonNullable<StratumSession['reconnect']>>();
  #session: StratumSession | undefined;

  constructor(options: PoolsOptions) {
    this.#options = options;
    this.name = options.pools.map(({ endpoint }) => endpoint.name).join(', ');
  }

  async run(listener: SourceListener, signal: AbortSignal): Promise<void> {
    const { pools, clock = realClock, returnMs } = this.#options;
    const nameOf = (server: number): string => pools[server]?.endpoint.name ?? '';
    /** Sessions that are tried while another is in use hold their work back. */
    const waiting = new Map<StratumSession, Work>();
    await keepConnected<StratumSession>({
      servers: pools.length,
      signal,
      clock,
      ...(returnMs !== undefined && { returnMs }),
      open: async (server) => {
        let session: StratumSession | undefined;
        let first: Work | undefined;
        const onWork = (work: Work, isClean: boolean): void => {
          if (session) this.#origins.set(work, session);
          if (session && session === this.#session) listener.work(work, isClean);
          else if (session) waiting.set(session, work);
          else first = work;
        };
        session = await this.#open(server, listener, onWork, signal);
        if (first) {
          this.#origins.set(first, session);
          waiting.set(session, first);
        }
        return session;
      },
      use: (session, server) => {
        this.#session = session;
        listener.told({ state: 'connected', server: nameOf(server), message: 'there is work' });
        const work = waiting.get(session);
        waiting.clear();
        // Whatever another pool has sent before is worth nothing here.
        if (work) listener.work(work, true);
      },
      lost: (server, why) => {
        const asked = this.#session?.reconnect;
        if (asked) this.#asked.set(server, asked);
        else this.#asked.delete(server);
        this.#session = undefined;
        if (signal.aborted) return;
        listener.idle();
        listener.told({ state: 'lost', server: nameOf(server), message: why });
      },
      refused: (server, error, waitMs) => {
        this.#asked.delete(server);
        const again = waitMs === undefined ? '' : `; trying again in ${waitMs / 1000} s`;
        listener.told({ state: 'refused', server: nameOf(server), message: `${reasonOf(error)}${again}` });
      },
    });
  }

  async submit(share: Share): Promise<Verdict> {
    const session = this.#origins.get(share.work);
    if (!session || session !== this.#session) return { state: 'lost', reason: 'its pool is not connected any more' };
    return session.submit(share);
  }

  async #open(
    server: number,
    listener: SourceListener,
    onWork: (work: Work, isClean: boolean) => void,
    signal: AbortSignal,
  ): Promise<StratumSession> {
    const { pools, mask, agent, suggested, authority, log, answerMs, clock = realClock } = this.#options;
    const pool = pools[server];
    if (pool === undefined) throw new MillraceError({ code: 'usage', message: 'no such pool' });
    const { port = pool.endpoint.port, waitMs = 0 } = this.#asked.get(server) ?? {};
    const endpoint = { ...pool.endpoint, port };
    if (waitMs > 0) await clock.wait(waitMs, signal);
    const tell = (message: string): void => listener.told({ state: 'message', server: endpoint.name, message });
    try {
      return await StratumSession.open(endpoint, {
        user: pool.user,
        password: pool.password,
        agent,
        mask: this.#unconfigurable.has(server) ? 0 : mask,
        suggested,
        authority,
        signal,
        ...(log && { log: (text: string) => log(`${endpoint.name} ${text}`) }),
        ...(answerMs !== undefined && { answerMs }),
        onWork,
        onDifficulty: (difficulty) =>
          listener.told({ state: 'difficulty', server: endpoint.name, message: String(difficulty) }),
        onMessage: tell,
      });
    } catch (error) {
      if (!(error instanceof Unconfigured)) throw error;
      this.#unconfigurable.add(server);
      try {
        const session = await this.#open(server, listener, onWork, signal);
        tell('it closes the connection on mining.configure: going on without version rolling');
        return session;
      } catch (again) {
        // It was not that.
        this.#unconfigurable.delete(server);
        throw again;
      }
    }
  }
}
