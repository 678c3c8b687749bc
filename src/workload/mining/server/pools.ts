import { MillraceError } from '../../../kernel/error.js';
import type { Endpoint } from '../../../network/endpoint.js';
import { type Clock, keepConnected, realClock, type Session } from '../../../network/failover.js';
import { reasonOf } from '../../../network/line-client.js';
import type { ShareBase, SourceListener, Verdict, WorkSource } from '../source.js';

/** A pool and the worker's credentials there. */
export interface Pool {
  readonly endpoint: Endpoint;
  readonly user: string;
  readonly password: string;
}

export interface PoolSourceOptions {
  /** In order of preference. */
  readonly pools: readonly Pool[];
  readonly authority?: string | undefined;
  readonly log?: ((text: string) => void) | undefined;
  readonly clock?: Clock;
  readonly returnMs?: number;
  readonly answerMs?: number;
}

/** What a session is opened with, the same for every protocol. */
export interface PoolSessionOptions<Work> extends Pool {
  readonly authority?: string | undefined;
  readonly signal: AbortSignal;
  readonly log?: ((text: string) => void) | undefined;
  /** Milliseconds to wait for an answer. */
  readonly answerMs?: number;
  onWork(work: Work, isClean: boolean): void;
  onDifficulty(difficulty: string): void;
  onMessage(text: string): void;
}

/** A session that has work, until its connection ends. */
export interface PoolSession<Share extends ShareBase> extends Session {
  /** Set if the pool has asked this client to reconnect. */
  readonly reconnect?: { readonly port: number; readonly waitMs: number } | undefined;
  submit(share: Share): Promise<Verdict>;
}

export type OpenSession<Share extends ShareBase> = (
  call: PoolSessionOptions<Share['work']>,
) => Promise<PoolSession<Share>>;

/** Mines for the first pool that answers, and returns to the first in the list as soon as that one answers. */
export class PoolSource<Share extends ShareBase> implements WorkSource<Share> {
  readonly unit = 'share';
  readonly name: string;
  readonly #options: PoolSourceOptions;
  readonly #openSession: OpenSession<Share>;
  /** The session that each work came from. Its shares are submitted to that session only. */
  readonly #sessionOfWork = new WeakMap<Share['work'], PoolSession<Share>>();
  /** Reconnect requests, by the pool's index. */
  readonly #reconnects = new Map<number, NonNullable<PoolSession<Share>['reconnect']>>();
  #session: PoolSession<Share> | undefined;

  constructor(options: PoolSourceOptions, open: OpenSession<Share>) {
    this.#options = options;
    this.#openSession = open;
    this.name = options.pools.map(({ endpoint }) => endpoint.name).join(', ');
  }

  async run(listener: SourceListener<Share['work']>, signal: AbortSignal): Promise<void> {
    const { pools, clock = realClock, returnMs } = this.#options;
    const serverName = (server: number): string => pools[server]?.endpoint.name ?? '';
    /** Work of sessions that were opened while another one is in use. */
    const waiting = new Map<PoolSession<Share>, Share['work']>();
    await keepConnected<PoolSession<Share>>({
      servers: pools.length,
      signal,
      clock,
      ...(returnMs !== undefined && { returnMs }),
      open: async (server) => {
        let session: PoolSession<Share> | undefined;
        let first: Share['work'] | undefined;
        const onWork = (work: Share['work'], isClean: boolean): void => {
          if (session) this.#sessionOfWork.set(work, session);
          if (session && session === this.#session) listener.onWork(work, isClean);
          else if (session) waiting.set(session, work);
          else first = work;
        };
        session = await this.#open(server, listener, onWork, signal);
        if (first) {
          this.#sessionOfWork.set(first, session);
          waiting.set(session, first);
        }
        return session;
      },
      onUse: (session, server) => {
        this.#session = session;
        listener.onEvent({ state: 'connected', server: serverName(server), message: 'there is work' });
        const work = waiting.get(session);
        waiting.clear();
        // Work from another pool is worthless here.
        if (work) listener.onWork(work, true);
      },
      onLost: (server, why) => {
        const reconnect = this.#session?.reconnect;
        if (reconnect) this.#reconnects.set(server, reconnect);
        else this.#reconnects.delete(server);
        this.#session = undefined;
        if (signal.aborted) return;
        listener.onIdle();
        listener.onEvent({ state: 'lost', server: serverName(server), message: why });
      },
      onRefused: (server, error, waitMs) => {
        this.#reconnects.delete(server);
        const again = waitMs === undefined ? '' : `; trying again in ${waitMs / 1000} s`;
        listener.onEvent({ state: 'refused', server: serverName(server), message: `${reasonOf(error)}${again}` });
      },
    });
  }

  async submit(share: Share): Promise<Verdict> {
    const session = this.#sessionOfWork.get(share.work);
    if (!session || session !== this.#session) return { state: 'lost', reason: 'its pool is no longer connected' };
    return session.submit(share);
  }

  async #open(
    server: number,
    listener: SourceListener<Share['work']>,
    onWork: (work: Share['work'], isClean: boolean) => void,
    signal: AbortSignal,
  ): Promise<PoolSession<Share>> {
    const { pools, authority, log, answerMs, clock = realClock } = this.#options;
    const pool = pools[server];
    if (pool === undefined) throw new MillraceError({ code: 'usage', message: 'no such pool' });
    const { port = pool.endpoint.port, waitMs = 0 } = this.#reconnects.get(server) ?? {};
    const endpoint = { ...pool.endpoint, port };
    if (waitMs > 0) await clock.wait(waitMs, signal);
    const report = (state: 'message' | 'difficulty') => (message: string) =>
      listener.onEvent({ state, server: endpoint.name, message });
    return this.#openSession({
      ...pool,
      endpoint,
      authority,
      signal,
      ...(log && { log: (text: string) => log(`${endpoint.name} ${text}`) }),
      ...(answerMs !== undefined && { answerMs }),
      onWork,
      onDifficulty: report('difficulty'),
      onMessage: report('message'),
    });
  }
}
