import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { kernelRunners } from '../../../../test/run-kernel.js';
import { byTier, isShort } from '../../../../test/tier.js';
import { type Expr, items, md5, read, rw, u32, when } from '../../../kernel/index.js';
import { type Mask, parseMask } from '../space/mask.js';
import type { Order } from '../space/order.js';
import { type FusedWords, fusedWords } from './fused.js';
import { referenceWord } from './reference.js';

const { interpreter, native } = await kernelRunners();

const listing = (words: FusedWords, started: boolean) => {
  const length = Math.ceil(words.bytes / 4);
  return items(
    'listing',
    { chunk: { start: [u32, words.digits] }, buffers: { index: read('u64'), out: rw(u32) } },
    ({ item, chunk, buffers }) => {
      const text = words.at(buffers.index.at(item), started ? chunk.start : undefined);
      text.forEach((word, k) => {
        buffers.out.set(item.mul(length).add(k), word);
      });
    },
  );
};

const textAt = (out: Uint32Array, item: number, bytes: number): string => {
  const length = Math.ceil(bytes / 4);
  return String.fromCharCode(...new Uint8Array(out.buffer, out.byteOffset + 4 * length * item, bytes));
};

const size = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 95 }));
const charset = size.map((length) => Array.from({ length }, (_, at) => String.fromCharCode(33 + at)));
const wide = fc.constantFrom(['\xc3\xa9', '\xc3\xa8'], ['\xe2\x82\xac']);
const mask = fc.array(fc.oneof({ weight: 6, arbitrary: charset }, wide), { minLength: 1, maxLength: 12 });
const order = fc.constantFrom<Order>('canonical', 'hashcat');

describe('words inside a kernel', () => {
  const check = async (
    positions: Mask,
    by: Order,
    started: boolean,
    where: readonly bigint[],
    runner = interpreter,
  ) => {
    const words = fusedWords(positions, by);
    const first = started ? words.size / 3n : 0n;
    const limit = words.size - first < 1n << 64n ? words.size - first : 1n << 64n;
    const index = BigUint64Array.from([0n, limit - 1n, ...where.map((x) => x % limit)]);
    const out = new Uint32Array(index.length * Math.ceil(words.bytes / 4));
    const setup = { chunk: { start: words.digitsAt(first) }, count: index.length, buffers: { index, out } };
    const result = await runner.run(listing(words, started), setup);
    const texts = [...index.keys()].map((item) => textAt(result.out as Uint32Array, item, words.bytes));
    expect(texts).toEqual([...index].map((x) => referenceWord(positions, first + x, by === 'hashcat')));
  };

  test('match the definition from any start, also beyond 2^64', async () => {
    const indices = fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { minLength: 1, maxLength: 5 });
    const property = fc.asyncProperty(mask, order, fc.boolean(), indices, (positions, by, started, where) =>
      check(positions, by, started, where),
    );
    await fc.assert(property, { numRuns: byTier(40, 120) });
  });

  test('match it in a gang too', async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    const positions = ['abc', '0123456789', 'xyzxw'.slice(0, 3), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'q'].map((c) => [...c]);
    const where = Array.from({ length: 1000 }, (_, at) => BigInt(at) * 7n);
    await check(positions, 'canonical', false, where, native);
  });

  /** Lists the words of a few items of `each`, one item after the other. */
  const checkEach = async (
    positions: Mask,
    by: Order,
    started: boolean,
    where: readonly bigint[],
    runner = interpreter,
  ) => {
    const words = fusedWords(positions, by);
    const { perItem, items: count } = words;
    expect(count * BigInt(perItem)).toBe(words.size);
    const first = started ? count / 3n : 0n;
    const limit = count - first < 1n << 64n ? count - first : 1n << 64n;
    const index = BigUint64Array.from([0n, limit - 1n, ...where.map((x) => x % limit)]);
    const length = Math.ceil(words.bytes / 4);
    const kernel = items(
      'listing',
      { chunk: { start: [u32, words.digits] }, buffers: { index: read('u64'), out: rw(u32) } },
      ({ item, chunk, buffers }) => {
        const body = (word: Expr<'u32'>[], inner: Expr<'u32'>): void => {
          for (const [k, part] of word.entries())
            buffers.out.set(item.mul(perItem).add(inner).mul(length).add(k), part);
        };
        words.each(buffers.index.at(item), body, started ? chunk.start : undefined);
      },
    );
    const out = new Uint32Array(index.length * perItem * length);
    const start = words.digitsAt(first * BigInt(perItem));
    const result = await runner.run(kernel, { chunk: { start }, count: index.length, buffers: { index, out } });
    const numbers = [...index].flatMap((item) =>
      Array.from({ length: perItem }, (_, inner) => (first + item) * BigInt(perItem) + BigInt(inner)),
    );
    const texts = numbers.map((_, at) => textAt(result.out as Uint32Array, at, words.bytes));
    expect(texts).toEqual(numbers.map((number) => referenceWord(positions, number, by === 'hashcat')));
  };

  test('match it in the loop of an item', async () => {
    const indices = fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { minLength: 1, maxLength: 2 });
    const property = fc.asyncProperty(mask, order, fc.boolean(), indices, (positions, by, started, where) =>
      checkEach(positions, by, started, where),
    );
    await fc.assert(property, { numRuns: byTier(5, 60) });
  });

  test('match it in the loop of an item, in a gang', async (ctx) => {
    if (native.absent || isShort) return ctx.skip(native.absent ?? 'covered by npm run test:all');
    const positions = ['S', 'um', 'abc', '0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'q'].map((c) => [...c]);
    await checkEach(positions, 'hashcat', false, [1n, 7n, 10n, 11n], native);
  });

  test('loop over up to four positions and 1,024 words, the fastest ones that change', () => {
    const perItem = (text: string, by: Order) => fusedWords(parseMask(text), by).perItem;
    expect(perItem('?l?l?l?l', 'canonical')).toBe(26 ** 2);
    expect(perItem('?d?d?d?d', 'hashcat')).toBe(1000);
    expect(perItem('Summer?d?l?d', 'hashcat')).toBe(260);
    expect(perItem('Summer', 'hashcat')).toBe(1);
  });

  test.each(byTier<Order[]>(['hashcat'], ['hashcat', 'canonical']))('are found by their MD5, order %s', async (by) => {
    const positions = parseMask('?1?1?1?1?1?1', new Map([[1, [...'abc']]]));
    const words = fusedWords(positions, by);
    const planted = 'cabbac';
    const digest = createHash('md5').update(planted).digest();
    const kernel = items('find', { buffers: { wanted: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
      const wanted = [0, 1, 2, 3].map((i) => buffers.wanted.at(i));
      words.each(item, (word, inner) => {
        when(md5.matches(word, words.bytes, wanted), () => {
          buffers.out.set(item, inner.add(1));
        });
      });
    });
    const wanted = Uint32Array.from({ length: 4 }, (_, i) => digest.readUInt32LE(4 * i));
    const count = Number(words.items);
    const { out } = await interpreter.run(kernel, { count, buffers: { wanted, out: new Uint32Array(count) } });
    const found = [...(out as Uint32Array).entries()].filter(([, inner]) => inner > 0);
    expect(
      found.map(([item, inner]) =>
        referenceWord(positions, BigInt(item * words.perItem + inner - 1), by === 'hashcat'),
      ),
    ).toEqual([planted]);
  });

  test('must have one length', () => {
    expect(() => fusedWords([['a', 'bc']])).toThrow('differ in length');
  });
});
