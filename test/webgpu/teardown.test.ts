import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { probe } from '../../src/device/webgpu/device.js';
import { orphans, type Run, type Want, wrongEndings } from '../ending.js';
import { byTier, isShort, patience } from '../tier.js';

/**
 * Processes with a webgpu device that end in every way there is, at a random moment: Dawn's Node binding ends a process
 * by abort() whose thread is ended while one of its promises is open. The right exit code or signal, no crash, no hang,
 * nothing left behind. 13 of them, some in a short run, twenty times as many in the long one.
 */
const TIMES = byTier(1, 1, 20);
/** The end waits for a compiler that is at work. */
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
/** While something else goes on. */
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

test('processes end as they should', { timeout: patience(30 * TIMES * 10_000) }, async ({ skip }) => {
  if (missing) return skip(missing);
  const runs: Run[] = [];
  for (let i = 0; i < TIMES; i++) {
    const delay = (most: number): number => Math.floor(Math.random() * most);
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
