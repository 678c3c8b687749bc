import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decode } from '../encoding.js';
import { packHits, unpackHits } from './packed-hits.js';

const index = fc.oneof(fc.bigInt(0n, 9n), fc.bigInt(0n, (1n << 128n) - 1n));
const value = fc.oneof(fc.integer(), fc.double(), fc.bigInt(), fc.string(), fc.array(fc.double(), { maxLength: 3 }));
const hit = fc.record({ index, n: value, digest: fc.array(fc.nat(), { maxLength: 2 }) });

it('hits are unpacked as they were packed, those of one index in order', () => {
  fc.assert(
    fc.property(fc.array(hit, { maxLength: 8 }), (hits) => {
      const counts = new Map<bigint, number>();
      const wanted = hits.map(({ index: at, ...fields }) => {
        const nth = counts.get(at) ?? 0;
        counts.set(at, nth + 1);
        return { index: at, nth, fields };
      });
      const got = packHits(hits)
        .map((packed) => structuredClone(packed))
        .flatMap(unpackHits)
        .map(({ fields, ...rest }) => ({ ...rest, fields: decode(fields) }));
      const order = (list: readonly { index: bigint; nth: number }[]) =>
        list.toSorted((a, b) => (a.index < b.index ? -1 : a.index > b.index ? 1 : a.nth - b.nth));
      expect(order(got)).toEqual(order(wanted));
    }),
  );
});
