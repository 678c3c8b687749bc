import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runnersOn } from '../../../../test/run-kernel.js';
import { byTier, isShort } from '../../../../test/tier.js';
import { read, rw } from '../../language/buffers.js';
import type { Expr } from '../../language/expr.js';
import { items } from '../../language/items.js';
import { random } from './random.js';

const runners = await runnersOn(
  'interpreter',
  'wasm',
  ...(isShort ? [] : (['native', 'opencl', 'webgpu', 'cuda'] as const)),
);

/** Known answers for philox4x32 with 10 rounds, from Random123's kat_vectors: counter, key, result. */
const vectors = [
  ['00000000 00000000 00000000 00000000', '00000000 00000000', '6627e8d5 e169c58d bc57ac4c 9b00dbd8'],
  ['ffffffff ffffffff ffffffff ffffffff', 'ffffffff ffffffff', '408f276d 41c83b0e a20bc7c6 6d5451fd'],
  ['243f6a88 85a308d3 13198a2e 03707344', 'a4093822 299f31d0', 'd16cfe09 94fdcceb 5001e420 24126ea1'],
].map((row) => row.map((words) => words.split(' ').map((word) => Number.parseInt(word, 16))));

type Word = Expr<'u32'>;
const philox = items('philox', { buffers: { x: read('u32'), out: rw('u32') } }, ({ item, buffers }) => {
  const [a, b, c, d, k, l] = Array.from({ length: 6 }, (_, i) => buffers.x.at(item.mul(6).add(i)));
  const words = random.philox4x32([a, b, c, d] as [Word, Word, Word, Word], [k, l] as [Word, Word]);
  buffers.out.set4(item, words);
});

const run = async (runner: (typeof runners)['interpreter'], inputs: readonly (readonly number[])[]) => {
  const buffers = { x: Uint32Array.from(inputs.flat()), out: new Uint32Array(4 * inputs.length) };
  return [...(await runner.run(philox, { count: inputs.length, buffers })).out!];
};

describe.each(Object.values(runners))('$id', (runner) => {
  test('philox4x32 gives the known answers of Random123', async (ctx) => {
    if (runner.absent) return ctx.skip(runner.absent);
    const inputs = vectors.map(([counter, key]) => [...counter!, ...key!]);
    expect(await run(runner, inputs)).toEqual(vectors.flatMap(([, , result]) => result!));
  });
});

test('philox4x32 of any counter and key is that of the paper', async () => {
  const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const inputs = fc.array(fc.array(word, { minLength: 6, maxLength: 6 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(inputs, async (list) => {
      expect(await run(runners.interpreter, list)).toEqual(list.flatMap((words) => philoxOf(words)));
    }),
    { numRuns: byTier(5, 100) },
  );
});

/** The rounds as the paper writes them, in bigint. */
function philoxOf(words: readonly number[]): number[] {
  const mask = 0xffff_ffffn;
  let [l0, r0, l1, r1, k0, k1] = words.map(BigInt) as [bigint, bigint, bigint, bigint, bigint, bigint];
  for (let round = 0; round < 10; round++) {
    const [p0, p1] = [l0 * 0xd2511f53n, l1 * 0xcd9e8d57n];
    [l0, r0, l1, r1] = [(p1 >> 32n) ^ r0 ^ k0, p1 & mask, (p0 >> 32n) ^ r1 ^ k1, p0 & mask];
    [k0, k1] = [(k0 + 0x9e3779b9n) & mask, (k1 + 0xbb67ae85n) & mask];
  }
  return [l0, r0, l1, r1].map(Number);
}

test('uniform is in [0, 1) and has all bits', async () => {
  const kernel = items(
    'uniform',
    { buffers: { x: read('u32'), single: rw('f32'), short: rw('f64'), long: rw('f64') } },
    ({ item, buffers }) => {
      const [word, more] = [buffers.x.at(item.mul(2)), buffers.x.at(item.mul(2).add(1))];
      buffers.single.set(item, random.uniform('f32', word));
      buffers.short.set(item, random.uniform('f64', word));
      buffers.long.set(item, random.uniform('f64', word, more));
    },
  );
  const x = Uint32Array.of(0, 0, 0xffff_ffff, 0xffff_ffff, 0x8000_0001, 0x800, 255, 2047);
  const buffers = { x, single: new Float32Array(4), short: new Float64Array(4), long: new Float64Array(4) };
  const { single, short, long } = await runners.interpreter.run(kernel, { count: 4, buffers });
  expect([...single!]).toEqual([0, 1 - 2 ** -24, 0.5, 0]);
  expect([...short!]).toEqual([0, 1 - 2 ** -32, 0.5 + 2 ** -32, 255 * 2 ** -32]);
  expect([...long!]).toEqual([0, 1 - 2 ** -53, 0.5 + 2 ** -32 + 2 ** -53, 255 * 2 ** -32]);
});
