import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { apiReference, tasks } from '../scripts/api.mjs';
import { isShort } from './tier.js';

/** A short run has only these; the tests of the workloads and of the language cover the others. */
const few = ['search', 'devices', 'text', 'words'];
const examples = new URL('../examples/api/', import.meta.url);

describe('docs/api.md', () => {
  it('matches the built types (made by node scripts/api.mjs)', () => {
    const text = readFileSync(new URL('../docs/api.md', import.meta.url), 'utf8');
    expect(text).toBe(apiReference());
    for (const name of ['search', 'items', 'openDevice', 'mineHeader', 'createGenerator'])
      expect(text).toContain(`### ${name}\n`);
  });

  it('includes every example', () => {
    expect(
      readdirSync(examples)
        .map((file) => file.replace(/\.ts$/, ''))
        .sort(),
    ).toEqual([...tasks].sort());
  });
});

/** Examples check their own results, against node:crypto or published numbers. */
it.each(tasks.filter((task) => !isShort || few.includes(task)))('the example %s runs unchanged', async (task) => {
  await import(new URL(`${task}.ts`, examples).href);
});
