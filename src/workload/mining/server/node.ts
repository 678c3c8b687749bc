import { MillraceError } from '../../../kernel/error.js';
import { backOff, type Clock, realClock } from '../../../network/failover.js';
import { displayText } from '../../../network/fields.js';
import { RpcError } from '../../../network/json-rpc.js';
import { reasonOf } from '../../../network/line-client.js';
import type { ShareBase, SourceListener, Verdict, WorkSource } from '../source.js';

/** Work that a node offers, independent of its RPC protocol. */
export interface WorkOffer {
  /** The previous block; tells whether older offers are outdated. */
  readonly previous: string;
  /** The id to long-poll with. Undefined if the node has no long polling: then it is polled at an interval. */
  readonly longPollId: string | undefined;
}

/** What a node reports about itself. */
export interface NodeInfo {
  /** Undefined if the node does not report it. */
  readonly chain: string | undefined;
  /** For display. */
  readonly message: string;
}

/** The RPC calls of one kind of node. */
export interface NodeProtocol<Share extends ShareBase, Offered extends WorkOffer> {
  /** The node's address, for display. */
  readonly name: string;
  /** Checks that this chain can be mined and pays out. A usage error at the first attempt is final. */
  handshake(signal: AbortSignal): Promise<NodeInfo>;
  /** Asks for an offer. With a long-poll id, returns when there is a new one. */
  fetchOffer(longPollId: string | undefined, signal: AbortSignal): Promise<Offered>;
  /** True if the later offer has no change worth restarting for. */
  isEquivalent(last: Offered, next: Offered): boolean;
  workOf(offer: Offered, id: string): Share['work'];
  /** The signal ends the wait for an answer. */
  submit(offer: Offered, share: Share, signal: AbortSignal): Promise<Verdict>;
}

/** Mines solo: work comes from a node, and whole blocks go back to it. */
export class NodeSource<Share extends ShareBase, Offered extends WorkOffer> implements WorkSource<Share> {
  readonly unit = 'block';
  readonly name: string;
  readonly #protocol: NodeProtocol<Share, Offered>;
  readonly #clock: Clock;
  /** The last few offers: a block of the previous one may still be in flight. */
  readonly #offers = new Map<string, Offered>();
  #count = 0;
  #hasConnected = false;
  /** Cancels the pending long poll: a block found here makes a new template. */
  #refresh = new AbortController();
  #signal: AbortSignal = new AbortController().signal;

  constructor(protocol: NodeProtocol<Share, Offered>, clock: Clock = realClock) {
    this.#protocol = protocol;
    this.#clock = clock;
    this.name = protocol.name;
  }

  /** Reports final errors before devices are opened. A node that cannot be reached may come up later. */
  async check(signal: AbortSignal): Promise<string | undefined> {
    try {
      return (await this.#handshake(signal)).chain;
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error;
      return undefined;
    }
  }

  async run(listener: SourceListener<Share['work']>, signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const wake = (): void => this.#refresh.abort();
    signal.addEventListener('abort', wake, { once: true });
    let failures = 0;
    let isConnected = false;
    let last: Offered | undefined;
    while (!signal.aborted) {
      const isRefresh = this.#refresh.signal.aborted;
      if (isRefresh) this.#refresh = new AbortController();
      try {
        if (!isConnected) {
          const { message } = await this.#handshake(signal);
          listener.onEvent({ state: 'connected', server: this.name, message });
          isConnected = true;
        }
        last = await this.#fetchNext(listener, last, isRefresh);
        failures = 0;
      } catch (error) {
        if (signal.aborted || this.#refresh.signal.aborted) continue;
        // A node that has worked before may recover: after a restart its new cookie file appears in a moment.
        if (isFinal(error) && !this.#hasConnected) throw error;
        const waitMs = backOff(failures++);
        // An RPC error means that the node is up. Without an answer its last offer may be outdated.
        if (isConnected && !(error instanceof RpcError)) {
          isConnected = false;
          last = undefined;
          listener.onIdle();
        }
        const message = `${reasonOf(error)}; trying again in ${waitMs / 1000} s`;
        listener.onEvent({ state: 'refused', server: this.name, message });
        await this.#clock.wait(waitMs, signal);
      }
    }
    signal.removeEventListener('abort', wake);
  }

  /** Sends a block again if the connection is lost; gives up after `MAX_SUBMIT_ATTEMPTS`, or when mining ends. */
  async submit(share: Share): Promise<Verdict> {
    const offer = this.#offers.get(share.work.id);
    if (!offer) return { state: 'stale', reason: 'its template is no longer known' };
    for (let attempt = 0; ; attempt++) {
      try {
        const verdict = await this.#protocol.submit(offer, share, this.#signal);
        if (verdict.state === 'accepted' || verdict.state === 'stale') this.#refresh.abort();
        return verdict;
      } catch (error) {
        if (error instanceof RpcError) return { state: 'rejected', reason: displayText(error.message) };
        if (this.#signal.aborted) return { state: 'lost', reason: 'mining was stopped before the node answered' };
        if (attempt >= MAX_SUBMIT_ATTEMPTS) return { state: 'lost', reason: reasonOf(error) };
        await this.#clock.wait(backOff(attempt), this.#signal);
      }
    }
  }

  async #handshake(signal: AbortSignal): Promise<NodeInfo> {
    const info = await this.#protocol.handshake(signal);
    this.#hasConnected = true;
    return info;
  }

  /** Waits for a new offer and passes its work on. `isImmediate`: asks at once, without long polling. */
  async #fetchNext(
    listener: SourceListener<Share['work']>,
    last: Offered | undefined,
    isImmediate: boolean,
  ): Promise<Offered> {
    const longPollId = isImmediate ? undefined : last?.longPollId;
    if (last && !isImmediate && longPollId === undefined) {
      await this.#clock.wait(POLL_MS, this.#refresh.signal);
      this.#refresh.signal.throwIfAborted();
    }
    const askedMs = this.#clock.now();
    const offer = await this.#protocol.fetchOffer(longPollId, this.#refresh.signal);
    if (last && this.#protocol.isEquivalent(last, offer)) {
      // A node whose long poll returns early with nothing new is polled at an interval instead.
      const isPatient = longPollId !== undefined && this.#clock.now() - askedMs >= POLL_MS;
      return { ...last, longPollId: isPatient ? offer.longPollId : undefined };
    }
    const id = String(++this.#count);
    const work = this.#protocol.workOf(offer, id);
    this.#offers.set(id, offer);
    for (const old of this.#offers.keys()) if (Number(old) <= this.#count - KEPT_OFFERS) this.#offers.delete(old);
    listener.onWork(work, offer.previous !== last?.previous);
    return offer;
  }
}

/** Interval between requests to a node without long polling. */
const POLL_MS = 5000;
/** Attempts to deliver a block, about a minute in all. */
const MAX_SUBMIT_ATTEMPTS = 6;
const KEPT_OFFERS = 4;

const isFinal = (error: unknown): boolean => error instanceof MillraceError && error.code === 'usage';
