import { describe, expect, test } from 'vitest';
import { kernelRunners } from '../../../../test/run-kernel.js';
import { byTier } from '../../../../test/tier.js';
import { read, rw } from '../../language/buffers.js';
import { items } from '../../language/items.js';
import type { WideFloat } from '../../language/types.js';
import { sincos } from './sincos.js';

const { interpreter, native } = await kernelRunners();

const kernelOf = (type: WideFloat) =>
  items('sincos', { buffers: { x: read(type), sin: rw(type), cos: rw(type) } }, ({ item, buffers }) => {
    const { sin, cos } = sincos(buffers.x.at(item));
    buffers.sin.set(item, sin);
    buffers.cos.set(item, cos);
  });

const formats = {
  f64: { bits: 53, least: -1074, limit: 2 ** 40, array: Float64Array, next: neighbour64, fixed: 220n },
  f32: { bits: 24, least: -149, limit: 2 ** 17, array: Float32Array, next: neighbour32, fixed: 140n },
} as const;

/** Difficult points: random ones of every size, multiples of π/2 with their neighbours, and powers of two. */
function points(type: WideFloat, count: number): number[] {
  const { limit, next, array } = formats[type];
  const round = (x: number) => new array([x])[0]!;
  const random = generator(type === 'f64' ? 1 : 2);
  const list: number[] = [0, -0, 1, -1, 0.5, limit, -limit];
  for (let i = 0; i < count / 4; i++) list.push(round((random() * 2 - 1) * 2 * Math.PI));
  const exponents = Math.log2(limit) + 40;
  for (let i = 0; i < count / 4; i++) list.push(round(2 ** (random() * exponents - 40) * (i % 2 ? 1 : -1)));
  const around = (x: number) => {
    const middle = round(x);
    const [below, above] = [next(middle, -1), next(middle, 1)];
    list.push(next(below, -1), below, middle, above, next(above, 1));
  };
  const most = Math.floor((limit * 2) / Math.PI) - 2;
  for (let k = 1; k <= count / 20; k++) around((k * Math.PI) / 2);
  for (let i = 0; i < count / 40; i++) around((Math.floor(random() * most) * Math.PI) / 2);
  for (let i = 0; i < count / 40; i++) around((Math.floor(2 ** (random() * Math.log2(most))) * Math.PI) / 4);
  for (let e = -40; 2 ** e <= limit / 2; e++) around(2 ** e);
  return list.filter((x) => Math.abs(x) <= limit);
}

describe.each(['f64', 'f32'] as const)('%s', (type) => {
  const { array, limit, least } = formats[type];
  const { worst, check } = judge(type);

  test('is within 1 ulp everywhere in its range', { timeout: 120_000 }, async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    const x = array.from(points(type, byTier(5000, 100_000)));
    const buffers = { x, sin: new array(x.length), cos: new array(x.length) };
    const { sin, cos } = await native.run(kernelOf(type), { count: x.length, buffers });
    x.forEach((value, i) => {
      check(value, sin![i] as number, cos![i] as number);
    });
    console.info(
      `${type}: ${x.length} points, sine ${worst.sin.error} ulp at ${worst.sin.at}, cosine ${worst.cos.error} ulp at ${worst.cos.at}`,
    );
    expect(Math.max(worst.sin.error, worst.cos.error)).toBeLessThanOrEqual(1);
  });

  test('has the same bits on the interpreter', async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    const all = points(type, 4000);
    const x = array.from([
      ...all.filter((_, i) => i % 4 === 0),
      Number.NaN,
      Number.POSITIVE_INFINITY,
      2 ** 60,
      2 ** least,
    ]);
    const setup = { count: x.length, buffers: { x, sin: new array(x.length), cos: new array(x.length) } };
    const [slow, fast] = [await interpreter.run(kernelOf(type), setup), await native.run(kernelOf(type), setup)];
    expect(fast.sin).toEqual(slow.sin);
    expect(fast.cos).toEqual(slow.cos);
  });

  test('keeps −0, denormals and tiny values; is NaN outside its range', async () => {
    const tiny = [0, -0, 2 ** least, -(2 ** least), 2 ** (least + 20), 2 ** -60, -(2 ** -40)];
    const outside = [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      limit * 1.001,
      -limit * 2,
      2 ** 120,
    ];
    const x = array.from([...tiny, ...outside]);
    const setup = { count: x.length, buffers: { x, sin: new array(x.length), cos: new array(x.length) } };
    const { sin, cos } = await interpreter.run(kernelOf(type), setup);
    expect([...(sin as Float64Array)]).toEqual([...tiny, ...outside.map(() => Number.NaN)]);
    expect([...(cos as Float64Array)]).toEqual([...tiny.map(() => 1), ...outside.map(() => Number.NaN)]);
  });
});

