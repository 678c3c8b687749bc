import type { Clock } from '../../../network/failover.js';
import type { JsonRpc } from '../../../network/json-rpc.js';
import { NodeSource } from '../../mining/server/node.js';
import { TemplateNode } from '../../mining/server/template-node.js';
import type { WorkSource } from '../../mining/source.js';
import { GAPCOIN_CHAINS } from './chains.js';
import { GetworkNode } from './getwork.js';
import { blockOf, parseGapTemplate, workOf } from './template.js';
import type { Share } from './work.js';

/** Mines Gapcoin solo: blocks that pay to an address, or without one the work of the node's getwork. */
export function gapcoinNode(rpc: JsonRpc, payout: string | undefined, clock?: Clock): WorkSource<Share> {
  if (payout === undefined) return new NodeSource(new GetworkNode(rpc), clock);
  const coin = { chains: GAPCOIN_CHAINS, parse: parseGapTemplate, workOf, blockOf };
  return new NodeSource(new TemplateNode<Share, bigint>(rpc, payout, coin), clock);
}
