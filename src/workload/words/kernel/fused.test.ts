import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { kernelRunners } from '../../../../test/run-kernel.js';
import { items, read, rw, u32 } from '../../../kernel/index.js';
import type { Mask } from '../space/mask.js';
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
    await fc.assert(property, { numRuns: 120 });
  });

  test('match it in a gang too', async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    const positions = ['abc', '0123456789', 'xyzxw'.slice(0, 3), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'q'].map((c) => [...c]);
    const where = Array.from({ length: 1000 }, (_, at) => BigInt(at) * 7n);
    await check(positions, 'canonical', false, where, native);
  });

  test('must have one length', () => {
    expect(() => fusedWords([['a', 'bc']])).toThrow('differ in length');
  });
});
