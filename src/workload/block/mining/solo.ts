import type { Clock } from '../../../network/failover.js';
import type { JsonRpc } from '../../../network/json-rpc.js';
import { NodeSource } from '../../mining/server/node.js';
import { TemplateNode } from '../../mining/server/template-node.js';
import type { WorkSource } from '../../mining/source.js';
import { BITCOIN_CHAINS } from './chains.js';
import type { Share } from './scan-work.js';
import { blockOf, parseBitcoinTemplate, workOf } from './template.js';

/** Mines Bitcoin solo; `mask`: version bits that are rolled. */
export function bitcoinNode(rpc: JsonRpc, payout: string, mask: number, clock?: Clock): WorkSource<Share> {
  const node = new TemplateNode<Share, number>(rpc, payout, {
    chains: BITCOIN_CHAINS,
    parse: parseBitcoinTemplate,
    workOf: (template, own) => workOf(template, own, mask),
    blockOf: (template, { work, ...found }) => blockOf(template, work, found),
  });
  return new NodeSource(node, clock);
}
