import type { Endpoint } from './endpoint.js';
import { parseExact } from './json-exact.js';
import { connectLines, type LineClient, type LineOptions } from './line-client.js';

/** A server's answer to a request: both fields are unchecked. */
export interface Reply {
  readonly result: unknown;
  readonly error: unknown;
}

/** A message that is not an answer to a request. */
export interface Message {
  readonly method: string;
  readonly params: unknown;
  /** Set if the server expects an answer. */
  readonly id: unknown;
}

export interface JsonLinesOptions extends Omit<LineOptions, 'onLine'> {
  readonly onMessage: (message: Message) => void;
  /**
   * Receives each message that is sent or received, one complete line each: it is shortened when it is written, after
   * credentials are hidden.
   */
  readonly log?: ((text: string) => void) | undefined;
  /** Replaced by `…` in the log. */
  readonly secret?: string | undefined;
  /** Milliseconds to wait for an answer. Default 30 s. */
  readonly answerMs?: number;
  /** Id of the first request. Default 1. */
  readonly firstId?: number | undefined;
  /** Integers that a double cannot represent are returned as text: see `parseExact`. */
  readonly isExact?: boolean | undefined;
}

interface PendingRequest {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** Requests and answers as JSON lines over one connection: the common part of Bitcoin's and Gapcoin's Stratum. */
export class JsonLines {
  readonly closed: Promise<string>;
  readonly #lines: LineClient;
  readonly #options: JsonLinesOptions;
  readonly #pending = new Map<number, PendingRequest>();
  #nextId: number;
  #invalidLines = 0;

  static async open(endpoint: Endpoint, options: JsonLinesOptions): Promise<JsonLines> {
    // The first line arrives in a later turn of the event loop, when the client exists.
    const lines = await connectLines(endpoint, { ...options, onLine: (line) => client.#receive(line) });
    const client: JsonLines = new JsonLines(lines, options);
    return client;
  }

  private constructor(lines: LineClient, options: JsonLinesOptions) {
    this.#lines = lines;
    this.#options = options;
    this.#nextId = options.firstId ?? 1;
    this.closed = lines.closed.then((why) => {
      for (const { reject, timer } of this.#pending.values()) {
        clearTimeout(timer);
        reject(new NoAnswerError(why, true));
      }
      this.#pending.clear();
      return why;
    });
  }

  /** Rejects with `NoAnswerError` if no answer arrives. */
  request(method: string, params: readonly unknown[], answerMs = this.#options.answerMs ?? ANSWER_MS): Promise<Reply> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (this.#pending.size >= MAX_PENDING) {
        reject(new NoAnswerError(`${MAX_PENDING} requests are unanswered`, false));
        return;
      }
      if (!this.#send(JSON.stringify({ id, method, params }))) {
        reject(new NoAnswerError('the connection is closed', true));
        return;
      }
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(new NoAnswerError(`no answer to ${method} within ${answerMs / 1000} s`, false));
      }, answerMs);
      this.#pending.set(id, { resolve, reject, timer });
    });
  }

  /** Answers a request of the server. An id that is neither a number nor a short text is ignored. */
  answer(id: unknown, result: unknown, error: unknown = null): void {
    const isId = (typeof id === 'number' && Number.isFinite(id)) || (typeof id === 'string' && id.length <= 64);
    if (isId) this.#send(JSON.stringify({ id, result, error }));
  }

  close(why?: string): void {
    this.#lines.close(why);
  }

  #send(line: string): boolean {
    this.#log('→', line);
    return this.#lines.send(line);
  }

  #receive(line: string): void {
    this.#log('←', line);
    const message = parseObject(line, this.#options.isExact ? parseExact : JSON.parse);
    if (message === undefined) {
      this.#invalidLines += 1;
      if (this.#invalidLines > MAX_INVALID_LINES) this.close('the server does not send JSON');
      return;
    }
    this.#invalidLines = 0;
    const { id, method, params, result, error } = message;
    if (typeof method === 'string') {
      this.#options.onMessage({ method, params, id });
      return;
    }
    const waiting = typeof id === 'number' ? this.#pending.get(id) : undefined;
    // Too late, a duplicate, or not the answer to a request.
    if (!waiting || typeof id !== 'number') return;
    this.#pending.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve({ result: result ?? null, error: error ?? null });
  }

  #log(direction: string, line: string): void {
    const { log, secret } = this.#options;
    if (!log) return;
    const hasSecret = secret !== undefined && secret !== '';
    log(`${direction} ${hasSecret ? line.split(JSON.stringify(secret)).join('"…"') : line}`);
  }
}

/** A request without an answer: its outcome is unknown. */
export class NoAnswerError extends Error {
  /** True if the connection was lost, false if the request timed out. */
  readonly isLost: boolean;
  constructor(why: string, isLost: boolean) {
    super(why);
    this.name = 'NoAnswerError';
    this.isLost = isLost;
  }
}

const ANSWER_MS = 30_000;
const MAX_PENDING = 1024;
/** Consecutive lines. */
const MAX_INVALID_LINES = 16;

function parseObject(line: string, parse: (text: string) => unknown): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
