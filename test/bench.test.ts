import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Figure } from '../src/bench/suite.js';
import { millrace } from './command-line.js';

/** `millrace bench`: its report, and that a loss is found. */
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const bench = (...more: string[]) =>
  millrace(['bench', 'all', 'block', '--device', 'wasm', '--threads', '1', ...more], { cwd: folder });

interface Saved {
  readonly machine: object;
  readonly figures: Figure[];
}

it('saves what it tells; what has become slower since is a loss', () => {
  const first = bench('--json', '--save', 'now.json', '--markdown', 'now.md');
  expect(first).toMatchObject({ status: 0, stderr: '' });
  const saved = JSON.parse(readFileSync(join(folder, 'now.json'), 'utf8')) as Saved;
  const [told] = first.events.filter(({ event }) => event === 'figure');
  expect(told).toMatchObject({ workload: 'block', device: 'wasm', unit: 'H', runs: 5 });
  expect(saved.figures).toHaveLength(1);
  expect(told?.perSecond).toEqual(saved.figures[0]?.rate);
  expect(readFileSync(join(folder, 'now.md'), 'utf8')).toMatch(/^\| block \| SHA-256d of headers \| wasm \| /m);

  // As if it had been a hundred times as fast: no noise of a machine hides that.
  const faster = saved.figures.map((one) => ({
    ...one,
    rate: { ...one.rate, median: one.rate.median * 100, min: one.rate.min * 100, max: one.rate.max * 100 },
  }));
  writeFileSync(join(folder, 'then.json'), JSON.stringify({ ...saved, figures: faster }));
  const lost = bench('--compare', 'then.json');
  expect(lost.status).toBe(1);
  expect(lost.stdout).toMatch(/^block +SHA-256d of headers +wasm +0\.\d\d× +LOST$/m);
});

it('refuses figures that are none before anything is measured', () => {
  writeFileSync(join(folder, 'none.json'), '{}');
  expect(bench('--compare', 'none.json')).toMatchObject({ status: 64, stdout: '' });
  expect(bench('--compare', 'missing.json')).toMatchObject({ status: 64, stdout: '' });
});
