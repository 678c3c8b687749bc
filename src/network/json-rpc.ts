import { Agent, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { MillraceError } from '../kernel/error.js';
import type { Endpoint } from './endpoint.js';
import { displayText } from './fields.js';
import { parseExact } from './json-exact.js';
import { reasonOf, unreachable } from './line-client.js';

/** Returns the credentials for a node. Called for each request, because a node writes a new cookie when it starts. */
export type Credentials = () => { readonly user: string; readonly password: string } | undefined;

export interface RpcOptions {
  readonly credentials: Credentials;
  /** Receives each message that is sent or received, one complete line each, with the call's number. */
  readonly log?: ((text: string) => void) | undefined;
  /** Certificate of your own authority, PEM. */
  readonly authority?: string | undefined;
  /** Maximum bytes of an answer. Default 32 MiB: a template with all its transactions has up to 9. */
  readonly maxAnswerBytes?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Default 30 s. */
  readonly timeoutMs?: number;
  /** A path that replaces the endpoint's own, on the same server. */
  readonly path?: string | undefined;
  /** Integers that a double cannot represent are returned as text: see `parseExact`. */
  readonly isExact?: boolean;
}

/** The result of a call. */
export interface RpcResult {
  /** Unchecked: may be of any type. */
  readonly result: unknown;
  /** `X-Long-Polling`: a path on the same server, where a call blocks until there is something new. */
  readonly longPollPath: string | undefined;
}

/** No answer came in time. */
export class RpcTimeout extends Error {}

/** An error that the node reports. */
export class RpcError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
  }
}

/**
 * JSON-RPC over HTTP, as Bitcoin's nodes speak it. Answers are bounded. Redirections are refused: they would send the
 * credentials to another server. Errors and logs contain no credentials.
 */
export class JsonRpc {
  readonly endpoint: Endpoint;
  readonly #options: RpcOptions;
  readonly #agent: Agent;
  #nextId = 1;

  constructor(endpoint: Endpoint, options: RpcOptions) {
    this.endpoint = endpoint;
    this.#options = options;
    // A long poll occupies one connection; blocks must not wait behind it.
    const kept = { keepAlive: true, maxSockets: 4, maxFreeSockets: 2 };
    this.#agent = endpoint.isTls ? new TlsAgent({ ...kept, minVersion: 'TLSv1.2' }) : new Agent(kept);
  }

  /** Returns the result, which may be of any type. Rejects with `RpcError` if the node reports an error. */
  async call(method: string, params: readonly unknown[], options: CallOptions = {}): Promise<unknown> {
    return (await this.callForPath(method, params, options)).result;
  }

  /** Like `call`, and also returns the server's path for long polling. */
  async callForPath(method: string, params: readonly unknown[], options: CallOptions = {}): Promise<RpcResult> {
    const id = this.#nextId++;
    const body = JSON.stringify({ jsonrpc: '1.0', id, method, params });
    this.#log(`→ #${id} ${body}`);
    try {
      const { status, text, longPolling } = await this.#post(body, options);
      this.#log(`← #${id} ${status} ${text}`);
      const result = this.#resultOf(method, status, text, options.isExact ? parseExact : JSON.parse);
      return { result, longPollPath: longPolling === undefined ? undefined : this.#sameServerPath(longPolling) };
    } catch (error) {
      this.#log(`← #${id} failed: ${reasonOf(error)}`);
      throw error;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #resultOf(method: string, status: number, text: string, parse: (text: string) => unknown): unknown {
    if (status === 401 || status === 403) throw this.#credentialsError(status);
    let answer: unknown;
    try {
      answer = parse(text);
    } catch {
      answer = undefined;
    }
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) {
      throw unreachable(this.endpoint, `the answer to ${method} is not JSON-RPC (HTTP ${status})`);
    }
    const { result = null, error = null } = answer as { readonly result?: unknown; readonly error?: unknown };
    if (error === null && status === 200) return result;
    const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
    const why = typeof message === 'string' ? displayText(message) : `HTTP ${status}`;
    throw new RpcError(typeof code === 'number' ? code : 0, why);
  }

  #post(body: string, { signal, timeoutMs = TIMEOUT_MS, path = this.endpoint.path }: CallOptions): Promise<HttpAnswer> {
    const { host, port, isTls } = this.endpoint;
    const { credentials, authority, maxAnswerBytes = MAX_ANSWER_BYTES } = this.#options;
    const known = credentials();
    const basic = known && Buffer.from(`${known.user}:${known.password}`).toString('base64');
    return new Promise<HttpAnswer>((resolve, reject) => {
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
      // Limits the whole call: a server that sends a byte now and then cannot delay it indefinitely.
      const timer = setTimeout(
        () => asked.destroy(new RpcTimeout(`no answer within ${timeoutMs / 1000} s`)),
        timeoutMs,
      );
      const fail = (error: unknown): void => {
        clearTimeout(timer);
        reject(signal?.aborted ? signal.reason : unreachable(this.endpoint, reasonOf(error), error));
      };
      asked.on('error', fail);
      asked.on('response', (response) => {
        const { statusCode: status = 0, headers } = response;
        const longPolling = headers['x-long-polling'];
        if (status >= 300 && status < 400) {
          asked.destroy(new Error('the server sent a redirect; redirects are not followed'));
          return;
        }
        readBody(response, maxAnswerBytes, () => asked.destroy(new Error('the answer is too long'))).then((text) => {
          clearTimeout(timer);
          resolve({ status, text, longPolling: Array.isArray(longPolling) ? longPolling[0] : longPolling });
        }, fail);
      });
      asked.end(body);
    });
  }

  #credentialsError(status: number): MillraceError {
    const { name } = this.endpoint;
    return new MillraceError({
      code: 'usage',
      message: `${name} rejected these credentials (HTTP ${status})`,
      asked: `a call to ${name}`,
      advice: 'give --user and --password-file, or --cookie with the path of the node’s .cookie file',
    });
  }

  /**
   * Returns the path of an address that the server gives; undefined if it is on another server, which must not receive
   * the credentials.
   */
  #sameServerPath(given: string): string | undefined {
    const { host, port, isTls } = this.endpoint;
    const scheme = isTls ? 'https' : 'http';
    const base = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
    if (given.length > MAX_PATH_LENGTH || !URL.canParse(given, base)) return undefined;
    const url = new URL(given, base);
    return url.origin === new URL(base).origin ? `${url.pathname}${url.search}` : undefined;
  }

  #log(text: string): void {
    this.#options.log?.(text);
  }
}

interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  readonly longPolling: string | undefined;
}

const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 32 * 2 ** 20;
const MAX_PATH_LENGTH = 1024;

/** Reads a body up to a maximum length; nothing is kept of a longer one. */
function readBody(response: IncomingMessage, maxBytes: number, tooLong: () => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let held = 0;
    response.on('data', (part: Buffer) => {
      held += part.length;
      if (held > maxBytes) {
        parts.length = 0;
        tooLong();
      } else parts.push(part);
    });
    response.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
    response.on('error', reject);
    response.on('aborted', () => reject(new Error('the server closed the connection')));
  });
}
