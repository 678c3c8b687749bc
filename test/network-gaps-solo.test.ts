import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { submission } from '../src/workload/gaps/kernel/reference.js';
import { nextPrime } from '../src/workload/gaps/kernel/reference-primes.js';
import { headerOf, parseGetworkData, workOfGetworkData } from '../src/workload/gaps/mining/work.js';
import type { SourceEvent } from '../src/workload/mining/source.js';
import { cert, key } from './network/certificate.js';
import { EASY, GapChain } from './network/gap-chain.js';
import { gapNode, gapScan, mineAt, PAYOUT, SCRIPT, useVerifier } from './network/gap-rig.js';
import { type Misdeed, NodeServer } from './network/node-server.js';
import { byTier, isLong, isShort } from './tier.js';

/** Solo mining of Gapcoin against a node on loopback, which recomputes every proof and block with its own code. */
const HARD = 60n << 48n;

useVerifier();

describe('a node with templates', () => {
  test(`accepts a chain of ${byTier(3, 5, 100)} blocks with varying numbers of transactions`, async () => {
    const node = await gapNode();
    const enough = byTier(3, 5, 100);
    const difficulties = new Set<bigint>();
    const { running, miner, told } = mineAt(node, PAYOUT, {
      maxAccepted: enough,
      onVerdict: () => {
        node.chain.transactions = node.chain.height % 4;
        difficulties.add(node.chain.difficulty);
      },
    });
    await running;
    expect(node.chain.refusals).toEqual([]);
    expect(node.chain.height).toBe(enough);
    expect(miner.tally.counts).toEqual({ accepted: enough, rejected: 0, stale: 0, lost: 0, blocks: enough });
    expect(difficulties.size).toBeGreaterThanOrEqual(3);
    expect(told).toEqual([`connected ${node.url} chain regtest`]);
    expect(node.calls).not.toContain('getwork');
  });

  test('pays an address of its chain, and rejects one of another chain', async () => {
    const node = await gapNode();
    await mineAt(node, 'rric1qw508d6qejxtdg4y5r3zarvary0c5xw7kpt4dsz', { maxAccepted: 1 }).running;
    expect([node.chain.height, node.chain.refusals]).toEqual([1, []]);
    const wrong = mineAt(node, 'gap1qw508d6qejxtdg4y5r3zarvary0c5xw7k6qpqn2').running;
    await expect(wrong).rejects.toThrow(/another chain than regtest/);
  });

  test('that breaks the protocol is asked again', async () => {
    const node = await gapNode();
    const answers: readonly (() => ReturnType<Misdeed>)[] = [
      () => ({ result: { chain: 17 } }),
      () => undefined,
      () => ({ result: { ...node.chain.template(), bits: 'zz' } }),
      () => undefined,
      () => ({ result: { ...node.chain.template(), bits: '0' } }),
      () => undefined,
      () => ({ result: { ...node.chain.template(), bits: '1'.repeat(17) } }),
      () => undefined,
      () => ({ error: { code: -10, message: 'Gapcoin is downloading blocks...' }, status: 500 }),
      () => ({ result: { ...node.chain.template(), default_witness_commitment: '6a24' } }),
    ];
    let count = 0;
    node.misdeed = (method) => (method === 'submitblock' ? undefined : answers[count++]?.());
    const { running, told } = mineAt(node, PAYOUT, { maxAccepted: 1 });
    await running;
    expect([node.chain.height, node.chain.refusals]).toEqual([1, []]);
    expect(refusalsIn(told)).toEqual([
      'chain is not text',
      'bits is not hex',
      'bits is not a whole number from 1 to 18446744073709551615',
      'bits has more than 16 characters',
      'Gapcoin is downloading blocks...',
      expect.stringMatching(/witness commitment .*, not 6a24/),
    ]);
  });
});

