import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type Run, wrongEndings } from './ending.js';
import { byTier, patience } from './tier.js';

/** The ledger's thread is in native code most of the time, which must not disturb the end of the process. */
const child = fileURLToPath(new URL('store/ending-child.mjs', import.meta.url));
const TIMES = byTier(2, 8, 100);

const ways = [
  { way: 'exit', want: { code: 0 } },
  { way: 'throw', want: { code: 1 } },
  { way: 'close', want: { code: 0 } },
  { way: 'leave', want: { code: 0 } },
] as const;

it('a process exits with the right status, whatever its ledger is doing', { timeout: 3_600_000 }, async () => {
  const runs = ways.flatMap(({ way, want }) =>
    Array.from({ length: TIMES }, (): Run => {
      const delay = Math.floor(Math.random() * 40);
      return { way, want, args: [child, way, String(delay)], delay };
    }),
  );
  expect(await wrongEndings(runs, patience(60_000))).toEqual([]);
});
