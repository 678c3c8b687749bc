import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { fusedMultiplyAdd } from '../../kernel/ir/fused-multiply-add.js';
import { helperText } from '../../kernel/render/wat/helpers.js';
import { api } from './api.js';
import { assemble } from './assemble.js';

/** Checks the longer helper functions of generated text against bigint. */
const names = ['fma_f32', 'fma_f64', 'mulHi_u64', 'wmadHi_u64', 'byteSwap_u64', 'div_i32', 'rem_i32'];
type Call<T> = (...args: T[]) => T;
let functions: Record<string, Call<never>>;

beforeAll(async () => {
  const memory = '(import "millrace" "memory" (memory 1 65536 shared))';
  const exported = names.map((name) => `(export "${name}" (func $${name}))`);
  const { bytes } = await assemble(
    'helpers',
    `(module ${memory}\n${helperText(names).join('\n')}\n${exported.join('\n')})`,
  );
  const instance = new api.Instance(new api.Module(bytes), {
    millrace: { memory: new api.Memory({ initial: 1, maximum: 1, shared: true }) },
  });
  functions = instance.exports as typeof functions;
});

const call = <T>(name: string, ...args: T[]): T => (functions[name] as unknown as Call<T>)(...args);
const same = (a: number, b: number): boolean => Object.is(a, b) || (Number.isNaN(a) && Number.isNaN(b));

/** Random bits, so that all exponents are equally likely, and neighbours of powers of two, where rounding changes. */
const f64 = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }).map((bits) => new Float64Array(BigUint64Array.of(bits).buffer)[0]!),
  fc.tuple(fc.integer({ min: -1074, max: 1023 }), fc.integer({ min: -3, max: 3 })).map(([power, near]) => {
    const bits = new BigUint64Array(Float64Array.of(2 ** power).buffer)[0]! + BigInt(near);
    return new Float64Array(BigUint64Array.of(BigInt.asUintN(64, bits)).buffer)[0]!;
  }),
  fc.constantFrom(0, -0, 1, -1, Number.MAX_VALUE, Number.MIN_VALUE, Infinity, -Infinity, Number.NaN),
);
const f32 = f64.map((x) => Math.fround(x * 2 ** (Math.abs(x) > 1e38 ? -880 : Math.abs(x) < 1e-38 ? 880 : 0)));
const u64 = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
  fc.constantFrom(0n, 1n, (1n << 32n) - 1n, 1n << 32n, (1n << 63n) - 1n, 1n << 63n, (1n << 64n) - 1n),
);
const u64Of = (x: bigint): bigint => BigInt.asUintN(64, x);

describe('fma rounds once', () => {
  test.each([
    ['f64', f64],
    ['f32', f32],
  ] as const)('%s', (type, any) => {
    fc.assert(
      fc.property(any, any, any, fc.integer({ min: 0, max: 3 }), (a, b, other, kind) => {
        // A random c is mostly far from a·b: also try the negated rounded product, and close to it.
        const round = type === 'f32' ? Math.fround : (x: number) => x;
        const c =
          kind === 0
            ? other
            : kind === 1
              ? round(-a * b)
              : kind === 2
                ? round(-a * b * (1 + 2 ** -20))
                : round(other * a);
        const wanted = fusedMultiplyAdd(type, a, b, c);
        const got = call(`fma_${type}`, a, b, c);
        if (!same(got, wanted)) throw new Error(`fma(${a}, ${b}, ${c}) is ${got}, not ${wanted}`);
      }),
      { numRuns: byTier(4000, 20_000) },
    );
  });
});

test('computes the upper half of 64-bit products', () => {
  fc.assert(
    fc.property(u64, u64, u64, u64, (a, b, c, d) => {
      expect(u64Of(call('mulHi_u64', a, b))).toBe((a * b) >> 64n);
      expect(u64Of(call('wmadHi_u64', a, b, c, d))).toBe((a * b + c + d) >> 64n);
    }),
    { numRuns: byTier(600, 3000) },
  );
});

test('swaps bytes, and divides where the instruction would trap', () => {
  expect(u64Of(call('byteSwap_u64', 0x0102030405060708n))).toBe(0x0807060504030201n);
  for (const [a, b, quotient, rest] of [
    [7, 0, 7, 0],
    [-(2 ** 31), -1, -(2 ** 31), 0],
    [5, -1, -5, 0],
    [-7, 2, -3, -1],
  ] as const) {
    expect([call('div_i32', a, b), call('rem_i32', a, b)]).toEqual([quotient, rest]);
  }
});
