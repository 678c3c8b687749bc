import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { kernelRunners } from '../../../../test/run-kernel.js';
import { byTier } from '../../../../test/tier.js';
import { plainCpu } from '../../abi/cpu.js';
import { kernelText } from '../../abi/lower.js';
import { read, rw } from '../../language/buffers.js';
import { items } from '../../language/items.js';
import { u32 } from '../../language/types.js';
import { type RadixOptions, radix } from './radix.js';

const { interpreter, native } = await kernelRunners();

/** Digits of each index in the buffer, then whether they wrapped. */
const digitsOf = <T extends 'u32' | 'u64'>(type: T, sizes: readonly number[], below?: bigint, started = false) =>
  items(
    'digits',
    { chunk: { start: [u32, sizes.length] }, buffers: { index: read(type), out: rw(u32) } },
    ({ item, chunk, buffers }) => {
      const options: RadixOptions = {
        ...(below === undefined ? {} : { below }),
        ...(started ? { start: chunk.start } : {}),
      };
      const { digits, wrapped } = radix(buffers.index.at(item), sizes, options);
      [...digits, wrapped.to('u32')].forEach((digit, i) => {
        buffers.out.set(item.mul(sizes.length + 1).add(i), digit);
      });
    },
  );

/** The same in bigint: the digits of index + start, modulo the product of the sizes. */
function expected(index: bigint, sizes: readonly number[], start: readonly number[]): number[] {
  let [place, rest] = [1n, index];
  sizes.forEach((size, i) => {
    rest += BigInt(start[i] ?? 0) * place;
    place *= BigInt(size);
  });
  const wrapped = rest >= place ? 1 : 0;
  const digits = sizes.map((size) => {
    const digit = Number(rest % BigInt(size));
    rest /= BigInt(size);
    return digit;
  });
  return [...digits, wrapped];
}

const size = fc.oneof(
  fc.integer({ min: 1, max: 100 }),
  fc.integer({ min: 1, max: 2 ** 31 }),
  fc.constantFrom(1, 2, 256, 65536, 2 ** 31, 2 ** 31 - 1),
);
const sizesOf = fc.array(size, { minLength: 1, maxLength: 9 });
const product = (sizes: readonly number[]) => sizes.reduce((all, one) => all * BigInt(one), 1n);

describe('radix', () => {
  test('agrees with bigint, from any start, in 32 and 64 bits', async () => {
    await fc.assert(
      fc.asyncProperty(
        sizesOf,
        fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
        async (sizes, values, isWide, started, promised, dice) => {
          const limit = isWide ? 2n ** 64n : 2n ** 32n;
          const below = promised && product(sizes) < limit ? product(sizes) : undefined;
          const all = [0n, limit - 1n, product(sizes) - 1n, product(sizes), ...values].map((x) => x % (below ?? limit));
          const start = sizes.map((s) => Math.floor((dice.next().value ?? 0) * s));
          const kernel = isWide ? digitsOf('u64', sizes, below, started) : digitsOf('u32', sizes, below, started);
          const index = isWide ? BigUint64Array.from(all) : Uint32Array.from(all.map(Number));
          const out = new Uint32Array(all.length * (sizes.length + 1));
          const setup = { chunk: { start }, count: all.length, buffers: { index, out } };
          const outcome = await interpreter.run(kernel, setup);
          expect([...(outcome.out as Uint32Array)]).toEqual(
            all.flatMap((x) => expected(x, sizes, started ? start : [])),
          );
        },
      ),
      { numRuns: byTier(30, 150) },
    );
  });

  test('gives the words of a mask in a gang: 26^6·10, from a start beyond 2^32', async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    const sizes = [10, 26, 26, 26, 26, 26, 26];
    const first = 3_000_000_000n;
    const start = expected(first, sizes, []).slice(0, sizes.length);
    const count = 100_003;
    const index = Uint32Array.from({ length: count }, (_, i) => i * 997);
    const setup = { chunk: { start }, count, buffers: { index, out: new Uint32Array(count * 8) } };
    const { out } = await native.run(digitsOf('u32', sizes, undefined, true), setup);
    for (let i = 0; i < count; i += 1009) {
      expect([...(out as Uint32Array).slice(8 * i, 8 * i + 8)]).toEqual(expected(first + BigInt(i * 997), sizes, []));
    }
  });

  test('divides a u64 index in 64 bits only as long as needed, and never if it is known to fit 32 bits', () => {
    const text = (below?: bigint) =>
      kernelText(digitsOf('u64', [95, 95, 95, 95, 95, 95], below), { target: 'ir', cpu: plainCpu });
    const divisions = (ir: string) => ir.match(/: u64 = div /g)?.length ?? 0;
    expect(divisions(text())).toBe(5); // 2^64 / 95^5 is just above 2^31
    expect(divisions(text(95n ** 6n))).toBe(2); // 95^4 < 2^32
    expect(divisions(text(2n ** 32n))).toBe(0);
  });

  test('refuses invalid digit sizes', () => {
    expect(() => digitsOf('u32', [0]).trace()).toThrow('a digit cannot have size 0');
    expect(() => digitsOf('u32', [2 ** 31 + 1]).trace()).toThrow('a digit cannot have size 2147483649');
    const short = items('short', { buffers: { out: rw(u32) } }, ({ item }) => void radix(item, [2, 2], { start: [1] }));
    expect(() => short.trace()).toThrow('2 digits, but 1 starting digits');
  });
});
