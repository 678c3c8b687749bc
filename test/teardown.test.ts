import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { listDevices } from '../src/device/registry.js';
import { orphans, type Want, wrongEndings } from './ending.js';
import { byTier, patience } from './tier.js';

/**
 * Processes that end in every possible way, at a random moment, while the device opens or with work in flight: the right
 * exit code or signal, no crash, no hang, nothing left behind. Each way runs once per device; a short run does some of
 * them, the long one 200 processes on native and 100 on wasm.
 */
const LIMIT_MS = patience(60_000);

const ways: Readonly<Record<string, Want>> = {
  opening: { code: 7 },
  exit: { code: 7 },
  throw: { code: 1 },
  close: { code: 5 },
  'exit-in-close': { code: 7 },
  natural: { code: 0 },
  forgotten: { code: 0 },
  SIGINT: { signal: 'SIGINT' },
  SIGTERM: { signal: 'SIGTERM' },
  SIGKILL: { signal: 'SIGKILL' },
};

const cacheDirectory = await mkdtemp(join(tmpdir(), 'millrace-test-'));
afterAll(() => rm(cacheDirectory, { recursive: true, force: true }));
const child = fileURLToPath(new URL('teardown-child.mjs', import.meta.url));
const { absent } = await listDevices();

test.for([
  { device: 'native', few: ['opening', 'SIGINT'], count: byTier(2, 10, 200) },
  { device: 'wasm', few: ['forgotten', 'exit-in-close'], count: byTier(2, 10, 100) },
])(
  '$count processes end as they should on $device',
  { timeout: 3_600_000 },
  async ({ device, few, count }, { skip }) => {
    const missing = absent.find(({ id }) => id === device);
    if (missing) return skip(`no device ${device}: ${missing.reason}`);
    const names = byTier(few, Object.keys(ways));
    const runs = Array.from({ length: count }, (_, i) => {
      const way = names[i % names.length]!;
      // Opening takes about 100 ms.
      const delay = Math.floor(way === 'opening' ? Math.random() * 120 : Math.random() ** 2 * 40);
      const args = [child, device, way, String(delay)];
      return { way, want: ways[way]!, delay, args, env: { MILLRACE_CACHE_DIR: cacheDirectory } };
    });
    expect(await wrongEndings(runs, LIMIT_MS)).toEqual([]);
    expect(await orphans()).toEqual([]);
  },
);
