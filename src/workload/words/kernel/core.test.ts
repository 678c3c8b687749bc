import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { fromByteString, hexOf, parseCharsets, toByteString, utf8ByteString } from '../space/charset.js';
import { Keyspace } from '../space/keyspace.js';
import { parseMask, prefixesOf } from '../space/mask.js';
import { parseMaskFile } from '../space/mask-file.js';
import type { Order } from '../space/order.js';
import { isRegular, maxBytes, type Words, wordsOf } from '../space/words.js';
import { referenceWord } from './reference.js';

const data = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../../test/data/words/${name}.json`, import.meta.url), 'utf8'));

/** Words as the data files write them. */
const shown = (word: string): string => (/^[ -~]*$/.test(word) ? word : `$HEX[${hexOf(word)}]`);

/** All words, each through `wordAt`. */
const all = (words: Words): string[] => Array.from({ length: Number(words.size) }, (_, i) => words.wordAt(BigInt(i)));

function filled(words: Words, start: bigint, count: number, separator = '\n'): string {
  const into = new Uint8Array(maxBytes(words, count, separator));
  return toByteString(into.subarray(0, words.fill(into, start, count, separator)));
}

describe('charsets', () => {
  test('that are built in have the sizes and ends of hashcat', () => {
    const ends = Object.entries({ l: 'az', u: 'AZ', d: '09', s: ' ~', a: ' ~', b: '\x00\xff', h: '0f', H: '0F' });
    const sizes = { l: 26, u: 26, d: 10, s: 33, a: 95, b: 256, h: 16, H: 16 };
    for (const [name, [first, last] = ''] of ends) {
      const [charset = []] = parseMask(`?${name}`);
      expect([charset[0], charset.at(-1), charset.length]).toEqual([first, last, sizes[name as keyof typeof sizes]]);
      expect([...charset]).toEqual([...charset].sort());
    }
  });

  test('nest, keep their order, drop duplicates, keep NUL', () => {
    const definitions = new Map([
      [2, '?1c'],
      [1, 'ba?db'],
      [3, '\0x\0'],
    ]);
    const customs = parseCharsets(definitions);
    expect(customs.get(1)?.join('')).toBe('ba0123456789');
    expect(customs.get(2)?.join('')).toBe('ba0123456789c');
    expect(customs.get(3)).toEqual(['\0', 'x']);
    expect(parseCharsets(definitions, { sort: true }).get(1)?.join('')).toBe('0123456789ab');
  });

  test('hold UTF-8 characters, or bytes', () => {
    const text = utf8ByteString('a€ä');
    expect(parseCharsets(new Map([[1, text]])).get(1)).toHaveLength(6);
    expect(parseCharsets(new Map([[1, text]]), { utf8: true }).get(1)).toEqual([
      'a',
      utf8ByteString('€'),
      utf8ByteString('ä'),
    ]);
    expect(() => parseCharsets(new Map([[1, '\xc3a']]), { utf8: true })).toThrow('invalid UTF-8 at byte 0');
    expect(() => parseCharsets(new Map([[1, '\xe2\x82']]), { utf8: true })).toThrow('invalid UTF-8 at byte 0');
  });

  test.each([
    ['ab?', {}, 'ends in a single ?'],
    ['?x', {}, 'unknown charset ?x'],
    ['?3', {}, 'charset 3 is not defined'],
    ['?0', {}, 'unknown charset ?0'],
    ['', {}, 'at least one position'],
    ['a'.repeat(257), {}, '257 bytes'],
    ['4', { hex: true }, 'not a pair'],
    ['zz', { hex: true }, 'not a pair'],
  ])('%j is rejected', (text, reading, message) => expect(() => parseMask(text, new Map(), reading)).toThrow(message));

  test('refer only to charsets with lower numbers', () => {
    expect(() => parseCharsets(new Map([[1, '?2']]))).toThrow('charset 2 is not defined');
    expect(() => parseCharsets(new Map([[1, '?1']]))).toThrow('charset 1 is not defined');
    expect(() => parseCharsets(new Map([[1, '']]))).toThrow('empty');
  });

  test('mix with hexadecimal literals', () => {
    expect(all(wordsOf(parseMask('41?d42', new Map(), { hex: true }))).at(3)).toBe('A3B');
  });
});

describe('windows of large spaces, as mp64 gave them', () => {
  interface Window {
    readonly mask: string;
    readonly custom: Readonly<Record<string, string>>;
    readonly keyspace: string;
    readonly start: string;
    readonly words: readonly string[];
  }
  test.each(data('golden_index_windows') as Window[])(
    '$mask from $start',
    ({ mask, custom, keyspace, start, words }) => {
      const customs = parseCharsets(new Map(Object.entries(custom).map(([number, text]) => [Number(number), text])));
      const list = wordsOf(parseMask(mask, customs));
      expect(list.size).toBe(BigInt(keyspace));
      const from = BigInt(start);
      const got = words.map((_, i) => list.wordAt(from + BigInt(i)));
      expect(got.map(shown)).toEqual(words);
      expect(got.map((word) => list.indexOf(word))).toEqual(words.map((_, i) => from + BigInt(i)));
      expect(filled(list, from, words.length)).toBe(got.map((word) => `${word}\n`).join(''));
    },
  );
});

test('sizes are total counts, where hashcat gives those of its outer loop', () => {
  const text = readFileSync(
    new URL('../../../../test/data/words/keyspace_hashcat_vs_total.tsv', import.meta.url),
    'utf8',
  );
  const rows = text.trim().split('\n').slice(1);
  for (const [mask = '', , total] of rows.map((row) => row.split('\t'))) {
    expect(`${mask} ${wordsOf(parseMask(mask)).size}`).toBe(`${mask} ${total}`);
  }
});

describe('mask files', () => {
  interface Case {
    readonly note: string;
    readonly hcmask: string;
    readonly rc: number;
    readonly count: number;
    readonly first: readonly string[];
    readonly last: readonly string[];
  }
  const cases = data('golden_hcmask') as Case[];
  const read = (text: string): Keyspace =>
    new Keyspace(
      parseMaskFile(unlatinText(text), 'file', new Map(), { sort: true }).map((mask) => wordsOf(mask, 'hashcat')),
    );
  /** The data file has its bytes as characters. */
  const unlatinText = (text: string): string => toByteString(Uint8Array.from(text, (c) => c.charCodeAt(0)));

  test.each(cases.filter(({ rc, note }) => rc === 0 && note !== 'BOM'))('$note', ({ hcmask, count, first, last }) => {
    const space = read(hcmask);
    expect(space.size).toBe(BigInt(count));
    expect(first.map((_, i) => space.wordAt(BigInt(i)))).toEqual(first);
    expect(last.map((_, i) => space.wordAt(space.size - BigInt(last.length - i)))).toEqual(last);
  });

  test('may start with a byte order mark', () => {
    const space = read(cases.find(({ note }) => note === 'BOM')?.hcmask ?? '');
    expect([space.size, space.wordAt(0n)]).toEqual([10n, '0']);
  });

  test('are read completely first, and the line of a mistake is reported', () => {
    expect(() => read(cases.find(({ rc }) => rc !== 0)?.hcmask ?? '')).toThrow('file:5: charset 1 is not defined');
    expect(read('01,23,45,67,89,?1?2?3?4?5\n').size).toBe(32n); // hashcat 6.2.6 takes four
    expect(() => read('1,2,3,4,5,6,7,8,9,0,?1')).toThrow('10 charsets');
    expect(() => read('# nothing\n\n')).toThrow('has no mask');
    expect(() => read('ab,')).toThrow('file:1: a mask has at least one position');
  });
});

/** Masks with small spaces, of any characters. */
const character = fc.oneof(
  fc.constantFrom('a', 'b', 'c', '0', '\0', '\xff', '\n'),
  fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
);
const charset = fc.uniqueArray(character, { minLength: 1, maxLength: 4 });
const smallMask = fc.array(charset, { minLength: 1, maxLength: 5 });
const wideCharset = fc.uniqueArray(fc.constantFrom('a', 'b', '\xc3\xa9', '\xe2\x82\xac', 'z'), {
  minLength: 1,
  maxLength: 3,
});
const wideMask = fc.array(wideCharset, { minLength: 1, maxLength: 4 });
const order = fc.constantFrom<Order>('canonical', 'hashcat');

describe('words of a mask', () => {
  test('have one index each, in order', () => {
    fc.assert(
      fc.property(fc.oneof(smallMask, wideMask), order, (mask, by) => {
        const words = wordsOf(mask, by);
        const list = all(words);
        expect(list).toEqual(list.map((_, i) => referenceWord(mask, BigInt(i), by === 'hashcat')));
        expect(new Set(list).size).toBe(list.length);
        list.forEach((word, i) => {
          expect(words.indexOf(word)).toBe(BigInt(i));
        });
        expect([list[0], list.at(-1)]).toEqual([mask.map((c) => c[0]).join(''), mask.map((c) => c.at(-1)).join('')]);
      }),
    );
  });

  test('join from slices', () => {
    fc.assert(
      fc.property(fc.oneof(smallMask, wideMask), order, fc.nat(), fc.nat(), (mask, by, a, b) => {
        const words = wordsOf(mask, by);
        const size = Number(words.size);
        const from = a % size;
        const count = b % (size - from + 1);
        const list = all(words);
        expect(filled(words, BigInt(from), count)).toBe(
          list
            .slice(from, from + count)
            .map((word) => `${word}\n`)
            .join(''),
        );
        expect(filled(words, 0n, from, '') + filled(words, BigInt(from), size - from, '')).toBe(list.join(''));
      }),
    );
  });

  test('have no index if the mask does not make them', () => {
    const words = wordsOf(parseMask('?l?d'));
    for (const word of ['', 'a', '0a', 'a00', 'A0']) expect(words.indexOf(word)).toBeUndefined();
  });

  test('have indices beyond 2^64 and 2^128', () => {
    const words = wordsOf(parseMask('?b'.repeat(40)));
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: words.size - 1n }), (index) => {
        const word = words.wordAt(index);
        expect(BigInt(`0x${hexOf(word)}`)).toBe(index);
        expect(words.indexOf(word)).toBe(index);
      }),
    );
  });

  test('have the smallest index if several make the same bytes', () => {
    const words = wordsOf([
      ['a', 'aa'],
      ['aa', 'a'],
    ]);
    expect(all(words)).toEqual(['aaa', 'aa', 'aaaa', 'aaa']);
    expect([words.indexOf('aaa'), words.indexOf('aa'), words.indexOf('aaaa')]).toEqual([0n, 1n, 2n]);
  });

  test('can be made by tables if they are regular', () => {
    expect(isRegular(wordsOf([['a', 'b']]))).toBe(true);
    expect(isRegular(wordsOf([['a', '\xc3\xa9']]))).toBe(false);
    expect(isRegular(wordsOf([['a', 'b']], 'canonical', { maxRun: 1 }))).toBe(false);
  });
});

describe('filters', () => {
  const isLeft = (word: readonly string[], maxRun: number, maxOccurrence: number): boolean => {
    let run = 0;
    return word.every((character, i) => {
      run = character === word[i - 1] ? run + 1 : 1;
      return run <= maxRun && word.filter((other) => other === character).length <= maxOccurrence;
    });
  };
  const combinations = (mask: readonly (readonly string[])[], by: Order): string[][] => {
    const size = mask.reduce((product, { length }) => product * length, 1);
    return Array.from({ length: size }, (_, i) => {
      const digits = [...mask.map((c) => c.length)];
      let rest = i;
      const positions = by === 'canonical' ? [...mask.keys()].reverse() : [...mask.keys()];
      for (const p of positions) {
        const length = digits[p] ?? 1;
        digits[p] = rest % length;
        rest = Math.floor(rest / length);
      }
      return mask.map((c, p) => c[digits[p] ?? 0] ?? '');
    });
  };

  test('leave the words that brute force leaves, in the same order, each with its index', () => {
    const limit = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });
    const letters = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(letters, { minLength: 1, maxLength: 6 }), order, limit, limit, (mask, by, run, often) => {
        const filter = {
          ...(run !== undefined && { maxRun: run }),
          ...(often !== undefined && { maxOccurrence: often }),
        };
        const words = wordsOf(mask, by, filter);
        const expected = combinations(mask, by)
          .filter((word) => isLeft(word, run ?? 99, often ?? 99))
          .map((word) => word.join(''));
        expect(words.size).toBe(BigInt(expected.length));
        expect(all(words)).toEqual(expected);
        expect(expected.map((word) => words.indexOf(word))).toEqual(expected.map((_, i) => BigInt(i)));
        const from = expected.length >> 1;
        expect(filled(words, BigInt(from), expected.length - from)).toBe(
          expected
            .slice(from)
            .map((word) => `${word}\n`)
            .join(''),
        );
      }),
      { numRuns: byTier(60, 300) },
    );
  });

  test('count spaces too large to list', () => {
    // Each character at most once: falling factorial. No two alike in a row: n·(n−1)^(L−1).
    expect(wordsOf(parseMask('?l'.repeat(20)), 'canonical', { maxOccurrence: 1 }).size).toBe(
      Array.from({ length: 20 }, (_, i) => BigInt(26 - i)).reduce((a, b) => a * b, 1n),
    );
    const words = wordsOf(parseMask('?a'.repeat(30)), 'canonical', { maxRun: 1 });
    expect(words.size).toBe(95n * 94n ** 29n);
    const index = words.size / 3n;
    expect(words.indexOf(words.wordAt(index))).toBe(index);
    expect(wordsOf(parseMask('?d'.repeat(11)), 'canonical', { maxOccurrence: 1 }).size).toBe(0n);
  });
});

describe('several masks as one space', () => {
  test('increment gives the mask’s prefixes, shortest first', () => {
    const masks = prefixesOf(parseMask('?d?d?d?d'), 1, 4);
    const space = new Keyspace(masks.map((mask) => wordsOf(mask)));
    expect(space.size).toBe(11_110n);
    expect([9n, 10n, 109n, 110n, 11_109n].map((i) => space.wordAt(i))).toEqual(['9', '00', '99', '000', '9999']);
    expect(space.wordAt(11_110n)).toBeUndefined();
    expect(space.wordAt(-1n)).toBeUndefined();
    expect(space.indexOf('042')).toBe(152n);
    expect(space.parts(5n, 112n).map(({ from, to }) => [from, to])).toEqual([
      [5n, 10n],
      [0n, 100n],
      [0n, 2n],
    ]);
  });

  test('a mask without words after filtering is left out', () => {
    const space = new Keyspace([
      wordsOf(
        ['a', 'a'].map((c) => [c]),
        'canonical',
        { maxRun: 1 },
      ),
      wordsOf([['x']]),
    ]);
    expect(space.segments).toHaveLength(1);
    expect(space.wordAt(0n)).toBe('x');
  });
});

test('bytes convert to text and back', () => {
  const bytes = Uint8Array.from({ length: 10_000 }, (_, i) => i * 7);
  expect(fromByteString(toByteString(bytes))).toEqual(bytes);
});