describe('a node with getwork', () => {
  test(`accepts a chain of ${byTier(2, 3, 100)} blocks`, async () => {
    const node = await gapNode();
    node.longPolling = '/longpoll';
    const enough = byTier(2, 3, 100);
    const { running, log } = mineAt(node, undefined, { maxAccepted: enough });
    await running;
    expect([node.chain.height, node.chain.refusals]).toEqual([enough, []]);
    // Request and answer have the same number.
    const [, id] = log.map((line) => /^→ #(\d+) .*"params":\["[0-9a-f]{174,}"\]/.exec(line)).find((one) => one)!;
    expect(log).toContain(`← #${id} 200 {"result":true,"error":null,"id":${id}}`);
    expect(log.join('\n')).not.toMatch(/sesame/);
  });

  test.each([
    ['by long poll at a path', '/longpoll'],
    ['by long poll at a full URL', 'own'],
    ['by polling', undefined],
  ])('has a new tip: mining moves to it at once, %s', async (_, path) => {
    const node = await gapNode();
    node.longPolling = path === 'own' ? `${node.url}/longpoll?x=1` : path;
    node.chain.difficulty = HARD;
    const mining = mineAt(node, undefined, {
      maxAccepted: 1,
      // The first work is too hard to find a share.
      onSwitch: () => {
        if (node.chain.difficulty !== HARD) return;
        node.chain.tips.push('ab'.repeat(32));
        node.chain.difficulty = EASY;
        node.changed();
      },
    });
    await mining.running;
    expect(node.chain.refusals).toEqual([]);
    expect(node.chain.tips).toHaveLength(3);
    expect(mining.miner.tally.counts).toMatchObject({ accepted: 1, stale: 0 });
    const polled = node.paths.filter((one) => one.startsWith('/longpoll'));
    expect(polled.length > 0).toBe(path !== undefined);
  });

  test('whose long poll URL is on another server is not followed there', async () => {
    const [node, other] = [await gapNode(), await gapNode()];
    node.longPolling = `${other.url}/longpoll`;
    const { running } = mineAt(node, undefined, { maxAccepted: 2 });
    await running;
    expect([node.chain.height, other.calls, other.paths]).toEqual([2, [], []]);
  });

  test('refuses a block: it counts as stale, and the next one is mined', async () => {
    const node = await gapNode();
    node.longPolling = '/longpoll';
    let left = 1;
    node.misdeed = (method, _, __, params) =>
      method === 'getwork' && params.length > 0 && left-- > 0 ? { result: false } : undefined;
    const { running, miner } = mineAt(node, undefined, { maxAccepted: 1 });
    await running;
    expect(miner.tally.counts).toMatchObject({ accepted: 1, stale: 1 });
    expect([...miner.tally.reasons]).toEqual([['the node has a new tip', 1]]);
    expect(node.chain.refusals).toEqual([]);
  });

  test('that breaks the protocol is asked again', async () => {
    const node = await gapNode();
    const given = node.chain.getwork() as Record<string, unknown>;
    const html = (response: ServerResponse): 'done' => {
      response.end('<html>hello</html>');
      return 'done';
    };
    const odd: readonly ((response: ServerResponse) => ReturnType<Misdeed>)[] = [
      html,
      (response) => {
        response.socket?.resetAndDestroy();
        return 'done';
      },
      () => ({ error: { code: -9, message: 'Gapcoin is not connected!' }, status: 500 }),
      () => ({ result: { ...given, data: '00' } }),
      () => ({ result: { ...given, difficulty: 0 } }),
      () => ({ result: { ...given, difficulty: -5 } }),
      () => ({ result: { ...given, difficulty: 1.5 } }),
      () => ({ result: { ...given, difficulty: 2n ** 64n } }),
      () => ({ result: [given] }),
      () => ({ result: null }),
    ];
    let count = 0;
    node.misdeed = (_, __, response, params) => (params.length > 0 ? undefined : odd[count++]?.(response));
    const { running, told } = mineAt(node, undefined, { maxAccepted: 1 });
    await running;
    expect([node.chain.height, node.chain.refusals]).toEqual([1, []]);
    const noTarget = 'difficulty is not a whole number from 1 to 18446744073709551615';
    expect(refusalsIn(told)).toEqual([
      'the answer to getwork is not JSON-RPC (HTTP 200)',
      'the server reset the connection (ECONNRESET)',
      'Gapcoin is not connected!',
      'data has fewer than 80 bytes',
      noTarget,
      noTarget,
      noTarget,
      noTarget,
      'it is not an object',
      'it is not an object',
    ]);
  });

  test('is required: mining at a node without it is an error', async () => {
    const chain = new GapChain(SCRIPT);
    const node = await new NodeServer({ height: 0, template: () => chain.template(), submit: () => 'no' }).listen();
    onTestFinished(() => node.close());
    await expect(mineAt(node, undefined).running).rejects.toThrow(/has no getwork/);
  });
});

describe('headers of the real chain are mined again and give the bytes that were submitted', () => {
  const blocks = JSON.parse(readFileSync(new URL('./data/gaps/blocks.json', import.meta.url), 'utf8')) as Block[];
  interface Block {
    readonly name: string;
    readonly getwork_data_hex: string;
    readonly submit_hex: string;
    readonly ndifficulty: string;
    readonly nonce: number;
    readonly shift: number;
  }
  // 281, 1,023,209, 3,881,429 and 20,540,019 integers past the hash.
  test.for(['testnet genesis', 'mainnet genesis', '1385457', '1385452'])('%s', async (which, ctx) => {
    if (isShort && which !== 'testnet genesis') return ctx.skip('a million integers: npm run test:all');
    if (!isLong && !which.includes('genesis')) return ctx.skip('millions of integers: npm run test:long');
    const block = blocks.find(({ name }) => name.includes(which))!;
    const work = workOfGetworkData(
      parseGetworkData('it', { data: block.getwork_data_hex, difficulty: block.ndifficulty }),
      '1',
    );
    const stop = new AbortController();
    const plan = { primes: which === 'testnet genesis' ? 500 : 20_000, window: 2 ** 18 };
    const scan = gapScan({ shift: block.shift, plan });
    const found: string[] = [];
    for await (const share of scan(work, { signal: stop.signal, firstSegment: BigInt(block.nonce) })) {
      found.push(submission(headerOf(share)));
      if (found.includes(block.submit_hex)) break;
    }
    expect(found).toContain(block.submit_hex);
  });

  test('with a shift of more bits than a search can number', async (ctx) => {
    if (isShort) return ctx.skip('a kernel for longer numbers: npm run test:all');
    const { getwork_data_hex: data, ndifficulty: difficulty } = blocks.find(({ name }) => name.includes('testnet'))!;
    const work = workOfGetworkData(parseGetworkData('it', { data, difficulty }), '1');
    const scan = gapScan({ shift: 130 });
    for await (const share of scan(work, { signal: new AbortController().signal })) {
      expect(share.start >> 130n).toBe(share.hash);
      expect(nextPrime(share.start)).toBe(share.end);
      break;
    }
    expect.assertions(2);
  });
});

test('over https: a node with an untrusted certificate gets no request', async () => {
  const node = await new NodeServer(new GapChain(SCRIPT)).listen({ key, cert });
  onTestFinished(() => node.close());
  let tell: (event: SourceEvent) => void = () => undefined;
  const first = new Promise<SourceEvent>((resolve) => {
    tell = resolve;
  });
  const untrusting = mineAt(node, PAYOUT, { onSourceEvent: tell });
  expect(await first).toMatchObject({ state: 'refused', message: expect.stringMatching(/self-signed certificate/) });
  await untrusting.stop();
  expect(node.calls).toEqual([]);
  await mineAt(node, PAYOUT, { maxAccepted: 1 }, { authority: cert }).running;
  expect([node.chain.height, node.chain.refusals]).toEqual([1, []]);
});

/** The reasons for which the node was refused. */
const refusalsIn = (told: readonly string[]): string[] =>
  told.flatMap((one) => /^refused \S+ (?:.*: )?([^:]+); trying again/.exec(one)?.[1] ?? []);
