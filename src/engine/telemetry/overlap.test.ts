import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lengthOf, lengthRatio, overlapOf, type Span, union } from './overlap.js';

const statistics = JSON.parse(
  readFileSync(new URL('../../../test/data/telemetry/statistics.json', import.meta.url), 'utf8'),
) as {
  readonly overlap_upstream_formula: readonly {
    readonly copy_ms: number;
    readonly compute_ms: number;
    readonly upstream_ratio: number;
  }[];
  readonly overlap_true_timeline: readonly {
    readonly copy: readonly (readonly [number, number])[];
    readonly compute: readonly (readonly [number, number])[];
    readonly overlapped_ms: number;
    readonly copy_ms: number;
    readonly compute_ms: number;
    readonly span_ms: number;
    readonly hidden_fraction: number;
    readonly copy_busy: number;
    readonly compute_busy: number;
  }[];
};

const MS = 1_000_000;
const spans = (pairs: readonly (readonly [number, number])[]): Span[] =>
  pairs.map(([from, to]) => ({ startedNs: BigInt(from * MS), endedNs: BigInt(to * MS) }));

describe('overlap', () => {
  test.each(statistics.overlap_true_timeline)('of a timeline: $hidden_fraction hidden', (known) => {
    expect(overlapOf(spans(known.copy), spans(known.compute))).toEqual({
      copyNs: known.copy_ms * MS,
      computeNs: known.compute_ms * MS,
      overlappedNs: known.overlapped_ms * MS,
      spanNs: known.span_ms * MS,
      hidden: expect.closeTo(known.hidden_fraction, 12),
      copyBusy: expect.closeTo(known.copy_busy, 12),
      computeBusy: expect.closeTo(known.compute_busy, 12),
    });
  });

  test.each(statistics.overlap_upstream_formula)('ratio of $copy_ms and $compute_ms', (known) => {
    expect(lengthRatio(known.copy_ms, known.compute_ms)).toBe(known.upstream_ratio);
  });

  test('two steps of equal length, one after the other: a ratio of 1, and nothing hidden', () => {
    expect(lengthRatio(5, 5)).toBe(1);
    expect(overlapOf(spans([[0, 5]]), spans([[5, 10]])).hidden).toBe(0);
  });

  test('of no spans is 0', () => {
    expect(overlapOf([], [])).toEqual({
      copyNs: 0,
      computeNs: 0,
      overlappedNs: 0,
      spanNs: 0,
      hidden: 0,
      copyBusy: 0,
      computeBusy: 0,
    });
  });

  test('agrees with counting every nanosecond', () => {
    const some = fc.array(fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 20 })), { maxLength: 8 });
    fc.assert(
      fc.property(some, some, (copies, computes) => {
        const made = (pairs: readonly (readonly [number, number])[]): Span[] =>
          pairs.map(([from, length]) => ({ startedNs: BigInt(from), endedNs: BigInt(from + length) }));
        const at = (pairs: readonly (readonly [number, number])[], ns: number): boolean =>
          pairs.some(([from, length]) => ns >= from && ns < from + length);
        const moments = Array.from({ length: 80 }, (_, ns) => ns);
        const { copyNs, computeNs, overlappedNs } = overlapOf(made(copies), made(computes));
        expect(copyNs).toBe(moments.filter((ns) => at(copies, ns)).length);
        expect(computeNs).toBe(moments.filter((ns) => at(computes, ns)).length);
        expect(overlappedNs).toBe(moments.filter((ns) => at(copies, ns) && at(computes, ns)).length);
        expect(lengthOf(union(made(copies)))).toBe(copyNs);
      }),
    );
  });
});
