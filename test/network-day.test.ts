import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { openDevice } from '../src/device/registry.js';
import { Engine } from '../src/engine/index.js';
import { LINE_SCHEMES, parseEndpoint } from '../src/network/endpoint.js';
import { Miner } from '../src/workload/block/mining/miner.js';
import { Pools } from '../src/workload/block/mining/pools.js';
import { PoolServer } from './network/pool-server.js';

/** A pool sends a job about every 30 s: 2,880 a day. */
const isLong = process.env.MILLRACE_LONG === '1';
const DAY = 2880;

describe('a day of jobs', () => {
  test('leaves nothing behind: no memory, no timers, no listeners', async (ctx) => {
    if (!isLong) return ctx.skip('a day of jobs: npm run test:long');
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heap = (): number => {
      collect();
      collect();
      return process.memoryUsage().heapUsed;
    };
    const server = await new PoolServer().listen();
    server.difficulty = '0.0001';
    const device = await openDevice('wasm', { threads: 1 });
    const engine = new Engine([device], { streams: 1, slots: 2 });
    const stop = new AbortController();
    const endpoint = parseEndpoint(server.url, LINE_SCHEMES);
    const pools = [{ endpoint, user: 'worker', password: 'x' }];
    let switched = 0;
    let wake: () => void = () => undefined;
    const miner = new Miner(engine, new Pools({ pools, agent: 'test', mask: 0x1fffe000 }), {
      signal: stop.signal,
      onSwitch: () => {
        switched += 1;
        wake();
      },
    });
    const running = miner.run();
    const jobs = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) {
        const before = switched;
        if (n % 40 === 0) server.setDifficulty(n % 80 === 0 ? '1000000' : '0.0001');
        server.send(n % 3 !== 0);
        // What the server itself keeps for the test is not what is looked at.
        server.lines.length = 0;
        server.accepted.length = 0;
        while (switched === before) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    };
    await server.until(() => server.clients.size === 1);
    await jobs(300);
    const resources = process.getActiveResourcesInfo().length;
    const before = heap();
    await jobs(DAY);
    const grown = heap() - before;
    expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(resources + 5);
    stop.abort();
    await running;
    await engine.close();
    await device.close();
    await server.close();
    // 1 kB a job would be 2.8 MB.
    expect(grown).toBeLessThan(2_000_000);
    expect(server.refused.filter((why) => why !== 'Job not found')).toEqual([]);
  });
});
