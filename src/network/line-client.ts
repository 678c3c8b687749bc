import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Deferred, deferred } from '../device/deferred.js';
import { MillraceError } from '../kernel/error.js';
import type { Endpoint } from './endpoint.js';
import { LineSplitter } from './line-splitter.js';

/** A connection that carries lines in both directions: the transport of every Stratum protocol. */
export interface LineClient {
  /** Returns false if the connection is closed or the server does not read. */
  send(line: string): boolean;
  close(why?: string): void;
  /** Resolves with the reason when the connection has ended. Never rejects. */
  readonly closed: Promise<string>;
}

export interface LineOptions {
  /** Called for each line in order; if it throws, the connection is closed. */
  readonly onLine: (line: string) => void;
  /** Timeout for connecting in milliseconds, including TLS. */
  readonly connectMs?: number;
  /** Milliseconds without data from the server after which the connection counts as lost. */
  readonly maxSilenceMs?: number;
  readonly maxLineBytes?: number;
  /** Certificate of your own authority, PEM. Certificates are always verified. */
  readonly authority?: string | undefined;
  readonly signal?: AbortSignal;
}

/** Opens a connection. Rejects with an error for the user. */
export async function connectLines(endpoint: Endpoint, options: LineOptions): Promise<LineClient> {
  const { signal, connectMs = CONNECT_MS } = options;
  signal?.throwIfAborted();
  const socket = openSocket(endpoint, options.authority);
  try {
    await waitUntilConnected(socket, endpoint, connectMs, signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return new SocketLineClient(socket, options);
}

const CONNECT_MS = 10_000;
/** Pools send a job at least every minute or two. */
const SILENCE_MS = 300_000;
/**
 * A server that floods us gets a quarter of this thread's time: after lines that took long, nothing is read for three
 * times as long, and TCP flow control slows the server down. Ordinary jobs take less than a millisecond.
 */
const SLOW_MS = 2;
const PAUSE_FACTOR = 3;
/** Maximum bytes waiting to be sent: a server that does not read counts as lost. */
const MAX_UNSENT_BYTES = 1 << 20;

function openSocket({ host, port, isTls }: Endpoint, authority: string | undefined): Socket {
  if (!isTls) return connectPlain({ host, port });
  return connectTls({
    host,
    port,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    // The certificate is checked against a host name; an IP address sends no server name.
    ...(isIP(host) === 0 && { servername: host }),
    ...(authority !== undefined && { ca: authority }),
  });
}

function waitUntilConnected(
  socket: Socket,
  endpoint: Endpoint,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const event = endpoint.isTls ? 'secureConnect' : 'connect';
  return new Promise((resolve, reject) => {
    const refuse = (why: string, cause?: unknown): void => settle(() => reject(unreachable(endpoint, why, cause)));
    const onError = (error: NodeJS.ErrnoException): void => refuse(reasonOf(error), error);
    const onAbort = (): void => settle(() => reject(signal?.reason));
    const timer = setTimeout(() => refuse(`no answer within ${ms / 1000} s`), ms);
    const settle = (then: () => void): void => {
      clearTimeout(timer);
      socket.off(event, onConnect);
      signal?.removeEventListener('abort', onAbort);
      // Later errors are handled by the next owner's listener, or ignored.
      socket.on('error', () => undefined).off('error', onError);
      then();
    };
    const onConnect = (): void => settle(resolve);
    socket.once(event, onConnect).on('error', onError);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

class SocketLineClient implements LineClient {
  readonly #socket: Socket;
  readonly #splitter: LineSplitter;
  readonly #onLine: (line: string) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = (): void => this.close('stopped');
  readonly #closed: Deferred<string> = deferred();
  #isClosed = false;
  #pauseTimer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, { onLine, maxSilenceMs = SILENCE_MS, maxLineBytes, signal }: LineOptions) {
    this.#socket = socket;
    this.#splitter = new LineSplitter(maxLineBytes);
    this.#onLine = onLine;
    this.#signal = signal;
    socket.setNoDelay(true).setKeepAlive(true, 60_000);
    socket.setTimeout(maxSilenceMs, () => this.close(`no data for ${maxSilenceMs / 1000} s`));
    socket.on('data', (piece: Buffer) => this.#read(piece));
    socket.on('error', (error: NodeJS.ErrnoException) => this.close(reasonOf(error)));
    socket.on('close', () => this.close('the server closed the connection'));
    signal?.addEventListener('abort', this.#abort, { once: true });
    if (signal?.aborted) this.close('stopped');
  }

  get closed(): Promise<string> {
    return this.#closed.promise;
  }

  send(line: string): boolean {
    if (this.#isClosed) return false;
    if (this.#socket.writableLength > MAX_UNSENT_BYTES) {
      this.close('the server does not read what is sent to it');
      return false;
    }
    this.#socket.write(`${line}\n`);
    return true;
  }

  close(why = 'closed'): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#pauseTimer);
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#socket.destroy();
    this.#closed.resolve(why);
  }

  #read(piece: Buffer): void {
    const from = performance.now();
    this.#deliver(piece);
    const ms = performance.now() - from;
    if (ms < SLOW_MS || this.#isClosed) return;
    this.#socket.pause();
    this.#pauseTimer = setTimeout(() => this.#socket.resume(), PAUSE_FACTOR * ms);
  }

  #deliver(piece: Buffer): void {
    if (this.#isClosed) return;
    const lines = this.#splitter.push(piece);
    if (lines === undefined) this.close('the server sent a line that is too long');
    for (const line of lines ?? []) {
      if (this.#isClosed) return;
      try {
        this.#onLine(line);
      } catch (error) {
        this.close(reasonOf(error));
      }
    }
  }
}

/** Returns the reason of a network error for the user: its first line, never an address with credentials. */
export function reasonOf(error: unknown): string {
  const { code, message = '' } = error as { readonly code?: unknown; readonly message?: string };
  const known = typeof code === 'string' ? REASONS[code] : undefined;
  return known ?? (message.split('\n', 1)[0] || String(code ?? 'unknown error'));
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused (ECONNREFUSED)',
  ECONNRESET: 'the server reset the connection (ECONNRESET)',
  ENOTFOUND: 'the host name was not found (ENOTFOUND)',
  EAI_AGAIN: 'the name lookup failed temporarily (EAI_AGAIN)',
  ETIMEDOUT: 'no answer (ETIMEDOUT)',
  EHOSTUNREACH: 'there is no route to the host (EHOSTUNREACH)',
  ENETUNREACH: 'there is no route to the network (ENETUNREACH)',
  EPIPE: 'the server closed the connection (EPIPE)',
};

export function unreachable({ name }: Endpoint, why: string, cause?: unknown): MillraceError {
  return new MillraceError({
    code: 'io',
    message: `${name}: ${why}`,
    asked: `a connection to ${name}`,
    advice: 'check the address, and that the server is running',
    cause,
  });
}
