import { describe, expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { interpret } from '../../ir/interpret.js';
import type { HoistedProgram } from '../../ir/program.js';
import { read, rw } from '../../language/buffers.js';
import { items } from '../../language/items.js';
import type { Kernel } from '../../language/signature.js';
import type { Unsigned } from '../../language/types.js';
import { floatingProgram } from '../../passes/floating.js';
import { rootsOf, topologicalOrder } from '../../passes/graph.js';
import { placeNodes } from '../../passes/shape/place-nodes.js';
import { divMod } from './div-mod.js';

const bitsOf = { u32: 32n, u64: 64n } as const;

/** Numbers around powers of two, multiples of small primes near the top, and random ones of every length. */
function samples(type: Unsigned, random: number): bigint[] {
  const bits = bitsOf[type];
  const list = [0n, 1n, 2n, 3n, 5n, 6n, 7n, 9n, 10n, 11n, 25n, 100n, 641n, 1_000_000_007n];
  for (let power = 2n; power <= bits; power++)
    for (const near of [-2n, -1n, 0n, 1n, 2n]) list.push((1n << power) + near);
  let state = 0x2545_f491_4f6c_dd1dn;
  for (let i = 0; i < random; i++) {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    list.push((state ^ (state >> 29n)) >> BigInt(i % 63));
  }
  return [...new Set(list.map((x) => BigInt.asUintN(Number(bits), x)))];
}

/** Dividends where a wrong quotient shows: around multiples of the divisor, the largest ones above all. */
function dividends(type: Unsigned, d: bigint, some: readonly bigint[]): bigint[] {
  const max = (1n << bitsOf[type]) - 1n;
  const divisor = d === 0n ? 1n : d;
  const tops = [max / divisor, max / divisor / 2n, max / divisor / 3n].map((n) => n * divisor);
  return [...some, ...tops.flatMap((x) => [x - 1n, x, x + 1n, x + divisor - 1n])].filter((x) => x >= 0n && x <= max);
}

const asArray = (type: Unsigned, values: readonly bigint[]) =>
  type === 'u32' ? Uint32Array.from(values, Number) : BigUint64Array.from(values);
const bytesOf = (data: Uint32Array | BigUint64Array) => new Uint8Array(data.buffer);

/** `kernel` writes quotient and remainder of each x. */
function results(
  type: Unsigned,
  program: Parameters<typeof interpret>[0],
  job: Record<string, bigint>,
  xs: readonly bigint[],
): [bigint, bigint][] {
  const out = asArray(type, Array<bigint>(2 * xs.length).fill(0n));
  interpret(program, { job, count: xs.length, buffers: { x: bytesOf(asArray(type, xs)), out: bytesOf(out) } });
  return xs.map((_, i) => [BigInt(out[2 * i] ?? 0), BigInt(out[2 * i + 1] ?? 0)]);
}

/** The program after the passes; none of its items divides. */
function withoutDivisions(kernel: Pick<Kernel, 'trace'>): HoistedProgram {
  const program = placeNodes(floatingProgram(kernel.trace()));
  const ops = topologicalOrder(rootsOf(program.body)).map(({ op }) => op);
  expect(ops.filter((op) => op === 'div' || op === 'rem')).toEqual([]);
  return program;
}

const buffersOf = (type: Unsigned) => ({ x: read(type), out: rw(type) });
const exact = (x: bigint, d: bigint): [bigint, bigint] => (d === 0n ? [x, 0n] : [x / d, x % d]);

describe.each(['u32', 'u64'] as const)('divMod of %s', (type) => {
  const few = samples(type, byTier(4, 200)).filter((_, i) => i % byTier(24, 1) === 0);

  test('by a job value is exact, and no item divides', () => {
    const kernel = items('known', { job: { d: type }, buffers: buffersOf(type) }, ({ item, job, buffers }) => {
      const { div, rem } = divMod(buffers.x.at(item), job.d);
      buffers.out.set(item.mul(2), div);
      buffers.out.set(item.mul(2).add(1), rem);
    });
    const program = withoutDivisions(kernel);
    for (const d of [...samples(type, byTier(40, 1000)), 0n]) {
      const xs = dividends(type, d, few);
      expect([d, results(type, program, { d }, xs)]).toEqual([d, xs.map((x) => exact(x, d))]);
    }
  });

  test('by a literal is exact, and no item divides', () => {
    for (const d of samples(type, byTier(8, 200)).filter((_, i) => i % byTier(9, 1) === 0)) {
      const kernel = items('literal', { buffers: buffersOf(type) }, ({ item, buffers }) => {
        const { div, rem } = divMod(buffers.x.at(item), d);
        buffers.out.set(item.mul(2), div);
        buffers.out.set(item.mul(2).add(1), rem);
      });
      const program = withoutDivisions(kernel);
      const xs = dividends(type, d, few);
      expect([d, results(type, program, {}, xs)]).toEqual([d, xs.map((x) => exact(x, d))]);
    }
  });

  test('by a number that each item has is exact', () => {
    const ds = samples(type, 10).filter((_, i) => i % 5 === 0);
    const kernel = items('own', { buffers: buffersOf(type) }, ({ item, buffers }) => {
      const { div, rem } = divMod(buffers.x.at(item.xor(1)), buffers.x.at(item));
      buffers.out.set(item.mul(2), div);
      buffers.out.set(item.mul(2).add(1), rem);
    });
    const xs = ds.slice(0, ds.length & ~1);
    const expected = xs.map((d, i) => exact(xs[i ^ 1] ?? 0n, d));
    expect(results(type, kernel.trace(), {}, xs)).toEqual(expected);
  });
});
