import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { probe } from '../../src/device/webgpu/device.js';
import { orphans, type Run, type Want, wrongEndings } from '../ending.js';
import { byTier, isShort, patience } from '../tier.js';

/**
 * Ends processes with a webgpu device in every way, at random times: Dawn's Node binding calls abort() if its thread ends
 * while one of its promises is pending. Checks the exit code or signal, and that no process crashes, hangs or is left.
 */
const TIMES = byTier(1, 1, 20);
/** A process waits for a running compilation before it ends. */
const LIMIT_MS = patience(60_000);

/** With work in flight: launches, many small commands, transfers. */
const working: Readonly<Record<string, Want>> = {
  exit: { code: 7 },
  throw: { code: 1 },
  close: { code: 5 },
  'exit-in-close': { code: 7 },
  natural: { code: 0 },
  forgotten: { code: 0 },
  SIGINT: { signal: 'SIGINT' },
  SIGTERM: { signal: 'SIGTERM' },
};
/** During other operations. */
const starting: Readonly<Record<string, Want>> = {
  opening: { code: 7 },
  'opening-throws': { code: 1 },
  compiling: { code: 7 },
  closing: { code: 5 },
  allocating: { code: 7 },
};

const few = ['close', 'compiling'];

const probed = await probe();
const missing = 'reason' in probed ? probed.reason : undefined;
const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

test('processes end cleanly', { timeout: patience(30 * TIMES * 10_000) }, async ({ skip }) => {
  if (missing) return skip(missing);
  const runs: Run[] = [];
  for (let i = 0; i < TIMES; i++) {
    const delay = (max: number): number => Math.floor(Math.random() * max);
    for (const [way, want] of Object.entries(working)) {
      const ms = delay(150);
      runs.push({ way, want, delay: ms, args: [path('../teardown-child.mjs'), 'webgpu', way, String(ms)] });
    }
    for (const [way, want] of Object.entries(starting)) {
      const ms = delay(way.startsWith('opening') ? 300 : 150);
      runs.push({ way, want, delay: ms, args: [path('teardown-child.mjs'), way, String(ms)] });
    }
  }
  const some = isShort ? runs.filter(({ way }) => few.includes(way)) : runs;
  expect(await wrongEndings(some, LIMIT_MS)).toEqual([]);
  expect(await orphans()).toEqual([]);
});
