/** A connection that can be worked with. */
export interface Session {
  /** Why it has ended. Never rejects. */
  readonly closed: Promise<string>;
  close(why?: string): void;
}

/** Time, for waiting: tests have one of their own. */
export interface Clock {
  now(): number;
  /** Resolves after so many milliseconds, or as soon as the signal is aborted. */
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
  /** How many servers there are, the first the one that is wanted most. */
  readonly servers: number;
  /** Opens a session with one of them; it resolves when there is work. */
  open(server: number, signal: AbortSignal): Promise<S>;
  /** From now on it is this one; the one before is closed already. */
  use(session: S, server: number): void;
  /** It is this one no longer; until the next `use` there is none. */
  lost(server: number, why: string): void;
  /** One could not be opened; `waitMs` where all of them failed and nothing is tried for a while. */
  refused(server: number, error: unknown, waitMs: number | undefined): void;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  /** How often servers before the one in use are tried again. Default every 5 minutes. */
  readonly returnMs?: number;
}

/**
 * Keeps one of several servers in use, for ever: the first that answers, in their order; when it is lost the first again;
 * while another is in use, those before it are tried from time to time and taken back. It ends with the signal alone.
 * Errors that `isFinal` are thrown: no patience would mend them.
 */
export async function keepConnected<S extends Session>(
  options: FailoverOptions<S>,
  isFinal: (error: unknown) => boolean = () => false,
): Promise<void> {
  const { servers, signal, clock = realClock } = options;
  let rounds = 0;
  while (!signal.aborted) {
    for (let server = 0; server < servers && !signal.aborted; server++) {
      const session = await attempt(options, server, isFinal, server === servers - 1 ? backOff(rounds) : undefined);
      if (!session) continue;
      const started = clock.now();
      await stay(options, session, server, isFinal);
      // One that takes connections and drops them is waited for like one that takes none.
      rounds = clock.now() - started >= STEADY_MS ? -1 : rounds;
      break;
    }
    await clock.wait(backOff(Math.max(rounds, 0)), signal);
    rounds += 1;
  }
}

/** 1 s, 2 s, 4 s … a minute, before the servers are tried once more. */
export const backOff = (rounds: number): number => Math.min(1000 * 2 ** Math.min(rounds, 10), 60_000);

/** A session that lasted so long was a good one. */
const STEADY_MS = 30_000;
const RETURN_MS = 300_000;

async function attempt<S extends Session>(
  { open, refused, signal }: FailoverOptions<S>,
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
    refused(server, error, waitMs);
  }
  return undefined;
}

/** Until it is lost; where it is not the first, until one before it can be had. */
async function stay<S extends Session>(
  options: FailoverOptions<S>,
  first: S,
  at: number,
  isFinal: (error: unknown) => boolean,
): Promise<void> {
  const { signal, clock = realClock, returnMs = RETURN_MS } = options;
  let [session, server] = [first, at];
  let { ended, gone } = endOf(session);
  const stopped = (): void => session.close('stopped');
  signal.addEventListener('abort', stopped, { once: true });
  try {
    options.use(session, server);
    for (;;) {
      if (server === 0) await ended;
      else await clock.wait(returnMs, gone);
      if (gone.aborted) {
        options.lost(server, await ended);
        return;
      }
      const better = await firstOf(options, server, isFinal);
      if (!better) continue;
      session.close('a server before it is back');
      ({ session, server } = better);
      ({ ended, gone } = endOf(session));
      options.use(session, server);
    }
  } finally {
    signal.removeEventListener('abort', stopped);
    session.close();
  }
}

/** When a session has ended, as a promise of why and as a signal. */
function endOf({ closed }: Session): { readonly ended: Promise<string>; readonly gone: AbortSignal } {
  const left = new AbortController();
  const ended = closed.then((why) => {
    left.abort();
    return why;
  });
  return { ended, gone: left.signal };
}

async function firstOf<S extends Session>(
  options: FailoverOptions<S>,
  before: number,
  isFinal: (error: unknown) => boolean,
): Promise<{ readonly session: S; readonly server: number } | undefined> {
  for (let server = 0; server < before && !options.signal.aborted; server++) {
    const session = await attempt(options, server, isFinal, undefined);
    if (session) return { session, server };
  }
  return undefined;
}
