import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { ALIGN, Slab } from './slab.js';

const BYTES = 2 ** 16;

/** A size to allocate, or the index of a piece to free. */
const step = fc.oneof(
  fc.record({ take: fc.oneof(fc.integer({ min: 0, max: 3 * ALIGN }), fc.integer({ min: 0, max: BYTES })) }),
  fc.record({ give: fc.nat() }),
);

test('pieces never overlap, are aligned, and can all be freed', () => {
  fc.assert(
    fc.property(fc.nat({ max: 4 * ALIGN }), fc.array(step, { maxLength: 200 }), (address, steps) => {
      const slab = new Slab(address, BYTES);
      const owners = new Uint8Array(BYTES);
      const out: { readonly at: number; readonly bytes: number }[] = [];
      const giveBack = ({ at, bytes }: { readonly at: number; readonly bytes: number }): void => {
        owners.fill(0, at, at + bytes);
        expect(slab.free(at)).toBe(true);
        expect(slab.free(at)).toBe(false);
      };
      for (const action of steps) {
        if ('give' in action) {
          const [piece] = out.splice(action.give % Math.max(1, out.length), 1);
          if (piece) giveBack(piece);
          continue;
        }
        // Rounded up to whole units, which no other piece may touch.
        const bytes = Math.max(1, Math.ceil(action.take / ALIGN)) * ALIGN;
        const at = slab.alloc(action.take);
        if (at === undefined) {
          expect(freeAt(owners, address, bytes)).toBe(-1);
          continue;
        }
        expect((address + at) % ALIGN).toBe(0);
        expect(at >= 0 && at + action.take <= BYTES).toBe(true);
        expect(owners.subarray(at, at + bytes).every((owner) => owner === 0)).toBe(true);
        owners.fill(1, at, at + bytes);
        out.push({ at, bytes });
        expect(slab.isIdle).toBe(false);
      }
      for (const piece of out) giveBack(piece);
      expect(slab.isIdle).toBe(true);
      const first = (ALIGN - (address % ALIGN)) % ALIGN;
      const units = Math.floor((BYTES - first) / ALIGN);
      expect(slab.alloc(units * ALIGN)).toBe(first); // in one piece again
    }),
    { numRuns: byTier(40, 200) },
  );
});

/** The first aligned offset with `bytes` free bytes, or -1. Slow and obviously right. */
function freeAt(owners: Uint8Array, address: number, bytes: number): number {
  for (let at = (ALIGN - (address % ALIGN)) % ALIGN; at + bytes <= owners.length; at += ALIGN) {
    if (owners.subarray(at, at + bytes).every((owner) => owner === 0)) return at;
  }
  return -1;
}
