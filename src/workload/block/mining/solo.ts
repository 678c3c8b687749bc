import { randomBytes } from 'node:crypto';
import { MillraceError } from '../../../kernel/error.js';
import { backOff, type Clock, realClock } from '../../../network/failover.js';
import { fieldsOf, shownText } from '../../../network/fields.js';
import { type JsonRpc, RpcError } from '../../../network/json-rpc.js';
import { reasonOf } from '../../../network/line-client.js';
import { type Chain, payoutScript } from './address.js';
import type { Share } from './scan-work.js';
import type { SourceListener, Verdict, WorkSource } from './source.js';
import { blockOf, parseTemplate, type Template, workOf } from './template.js';

export interface SoloOptions {
  readonly rpc: JsonRpc;
  /** An address, or `script:HEX`. */
  readonly payout: string;
  /** Version bits that are rolled. */
  readonly mask: number;
  readonly clock?: Clock;
}

/** Mines for oneself: templates from a node, whole blocks back to it. */
export class Solo implements WorkSource {
  readonly unit = 'block';
  readonly name: string;
  readonly #options: SoloOptions;
  readonly #clock: Clock;
  readonly #mark = randomBytes(4);
  /** The last few: a block of the one before may still be on its way. */
  readonly #templates = new Map<string, Template>();
  #count = 0;
  #wasThere = false;
  #script: Uint8Array = new Uint8Array();
  /** Ends the long poll that is under way: a block of our own makes a new template. */
  #refresh = new AbortController();
  #signal: AbortSignal = new AbortController().signal;

  constructor(options: SoloOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.name = options.rpc.endpoint.name;
  }

  /** What would end it in any case is told before devices are opened; a node that is away may come. */
  async check(signal: AbortSignal): Promise<string | undefined> {
    this.#signal = signal;
    try {
      return await this.#meet();
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error;
      return undefined;
    }
  }

  async run(listener: SourceListener, signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const wake = (): void => this.#refresh.abort();
    signal.addEventListener('abort', wake, { once: true });
    let failures = 0;
    let isConnected = false;
    let last: Template | undefined;
    while (!signal.aborted) {
      const isAsked = this.#refresh.signal.aborted;
      if (isAsked) this.#refresh = new AbortController();
      try {
        if (!isConnected) {
          const chain = await this.#meet();
          listener.told({ state: 'connected', server: this.name, message: `chain ${chain}` });
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

  /** A block is too precious to be given up with a connection. */
  async submit({ work, ...found }: Share): Promise<Verdict> {
    const template = this.#templates.get(work.id);
    if (!template) return { state: 'stale', reason: 'its template is forgotten' };
    const block = blockOf(template, work, found);
    for (let attempt = 0; ; attempt++) {
      try {
        const verdict = verdictOf(await this.#options.rpc.call('submitblock', [block], { timeoutMs: SUBMIT_MS }));
        if (verdict.state === 'accepted' || verdict.state === 'stale') this.#refresh.abort();
        return verdict;
      } catch (error) {
        if (error instanceof RpcError) return { state: 'rejected', reason: shownText(error.message) };
        if (attempt >= (this.#signal.aborted ? 1 : ATTEMPTS)) return { state: 'lost', reason: reasonOf(error) };
        await this.#clock.wait(backOff(attempt), new AbortController().signal);
      }
    }
  }

  /** Which chain it is, and whether it can be mined and paid on. */
  async #meet(): Promise<string> {
    const read = fieldsOf('getblockchaininfo');
    const info = read.object(await this.#options.rpc.call('getblockchaininfo', [], { signal: this.#signal }), 'it');
    const chain = read.text(info.chain, 'chain', 32);
    const known = Object.hasOwn(CHAINS, chain) ? CHAINS[chain] : undefined;
    if (known === undefined)
      throw refused(`the chain ${shownText(chain)} is not known`, 'use main, test, testnet4 or regtest');
    if (known === 'signet') {
      throw refused(
        'blocks of signet need a signature of the network’s own key beside their proof of work, and nobody else can mine them',
        'use regtest (`bitcoind -regtest`) or testnet4 to try things out',
      );
    }
    this.#script = payoutScript(this.#options.payout, known);
    this.#wasThere = true;
    return chain;
  }

  /** Waits for a template that is new, and tells its work. `isNow`: there is one, whatever the node was asked before. */
  async #next(listener: SourceListener, last: Template | undefined, isNow: boolean): Promise<Template> {
    const longPollId = isNow ? undefined : last?.longPollId;
    if (last && !isNow && longPollId === undefined) {
      await this.#clock.wait(POLL_MS, this.#refresh.signal);
      this.#refresh.signal.throwIfAborted();
    }
    const template = await this.#ask(longPollId);
    // A node whose long poll brings nothing new is asked by the clock, not as fast as it answers.
    if (last && isSame(last, template)) return { ...last, longPollId: undefined };
    const id = String(++this.#count);
    const work = workOf(template, { id, script: this.#script, mark: this.#mark, mask: this.#options.mask });
    this.#templates.set(id, template);
    for (const old of this.#templates.keys()) if (Number(old) <= this.#count - KEPT) this.#templates.delete(old);
    listener.work(work, template.previous !== last?.previous);
    return template;
  }

  async #ask(longPollId: string | undefined): Promise<Template> {
    const request = { rules: ['segwit'], ...(longPollId !== undefined && { longpollid: longPollId }) };
    const timeoutMs = longPollId === undefined ? ASK_MS : LONG_POLL_MS;
    const { signal } = this.#refresh;
    return parseTemplate(await this.#options.rpc.call('getblocktemplate', [request], { signal, timeoutMs }));
  }
}

const CHAINS: Readonly<Record<string, Chain>> = {
  main: 'main',
  test: 'test',
  testnet4: 'test',
  signet: 'signet',
  regtest: 'regtest',
};

/** Nodes end a long poll after a minute or so, with new transactions. */
const LONG_POLL_MS = 300_000;
/** Between two questions to a node that has no long poll. */
const POLL_MS = 5000;
const ASK_MS = 60_000;
const SUBMIT_MS = 60_000;
/** A minute of them. */
const ATTEMPTS = 6;
const KEPT = 4;

/** BIP 22: nothing is consent, a text is the reason. */
export function verdictOf(result: unknown): Verdict {
  if (result === null) return { state: 'accepted' };
  const reason = typeof result === 'string' ? shownText(result) : 'an answer that is none';
  return { state: /stale|prev-?blk|inconclusive/.test(reason) ? 'stale' : 'rejected', reason };
}

/** Nothing in it is worth beginning anew for; a later time is, now and then. */
const isSame = (a: Template, b: Template): boolean =>
  a.previous === b.previous &&
  a.value === b.value &&
  a.bits === b.bits &&
  a.transactions.length === b.transactions.length &&
  b.time - a.time < STALE_S;
const STALE_S = 60;

const isFinal = (error: unknown): boolean => error instanceof MillraceError && error.code === 'usage';

function refused(message: string, advice: string): MillraceError {
  return new MillraceError({ code: 'usage', message, asked: 'to mine on this node’s chain', advice });
}
