import type { Endpoint } from '../../../network/endpoint.js';
import type { Session } from '../../../network/failover.js';
import { shownText } from '../../../network/fields.js';
import { JsonLines, type Message, Unanswered } from '../../../network/json-lines.js';
import type { Share } from './scan-work.js';
import type { Verdict } from './source.js';
import {
  agreedMask,
  type Extranonce,
  errorText,
  type Notice,
  parseDifficulty,
  parseExtranonce,
  parseMask,
  parseNotice,
  parseSubscription,
  verdictOfReply,
  workOfNotice,
} from './stratum-messages.js';
import { extranonceText, type Work } from './work.js';

export interface StratumOptions {
  readonly user: string;
  readonly password: string;
  readonly agent: string;
  /** Version bits that are asked for; 0: none, and nothing is said of them. */
  readonly mask: number;
  readonly suggested?: number | undefined;
  readonly authority?: string | undefined;
  readonly signal: AbortSignal;
  readonly log?: ((text: string) => void) | undefined;
  /** Milliseconds to wait for an answer. */
  readonly answerMs?: number;
  onWork(work: Work, isClean: boolean): void;
  onDifficulty(difficulty: number): void;
  onMessage(text: string): void;
}

/** A session with a pool by Stratum V1: opened when there is work, until the connection ends. */
export class StratumSession implements Session {
  readonly closed: Promise<string>;
  /** Where the pool has asked to be called again. */
  reconnect: { readonly port: number; readonly waitMs: number } | undefined;
  readonly #endpoint: Endpoint;
  readonly #options: StratumOptions;
  readonly #lines: JsonLines;
  #extranonce: Extranonce | undefined;
  #target = DIFFICULTY_1;
  #mask = 0;
  #hasMask = false;
  #isAuthorized = false;
  #notice: Notice | undefined;
  #work: Work | undefined;
  #hasWork: () => void = () => undefined;

  static async open(endpoint: Endpoint, options: StratumOptions): Promise<StratumSession> {
    let session: StratumSession | undefined;
    const early: Message[] = [];
    const lines = await JsonLines.open(endpoint, {
      signal: options.signal,
      secret: options.password,
      ...(options.log && { log: options.log }),
      ...(options.authority !== undefined && { authority: options.authority }),
      ...(options.answerMs !== undefined && { answerMs: options.answerMs }),
      onMessage: (message) => (session ? session.#hear(message) : early.push(message)),
    });
    session = new StratumSession(endpoint, options, lines);
    for (const message of early) session.#hear(message);
    try {
      await session.#begin();
    } catch (error) {
      lines.close('no session');
      throw error;
    }
    return session;
  }

  private constructor(endpoint: Endpoint, options: StratumOptions, lines: JsonLines) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#lines = lines;
    this.closed = lines.closed;
  }

  close(why?: string): void {
    this.#lines.close(why);
  }

  async submit({ work, extranonce, time, nonce, version }: Share): Promise<Verdict> {
    const params = [
      this.#options.user,
      work.id,
      extranonceText(extranonce, work.extranonceBytes),
      hex32(time),
      hex32(nonce),
      ...(this.#hasMask ? [hex32((version & work.mask) >>> 0)] : []),
    ];
    try {
      return verdictOfReply(await this.#lines.request('mining.submit', params));
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      return { state: 'lost', reason: error.isLost ? 'the connection was lost before an answer came' : error.message };
    }
  }

  async #begin(): Promise<void> {
    const { mask, user, password, agent, suggested } = this.#options;
    if (mask !== 0) await this.#configure(mask);
    this.#extranonce = parseSubscription(await this.#lines.request('mining.subscribe', [agent]));
    // Pools that do not know these may refuse them, or say nothing.
    const optional = (method: string, params: readonly unknown[]): void =>
      void this.#lines.request(method, params).catch(() => undefined);
    optional('mining.extranonce.subscribe', []);
    if (suggested !== undefined) optional('mining.suggest_difficulty', [suggested]);
    const { result, error } = await this.#lines.request('mining.authorize', [user, password]);
    if (result !== true) throw new Error(`the pool refuses the worker ${user}: ${errorText(error)}`);
    this.#isAuthorized = true;
    const first = new Promise<void>((resolve) => {
      this.#hasWork = resolve;
    });
    this.#tell();
    const gone = this.closed.then((why) => Promise.reject(new Error(why)));
    const timer = setTimeout(() => this.close('no job came'), FIRST_JOB_MS);
    await Promise.race([first, gone]).finally(() => clearTimeout(timer));
  }

  /** Must be the first message. Pools that do not know it may refuse it, or say nothing: then nothing is rolled. */
  async #configure(mask: number): Promise<void> {
    const wanted = { 'version-rolling.mask': hex32(mask), 'version-rolling.min-bit-count': 2 };
    try {
      const reply = await this.#lines.request('mining.configure', [['version-rolling'], wanted], CONFIGURE_MS);
      this.#mask = agreedMask(reply, mask);
      this.#hasMask = this.#mask !== 0;
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      if (error.isLost) throw new Unconfigured(error.message);
    }
  }