/** Measures errors against sine and cosine in fixed point, by Taylor's series. */
function judge(type: WideFloat) {
  const { bits, least, fixed } = formats[type];
  const halfPi = piOver2(fixed + 60n);
  const worst = { sin: { error: 0, at: 0 }, cos: { error: 0, at: 0 } };

  const exact = (x: number): [bigint, bigint] => {
    const wide = toFixed(x, fixed + 60n);
    const quadrant = (2n * wide + halfPi) / (2n * halfPi) - (2n * wide + halfPi < 0n ? 1n : 0n);
    const r = (wide - quadrant * halfPi) >> 60n;
    const [s, c] = taylor(r, fixed);
    return (
      [
        [s, c],
        [c, -s],
        [-s, -c],
        [-c, s],
      ] as const
    )[Number(((quadrant % 4n) + 4n) % 4n)] as [bigint, bigint];
  };
  const errorOf = (value: number, truth: bigint): number => {
    const size = truth < 0n ? -truth : truth;
    const ulp = Math.max(size.toString(2).length - Number(fixed) - bits, least); // exponent of the last place
    const difference = toFixed(value, fixed) - truth;
    return Number((difference * 1_000_000n) >> (fixed + BigInt(ulp))) / 1_000_000;
  };
  const check = (x: number, sin: number, cos: number): void => {
    if (Math.abs(x) < 2 ** -50) {
      expect([sin, cos]).toEqual([x, 1]);
      return;
    }
    const [s, c] = exact(x);
    for (const [name, value, truth] of [
      ['sin', sin, s],
      ['cos', cos, c],
    ] as const) {
      const error = Math.abs(errorOf(value, truth));
      if (!(error <= worst[name].error)) Object.assign(worst[name], { error, at: x });
    }
  };
  return { worst, check };
}

/** x · 2^fixed, exact if x has no more fractional bits than that. */
function toFixed(x: number, fixed: bigint): bigint {
  if (!Number.isFinite(x)) return 1n << (fixed + 2000n); // a NaN is infinitely wrong
  let [mantissa, exponent] = [x, 0];
  while (!Number.isInteger(mantissa)) [mantissa, exponent] = [mantissa * 2, exponent + 1];
  return (BigInt(mantissa) << fixed) >> BigInt(exponent);
}

/** Sine and cosine of |r| ≤ 0.8. */
function taylor(r: bigint, fixed: bigint): [bigint, bigint] {
  const z = (r * r) >> fixed;
  let [s, c, sTerm, cTerm] = [r, 1n << fixed, r, 1n << fixed];
  for (let k = 1n; cTerm !== 0n; k++) {
    cTerm = -((cTerm * z) >> fixed) / ((2n * k - 1n) * (2n * k));
    sTerm = -((sTerm * z) >> fixed) / (2n * k * (2n * k + 1n));
    c += cTerm;
    s += sTerm;
  }
  return [s, c];
}

/** Machin's formula: π/4 = 4·arctan(1/5) − arctan(1/239). */
function piOver2(fixed: bigint): bigint {
  const arctan = (n: bigint): bigint => {
    let [sum, power, sign] = [0n, (1n << (fixed + 20n)) / n, 1n];
    for (let k = 1n; power !== 0n; k += 2n) {
      sum += (sign * power) / k;
      power /= n * n;
      sign = -sign;
    }
    return sum;
  };
  return (2n * (4n * arctan(5n) - arctan(239n))) >> 20n;
}

function neighbour64(x: number, step: 1 | -1): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  view.setBigUint64(0, view.getBigUint64(0) + BigInt(step));
  return view.getFloat64(0);
}
function neighbour32(x: number, step: 1 | -1): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, x);
  view.setUint32(0, view.getUint32(0) + step);
  return view.getFloat32(0);
}

/** Reproducible numbers in [0, 1): xorshift of 32 bits, twice for 53. */
function generator(seed: number): () => number {
  let state = seed * 0x9e3779b9;
  const word = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  return () => ((word() >>> 6) * 2 ** 27 + (word() >>> 5)) / 2 ** 53;
}
