import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { licences } from '../scripts/licences.mjs';

it('docs/licences.md tells what the lock file holds, each with a licence that Apache 2.0 goes with', () => {
  const text = readFileSync(new URL('../docs/licences.md', import.meta.url), 'utf8');
  expect(text).toBe(licences());
  const names = [...text.matchAll(/^\| `[^`]+` \| [^|]+ \| ([^|]+) \|/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(8);
  expect(
    [...new Set(names)].filter((name) => !/^(Apache-2\.0|MIT|ISC|BSD-[23]-Clause|0BSD)$/.test(name ?? '')),
  ).toEqual([]);
});
