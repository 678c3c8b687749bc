import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { probe } from '../../src/device/opencl/device.js';
import { orphans, type Want, wrongEndings } from '../ending.js';
import { byTier, patience } from '../tier.js';

/**
 * Ends processes in every way, at random times: while the device opens, or with work in flight, some while a kernel
 * compiles. Checks the exit code or signal, and that no process crashes, hangs or is left, including compilers.
 */
const LIMIT_MS = patience(30_000);

const ways: Readonly<Record<string, Want>> = {
  opening: { code: 7 },
  exit: { code: 7 },
  throw: { code: 1 },
  close: { code: 5 },
  'exit-in-close': { code: 7 },
  natural: { code: 0 },
  forgotten: { code: 0 },
  'compiling-exit': { code: 7 },
  'compiling-close': { code: 5 },
  SIGINT: { signal: 'SIGINT' },
  SIGKILL: { signal: 'SIGKILL' },
  'compiling-SIGKILL': { signal: 'SIGKILL' },
};

const cacheDirectory = await mkdtemp(join(tmpdir(), 'millrace-test-'));
afterAll(() => rm(cacheDirectory, { recursive: true, force: true }));
const child = fileURLToPath(new URL('teardown-child.mjs', import.meta.url));
const here = await probe();

const few = ['natural', 'compiling-SIGKILL'];
const names = byTier(few, Object.keys(ways));
const RUNS = names.length * byTier(1, 1, 10);

test(`${RUNS} processes end cleanly`, { timeout: patience(RUNS * 20_000) }, async (ctx) => {
  if ('reason' in here) return ctx.skip(here.reason);
  const runs = Array.from({ length: RUNS }, (_, i) => {
    const way = names[i % names.length]!;
    // Opening takes about 400 ms.
    const delay = Math.floor(way === 'opening' ? Math.random() * 450 : Math.random() ** 2 * 60);
    return {
      way,
      want: ways[way]!,
      delay,
      args: [child, way, String(delay)],
      env: { MILLRACE_CACHE_DIR: cacheDirectory },
    };
  });
  expect(await wrongEndings(runs, LIMIT_MS)).toEqual([]);
  expect(await orphans()).toEqual([]);
});

// PoCL keeps a cache of its own. If compilers share it, one in eight runs of three processes aborts.
const ROUNDS = byTier(0, 3, 30);
test.skipIf(ROUNDS === 0)(
  'processes that compile the same kernel at the same time do not disturb each other',
  {
    timeout: patience(ROUNDS * 30_000),
  },
  async (ctx) => {
    if ('reason' in here) return ctx.skip(here.reason);
    for (let round = 0; round < ROUNDS; round++) {
      const folder = (name: string): string => join(cacheDirectory, `${round}-${name}`);
      const runs = ['a', 'b', 'c'].map((name) => ({
        way: 'natural',
        want: ways.natural!,
        delay: 0,
        args: [child, 'natural', '0'],
        env: { MILLRACE_CACHE_DIR: folder(name), POCL_CACHE_DIR: folder('pocl') },
      }));
      expect(await wrongEndings(runs, LIMIT_MS)).toEqual([]);
    }
  },
);
