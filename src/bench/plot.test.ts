import { expect, it } from 'vitest';
import { plotOf } from './plot.js';
import type { Figure } from './suite.js';

const spread = (median: number) => ({ median, min: median, max: median, relative: 0 });
const figure = (share: number): Figure => ({
  workload: 'block',
  name: 'hashes & <more>',
  device: 'wasm',
  unit: 'H',
  runs: 5,
  rate: spread(3e6),
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
  const svg = plotOf({ title: 'today', figures: [figure(0.25), figure(0.5)], scaling });
  const widths = [...svg.matchAll(/<rect x="390" [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width));
  expect(widths).toHaveLength(2);
  expect(widths[1]! / widths[0]!).toBeCloseTo(2, 2);
  expect(svg.match(/<circle /g)).toHaveLength(3);
  expect(svg).toContain('block: hashes &amp; &lt;more>');
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  // Well-formed: every element that is opened is closed.
  expect(svg.match(/<text /g)?.length).toBe(svg.match(/<\/text>/g)?.length);
});
