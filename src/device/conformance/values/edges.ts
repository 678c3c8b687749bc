import type { Type, Value } from '../../../kernel/index.js';
import type { Device } from '../../device.js';
import { hasAbility } from '../case.js';
import { halfValue } from '../model/float-model.js';
import type { Random } from '../model/random.js';

/** Values where operations change their behaviour. */
const u32Edges: readonly number[] = [
  0, 1, 2, 3, 5, 7, 10, 31, 32, 33, 63, 64, 65, 0xff, 641, 0xffff, 0x10000, 0x1000001, 0x7fffffff, 0x80000000,
  0x80000001, 0x55555555, 0xaaaaaaaa, 0x00ff00ff, 1_000_000_007, 0xfffffffb, 0xfffffffe, 0xffffffff,
];

const u64Edges: readonly bigint[] = [
  0n,
  1n,
  2n,
  3n,
  7n,
  10n,
  31n,
  63n,
  64n,
  65n,
  641n,
  0xffff_ffffn,
  1n << 32n,
  (1n << 32n) + 1n,
  (1n << 24n) + 1n,
  (1n << 53n) - 1n,
  (1n << 53n) + 1n,
  0x5555_5555_5555_5555n,
  0xaaaa_aaaa_aaaa_aaaan,
  0x00ff_00ff_00ff_00ffn,
  0x8000_0000n,
  (1n << 63n) - 1n,
  1n << 63n,
  (1n << 63n) + 1n,
  1_000_000_007n,
  0xffff_ffff_0000_0000n,
  (1n << 64n) - 2n,
  (1n << 64n) - 1n,
];

const f64Edges: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  1.5,
  2.5,
  3,
  0.1,
  1 + 2 ** -52,
  1 - 2 ** -53,
  -(1 + 2 ** -52),
  5e-324,
  -5e-324,
  2 ** -1074 * 3,
  2 ** -1022,
  2 ** -1022 - 2 ** -1074,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  1e300,
  1e-300,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
  2 ** 53 + 2,
  1 / 3,
];

const f32Edges: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  1.5,
  2.5,
  3,
  0.1,
  1 + 2 ** -23,
  1 - 2 ** -24,
  -(1 + 2 ** -23),
  2 ** -149,
  -(2 ** -149),
  3 * 2 ** -149,
  2 ** -126,
  2 ** -126 - 2 ** -149,
  (2 - 2 ** -23) * 2 ** 127,
  -(2 - 2 ** -23) * 2 ** 127,
  1e30,
  1e-30,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
  2 ** 24 + 2,
  1 / 3,
].map(Math.fround);

const f16Edges: readonly number[] = [
  ...[0, -0, 1, -1, 0.5, 1.5, 2.5, 819 / 8192, 1 + 2 ** -10, 1 - 2 ** -11, -(1 + 2 ** -10)],
  ...[2 ** -24, -(2 ** -24), 3 * 2 ** -24, 2 ** -14, 2 ** -14 - 2 ** -24, 65504, -65504],
  ...[Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 2050, 1365 / 4096],
];

/** Counts for shifts: around 0, around the width, and far beyond it. */
export const shiftCounts: readonly number[] = [0, 1, 31, 32, 33, 63, 64, 65, 7, 2 ** 31, 2 ** 32 - 1, 2 ** 31 + 5];

export function edges(type: Type): readonly Value[] {
  switch (type) {
    case 'u32':
      return u32Edges;
    case 'i32':
      return u32Edges.map((x) => x | 0);
    case 'u64':
      return u64Edges;
    case 'i64':
      return u64Edges.map((x) => BigInt.asIntN(64, x));
    case 'f16':
      return f16Edges;
    case 'f32':
      return f32Edges;
    case 'f64':
      return f64Edges;
    case 'bool':
      return [false, true];
  }
}

/** Returns the edge values that a device must preserve. */
export const edgesOn = (type: Type, device: Device): readonly Value[] =>
  (type === 'f32' || type === 'f16') && !hasAbility(device, 'exact-floats')
    ? edges(type).filter((x) => isNormalOrZero(x as number))
    : edges(type);

