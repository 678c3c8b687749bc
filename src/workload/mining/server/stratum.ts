import type { Session } from '../../../network/failover.js';
import { displayText } from '../../../network/fields.js';
import {
  JsonLines,
  type JsonLinesOptions,
  type Message,
  NoAnswerError,
  type Reply,
} from '../../../network/json-lines.js';
import type { ShareBase, Verdict } from '../source.js';
import type { PoolSession, PoolSessionOptions } from './pools.js';

export interface StratumOptions extends Pick<JsonLinesOptions, 'firstId' | 'isExact'> {
  /** The name and version that this program reports to pools. */
  readonly agent: string;
  /** The error code for a share of an outdated job. */
  readonly staleCode?: number;
}

/** A connection to a pool: submits shares and handles the messages that all Stratum dialects have in common. */
export class StratumConnection implements Session {
  readonly closed: Promise<string>;
  /** Set if the pool has asked this client to reconnect. */
  reconnect: { readonly port: number; readonly waitMs: number } | undefined;
  readonly #lines: JsonLines;
  readonly #sessionOptions: PoolSessionOptions<never>;
  readonly #options: StratumOptions;
  /** Messages received before `listen` was called. */
  readonly #earlyMessages: Message[];
  #onMessage: ((message: Message) => boolean) | undefined;

  static async open(call: PoolSessionOptions<never>, options: StratumOptions): Promise<StratumConnection> {
    const early: Message[] = [];
    let stratum: StratumConnection | undefined;
    const lines = await JsonLines.open(call.endpoint, {
      firstId: options.firstId,
      isExact: options.isExact,
      signal: call.signal,
      secret: call.password,
      ...(call.log && { log: call.log }),
      ...(call.authority !== undefined && { authority: call.authority }),
      ...(call.answerMs !== undefined && { answerMs: call.answerMs }),
      onMessage: (message) => (stratum ? stratum.#dispatch(message) : early.push(message)),
    });
    stratum = new StratumConnection(lines, call, options, early);
    return stratum;
  }

  private constructor(lines: JsonLines, call: PoolSessionOptions<never>, options: StratumOptions, early: Message[]) {
    this.#lines = lines;
    this.#sessionOptions = call;
    this.#options = options;
    this.#earlyMessages = early;
    this.closed = lines.closed;
  }

  /** Passes on all messages, earlier ones included. `onMessage` returns false for an unknown one; a throw ends the connection. */
  listen(onMessage: (message: Message) => boolean): void {
    this.#onMessage = onMessage;
    for (const message of this.#earlyMessages.splice(0)) this.#dispatch(message);
  }

  request(method: string, params: readonly unknown[], answerMs?: number): Promise<Reply> {
    return this.#lines.request(method, params, answerMs);
  }

  async submit(params: readonly unknown[]): Promise<Verdict> {
    try {
      return verdictOfReply(await this.#lines.request('mining.submit', params), this.#options.staleCode);
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
      return { state: 'lost', reason: error.isLost ? 'the connection was lost before an answer came' : error.message };
    }
  }

  /** Waits for the first job; rejects if the connection ends before that. */
  async waitForWork(hasWork: Promise<void>): Promise<void> {
    const closed = this.closed.then((why) => Promise.reject(new Error(why)));
    const timer = setTimeout(() => this.close('the pool sent no job'), FIRST_JOB_MS);
    await Promise.race([hasWork, closed]).finally(() => clearTimeout(timer));
  }

  close(why?: string): void {
    this.#lines.close(why);
  }

  #dispatch(message: Message): void {
    if (!this.#onMessage) {
      this.#earlyMessages.push(message);
      return;
    }
    const { method, params, id } = message;
    const [first] = Array.isArray(params) ? (params as unknown[]) : [];
    if (method === 'client.get_version') this.#lines.answer(id, this.#options.agent);
    else if (method === 'client.show_message') {
      if (typeof first === 'string') this.#sessionOptions.onMessage(displayText(first));
    } else if (method === 'client.reconnect') this.#reconnect(params);
    else if (method === 'mining.ping') this.#lines.answer(id, 'pong');
    else if (!this.#onMessage(message)) this.#lines.answer(id, null, [20, 'unknown method', null]);
  }

  /** Reconnects to the same host only: another host must not get the worker's name and password. */
  #reconnect(params: unknown): void {
    const { endpoint, onMessage } = this.#sessionOptions;
    const [host, port, wait] = Array.isArray(params) ? (params as unknown[]) : [];
    const isHere = host === undefined || host === null || host === '' || host === endpoint.host;
    if (!isHere) {
      onMessage(`it asks to reconnect to ${displayText(String(host))}, another host: not followed`);
      return;
    }
    const newPort = Number(port ?? endpoint.port);
    const isPort = Number.isInteger(newPort) && newPort > 0 && newPort < 65_536;
    const seconds = typeof wait === 'number' && wait > 0 ? Math.min(wait, MAX_WAIT_S) : 0;
    this.reconnect = { port: isPort ? newPort : endpoint.port, waitMs: seconds * 1000 };
    this.close('the pool asked to reconnect');
  }
}

/** Wraps a connection that has work as a session. */
export const sessionOf = <Share extends ShareBase>(
  lines: StratumConnection,
  submit: (share: Share) => Promise<Verdict>,
): PoolSession<Share> => ({
  closed: lines.closed,
  get reconnect() {
    return lines.reconnect;
  },
  close: (why) => lines.close(why),
  submit,
});

const FIRST_JOB_MS = 60_000;
const MAX_WAIT_S = 60;

/** Converts a pool's reply to a verdict on the share. */
export function verdictOfReply({ result, error }: Reply, staleCode: number | undefined): Verdict {
  if (result === true && error === null) return { state: 'accepted' };
  const reason = error === null ? 'rejected without a reason' : errorText(error);
  const code = Array.isArray(error) ? error[0] : codeOf(error);
  const isStale = (code === staleCode && code !== undefined) || /stale|job not found/i.test(reason);
  return { state: isStale ? 'stale' : 'rejected', reason };
}

/** The text of an error given as `[code, text, …]`, `{ code, message }` or a string. */
export function errorText(error: unknown): string {
  const text = Array.isArray(error) ? error[1] : (messageOf(error) ?? error);
  return typeof text === 'string' && text !== '' ? displayText(text) : 'no reason given';
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | null)?.code;
const messageOf = (error: unknown): unknown => (error as { readonly message?: unknown } | null)?.message;
