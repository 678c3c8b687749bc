import { type Message, NoAnswerError } from '../../../network/json-lines.js';
import type { OpenSession, PoolSession, PoolSessionOptions } from '../../mining/server/pools.js';
import { errorText, StratumConnection, sessionOf } from '../../mining/server/stratum.js';
import type { Verdict } from '../../mining/source.js';
import { hex32 } from '../kernel/reference.js';
import type { Share } from './scan-work.js';
import {
  agreedMask,
  type Extranonce,
  type Notice,
  parseDifficulty,
  parseExtranonce,
  parseMask,
  parseNotice,
  parseSubscription,
  workOfNotice,
} from './stratum-messages.js';
import { extranonceText, type Work } from './work.js';

/** Options that are the same for all pools. */
export interface BitcoinStratumOptions {
  readonly agent: string;
  /** Version bits to ask for; 0: none, and `mining.configure` is not sent. */
  readonly mask: number;
  readonly suggestedDifficulty?: number | undefined;
}

/** Opens sessions. For pools that close the connection on `mining.configure`, opens another one without it. */
export function stratumOpener(options: BitcoinStratumOptions): OpenSession<Share> {
  const unconfigurable = new Set<string>();
  return async (call) => {
    const { name } = call.endpoint;
    try {
      return await StratumSession.open({ ...call, ...options, ...(unconfigurable.has(name) && { mask: 0 }) });
    } catch (error) {
      if (!(error instanceof ConfigureDisconnected)) throw error;
      const session = await StratumSession.open({ ...call, ...options, mask: 0 });
      // The session opened without it, so `mining.configure` was the cause.
      unconfigurable.add(name);
      call.onMessage('it closes the connection on mining.configure: continuing without version rolling');
      return session;
    }
  };
}

type StratumSessionOptions = PoolSessionOptions<Work> & BitcoinStratumOptions;

/** A Stratum V1 session with a pool: opened when there is work, until the connection ends. */
class StratumSession {
  readonly #options: StratumSessionOptions;
  readonly #connection: StratumConnection;
  #extranonce: Extranonce | undefined;
  #target = DIFFICULTY_1;
  #mask = 0;
  #hasMask = false;
  #isAuthorized = false;
  #notice: Notice | undefined;
  #work: Work | undefined;
  #resolveFirstWork: (() => void) | undefined;

  static async open(call: StratumSessionOptions): Promise<PoolSession<Share>> {
    const lines = await StratumConnection.open(call, { agent: call.agent, staleCode: STALE_CODE });
    try {
      const session = new StratumSession(call, lines);
      await session.#start();
      return sessionOf<Share>(lines, (share) => session.#submit(share));
    } catch (error) {
      lines.close('no session');
      throw error;
    }
  }

  private constructor(call: StratumSessionOptions, lines: StratumConnection) {
    this.#options = call;
    this.#connection = lines;
    lines.listen((message) => this.#onMessage(message));
  }

  #submit({ work, extranonce, time, nonce, version }: Share): Promise<Verdict> {
    return this.#connection.submit([
      this.#options.user,
      work.id,
      extranonceText(extranonce, work.extranonceBytes),
      hex32(time),
      hex32(nonce),
      ...(this.#hasMask ? [hex32((version & work.mask) >>> 0)] : []),
    ]);
  }

  async #start(): Promise<void> {
    const { mask, user, password, agent, suggestedDifficulty } = this.#options;
    if (mask !== 0) await this.#configure(mask);
    this.#extranonce = parseSubscription(await this.#connection.request('mining.subscribe', [agent]));
    // Pools that do not know these may refuse them, or not answer.
    const optional = (method: string, params: readonly unknown[]): void =>
      void this.#connection.request(method, params).catch(() => undefined);
    optional('mining.extranonce.subscribe', []);
    if (suggestedDifficulty !== undefined) optional('mining.suggest_difficulty', [suggestedDifficulty]);
    const { result, error } = await this.#connection.request('mining.authorize', [user, password]);
    if (result !== true) throw new Error(`the pool refuses the worker ${user}: ${errorText(error)}`);
    this.#isAuthorized = true;
    const first = new Promise<void>((resolve) => {
      this.#resolveFirstWork = resolve;
    });
    this.#announceWork();
    await this.#connection.waitForWork(first);
  }

  /** Must be the first message. Pools that do not know it may refuse it, or not answer: then no versions are rolled. */
  async #configure(mask: number): Promise<void> {
    const extension = { 'version-rolling.mask': hex32(mask), 'version-rolling.min-bit-count': 2 };
    try {
      const reply = await this.#connection.request('mining.configure', [['version-rolling'], extension], CONFIGURE_MS);
      this.#mask = agreedMask(reply, mask);
      this.#hasMask = this.#mask !== 0;
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
      if (error.isLost) throw new ConfigureDisconnected(error.message);
    }
  }

  #onMessage({ method, params }: Message): boolean {
    switch (method) {
      case 'mining.notify':
        this.#notice = parseNotice(params);
        this.#work = undefined;
        this.#announceWork();
        return true;
      case 'mining.set_difficulty': {
        // Applies to the jobs that follow.
        const { difficulty, target } = parseDifficulty(params);
        this.#target = target;
        this.#options.onDifficulty(String(difficulty));
        return true;
      }
      case 'mining.set_extranonce':
        this.#extranonce = parseExtranonce(params);
        return true;
      case 'mining.set_version_mask':
        this.#setMask((parseMask(params) & this.#options.mask) >>> 0);
        return true;
      default:
        return false;
    }
  }

  /** Applies at once, also to the current job. */
  #setMask(mask: number): void {
    if (!this.#hasMask || mask === this.#mask) return;
    this.#mask = mask;
    if (!this.#work) return;
    this.#work = { ...this.#work, mask };
    this.#options.onWork(this.#work, true);
  }

  #announceWork(): void {
    if (!this.#isAuthorized || !this.#notice || !this.#extranonce || this.#work) return;
    this.#work = workOfNotice(this.#notice, this.#extranonce, this.#target, this.#mask);
    this.#options.onWork(this.#work, this.#notice.isClean);
    this.#resolveFirstWork?.();
  }
}

/** The pool closed the connection on `mining.configure`. */
class ConfigureDisconnected extends Error {}

const DIFFICULTY_1 = 0xffffn << 208n;
/** The pools' error code for a stale share. */
const STALE_CODE = 21;
const CONFIGURE_MS = 10_000;
