import {
  aes,
  atan2,
  blake3,
  type Expr,
  exp,
  exp2,
  f32,
  f64,
  i32,
  items,
  lit,
  log,
  log2,
  montgomery,
  montgomeryConstants,
  pow,
  radix,
  random,
  read,
  rw,
  sha256,
  sincos,
  table,
  tan,
  tanh,
  u32,
  u64,
} from '../../src/kernel/index.js';
import { type Sample, words } from './sample.js';

type Word = Expr<'u32'>;

/** Quads in buffers that are accessed only by quads and in one that is not; slices; several buffers. */
function quads(): Sample {
  const kernel = items(
    'quads',
    { buffers: { a: read(u32), b: read(f32), mixed: rw(u32), out: rw(u32), floats: rw(f32) } },
    ({ item, buffers }) => {
      const [w, x, y, z] = buffers.a.slice(2).at4(item);
      buffers.a.prefetch4(item.add(8));
      buffers.out.set4(item, [w.add(x), x.xor(y), y.mul(z), z.rotl(w)]);
      const floats = buffers.b.at4(item);
      buffers.floats.set4(
        item,
        floats.map((value) => value.add(1.5)),
      );
      const mixed = buffers.mixed.slice(item).at4(0);
      buffers.mixed.set(item.mul(4), mixed[1].add(mixed[2]));
    },
  );
  const count = 50;
  return {
    kernel,
    needs: ['f32'],
    setup: {
      count,
      buffers: {
        a: words(4 * count + 64),
        b: Float32Array.from({ length: 4 * count }, (_, i) => i / 4),
        mixed: words(4 * count, 5),
        out: new Uint32Array(4 * count),
        floats: new Float32Array(4 * count),
      },
    },
  };
}

/** More parameters than can be passed by value, and tables that do not fit in workgroup memory. */
function large(): Sample {
  const length = 1000;
  const kernel = items(
    'large',
    { job: { values: [u32, length] }, buffers: { out: rw(u32) } },
    ({ item, job, buffers }) => {
      const values = table(u32, job.values);
      const far = table(
        u64,
        Array.from({ length: 9000 }, (_, i) => BigInt(i) * 0x1_0000_0003n),
      );
      const near = table(i32, [-5, 7, -2147483648]);
      const wide = far.at(item.mul(70));
      const sum = values
        .at(item.mul(7))
        .add(wide.hi)
        .add(wide.lo)
        .add(near.at(item.rem(3)).bits(u32));
      buffers.out.set(item, sum);
    },
  );
  const job = { values: [...words(length)] };
  return { kernel, setup: { job, count: 120, buffers: { out: new Uint32Array(120) } } };
}

/** A function of words, applied to each item. */
function overWords(name: string, inputs: number, outputs: number, body: (x: Expr<'u32'>[]) => Expr<'u32'>[]): Sample {
  const count = 40;
  const kernel = items(name, { buffers: { x: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
    const x = Array.from({ length: inputs }, (_, i) => buffers.x.at(item.mul(inputs).add(i)));
    body(x).forEach((value, i) => {
      buffers.out.set(item.mul(outputs).add(i), value);
    });
  });
  return { kernel, setup: { count, buffers: { x: words(count * inputs), out: new Uint32Array(count * outputs) } } };
}

const angles = Array.from({ length: 64 }, (_, i) => (i - 20) * 1.37 ** (i % 17));

function angle(type: 'f32' | 'f64'): Sample {
  const kernel = items(`sincos-${type}`, { buffers: { x: read(type), out: rw(type) } }, ({ item, buffers }) => {
    const { sin, cos } = sincos(buffers.x.at(item));
    buffers.out.set(item.mul(2), sin);
    buffers.out.set(item.mul(2).add(1), cos);
  });
  const [x, out] =
    type === 'f32'
      ? [Float32Array.from(angles), new Float32Array(128)]
      : [Float64Array.from(angles), new Float64Array(128)];
  const needs = type === 'f64' ? (['f64', 'exact-floats'] as const) : (['exact-floats'] as const);
  return { kernel, needs, setup: { count: 64, buffers: { x, out } } };
}

/** The functions of std/math, on numbers of every kind. */
function functions(type: 'f32' | 'f64'): Sample {
  const kernel = items(`math-${type}`, { buffers: { x: read(type), out: rw(type) } }, ({ item, buffers }) => {
    const [x, y] = [buffers.x.at(item), buffers.x.at(item.mul(7).add(3).rem(angles.length))];
    const values = [exp(x), exp2(x), log(x), log2(x), pow(x, y), tan(x), atan2(x, y), tanh(x)];
    values.forEach((value, k) => {
      buffers.out.set(item.mul(8).add(k), value);
    });
  });
  const edges = [
    0,
    -0,
    1,
    -1,
    2,
    -3,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
    1e-310,
    1e-40,
    -1e-42,
    1e38,
    709,
    -104,
    1e300,
  ];
  const list = angles.map((angle, i) => (i % 4 === 0 ? (edges[i / 4] as number) : angle));
  const [x, out] =
    type === 'f32'
      ? [Float32Array.from(list), new Float32Array(8 * list.length)]
      : [Float64Array.from(list), new Float64Array(8 * list.length)];
  const needs = type === 'f64' ? (['f64', 'exact-floats'] as const) : (['f32-divide', 'exact-floats'] as const);
  return { kernel, needs, setup: { count: list.length, buffers: { x, out } } };
}

/** Products modulo a 256-bit prime, in limbs of 32 bits: carry chains, and PTX on CUDA. */
function products(): Sample {
  const n = 2n ** 255n - 19n;
  const constants = montgomeryConstants('u32', 256, n);
  return overWords('montgomery-256', 16, 8, (x) => {
    const m = montgomery('u32', 256);
    const limbs = constants.n.map((limb) => lit(u32, Number(limb)));
    const [a, b] = [x.slice(0, 8), x.slice(8)];
    for (const number of [a, b]) number[7] = (number[7] as Expr<'u32'>).shr(1); // below n
    return m.fromMontgomery(
      m.multiply(a, b, limbs, lit(u32, Number(constants.inverse))),
      limbs,
      lit(u32, Number(constants.inverse)),
    );
  });
}

export const itemSamples: readonly Sample[] = [quads(), large()];

/** Each std function. */
export const stdSamples: readonly Sample[] = [
  overWords('sha256', 8, 8, (x) => [...sha256.hash(x)]),
  overWords('blake3', 16, 8, (x) => blake3.hash(x)),
  overWords('aes', 12, 8, (x) => [
    ...aes.rounds(x.slice(0, 4), [x.slice(4, 8), x.slice(8, 12)]),
    ...aes.lastRound(x.slice(0, 4), x.slice(4, 8)),
  ]),
  overWords('radix', 2, 6, ([low, high]) => [
    ...radix(
      (low as Expr<'u32'>)
        .to(u64)
        .mul(0x1_0000_0001n)
        .add((high as Expr<'u32'>).to(u64)),
      [26, 10, 62],
    ).digits,
    ...radix(low as Expr<'u32'>, [36, 7, 95]).digits,
  ]),
  products(),
  angle(f32),
  angle(f64),
  functions(f32),
  functions(f64),
  overWords('philox4x32', 6, 4, ([a, b, c, d, k, l]) =>
    random.philox4x32([a, b, c, d] as [Word, Word, Word, Word], [k, l] as [Word, Word]),
  ),
];
