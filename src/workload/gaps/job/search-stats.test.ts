import { expect, test } from 'vitest';
import type { Device } from '../../../device/device.js';
import { Recorder } from '../../../engine/telemetry/record.js';
import { SearchStats } from './search-stats.js';

const device = { info: { id: 'one' } } as unknown as Device;
const piece = { start: 0n, count: 1000 };
const work = { device, piece, windows: 2, candidates: 40, counts: [20, 20], tests: 10, primes: 3, found: [], bytes: 8 };

test('the status has tests, primes, gaps, the expected time and starvation', () => {
  const figures = new SearchStats(
    { logarithm: 200, chance: 1e-6, perIndex: 1, indices: 2 ** 32, resultName: 'a block' },
    new Recorder(4),
  );
  const labels = () => figures.notes().map(({ label }) => label);
  expect(labels()).toEqual(['tests', 'primes', 'gaps', 'starved']);
  figures.addPiece({ ...work, shape: { limb: 'u64', bits: 300 }, base: 0n, traces: [] });
  figures.done = 1000n;
  figures.gaps = 1;
  expect(labels()).toEqual(['tests', 'primes', 'gaps', 'expected', 'starved']);
  const texts = Object.fromEntries(figures.notes().map(({ label, text }) => [label, text]));
  expect(texts.tests).toMatch(/tests\/s$/);
  expect(texts.primes).toMatch(/primes\/s$/);
  expect(texts.gaps).toMatch(/gaps\/s$/);
  expect(texts.expected).toMatch(/^a block in /);
  expect(texts.starved).toBe('0 % of the time');
});

test('no expected time is shown if less than half a gap is left on average', () => {
  const odds = { logarithm: 200, chance: 1e-6, perIndex: 1, indices: 501_000, resultName: 'a gap' };
  const figures = new SearchStats(odds, new Recorder(4));
  const labels = () => figures.notes().map(({ label }) => label);
  figures.done = 1000n;
  expect(labels()).toContain('expected');
  figures.done = 2000n;
  expect(labels()).not.toContain('expected');
});

test('a search of intervals shows no primes', () => {
  const figures = new SearchStats(
    { logarithm: 200, chance: 0, perIndex: 30_030, indices: 2 ** 32, resultName: 'a gap' },
    new Recorder(4),
  );
  figures.done = 10n;
  expect(figures.notes().map(({ label }) => label)).toEqual(['tests', 'gaps', 'starved']);
});

test('time without work is shown as a share', () => {
  const records = new Recorder(4);
  const figures = new SearchStats(
    { logarithm: 200, chance: 1e-6, perIndex: 1, indices: 2 ** 32, resultName: 'a gap' },
    records,
  );
  const given = { start: 0n, count: 1000, job: 'gaps', device: 'one', stream: 0, slot: 0, policy: 'hold', meant: 2000 };
  const more = { waitRounds: 0, active: 1, busy: 1, streams: 1, free: 0, occupancy: undefined, enqueuedNs: 1n };
  const record = records.add({ ...given, ...more, policy: 'hold', starvedNs: 10n ** 15n })!;
  records.setOutcome(record, 'counted');
  const [starved] = figures.notes().filter(({ label }) => label === 'starved');
  expect(starved?.text).not.toBe('0 % of the time');
});
