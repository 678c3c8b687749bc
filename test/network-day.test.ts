import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import type { ShareBase } from '../src/workload/mining/source.js';
import { gapPool, mineGaps, useVerifier } from './network/gap-rig.js';
import type { LineServer } from './network/line-server.js';
import { type Mining, mine, pool } from './network/rig.js';

const isLong = process.env.MILLRACE_LONG === '1';

/**
 * Bytes that a job may leave behind. Busy times of devices are kept for 15 minutes, 460 bytes per job, and the day takes
 * less time than that here. One work object alone is larger than this limit.
 */
const KEPT = 1500;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Heap in use after a garbage collection, in bytes. */
function heap(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** Sends jobs, each after the one before has started, and returns by how many bytes the heap has grown. */
async function grownBy<Share extends ShareBase>(
  server: LineServer,
  begin: (onSwitch: () => void) => Mining<Share>,
  jobs: number,
  send: (n: number) => void,
): Promise<number> {
  let switched = 0;
  let wake: () => void = () => undefined;
  const { stop } = begin(() => {
    switched += 1;
    wake();
  });
  const sendAll = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const before = switched;
      send(n);
      // Lines that the test server keeps are not measured.
      server.lines.length = 0;
      while (switched === before) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  };
  await server.until(() => server.clients.size === 1);
  await sendAll(Math.ceil(jobs / 10));
  const resources = process.getActiveResourcesInfo().length;
  const before = heap();
  await sendAll(jobs);
  const grown = heap() - before;
  expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(resources + 5);
  await stop();
  return grown;
}

useVerifier();

describe('a day of jobs leaves nothing behind: no memory, no timers, no listeners', () => {
  test('Bitcoin: a pool sends a job about every 30 s', async (ctx) => {
    if (!isLong) return ctx.skip('a day of jobs: npm run test:long');
    const server = await pool();
    server.difficulty = '0.0001';
    const grown = await grownBy(
      server,
      (onSwitch) => mine([server.url], { log: () => undefined }, { onSwitch }),
      2880,
      (n) => {
        if (n % 40 === 0) server.setDifficulty(n % 80 === 0 ? '1000000' : '0.0001');
        server.send(n % 3 !== 0);
        server.accepted.length = 0;
      },
    );
    expect(grown).toBeLessThan(2880 * KEPT);
    expect(server.refused.filter((why) => why !== 'Job not found')).toEqual([]);
  });

  test('Gapcoin: a pool sends two jobs per block, which comes every 150 s', async (ctx) => {
    if (!isLong) return ctx.skip('a day of jobs: npm run test:long');
    const server = await gapPool();
    server.difficulty = 6n << 48n;
    const grown = await grownBy(
      server,
      (onSwitch) => mineGaps([server.url], { log: () => undefined }, { onSwitch }),
      1152,
      (n) => {
        server.send(n % 2 === 0);
        server.accepted.length = 0;
      },
    );
    expect(grown).toBeLessThan(1152 * KEPT);
    expect(server.refused.filter((why) => why !== 'stale')).toEqual([]);
  });
});
