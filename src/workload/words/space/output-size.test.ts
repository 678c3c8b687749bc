import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Keyspace } from './keyspace.js';
import type { Mask } from './mask.js';
import { orders } from './order.js';
import { outputBytes } from './output-size.js';
import { wordsOf } from './words.js';

const characters = fc.uniqueArray(fc.constantFrom('a', 'b', 'xy', 'pqr', 'klmn'), { minLength: 1, maxLength: 4 });
const masks = fc.array(fc.array(characters, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 });

test('counts the bytes of words without making them', () => {
  fc.assert(
    fc.property(
      masks,
      fc.constantFrom(...orders),
      fc.nat(),
      fc.nat(),
      fc.nat(2),
      (all, order, one, other, separator) => {
        const space = new Keyspace(all.map((mask) => wordsOf(mask as Mask, order)));
        const size = Number(space.size) + 1;
        const [from = 0, to = 0] = [one % size, other % size].toSorted((a, b) => a - b);
        let bytes = 0;
        for (let index = from; index < to; index++) bytes += (space.wordAt(BigInt(index)) ?? '').length + separator;
        expect(outputBytes(space, BigInt(from), BigInt(to), separator)).toBe(BigInt(bytes));
      },
    ),
  );
});

test('counts filtered words of one length, and gives undefined for several lengths', () => {
  const same = new Keyspace([
    wordsOf(
      [
        ['a', 'b'],
        ['a', 'b'],
      ],
      'canonical',
      { maxRun: 1 },
    ),
  ]);
  expect(outputBytes(same, 0n, 2n, 1)).toBe(6n);
  const varying = new Keyspace([
    wordsOf(
      [
        ['a', 'bc'],
        ['a', 'bc'],
      ],
      'canonical',
      { maxRun: 1 },
    ),
  ]);
  expect(outputBytes(varying, 0n, 1n, 1)).toBeUndefined();
});
