import { fieldReader } from '../../../network/fields.js';
import type { Message, Reply } from '../../../network/json-lines.js';
import type { OpenSession, PoolSession, PoolSessionOptions } from '../../mining/server/pools.js';
import { errorText, StratumConnection, sessionOf } from '../../mining/server/stratum.js';
import { formatFixed } from '../command/number-options.js';
import { submission } from '../kernel/reference.js';
import {
  type GetworkData,
  headerOf,
  MAX_TARGET,
  parseGetworkData,
  type Share,
  type Work,
  workOfGetworkData,
} from './work.js';

/** Opens sessions with pools by Gapcoin's variant of Stratum. */
export const gapStratumOpener =
  (agent: string): OpenSession<Share> =>
  (call) =>
    GapStratumSession.open(call, agent);

/**
 * `mining.request` asks for work, `mining.submit` sends headers. The pool also sends work unasked: an object with `data` and
 * `difficulty`, whatever its method is called.
 */
class GapStratumSession {
  readonly #options: PoolSessionOptions<Work>;
  #latest: GetworkData | undefined;
  #count = 0;

  static async open(call: PoolSessionOptions<Work>, agent: string): Promise<PoolSession<Share>> {
    const lines = await StratumConnection.open(call, { agent, firstId: 0, isExact: true });
    try {
      const session = new GapStratumSession(call, lines);
      const answer = parseAnswer(await lines.request('mining.request', [call.user, call.password]), call.user);
      // Work that the pool has sent in the meantime is newer.
      if (!session.#latest) session.#replaceWork(answer);
      const { user, password } = call;
      return sessionOf<Share>(lines, (share) => lines.submit([user, password, submission(headerOf(share))]));
    } catch (error) {
      lines.close('no session');
      throw error;
    }
  }

  private constructor(call: PoolSessionOptions<Work>, lines: StratumConnection) {
    this.#options = call;
    lines.listen((message) => this.#onMessage(message));
  }

  #onMessage({ method, params }: Message): boolean {
    if (method === 'mining.set_difficulty' || method === 'mining.target') {
      const target = parseTarget(method, params);
      if (this.#latest) this.#replaceWork({ ...this.#latest, target });
      return true;
    }
    const isWork = typeof params === 'object' && params !== null && 'data' in params;
    if (!isWork && !WORK_METHODS.includes(method)) return false;
    this.#replaceWork(parseGetworkData(method, params));
    return true;
  }

  /** Replaces the work. It is clean if the previous block changed or the target rose: then older shares are invalid. */
  #replaceWork(given: GetworkData): void {
    const last = this.#latest;
    this.#latest = given;
    const { header, target } = given;
    if (target !== last?.target) this.#options.onDifficulty(formatFixed(target));
    const isClean = last === undefined || header.previousHash !== last.header.previousHash || target > last.target;
    this.#options.onWork(workOfGetworkData(given, String(++this.#count)), isClean);
  }
}

/** Messages of these methods must contain work. */
const WORK_METHODS = ['mining.notify', 'blockchain.block.new'];

/** Parses the answer to `mining.request`. */
export function parseAnswer({ result, error }: Reply, user: string): GetworkData {
  if (result === null || error !== null) throw new Error(`the pool refuses the worker ${user}: ${errorText(error)}`);
  return parseGetworkData('the answer to mining.request', result);
}

/**
 * Parses the share target: `[share]`, `[share, network]` or an object, in fixed point. A number below 2^16 is taken as the
 * difficulty itself: in fixed point every prime would reach it.
 */
export function parseTarget(method: string, params: unknown): bigint {
  const read = fieldReader(method);
  const given = Array.isArray(params) ? read.list(params, 'params', 16)[0] : read.object(params, 'params').difficulty;
  if (typeof given !== 'number' || given >= 2 ** 16) return read.bigInteger(given, 'the difficulty', 1n, MAX_TARGET);
  return BigInt(Math.max(1, Math.round(read.positive(given, 'the difficulty') * 2 ** 48)));
}
