import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { HTTP_SCHEMES, parseEndpoint } from '../../src/network/endpoint.js';
import { JsonRpc } from '../../src/network/json-rpc.js';
import { GapVerifier } from '../../src/workload/gaps/job/verifier.js';
import { type GapScan, plantOnce, scanWork } from '../../src/workload/gaps/mining/scan-work.js';
import { gapcoinNode } from '../../src/workload/gaps/mining/solo.js';
import { gapStratumOpener } from '../../src/workload/gaps/mining/stratum.js';
import type { Share } from '../../src/workload/gaps/mining/work.js';
import type { MinerOptions } from '../../src/workload/mining/miner.js';
import type { PoolSourceOptions } from '../../src/workload/mining/server/pools.js';
import type { Scan } from '../../src/workload/mining/source.js';
import { GapChain } from './gap-chain.js';
import { GapPoolServer } from './gap-pool-server.js';
import { NodeServer } from './node-server.js';
import { engine, hasty, type Mining, mineFor, mineFrom, useDevice } from './rig.js';

/** Gapcoin's mining on loopback, on the device that all tests of a file share. */
let verifier: GapVerifier;

/** Opens the device and the verifier before the tests of the calling file and closes them after them. */
export function useVerifier(): void {
  useDevice();
  beforeAll(() => {
    verifier = new GapVerifier(1);
  });
  afterAll(() => verifier.close());
}

/** Small numbers and small windows: a block takes milliseconds. */
const SHIFT = 20;
const PLAN = { primes: 500, window: 2 ** 13, depth: 1, perChain: 64 };

export function gapScan(change: Partial<GapScan> = {}): Scan<Share> {
  const scan = { engine, verifier, plant: plantOnce(verifier), shift: SHIFT, plan: PLAN, ...change };
  return (work, options) => scanWork(scan, work, options);
}

/** The payout of tests: the key hash of BIP 173's examples. */
export const PAYOUT = 'script:0014751e76e8199196d454941c45d1b3a323f1433bd6';
export const SCRIPT = PAYOUT.slice('script:'.length);

/** Starts a node, which closes after the test. */
export async function gapNode(): Promise<NodeServer<GapChain>> {
  const server = await new NodeServer(new GapChain(SCRIPT)).listen();
  onTestFinished(() => server.close());
  return server;
}

/** Mines solo; without a payout, by getwork. */
export function mineAt(
  node: { readonly url: string },
  payout: string | undefined,
  more: Partial<MinerOptions<Share>> = {},
  change: Partial<GapScan> & { readonly authority?: string } = {},
): Mining<Share> {
  const log: string[] = [];
  const { authority, ...scan } = change;
  const credentials = () => ({ user: 'miner', password: 'sesame-1234' });
  const rpc = new JsonRpc(parseEndpoint(node.url, HTTP_SCHEMES), {
    credentials,
    authority,
    log: (text) => log.push(text),
  });
  onTestFinished(() => rpc.close());
  return { ...mineFrom(gapcoinNode(rpc, payout, hasty), gapScan(scan), more), log };
}

/** Starts a pool, which closes after the test. */
export async function gapPool(): Promise<GapPoolServer> {
  const server = await new GapPoolServer().listen();
  onTestFinished(() => server.close());
  return server;
}

/** Mines for pools until it is stopped or the test ends. */
export const mineGaps = (
  urls: readonly string[],
  options: Partial<PoolSourceOptions> = {},
  more: Partial<MinerOptions<Share>> = {},
  change: Partial<GapScan> = {},
): Mining<Share> => mineFor(urls, options, gapStratumOpener('millrace/test'), gapScan(change), more);
