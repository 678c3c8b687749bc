import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { apiReference } from '../scripts/api.mjs';

it('docs/api.md tells what the built types say (node scripts/api.mjs)', () => {
  const text = readFileSync(new URL('../docs/api.md', import.meta.url), 'utf8');
  expect(text).toBe(apiReference());
  for (const name of ['search', 'items', 'openDevice', 'mineHeader', 'createGenerator'])
    expect(text).toContain(`#### ${name}\n`);
});
