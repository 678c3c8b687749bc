import { Agent, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { MillraceError } from '../kernel/error.js';
import type { Endpoint } from './endpoint.js';
import { shownText } from './fields.js';
import { parseExact } from './json-exact.js';
import { reasonOf, unreachable } from './line-client.js';

/** What a node is told of the person; asked anew for each call, because a node writes another cookie when it starts. */
export type Credentials = () => { readonly user: string; readonly password: string } | undefined;

export interface RpcOptions {
  readonly credentials: Credentials;
  /** What is sent and heard, a line each, with the call's number, whole. */
  readonly log?: ((text: string) => void) | undefined;
  /** A certificate of an authority of one's own, PEM. */
  readonly authority?: string | undefined;
  /** Bytes of the longest answer. Default 32 MiB: a template with all its transactions has up to 9. */
  readonly longest?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Default 30 s. */
  readonly timeoutMs?: number;
  /** Another path than the endpoint's own, on the same server. */
  readonly path?: string | undefined;
  /** Whole numbers that doubles do not hold are texts: see `parseExact`. */
  readonly isExact?: boolean;
}

/** What a call gave. */
export interface Answered {
  /** It is believed to be of no type. */
  readonly result: unknown;
  /** `X-Long-Polling`: a path of this very server, where a call takes until there is something new. */
  readonly longPollPath: string | undefined;
}

/** No answer came in time. */
export class TimedOut extends Error {}

/** A node's own word that something is wrong. */
export class RpcError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
  }
}

/**
 * JSON-RPC over HTTP, as Bitcoin's nodes speak it. Answers are bounded, redirections are refused: they would carry the
 * credentials elsewhere. Credentials are in no error and in no log.
 */
export class JsonRpc {
  readonly endpoint: Endpoint;
  readonly #options: RpcOptions;
  readonly #agent: Agent;
  #nextId = 1;

  constructor(endpoint: Endpoint, options: RpcOptions) {
    this.endpoint = endpoint;
    this.#options = options;
    // A long poll holds one connection; blocks must not wait behind it.
    const kept = { keepAlive: true, maxSockets: 4, maxFreeSockets: 2 };
    this.#agent = endpoint.isTls ? new TlsAgent({ ...kept, minVersion: 'TLSv1.2' }) : new Agent(kept);
  }

  /** The result, which is believed to be of no type. Rejects with `RpcError` when the node says no. */
  async call(method: string, params: readonly unknown[], options: CallOptions = {}): Promise<unknown> {
    return (await this.ask(method, params, options)).result;
  }

  /** The same, with what the server says beside. */
  async ask(method: string, params: readonly unknown[], options: CallOptions = {}): Promise<Answered> {
    const id = this.#nextId++;
    const body = JSON.stringify({ jsonrpc: '1.0', id, method, params });
    this.#log(`→ #${id} ${body}`);
    try {
      const { status, text, longPolling } = await this.#post(body, options);
      this.#log(`← #${id} ${status} ${text}`);
      const result = this.#resultOf(method, status, text, options.isExact ? parseExact : JSON.parse);
      return { result, longPollPath: longPolling === undefined ? undefined : this.#pathHere(longPolling) };
    } catch (error) {
      this.#log(`← #${id} failed: ${reasonOf(error)}`);
      throw error;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #resultOf(method: string, status: number, text: string, parse: (text: string) => unknown): unknown {
    if (status === 401 || status === 403) throw this.#refused(status);
    let answer: unknown;
    try {
      answer = parse(text);
    } catch {
      answer = undefined;
    }
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
      throw unreachable(this.endpoint, `the answer to ${method} is no JSON-RPC (HTTP ${status})`);
    }
    const { result = null, error = null } = answer as { readonly result?: unknown; readonly error?: unknown };
    if (error === null && status === 200) return result;
    const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
    const why = typeof message === 'string' ? shownText(message) : `HTTP ${status}`;
    throw new RpcError(typeof code === 'number' ? code : 0, why);
  }

  #post(body: string, { signal, timeoutMs = TIMEOUT_MS, path = this.endpoint.path }: CallOptions): Promise<Answer> {
    const { host, port, isTls } = this.endpoint;
    const { credentials, authority, longest = LONGEST } = this.#options;
    const known = credentials();
    const basic = known && Buffer.from(`${known.user}:${known.password}`).toString('base64');
    return new Promise<Answer>((resolve, reject) => {
      const asked = (isTls ? requestTls : requestPlain)({
        host,
        port,
        path: path === '' ? '/' : path,
        method: 'POST',
        agent: this.#agent,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...(basic !== undefined && { authorization: `Basic ${basic}` }),
        },
        ...(signal && { signal }),
        ...(authority !== undefined && { ca: authority }),
      });
      // For the whole of it: a server that sends a byte now and then does not hold it up for ever.
      const timer = setTimeout(() => asked.destroy(new TimedOut(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
      const fail = (error: unknown): void => {
        clearTimeout(timer);
        reject(signal?.aborted ? signal.reason : unreachable(this.endpoint, reasonOf(error), error));
      };
      asked.on('error', fail);
      asked.on('response', (response) => {
        const { statusCode: status = 0, headers } = response;
        const longPolling = headers['x-long-polling'];
        if (status >= 300 && status < 400) {
          asked.destroy(new Error('the server redirects elsewhere, which is not followed'));
          return;
        }
        gather(response, longest, () => asked.destroy(new Error('the answer is too long'))).then((text) => {
          clearTimeout(timer);
          resolve({ status, text, longPolling: Array.isArray(longPolling) ? longPolling[0] : longPolling });
        }, fail);
      });
      asked.end(body);
    });
  }

  #refused(status: number): MillraceError {
    const { name } = this.endpoint;
    return new MillraceError({
      code: 'usage',
      message: `${name} does not take these credentials (HTTP ${status})`,
      asked: `a call to ${name}`,
      advice: 'give --user and --password-file, or --cookie with the path of the node’s .cookie file',
    });
  }

  /** Of an address or a path that the server gives: another server is not told the credentials. */
  #pathHere(given: string): string | undefined {
    const { host, port, isTls } = this.endpoint;
    const scheme = isTls ? 'https' : 'http';
    const base = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
    if (given.length > LONGEST_PATH || !URL.canParse(given, base)) return undefined;
    const url = new URL(given, base);
    return url.origin === new URL(base).origin ? `${url.pathname}${url.search}` : undefined;
  }

  #log(text: string): void {
    this.#options.log?.(text);
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly longPolling: string | undefined;
}

const TIMEOUT_MS = 30_000;
const LONGEST = 32 * 2 ** 20;
const LONGEST_PATH = 1024;

/** A body up to a length; past it nothing more is kept. */
function gather(response: IncomingMessage, longest: number, tooLong: () => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let held = 0;
    response.on('data', (part: Buffer) => {
      held += part.length;
      if (held > longest) {
        parts.length = 0;
        tooLong();
      } else parts.push(part);
    });
    response.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
    response.on('error', reject);
    response.on('aborted', () => reject(new Error('the server closed the connection')));
  });
}
