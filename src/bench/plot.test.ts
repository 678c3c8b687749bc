import { expect, it } from 'vitest';
import { recordOf } from '../../test/telemetry/records.js';
import { plotOf } from './plot.js';
import type { Figure } from './suite.js';
import { stretchOf } from './timeline.js';

const spread = (median: number) => ({ median, min: median, max: median, relative: 0 });
const figure = (share: number): Figure => ({
  workload: 'block',
  name: 'hashes & <more>',
  device: 'wasm',
  unit: 'H',
  runs: 5,
  rate: spread(3e6),
  rates: [3e6],
  frozenRatios: undefined,
  seconds: spread(1),
  checkedBy: 'hand',
  digest: '',
  bytesPerSecond: undefined,
  bound: { limit: 'integer', perSecond: 1e10, share },
  fed: undefined,
  perJoule: undefined,
  hostBytes: 1,
  deviceBytes: undefined,
});

it('draws bars as long as their shares, and a point for each size', () => {
  const points = [1e3, 1e4, 1e5].map((work) => ({ work, seconds: 1e-3 + work / 1e6, residentBytes: 1 }));
  const fit = { fixed: 1e-3, perSecond: 1e6, off: 0 };
  const scaling = [{ workload: 'block', device: 'wasm', unit: 'H', points, fit }];
  const svg = plotOf({ title: 'today', figures: [figure(0.25), figure(0.5)], scaling, timelines: [] });
  const widths = [...svg.matchAll(/<rect x="440" [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width));
  expect(widths).toHaveLength(2);
  expect(widths[1]! / widths[0]!).toBeCloseTo(2, 2);
  expect(svg.match(/<circle /g)).toHaveLength(3);
  expect(svg).toContain('block: hashes &amp; &lt;more>');
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  // Well-formed: every element that is opened is closed.
  expect(svg.match(/<text /g)?.length).toBe(svg.match(/<\/text>/g)?.length);
});

it('draws each chunk of a job where it was, from the middle of the job', () => {
  const record = (k: number) => {
    const startedNs = BigInt(1_000_000 * k + 5000);
    const times = { submittedNs: startedNs - 900_000n, startedNs, endedNs: startedNs + 1_000_000n };
    return recordOf({ stream: k % 2, slot: 0, ...times, reapedNs: times.endedNs + 50_000n, outcome: 'counted' });
  };
  const chunks = stretchOf(Array.from({ length: 40 }, (_, k) => record(k + 1)));
  expect(chunks).toHaveLength(16);
  expect(chunks[3]).toEqual({ slot: 0, submitted: 2100, started: 3000, ended: 4000, reaped: 4050 });
  const svg = plotOf({
    title: '',
    figures: [],
    scaling: [],
    timelines: [{ workload: 'block', device: 'wasm', chunks }],
  });
  // One after the other without a gap: each begins where the one before it ended.
  const running = [
    ...svg.matchAll(/<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="16" fill="#(?:2f6fb3|5b9bd5)"/g),
  ];
  expect(running).toHaveLength(16);
  for (const [at, [, x, width]] of running.entries()) {
    expect(Number(x) + Number(width)).toBeCloseTo(Number(running[at + 1]?.[1] ?? 936), 0);
  }
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
});
