import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { Engine } from '../src/engine/index.js';
import { HTTP_SCHEMES, parseEndpoint } from '../src/network/endpoint.js';
import type { Clock } from '../src/network/failover.js';
import { JsonRpc } from '../src/network/json-rpc.js';
import { type Share, scanWork } from '../src/workload/block/mining/scan-work.js';
import { bitcoinNode } from '../src/workload/block/mining/solo.js';
import { Miner, type MinerOptions } from '../src/workload/mining/miner.js';
import { RegtestChain } from './network/chain.js';
import { NodeServer } from './network/node-server.js';

/** Solo mining against a node on loopback, which recomputes every block with its own code. */
const PAYOUT = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';
const SCRIPT = '0014751e76e8199196d454941c45d1b3a323f1433bd6'; // BIP 173's key
const CHAIN = process.env.MILLRACE_LONG === '1' ? 150 : 20;
/** Backs off without waiting. */
const hasty: Clock = { now: () => performance.now(), wait: () => new Promise((resolve) => setImmediate(resolve)) };

let device: Device;
let engine: Engine;
beforeAll(async () => {
  device = await openDevice('wasm', { threads: 1 });
  engine = new Engine([device], { streams: 1, slots: 1 });
});
afterAll(async () => {
  await engine.close();
  await device.close();
});

async function withNode(use: (node: NodeServer<RegtestChain>) => Promise<void>, script = SCRIPT): Promise<void> {
  const node = await new NodeServer(new RegtestChain(script)).listen();
  try {
    await use(node);
  } finally {
    await node.close();
  }
}

function minerOf(
  node: NodeServer<RegtestChain>,
  options: Partial<MinerOptions<Share>> & { payout?: string; password?: string } = {},
): Miner<Share> {
  const { payout = PAYOUT, password = 'sesame-1234', ...rest } = options;
  const credentials = () => ({ user: 'miner', password });
  const rpc = new JsonRpc(parseEndpoint(node.url, HTTP_SCHEMES), { credentials });
  const source = bitcoinNode(rpc, payout, 0x1fffe000, hasty);
  return new Miner(source, (work, how) => scanWork(engine, work, how), {
    signal: new AbortController().signal,
    ...rest,
  });
}

