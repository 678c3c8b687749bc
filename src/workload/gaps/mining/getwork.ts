import { MillraceError } from '../../../kernel/error.js';
import { type JsonRpc, RpcError, RpcTimeout } from '../../../network/json-rpc.js';
import type { NodeInfo, NodeProtocol, WorkOffer } from '../../mining/server/node.js';
import type { Verdict } from '../../mining/source.js';
import { submission } from '../kernel/reference.js';
import { type GetworkData, headerOf, parseGetworkData, type Share, type Work, workOfGetworkData } from './work.js';

/** Work from getwork, and its long-poll path. */
export interface GetworkOffer extends WorkOffer, GetworkData {}

/** Nodes of 2014 to 2021, which build the block and pay to their own wallet: getwork, both ways. */
export class GetworkNode implements NodeProtocol<Share, GetworkOffer> {
  readonly name: string;
  readonly #rpc: JsonRpc;

  constructor(rpc: JsonRpc) {
    this.#rpc = rpc;
    this.name = rpc.endpoint.name;
  }

  async handshake(signal: AbortSignal): Promise<NodeInfo> {
    try {
      await this.fetchOffer(undefined, signal);
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== METHOD_NOT_FOUND) throw error;
      throw new MillraceError({
        code: 'usage',
        message: `${this.name} has no getwork`,
        asked: 'to mine without --payout',
        advice: 'newer nodes serve templates instead: give --payout ADDRESS',
      });
    }
    return { chain: undefined, message: 'getwork, which pays the node’s wallet' };
  }

  /** Asks for work. Long polls have a separate path; one that times out is followed by a plain request. */
  async fetchOffer(longPollId: string | undefined, signal: AbortSignal): Promise<GetworkOffer> {
    const timeoutMs = longPollId === undefined ? ASK_MS : LONG_POLL_MS;
    try {
      const reply = await this.#rpc.callForPath('getwork', [], { signal, timeoutMs, path: longPollId, isExact: true });
      const given = parseGetworkData('getwork', reply.result);
      return { ...given, previous: given.header.previousHash, longPollId: reply.longPollPath ?? longPollId };
    } catch (error) {
      const isOver = longPollId !== undefined && (error as { readonly cause?: unknown }).cause instanceof RpcTimeout;
      if (!isOver) throw error;
      return { ...(await this.fetchOffer(undefined, signal)), longPollId };
    }
  }

  /** Every answer has a new coinbase: only a new tip, another target or a much later time counts as new. */
  isEquivalent(last: GetworkOffer, next: GetworkOffer): boolean {
    return (
      last.previous === next.previous &&
      last.target === next.target &&
      last.header.difficulty === next.header.difficulty &&
      next.header.time - last.header.time < STALE_S
    );
  }

  workOf(offer: GetworkOffer, id: string): Work {
    return workOfGetworkData(offer, id);
  }

  async submit(_: GetworkOffer, share: Share, signal: AbortSignal): Promise<Verdict> {
    const result = await this.#rpc.call('getwork', [submission(headerOf(share))], { signal, timeoutMs: ASK_MS });
    if (result === true) return { state: 'accepted' };
    // The share has been checked, so a rejection means that the node has a new tip.
    return { state: 'stale', reason: result === false ? 'the node has a new tip' : 'invalid answer of the node' };
  }
}

const METHOD_NOT_FOUND = -32601;
const ASK_MS = 30_000;
const LONG_POLL_MS = 60_000;
/** The age at which known miners replace their work. */
const STALE_S = 180;
