import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { licences } from '../scripts/licences.mjs';

it('docs/licences.md lists the packages of the lock file, each with a licence compatible with Apache 2.0', () => {
  const text = readFileSync(new URL('../docs/licences.md', import.meta.url), 'utf8');
  expect(text).toBe(licences());
  const names = [...text.matchAll(/^\| `[^`]+` \| [^|]+ \| ([^|]+) \|/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(8);
  expect(
    [...new Set(names)].filter((name) => !/^(Apache-2\.0|MIT|ISC|BSD-[23]-Clause|0BSD|Unlicense)$/.test(name ?? '')),
  ).toEqual([]);
});
