import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { ALIGNMENT, FreeRanges } from './ranges.js';

test('allocated ranges never overlap, and all of them can be freed', () => {
  const step = fc.record({ take: fc.boolean(), bytes: fc.nat(5000), which: fc.nat(100) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const [from, size] = [128, 64 * 1024];
      const ranges = new FreeRanges(from);
      ranges.add(from, size);
      const out: { at: number; bytes: number }[] = [];
      const written = new Set<number>();
      for (const { take, bytes, which } of steps) {
        if (!take) {
          const [back] = out.splice(which % Math.max(1, out.length), 1);
          if (back) ranges.free(back.at, back.bytes);
          continue;
        }
        const taken = ranges.allocate(bytes);
        if (!taken) continue;
        expect(taken.bytes).toBeGreaterThanOrEqual(bytes);
        expect(taken.at % ALIGNMENT).toBe(0);
        expect(out.every(({ at, bytes: length }) => at + length <= taken.at || taken.at + taken.bytes <= at)).toBe(
          true,
        );
        expect(taken.at).toBeGreaterThanOrEqual(from);
        expect(taken.at + taken.bytes).toBeLessThanOrEqual(from + size);
        // Nothing beyond the first `dirtyBytes` was ever allocated.
        for (let at = taken.at; at < taken.at + taken.bytes; at += ALIGNMENT) {
          if (at >= taken.at + taken.dirtyBytes) expect(written.has(at)).toBe(false);
          written.add(at);
        }
        out.push(taken);
      }
      for (const { at, bytes } of out) ranges.free(at, bytes);
      expect(ranges.freeBytes).toBe(size);
      expect(ranges.freeTail(from + size)).toBe(size);
      expect(ranges.allocate(size)?.at).toBe(from);
    }),
    { numRuns: byTier(40, 200) },
  );
});
