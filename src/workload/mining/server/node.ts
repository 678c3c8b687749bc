import { MillraceError } from '../../../kernel/error.js';
import { backOff, type Clock, realClock } from '../../../network/failover.js';
import { shownText } from '../../../network/fields.js';
import { RpcError } from '../../../network/json-rpc.js';
import { reasonOf } from '../../../network/line-client.js';
import type { Mined, SourceListener, Verdict, WorkSource } from '../source.js';

/** What a node offers to be mined, whatever the calls are by which it is had. */
export interface Offer {
  /** The block before, which tells whether an older offer is worth anything yet. */
  readonly previous: string;
  /** What a long poll is asked with; undefined: there is none, and the clock says when to ask again. */
  readonly longPollId: string | undefined;
}

/** What a node is found to be. */
export interface Met {
  /** Undefined where it does not say. */
  readonly chain: string | undefined;
  /** For people. */
  readonly message: string;
}

/** The calls of a kind of node. */
export interface NodeProtocol<Share extends Mined, Offered extends Offer> {
  /** For people: where it is. */
  readonly name: string;
  /** Whether it can be mined and paid on; a usage error ends it where it is so from the start. */
  meet(signal: AbortSignal): Promise<Met>;
  /** With the id of a long poll it takes until there is something new. */
  ask(longPollId: string | undefined, signal: AbortSignal): Promise<Offered>;
  /** Nothing in the later one is worth beginning anew for. */
  isSame(last: Offered, next: Offered): boolean;
  workOf(offer: Offered, id: string): Share['work'];
  /** The signal ends the wait for an answer. */
  submit(offer: Offered, share: Share, signal: AbortSignal): Promise<Verdict>;
}

/** Mines for oneself: work from a node, whole blocks back to it. */
export class NodeSource<Share extends Mined, Offered extends Offer> implements WorkSource<Share> {
  readonly unit = 'block';
  readonly name: string;
  readonly #protocol: NodeProtocol<Share, Offered>;
  readonly #clock: Clock;
  /** The last few: a block of the one before may still be on its way. */
  readonly #offers = new Map<string, Offered>();
  #count = 0;
  #wasThere = false;
  /** Ends the long poll that is under way: a block of our own makes a new template. */
  #refresh = new AbortController();
  #signal: AbortSignal = new AbortController().signal;

  constructor(protocol: NodeProtocol<Share, Offered>, clock: Clock = realClock) {
    this.#protocol = protocol;
    this.#clock = clock;
    this.name = protocol.name;
  }

  /** What would end it in any case is told before devices are opened; a node that is away may come. */
  async check(signal: AbortSignal): Promise<string | undefined> {
    try {
      return (await this.#meet(signal)).chain;
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
      const isAsked = this.#refresh.signal.aborted;
      if (isAsked) this.#refresh = new AbortController();
      try {
        if (!isConnected) {
          const { message } = await this.#meet(signal);
          listener.told({ state: 'connected', server: this.name, message });
          isConnected = true;
        }
        last = await this.#next(listener, last, isAsked);
        failures = 0;
      } catch (error) {
        if (signal.aborted || this.#refresh.signal.aborted) continue;
        // What was right once may be again: a node that starts anew has another cookie in a moment.
        if (isFinal(error) && !this.#wasThere) throw error;
        const waitMs = backOff(failures++);
        // A node that says no is there; one that says nothing is not, and what it had may be long outdated.
        if (isConnected && !(error instanceof RpcError)) {
          isConnected = false;
          last = undefined;
          listener.idle();
        }
        const message = `${reasonOf(error)}; trying again in ${waitMs / 1000} s`;
        listener.told({ state: 'refused', server: this.name, message });
        await this.#clock.wait(waitMs, signal);
      }
    }
    signal.removeEventListener('abort', wake);
  }

  /** A block is sent again when its connection is lost, and given up only when mining ends. */
  async submit(share: Share): Promise<Verdict> {
    const offer = this.#offers.get(share.work.id);
    if (!offer) return { state: 'stale', reason: 'its template is forgotten' };
    for (let attempt = 0; ; attempt++) {
      try {
        const verdict = await this.#protocol.submit(offer, share, this.#signal);
        if (verdict.state === 'accepted' || verdict.state === 'stale') this.#refresh.abort();
        return verdict;
      } catch (error) {
        if (error instanceof RpcError) return { state: 'rejected', reason: shownText(error.message) };
        if (this.#signal.aborted) return { state: 'lost', reason: 'mining was stopped before the node answered' };
        if (attempt >= ATTEMPTS) return { state: 'lost', reason: reasonOf(error) };
        await this.#clock.wait(backOff(attempt), this.#signal);
      }
    }
  }

  async #meet(signal: AbortSignal): Promise<Met> {
    const met = await this.#protocol.meet(signal);
    this.#wasThere = true;
    return met;
  }

  /** Waits for an offer that is new, and tells its work. `isNow`: there is one, whatever the node was asked before. */
  async #next(listener: SourceListener<Share['work']>, last: Offered | undefined, isNow: boolean): Promise<Offered> {
    const longPollId = isNow ? undefined : last?.longPollId;
    if (last && !isNow && longPollId === undefined) {
      await this.#clock.wait(POLL_MS, this.#refresh.signal);
      this.#refresh.signal.throwIfAborted();
    }
    const askedMs = this.#clock.now();
    const offer = await this.#protocol.ask(longPollId, this.#refresh.signal);
    if (last && this.#protocol.isSame(last, offer)) {
      // A node whose long poll brings nothing new is asked by the clock, not as fast as it answers.
      const isPatient = longPollId !== undefined && this.#clock.now() - askedMs >= POLL_MS;
      return { ...last, longPollId: isPatient ? offer.longPollId : undefined };
    }
    const id = String(++this.#count);
    const work = this.#protocol.workOf(offer, id);
    this.#offers.set(id, offer);
    for (const old of this.#offers.keys()) if (Number(old) <= this.#count - KEPT) this.#offers.delete(old);
    listener.work(work, offer.previous !== last?.previous);
    return offer;
  }
}

/** Between two questions to a node that has no long poll. */
const POLL_MS = 5000;
/** Of a block that could not be delivered: a minute of them. */
const ATTEMPTS = 6;
const KEPT = 4;

const isFinal = (error: unknown): boolean => error instanceof MillraceError && error.code === 'usage';
