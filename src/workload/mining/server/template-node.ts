import { randomBytes } from 'node:crypto';
import { MillraceError } from '../../../kernel/error.js';
import { displayText, fieldReader } from '../../../network/fields.js';
import type { JsonRpc } from '../../../network/json-rpc.js';
import { type Chains, payoutScript } from '../payout/address.js';
import type { ShareBase, Verdict } from '../source.js';
import type { NodeInfo, NodeProtocol } from './node.js';
import type { Template } from './template.js';

/** This miner's part of a template's coinbase. */
export interface CoinbaseParams {
  /** The id of the work. */
  readonly id: string;
  /** The script that is paid. */
  readonly script: Uint8Array;
  /** Bytes that make this miner's coinbase unique. */
  readonly minerTag: Uint8Array;
}

/** The coin-specific part of templates. */
export interface TemplateCoin<Share extends ShareBase, Bits> {
  readonly chains: Chains;
  parse(given: unknown): Template<Bits>;
  workOf(template: Template<Bits>, own: CoinbaseParams): Share['work'];
  /** The whole block, in hex. */
  blockOf(template: Template<Bits>, share: Share): string;
}

/** A node that serves templates and takes whole blocks: getblocktemplate and submitblock (BIP 22, 23 and 145). */
export class TemplateNode<Share extends ShareBase, Bits> implements NodeProtocol<Share, Template<Bits>> {
  readonly name: string;
  readonly #rpc: JsonRpc;
  /** An address, or `script:HEX`. */
  readonly #payout: string;
  readonly #coin: TemplateCoin<Share, Bits>;
  readonly #minerTag = randomBytes(4);
  #script: Uint8Array = new Uint8Array();

  constructor(rpc: JsonRpc, payout: string, coin: TemplateCoin<Share, Bits>) {
    this.#rpc = rpc;
    this.#payout = payout;
    this.#coin = coin;
    this.name = rpc.endpoint.name;
  }

  async handshake(signal: AbortSignal): Promise<NodeInfo> {
    const read = fieldReader('getblockchaininfo');
    const info = read.object(await this.#rpc.call('getblockchaininfo', [], { signal }), 'it');
    const chain = read.text(info.chain, 'chain', 32);
    const { chains } = this.#coin;
    if (chain === 'signet') {
      throw refused(
        'signet cannot be mined: its blocks need a signature with the network’s key in addition to proof of work',
        'use regtest (`bitcoind -regtest`) or testnet4 to try things out',
      );
    }
    const format = Object.hasOwn(chains, chain) ? chains[chain] : undefined;
    if (format === undefined) {
      const known = Object.keys(chains).filter((one) => one !== 'signet');
      throw refused(`unknown chain ${displayText(chain)}`, `use ${known.join(', ')}`);
    }
    this.#script = payoutScript(this.#payout, chain, format);
    return { chain, message: `chain ${chain}` };
  }

  async fetchOffer(longPollId: string | undefined, signal: AbortSignal): Promise<Template<Bits>> {
    const request = { rules: ['segwit'], ...(longPollId !== undefined && { longpollid: longPollId }) };
    const timeoutMs = longPollId === undefined ? ASK_MS : LONG_POLL_MS;
    return this.#coin.parse(await this.#rpc.call('getblocktemplate', [request], { signal, timeoutMs }));
  }

  /** A template whose time is later by `STALE_S` counts as new. */
  isEquivalent(a: Template<Bits>, b: Template<Bits>): boolean {
    return (
      a.previous === b.previous &&
      a.value === b.value &&
      a.bits === b.bits &&
      a.transactions.length === b.transactions.length &&
      b.time - a.time < STALE_S
    );
  }

  workOf(template: Template<Bits>, id: string): Share['work'] {
    return this.#coin.workOf(template, { id, script: this.#script, minerTag: this.#minerTag });
  }

  async submit(template: Template<Bits>, share: Share, signal: AbortSignal): Promise<Verdict> {
    const block = this.#coin.blockOf(template, share);
    return verdictOf(await this.#rpc.call('submitblock', [block], { signal, timeoutMs: ASK_MS }));
  }
}

/** Nodes end a long poll after a minute or so, when there are new transactions. */
const LONG_POLL_MS = 300_000;
const ASK_MS = 60_000;
const STALE_S = 60;

/** Converts the result of `submitblock` by BIP 22: null means accepted, a string is the reason for rejection. */
export function verdictOf(result: unknown): Verdict {
  if (result === null) return { state: 'accepted' };
  const reason = typeof result === 'string' ? displayText(result) : 'invalid answer of the node';
  return { state: /stale|prev-?blk|inconclusive/.test(reason) ? 'stale' : 'rejected', reason };
}

function refused(message: string, advice: string): MillraceError {
  return new MillraceError({ code: 'usage', message, asked: 'to mine on this node’s chain', advice });
}
