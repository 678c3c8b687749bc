import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Device } from '../../src/device/device.js';
import { openDevice } from '../../src/device/registry.js';
import { Engine } from '../../src/engine/index.js';
import { LINE_SCHEMES, parseEndpoint } from '../../src/network/endpoint.js';
import { type Clock, realClock } from '../../src/network/failover.js';
import { type Share, scanWork } from '../../src/workload/block/mining/scan-work.js';
import { stratumOpener } from '../../src/workload/block/mining/stratum.js';
import { Miner, type MinerOptions } from '../../src/workload/mining/miner.js';
import { type OpenSession, PoolSource, type PoolSourceOptions } from '../../src/workload/mining/server/pools.js';
import type { Scan, ShareBase, WorkSource } from '../../src/workload/mining/source.js';
import type { LineServer } from './line-server.js';
import { PoolServer } from './pool-server.js';

/** Mining for pools on loopback, on a device that all tests of a file share. */

/** A clock whose waits are short. */
export const hasty: Clock = {
  now: () => performance.now(),
  wait: (ms, signal) => realClock.wait(Math.min(ms, 5), signal),
};
/** A share for every 8,600 hashes. */
export const EASY = '0.000002';

export let device: Device;
export let engine: Engine;

/** Opens the device before the tests of the calling file and closes it after them. Files share this module. */
export function useDevice(): void {
  beforeAll(async () => {
    device = await openDevice('wasm', { threads: 1 });
    engine = new Engine([device], { streams: 1, slots: 2 });
  });
  afterAll(async () => {
    await engine.close();
    await device.close();
  });
}

/** Starts a pool with easy shares, which closes after the test. */
export async function pool(): Promise<PoolServer> {
  const server = await new PoolServer().listen();
  server.difficulty = EASY;
  onTestFinished(() => server.close());
  return server;
}

export interface Mining<Share extends ShareBase> {
  readonly miner: Miner<Share>;
  readonly running: Promise<void>;
  readonly told: string[];
  readonly log: string[];
  /** Resolves as soon as the condition holds; checked after every verdict. */
  until(condition: () => boolean): Promise<void>;
  stop(): Promise<void>;
}

/** Mines Bitcoin until it is stopped or the test ends. */
export function mine(
  urls: readonly string[],
  { mask = 0x1fffe000, ...options }: Partial<PoolSourceOptions> & { readonly mask?: number } = {},
  more: Partial<MinerOptions<Share>> = {},
  where = engine,
): Mining<Share> {
  const open = stratumOpener({ agent: 'millrace/test', mask });
  return mineFor(urls, options, open, (work, how) => scanWork(where, work, how), more);
}

/** Mines any coin for pools. */
export function mineFor<Share extends ShareBase>(
  urls: readonly string[],
  options: Partial<PoolSourceOptions>,
  open: OpenSession<Share>,
  scan: Scan<Share>,
  more: Partial<MinerOptions<Share>>,
): Mining<Share> {
  const log: string[] = [];
  const pools = urls.map((url) => {
    const endpoint = parseEndpoint(url, LINE_SCHEMES);
    return { endpoint, user: endpoint.user ?? 'worker', password: endpoint.password ?? 'x' };
  });
  const source = new PoolSource({ pools, clock: hasty, log: (text) => log.push(text), ...options }, open);
  return { ...mineFrom(source, scan, more), log };
}

/** Mines for any source. */
export function mineFrom<Share extends ShareBase>(
  source: WorkSource<Share>,
  scan: Scan<Share>,
  more: Partial<MinerOptions<Share>> = {},
): Omit<Mining<Share>, 'log'> {
  const stop = new AbortController();
  const told: string[] = [];
  let wake: () => void = () => undefined;
  const miner = new Miner(source, scan, {
    signal: stop.signal,
    onVerdict: () => wake(),
    onSourceEvent: ({ state, server, message }) => told.push(`${state} ${server} ${message}`),
    ...more,
  });
  const running = miner.run();
  running.catch(() => undefined);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  onTestFinished(() => end().catch(() => undefined));
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { miner, running, told, until, stop: end };
}

export const methods = (server: LineServer): (string | undefined)[] => server.lines.map(({ method }) => method);