/** True for an ordinary float or 0: not a NaN, infinity, -0 or denormal. All hardware treats these alike. */
export const isNormalOrZero = (x: number): boolean =>
  Object.is(x, 0) || (Math.abs(x) >= 2 ** -126 && Math.abs(x) < 2 ** 128);

/** Floats around the places where conversions saturate, round or change precision; the rest of the range at random. */
export function conversionEdges(type: 'f32' | 'f64'): readonly number[] {
  const list: number[] = [];
  const ulp = type === 'f32' ? 2 ** -23 : 2 ** -52;
  for (const power of [0, 8, 16, 23, 24, 25, 31, 32, 52, 53, 54, 63, 64, 65, 127, 128]) {
    const x = 2 ** power;
    for (const near of [x, x * (1 - ulp / 2), x * (1 + ulp), x - 0.5, x + 0.5, x - 1, x + 1]) list.push(near, -near);
  }
  // Halves between neighbouring f32: ties go to even, whether they begin as f64 or as integers.
  for (const x of [
    2 ** 24 + 1,
    2 ** 24 + 3,
    2 ** 25 + 2,
    2 ** 25 + 6,
    1 + 2 ** -24,
    1 + 3 * 2 ** -24,
    1 + 2 ** -24 + 2 ** -52,
    2 ** -150,
    2 ** -150 * 1.5,
    (2 - 2 ** -24) * 2 ** 127,
  ])
    list.push(x, -x);
  // Halves between neighbouring f16, and values so near them that an f64 rounded to f32 first becomes one.
  for (const half of [1 + 2 ** -11, 1 + 3 * 2 ** -11, 2049, 65520, 2 ** -25, 3 * 2 ** -25, 2 ** -14 - 2 ** -25])
    for (const near of [half, half * (1 - ulp), half * (1 + ulp), half * (1 + 2 ** -30)]) list.push(near, -near);
  return type === 'f32' ? list.map(Math.fround) : list;
}

/** Integers that f32 and f64 cannot hold: rounding twice (through f64) gives a wrong result for some. */
export const roundingTraps: readonly bigint[] = [
  (1n << 24n) + 1n,
  (1n << 24n) + 3n,
  (1n << 53n) + 1n,
  (1n << 53n) + 3n,
  (1n << 40n) + (1n << 16n),
  (1n << 40n) + (1n << 16n) + 1n,
  (1n << 40n) + (1n << 16n) - 1n,
  (1n << 60n) + (1n << 36n) + 1n,
  (1n << 60n) + (1n << 36n) - 1n,
  (1n << 60n) + (3n << 36n),
  0x7fff_ff40_0000_0001n,
  0x7fff_ffbf_ffff_ffffn,
  0xffff_ff7f_ffff_ffffn,
  0xffff_ff80_0000_0000n,
  0xffff_ffff_ffff_fbffn,
  0xffff_ffff_ffff_fc00n,
  0x8000_0080_0000_0001n,
  0x8000_0000_0000_0400n,
  0x8000_0000_0000_0401n,
];

/** Returns a random value of a type; all exponents of floats are equally likely. */
export function randomValue(type: Type, random: Random): Value {
  switch (type) {
    case 'u32':
      return random.u32();
    case 'i32':
      return random.u32() | 0;
    case 'u64':
      return random.u64();
    case 'i64':
      return BigInt.asIntN(64, random.u64());
    case 'f16':
      return halfValue(random.below(65536));
    case 'bool':
      return random.chance(0.5);
    case 'f32':
    case 'f64': {
      if (random.chance(0.5)) {
        const x = (random.u32() - 2 ** 31) * 2 ** (random.below(40) - 36);
        return type === 'f32' ? Math.fround(x) : x + random.u32() * 2 ** -50;
      }
      const view = new DataView(new ArrayBuffer(8));
      view.setBigUint64(0, random.u64());
      return type === 'f32' ? view.getFloat32(0) : view.getFloat64(0);
    }
  }
}
