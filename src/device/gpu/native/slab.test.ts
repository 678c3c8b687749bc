import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ALIGN, Slab } from './slab.js';

const BYTES = 2 ** 16;

/** A size to take, or which of the pieces that are out comes back. */
const step = fc.oneof(
  fc.record({ take: fc.oneof(fc.integer({ min: 0, max: 3 * ALIGN }), fc.integer({ min: 0, max: BYTES })) }),
  fc.record({ give: fc.nat() }),
);

test('pieces never meet, lie on the grid, and all of it comes back', () => {
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
      for (const one of steps) {
        if ('give' in one) {
          const [piece] = out.splice(one.give % Math.max(1, out.length), 1);
          if (piece) giveBack(piece);
          continue;
        }
        // Whole units, which is what no other piece may touch.
        const bytes = Math.max(1, Math.ceil(one.take / ALIGN)) * ALIGN;
        const at = slab.alloc(one.take);
        if (at === undefined) {
          expect(freeAt(owners, address, bytes)).toBe(-1);
          continue;
        }
        expect((address + at) % ALIGN).toBe(0);
        expect(at >= 0 && at + one.take <= BYTES).toBe(true);
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
    { numRuns: 200 },
  );
});

/** Where so many bytes are nobody's, on the grid; -1 where nowhere. Slow and obviously right. */
function freeAt(owners: Uint8Array, address: number, bytes: number): number {
  for (let at = (ALIGN - (address % ALIGN)) % ALIGN; at + bytes <= owners.length; at += ALIGN) {
    if (owners.subarray(at, at + bytes).every((owner) => owner === 0)) return at;
  }
  return -1;
}
