import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { apiReference, tasks } from '../scripts/api.mjs';
import { isShort } from './tier.js';

/** Of the others the workloads' and the language's own tests have what a short run needs. */
const few = ['search', 'devices', 'text', 'words'];
const examples = new URL('../examples/api/', import.meta.url);

describe('docs/api.md', () => {
  it('tells what the built types say (node scripts/api.mjs)', () => {
    const text = readFileSync(new URL('../docs/api.md', import.meta.url), 'utf8');
    expect(text).toBe(apiReference());
    for (const name of ['search', 'items', 'openDevice', 'mineHeader', 'createGenerator'])
      expect(text).toContain(`### ${name}\n`);
  });

  it('has every example', () => {
    expect(
      readdirSync(examples)
        .map((file) => file.replace(/\.ts$/, ''))
        .sort(),
    ).toEqual([...tasks].sort());
  });
});

/** Examples assert what they compute, by node:crypto or by published numbers. */
it.each(tasks.filter((task) => !isShort || few.includes(task)))('the example %s runs as it stands', async (task) => {
  await import(new URL(`${task}.ts`, examples).href);
});
