/** A usable connection. */
export interface Session {
  /** Resolves with the reason when the session has ended. Never rejects. */
  readonly closed: Promise<string>;
  close(why?: string): void;
}

/** A clock; tests supply their own. */
export interface Clock {
  now(): number;
  /** Resolves after `ms` milliseconds, or as soon as the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export const realClock: Clock = {
  now: () => performance.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end, { once: true });
    }),
};

export interface FailoverOptions<S extends Session> {
  /** Number of servers, in order of preference. */
  readonly servers: number;
  /** Opens a session with a server; resolves when there is work. */
  open(server: number, signal: AbortSignal): Promise<S>;
  /** Called when a session comes into use; the previous one is already closed. */
  onUse(session: S, server: number): void;
  /** Called when the session in use has ended; until the next `onUse` there is none. */
  onLost(server: number, why: string): void;
  /**
   * Called if a session could not be opened. `waitMs` is set if all servers failed and nothing is tried for that time.
   */
  onRefused(server: number, error: unknown, waitMs: number | undefined): void;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  /** How often servers preferred to the one in use are retried. Default every 5 minutes. */
  readonly returnMs?: number;
}

/**
 * Keeps one of several servers in use until the signal is aborted: the first that answers, in order. When it is lost, the
 * search starts again with the first. While another server is in use, those before it are retried periodically and used
 * again. Errors that `isFinal` accepts are thrown: retrying would not help.
 */
export async function keepConnected<S extends Session>(
  options: FailoverOptions<S>,
  isFinal: (error: unknown) => boolean = () => false,
): Promise<void> {
  const { servers, signal, clock = realClock } = options;
  let rounds = 0;
  while (!signal.aborted) {
    for (let server = 0; server < servers && !signal.aborted; server++) {
      const session = await tryOpen(options, server, isFinal, server === servers - 1 ? backOff(rounds) : undefined);
      if (!session) continue;
      const started = clock.now();
      await useUntilLost(options, session, server, isFinal);
      // A server that accepts connections and drops them is retried with the same delay as one that refuses them.
      rounds = clock.now() - started >= MIN_STEADY_MS ? -1 : rounds;
      break;
    }
    await clock.wait(backOff(Math.max(rounds, 0)), signal);
    rounds += 1;
  }
}

/** Delay before the servers are retried: 1 s, 2 s, 4 s … a minute. */
export const backOff = (rounds: number): number => Math.min(1000 * 2 ** Math.min(rounds, 10), 60_000);

/** A session that lasted this long resets the delay. */
const MIN_STEADY_MS = 30_000;
const RETURN_MS = 300_000;

async function tryOpen<S extends Session>(
  { open, onRefused, signal }: FailoverOptions<S>,
  server: number,
  isFinal: (error: unknown) => boolean,
  waitMs: number | undefined,
): Promise<S | undefined> {
  try {
    const session = await open(server, signal);
    if (!signal.aborted) return session;
    session.close('stopped');
  } catch (error) {
    if (signal.aborted) return undefined;
    if (isFinal(error)) throw error;
    onRefused(server, error, waitMs);
  }
  return undefined;
}

/**
 * Uses a session until it is lost. If it is not with the first server, also switches to an earlier server that is back.
 */
async function useUntilLost<S extends Session>(
  options: FailoverOptions<S>,
  first: S,
  at: number,
  isFinal: (error: unknown) => boolean,
): Promise<void> {
  const { signal, clock = realClock, returnMs = RETURN_MS } = options;
  let [session, server] = [first, at];
  let { ended, gone } = sessionEnd(session);
  const stopped = (): void => session.close('stopped');
  signal.addEventListener('abort', stopped, { once: true });
  try {
    options.onUse(session, server);
    for (;;) {
      if (server === 0) await ended;
      else await clock.wait(returnMs, gone);
      if (gone.aborted) {
        options.onLost(server, await ended);
        return;
      }
      const better = await openPreferred(options, server, isFinal);
      if (!better) continue;
      session.close('a preferred server is back');
      ({ session, server } = better);
      ({ ended, gone } = sessionEnd(session));
      options.onUse(session, server);
    }
  } finally {
    signal.removeEventListener('abort', stopped);
    session.close();
  }
}

/** Returns a session's end as a promise of the reason and as a signal. */
function sessionEnd({ closed }: Session): { readonly ended: Promise<string>; readonly gone: AbortSignal } {
  const closedController = new AbortController();
  const ended = closed.then((why) => {
    closedController.abort();
    return why;
  });
  return { ended, gone: closedController.signal };
}

async function openPreferred<S extends Session>(
  options: FailoverOptions<S>,
  before: number,
  isFinal: (error: unknown) => boolean,
): Promise<{ readonly session: S; readonly server: number } | undefined> {
  for (let server = 0; server < before && !options.signal.aborted; server++) {
    const session = await tryOpen(options, server, isFinal, undefined);
    if (session) return { session, server };
  }
  return undefined;
}