describe('a node', () => {
  test(`accepts a chain of ${CHAIN} blocks with varying numbers of transactions`, async () => {
    await withNode(async (node) => {
      const miner = minerOf(node, {
        maxAccepted: CHAIN,
        onVerdict: () => {
          node.chain.transactions = node.chain.height % 9;
        },
      });
      await miner.run();
      expect(node.chain.refusals).toEqual([]);
      expect(node.chain.height).toBe(CHAIN);
      expect(miner.tally.counts).toEqual({ accepted: CHAIN, rejected: 0, stale: 0, lost: 0, blocks: CHAIN });
      // Templates of all sizes were mined; the subsidy halves at block 150.
      const sizes = new Set(node.chain.blocks.map((hex) => Number.parseInt(hex.slice(160, 162), 16)));
      expect([...sizes].sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });
  });

  test.each([
    ['mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn', '76a914243f1394f44554f4ce3fd68649c19adc483ce92488ac'],
    ['2MzQwSSnBHWHqSAqtTVQ6v47XtaisrJa1Vc', 'a9144e9f39ca4688ff102128ea4ccda34105324305b087'],
    [
      'bcrt1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqc8gma6',
      '512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
    ],
    ['script:51', '51'],
  ])('pays to %s', async (payout, script) => {
    await withNode(async (node) => {
      await minerOf(node, { payout, maxAccepted: 2 }).run();
      expect([node.chain.height, node.chain.refusals]).toEqual([2, []]);
    }, script);
  });

  test('with a new tip gets blocks on that tip at once; old work is stale', async () => {
    await withNode(async (node) => {
      const works: string[] = [];
      const stop = new AbortController();
      const rival = new RegtestChain(SCRIPT);
      const miner = minerOf(node, {
        signal: stop.signal,
        onVerdict: (share, verdict) => {
          works.push(`${share.work.height} ${verdict.state}`);
          if (works.length === 3) stop.abort();
        },
      });
      const other = new Promise<void>((resolve) => {
        // Another miner's block arrives while ours is being submitted.
        node.misdeed = (method) => {
          if (method === 'submitblock' && node.chain.height === 1 && rival.height === 0) {
            rival.tips.push('rival');
            node.chain.tips.push('ab'.repeat(32));
            resolve();
          }
          return undefined;
        };
      });
      await Promise.all([miner.run(), other]);
      expect(works).toEqual(['1 accepted', '2 stale', '3 accepted']);
      expect(miner.tally.counts).toMatchObject({ accepted: 2, stale: 1 });
      expect([...miner.tally.reasons]).toEqual([['stale-prevblk', 1]]);
    });
  });

  test('that redirects, resets, or sends garbage, wrong types or too much is asked again', async () => {
    await withNode(async (node) => {
      const odd: string[] = [];
      node.misdeed = (method, _, response) => {
        if (method === 'submitblock') return undefined;
        odd.push(method);
        const wrong = ODD[odd.length - 1];
        if (wrong === undefined) return undefined;
        return wrong(node, response);
      };
      const told: string[] = [];
      const miner = minerOf(node, {
        maxAccepted: 1,
        onSourceEvent: ({ state, message }) => told.push(`${state} ${message}`),
      });
      await miner.run();
      expect(node.chain.height).toBe(1);
      const why = told.flatMap((one) => /^refused (?:.*: )?([^:]+); trying again/.exec(one)?.[1] ?? []);
      expect(why).toEqual([
        'the server sent a redirect; redirects are not followed',
        'the answer to getblockchaininfo is not JSON-RPC (HTTP 200)',
        'chain is not text',
        'the server reset the connection (ECONNRESET)',
        'transactions is not a list',
        'Bitcoin Core is downloading blocks...',
        'bits is not hex',
        'the answer is too long',
      ]);
    });
  });

  test('that closes the connection on a block gets the block again', async () => {
    await withNode(async (node) => {
      let dropped = 0;
      node.misdeed = (method, _, response) => {
        if (method !== 'submitblock' || dropped === 2) return undefined;
        dropped += 1;
        response.destroy();
        return 'done';
      };
      const miner = minerOf(node, { maxAccepted: 1 });
      await miner.run();
      expect([dropped, node.chain.height, miner.tally.counts.accepted]).toEqual([2, 1, 1]);
    });
  });

  test('on signet, on another chain than the address, or with other credentials ends mining with an error', async () => {
    await withNode(async (node) => {
      node.name = 'signet';
      await expect(minerOf(node).run()).rejects.toThrow(/signet cannot be mined: its blocks need a signature/);
      node.name = 'main';
      await expect(minerOf(node).run()).rejects.toThrow(/address of another chain than main/);
      node.name = 'regtest';
      const refused = minerOf(node, { password: 'another one' }).run();
      await expect(refused).rejects.toThrow(/rejected these credentials \(HTTP 401\)/);
      await expect(refused).rejects.not.toThrow(/another one|sesame/);
    });
  });
});

type Odd = (
  node: NodeServer<RegtestChain>,
  response: import('node:http').ServerResponse,
) => ReturnType<NodeServer<RegtestChain>['misdeed']>;

const ODD: readonly Odd[] = [
  (_, response) => {
    response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end();
    return 'done';
  },
  (_, response) => {
    response.end('<html>hello</html>');
    return 'done';
  },
  () => ({ result: { chain: 17 } }),
  (_, response) => {
    response.socket?.resetAndDestroy();
    return 'done';
  },
  () => undefined,
  (node) => ({ result: { ...node.chain.template(), transactions: 'many' } }),
  () => undefined,
  () => ({ error: { code: -10, message: 'Bitcoin Core is downloading blocks...' }, status: 500 }),
  (node) => ({ result: { ...node.chain.template(), bits: 'zz7fffff' } }),
  () => undefined,
  (_, response) => {
    // Endless, until the client disconnects.
    const more = Buffer.alloc(1 << 20, 0x20);
    const send = (): void => {
      while (!response.destroyed && response.write(more)) {}
      if (!response.destroyed) response.once('drain', send);
    };
    send();
    return 'done';
  },
];
