import { expect, test } from 'vitest';
import { readMetrics, sampleValue } from '../../../test/telemetry/prometheus-text.js';
import { exposition, type Metric } from './exposition.js';

const metrics: Metric[] = [
  {
    name: 'a_total',
    help: 'Back\\slash and\nline.',
    type: 'counter',
    values: [
      { labels: { device: 'cuda:0' }, value: 2n ** 64n },
      { labels: { device: 'say "x\\y"\n' }, value: 1.5e-9 },
    ],
  },
  { name: 'none', help: 'Nothing is known.', type: 'gauge', values: [{ value: undefined }] },
  { name: 'plain', help: 'One.', type: 'gauge', values: [{ value: Number.POSITIVE_INFINITY }] },
];

test('writes the exact text', () => {
  expect(exposition(metrics)).toBe(`# HELP a_total Back\\\\slash and\\nline.
# TYPE a_total counter
a_total{device="cuda:0"} 18446744073709551616
a_total{device="say \\"x\\\\y\\"\\n"} 1.5e-9
# HELP plain One.
# TYPE plain gauge
plain +Inf
`);
});

test('a reader of the format reads the same values', () => {
  const read = readMetrics(exposition(metrics));
  expect([...read.keys()]).toEqual(['a_total', 'plain']);
  expect(read.get('a_total')?.help).toBe('Back\\slash and\nline.');
  expect(sampleValue(read, 'a_total', { device: 'say "x\\y"\n' })).toBe(1.5e-9);
  expect(sampleValue(read, 'plain')).toBe(Number.POSITIVE_INFINITY);
});

test.each([
  ['a 1', 'outside'],
  ['# TYPE a gauge\na 1\na 2\n', 'twice'],
  ['# TYPE a gauge\na{b="c} 1\n', 'no sample'],
  ['# TYPE a gauge\na x\n', 'no number'],
  ['# TYPE a wrong\na 1\n', 'type'],
  ['# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n', 'order'],
  ['# TYPE a gauge\na 1', 'end'],
])('the reader refuses %j', (text, why) =>
  expect(() => readMetrics(text.startsWith('a 1') ? `${text}\n` : text)).toThrow(why),
);