  #hear(message: Message): void {
    const { method, params, id } = message;
    switch (method) {
      case 'mining.notify':
        this.#notice = parseNotice(params);
        this.#work = undefined;
        this.#tell();
        break;
      case 'mining.set_difficulty': {
        // It is about the jobs that follow.
        const { difficulty, target } = parseDifficulty(params);
        this.#target = target;
        this.#options.onDifficulty(difficulty);
        break;
      }
      case 'mining.set_extranonce':
        this.#extranonce = parseExtranonce(params);
        break;
      case 'mining.set_version_mask':
        this.#setMask((parseMask(params) & this.#options.mask) >>> 0);
        break;
      case 'client.get_version':
        this.#lines.answer(id, this.#options.agent);
        break;
      case 'client.show_message': {
        const [text] = Array.isArray(params) ? (params as unknown[]) : [];
        if (typeof text === 'string') this.#options.onMessage(shownText(text));
        break;
      }
      case 'client.reconnect':
        this.#reconnect(params);
        break;
      case 'mining.ping':
        this.#lines.answer(id, 'pong');
        break;
      default:
        this.#lines.answer(id, null, [20, 'unknown method', null]);
    }
  }

  /** At once, for the job that is being mined too. */
  #setMask(mask: number): void {
    if (!this.#hasMask || mask === this.#mask) return;
    this.#mask = mask;
    if (!this.#work) return;
    this.#work = { ...this.#work, mask };
    this.#options.onWork(this.#work, true);
  }

  /** To the same host only: what the pool knows of us is not for others. */
  #reconnect(params: unknown): void {
    const [host, port, wait] = Array.isArray(params) ? (params as unknown[]) : [];
    const isHere = host === undefined || host === null || host === '' || host === this.#endpoint.host;
    if (!isHere) {
      this.#options.onMessage(`it wants to be called at ${shownText(String(host))}, another host: not followed`);
      return;
    }
    const given = Number(port ?? this.#endpoint.port);
    const isPort = Number.isInteger(given) && given > 0 && given < 65_536;
    const seconds = typeof wait === 'number' && wait > 0 ? Math.min(wait, MOST_WAIT_S) : 0;
    this.reconnect = { port: isPort ? given : this.#endpoint.port, waitMs: seconds * 1000 };
    this.close('the pool asked to be called again');
  }

  #tell(): void {
    if (!this.#isAuthorized || !this.#notice || !this.#extranonce || this.#work) return;
    this.#work = workOfNotice(this.#notice, this.#extranonce, this.#target, this.#mask);
    this.#options.onWork(this.#work, this.#notice.isClean);
    this.#hasWork();
  }
}

/** The connection was closed on `mining.configure`: there are pools that do not bear it. */
export class Unconfigured extends Error {}

const DIFFICULTY_1 = 0xffffn << 208n;
const CONFIGURE_MS = 10_000;
const FIRST_JOB_MS = 60_000;
const MOST_WAIT_S = 60;

const hex32 = (value: number): string => value.toString(16).padStart(8, '0');
