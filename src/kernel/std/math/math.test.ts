import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { runnersOn } from '../../../../test/run-kernel.js';
import { byTier, isShort } from '../../../../test/tier.js';
import { read, rw } from '../../language/buffers.js';
import { type Expr, lit } from '../../language/expr.js';
import { items } from '../../language/items.js';
import { fma } from '../../language/operations.js';
import type { WideFloat } from '../../language/types.js';
import { atan2 } from './atan2.js';
import { exp, exp2 } from './exp.js';
import { log, log2 } from './log.js';
import { pow } from './pow.js';
import { tan } from './tan.js';
import { tanh } from './tanh.js';

const others = ['wasm', ...(isShort ? [] : (['native', 'opencl', 'cuda', 'webgpu'] as const))] as const;
const { interpreter, webgpu, ...exact } = await runnersOn('interpreter', ...others);

/** The functions, with the bounds of docs/language.md in ulp. */
const bounds = { exp: 0.65, exp2: 0.65, log: 0.55, log2: 0.55, pow: 0.65, tan: 0.9, atan2: 0.7, tanh: 0.75 };
/** The bound of denormal results, which are rounded twice. */
const DENORMAL_BOUND = 0.8;
type Name = keyof typeof bounds;
const names = Object.keys(bounds) as Name[];

const formats = {
  f64: { array: Float64Array, fraction: 52, least: -1074, minNormal: 2 ** -1022 },
  f32: { array: Float32Array, fraction: 23, least: -149, minNormal: 2 ** -126 },
} as const;

/** All functions of the same two arguments: one program a type. */
const kernelOf = (type: WideFloat) =>
  items(`math-${type}`, { buffers: { x: read(type), y: read(type), out: rw(type) } }, ({ item, buffers }) => {
    const [x, y] = [buffers.x.at(item), buffers.y.at(item)];
    const values: Record<Name, Expr<WideFloat>> = {
      exp: exp(x),
      exp2: exp2(x),
      log: log(x),
      log2: log2(x),
      pow: pow(x, y),
      tan: tan(x),
      atan2: atan2(x, y),
      tanh: tanh(x),
    };
    names.forEach((name, k) => {
      buffers.out.set(item.mul(names.length).add(k), values[name]);
    });
  });

type Floats = Float32Array | Float64Array;
type Pair = readonly [x: number, y: number];

function setupOf(type: WideFloat, pairs: readonly Pair[]) {
  const { array } = formats[type];
  const [x, y] = [array.from(pairs.map(([x]) => x)), array.from(pairs.map(([, y]) => y))];
  return { count: pairs.length, buffers: { x, y, out: new array(pairs.length * names.length) } };
}

interface Reference {
  readonly name: Name;
  readonly args: Pair;
  /** The nearest float, and the distance of the exact value from it in units of the exact value's last place. */
  readonly nearest: number;
  readonly away: number;
}

/** Reference values of PARI/GP with 60 digits, made by scripts/math/reference.gp. */
const references = readReferences();
function readReferences(): Record<WideFloat, Reference[]> {
  const all: Record<WideFloat, Reference[]> = { f32: [], f64: [] };
  const text = readFileSync(new URL('../../../../test/data/math/reference.txt', import.meta.url), 'utf8');
  let [name, type]: [Name, WideFloat] = ['exp', 'f64'];
  for (const line of text.trimEnd().split('\n')) {
    const words = line.split(' ');
    if (words.length === 2) {
      [name, type] = words as [Name, WideFloat];
      continue;
    }
    const away = Number(words.pop());
    const [nearest = 0, ...args] = words.reverse().map((hex) => floatOf(type, hex));
    const [x = 0, y = 1] = args.reverse();
    all[type].push({ name, args: [x, y], nearest, away });
  }
  return all;
}

function floatOf(type: WideFloat, hex: string): number {
  const view = new DataView(new ArrayBuffer(8));
  if (type === 'f64') view.setBigUint64(0, BigInt(`0x${hex}`));
  else view.setUint32(0, Number(`0x${hex}`));
  return type === 'f64' ? view.getFloat64(0) : view.getFloat32(0);
}

/** The error of a result in units of the exact value's last place. */
function errorOf(type: WideFloat, got: number, { nearest, away }: Reference): number {
  if (Object.is(got, nearest)) return Math.abs(away);
  const { fraction, least } = formats[type];
  const size = Math.abs(nearest);
  let exponent = Math.floor(Math.log2(size));
  if (2 ** exponent > size) exponent--;
  if (size === 2 ** exponent && away * Math.sign(nearest) < 0) exponent--; // the exact value is below this power of two
  const error = (got - nearest) / 2 ** Math.max(exponent - fraction, least) - away;
  return Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.abs(error);
}

/** Fails if a function is further off than its bound; returns the largest errors. */
function checkErrors(
  type: WideFloat,
  points: readonly Reference[],
  out: Floats,
  boundOf: (point: Reference) => number,
): Partial<Record<Name, number>> {
  const worst: Partial<Record<Name, number>> = {};
  points.forEach((point, i) => {
    const { name, args } = point;
    const got = out[i * names.length + names.indexOf(name)]!;
    const error = errorOf(type, got, point);
    if (error > boundOf(point)) {
      expect.fail(`${name}(${args.join(', ')}) in ${type} is ${got}, ${error} ulp from near ${point.nearest}`);
    }
    worst[name] = Math.max(worst[name] ?? 0, error);
  });
  return worst;
}

const [inf, nan] = [Number.POSITIVE_INFINITY, Number.NaN];
/** Special values of one argument: [x, exp, exp2, log, log2, tan, tanh], by C99, Annex F. */
const specials: readonly (readonly number[])[] = [
  [0, 1, 1, -inf, -inf, 0, 0],
  [-0, 1, 1, -inf, -inf, -0, -0],
  [inf, inf, inf, inf, inf, nan, 1],
  [-inf, 0, 0, nan, nan, nan, -1],
  [nan, nan, nan, nan, nan, nan, nan],
];
/** Special values of pow: [x, y, x^y]. */
const powers: readonly (readonly [number, number, number])[] = [
  ...[0, -0, 1, -1, 3, -3, inf, -inf, nan].flatMap((x) => [[x, 0, 1] as const, [x, -0, 1] as const]),
  ...[0, -0, 1.5, -2, 1e9, inf, -inf, nan].map((y) => [1, y, 1] as const),
  ...[inf, -inf].flatMap((y) => [[-1, y, 1] as const]),
  [-1, 3, -1],
  [-1, 4, 1],
  [-1, 1.5, nan],
  [-1, nan, nan],
  [nan, 1, nan],
  [2, nan, nan],
  [0, -3, inf],
  [-0, -3, -inf],
  [0, -2, inf],
  [-0, -2, inf],
  [-0, -2.5, inf],
  [0, -inf, inf],
  [-0, -inf, inf],
  [0, 3, 0],
  [-0, 3, -0],
  [-0, 2, 0],
  [-0, 0.5, 0],
  [0, inf, 0],
  [-0, inf, 0],
  [-2, 0.5, nan],
  [-1e-5, -1.25, nan],
  [0.5, -inf, inf],
  [-0.5, -inf, inf],
  [2, -inf, 0],
  [-2, -inf, 0],
  [0.5, inf, 0],
  [-0.5, inf, 0],
  [2, inf, inf],
  [-2, inf, inf],
  [inf, 0.5, inf],
  [inf, -0.5, 0],
  [-inf, -3, -0],
  [-inf, -2, 0],
  [-inf, -2.5, 0],
  [-inf, 3, -inf],
  [-inf, 2, inf],
  [-inf, 2.5, inf],
  [-inf, inf, inf],
  [-inf, -inf, 0],
  [-8, 3, -512],
  [-2, -3, -0.125],
  [3, 13, 1594323],
  [9, 0.5, 3],
  [2, 4000, inf],
  [-2, 4001, -inf],
  [-2, -4001, -0],
  [-3, 2 ** 24, inf], // even in both formats
];
/** Special values of atan2: [y, x, angle in units of π]. */
const angles: readonly (readonly [number, number, number])[] = [
  ...[1, -1].flatMap((sign) =>
    [
      [0, -0, 1],
      [0, 0, 0],
      [0, -3, 1],
      [0, 3, 0],
      [0, -inf, 1],
      [0, inf, 0],
      [3, 0, 1 / 2],
      [3, -0, 1 / 2],
      [3, -inf, 1],
      [3, inf, 0],
      [inf, 3, 1 / 2],
      [inf, -3, 1 / 2],
      [inf, 0, 1 / 2],
      [inf, -inf, 3 / 4],
      [inf, inf, 1 / 4],
      [5, 5, 1 / 4],
      [5, -5, 3 / 4],
      [1e-40, 1e-40, 1 / 4],
      [3e38, 3e38, 1 / 4],
    ].map(([y = 0, x = 0, angle = 0]) => [sign * y, x, sign * angle] as const),
  ),
  [nan, 1, nan],
  [1, nan, nan],
  [nan, inf, nan],
  [inf, nan, nan],
  [nan, nan, nan],
];

/** Arguments without reference values, for the comparison of devices. */
const edges: readonly number[] = [0, -0, 1, -1, 0.5, -3, 1e-45, -5e-324, 1e-310, 3.4e38, 1.7e308, inf, -inf, nan];
const pairsOfEdges = edges.flatMap((x) => edges.map((y): Pair => [x, y]));

describe.each(['f64', 'f32'] as const)('%s', (type) => {
  const points = references[type].filter((_, i) => i % byTier(60, 1) === 0);
  const setup = setupOf(type, [...points.map(({ args }) => args), ...(isShort ? [] : pairsOfEdges)]);
  let wanted: Floats;
  beforeAll(async () => {
    wanted = (await interpreter.run(kernelOf(type), setup)).out as Floats;
  });

  test('every function is within its bound', () => {
    const { minNormal } = formats[type];
    const boundOf = ({ name, nearest }: Reference) => (Math.abs(nearest) < minNormal ? DENORMAL_BOUND : bounds[name]);
    const worst = checkErrors(type, points, wanted, boundOf);
    expect(Object.keys(worst).sort()).toEqual([...names].sort());
    console.info(`${type}, ${points.length} points, ulp: ${JSON.stringify(worst)}`);
  });

  test.for(Object.values(exact))('has the same bits on $id', { timeout: 300_000 }, async (runner, { skip }) => {
    if (runner.absent) return skip(runner.absent);
    expect((await runner.run(kernelOf(type), setup)).out).toEqual(wanted);
  });

  test.skipIf(isShort && type === 'f32')('has the special values of C99', async () => {
    const { array } = formats[type];
    const pairs = [...specials.map(([x]): Pair => [x!, 1]), ...[...powers, ...angles].map(([x, y]): Pair => [x, y])];
    const { out } = await interpreter.run(kernelOf(type), setupOf(type, pairs));
    const row = (i: number, ...of: Name[]) => of.map((name) => out![i * names.length + names.indexOf(name)]);
    specials.forEach(([x, ...results], i) => {
      expect([x, ...row(i, 'exp', 'exp2', 'log', 'log2', 'tan', 'tanh')]).toEqual([x, ...results]);
    });
    powers.forEach(([x, y, power], i) => {
      expect([x, y, ...row(specials.length + i, 'pow')]).toEqual([x, y, power]);
    });
    angles.forEach(([y, x, angle], i) => {
      const [rounded] = array.of(angle * Math.PI);
      expect([y, x, ...row(specials.length + powers.length + i, 'atan2')]).toEqual([y, x, rounded]);
    });
  });
});

test.skipIf(isShort)('exact powers and logarithms of two', async () => {
  const whole = Array.from({ length: 149 + 128 }, (_, i) => i - 149);
  for (const type of ['f32', 'f64'] as const) {
    const { out: ofExponents } = await interpreter.run(
      kernelOf(type),
      setupOf(
        type,
        whole.map((e): Pair => [e, 1]),
      ),
    );
    const { out: ofPowers } = await interpreter.run(
      kernelOf(type),
      setupOf(
        type,
        whole.map((e): Pair => [2 ** e, 1]),
      ),
    );
    const at = (out: unknown, name: Name, i: number) => (out as Floats)[i * names.length + names.indexOf(name)];
    whole.forEach((exponent, i) => {
      expect([at(ofExponents, 'exp2', i), at(ofPowers, 'log2', i), at(ofPowers, 'pow', i)]).toEqual([
        2 ** exponent,
        exponent,
        2 ** exponent,
      ]);
    });
  }
});

/** Whether fma rounds once on WebGPU: the exact result is 2^-24, with two roundings it is 0. */
async function hasFusedFma(): Promise<boolean> {
  const square = items('square', { buffers: { x: read('f32'), out: rw('f32') } }, ({ buffers }) => {
    const [x, c] = [buffers.x.at(0), buffers.x.at(1)];
    buffers.out.set(0, fma(x, x, c));
  });
  const x = Float32Array.of(1 + 2 ** -12, -1 - 2 ** -11);
  const { out } = await webgpu.run(square, { count: 1, buffers: { x, out: new Float32Array(1) } });
  return (out as Floats)[0] !== 0;
}

// WGSL may compute fma as two roundings, divide with 2.5 ulp, flush denormals, and take (c + x) − c for x.
test.skipIf(isShort)('f32 on WebGPU', { timeout: 300_000 }, async (ctx) => {
  if (webgpu.absent) return ctx.skip(webgpu.absent);
  const isNormal = (x: number) => Math.abs(x) > 2 ** -125;
  const points = references.f32.filter(({ args, nearest }) => args.every(isNormal) && isNormal(nearest));
  const { out } = await webgpu.run(
    kernelOf('f32'),
    setupOf(
      'f32',
      points.map(({ args }) => args),
    ),
  );
  const isFused = await hasFusedFma();
  /** What a relative error of 2^-22 in the argument makes of a tangent. */
  const slack = ({ args: [x], nearest }: Reference): number =>
    ((1 + nearest ** 2) * Math.abs(x) * 2 ** -22) / (2 ** Math.floor(Math.log2(Math.abs(nearest))) * 2 ** -23);
  const boundOf = (point: Reference): number => {
    if (point.name === 'pow') return isFused ? 100 : 256;
    return point.name === 'tan' && !isFused ? 3 + slack(point) : 3;
  };
  const worst = checkErrors('f32', points, out as Floats, boundOf);
  const how = isFused ? 'fma rounds once' : 'fma rounds twice';
  console.info(`f32 on WebGPU, ${how}, ${points.length} points, ulp: ${JSON.stringify(worst)}`);
});

test('a function of an integer is refused with what to do', () => {
  const wrong = () =>
    items('wrong', { buffers: { out: rw('f32') } }, ({ item, buffers }) => {
      buffers.out.set(0, exp(item as unknown as Expr<'f32'>));
    });
  expect(() => wrong().trace()).toThrow(/exp is not defined for u32/);
});

test('a literal is taken as second argument, and constants are computed on the host', async () => {
  const kernel = items('literals', { buffers: { out: rw('f64') } }, ({ buffers }) => {
    buffers.out.set(0, pow(lit('f64', 2), 0.5));
    buffers.out.set(1, atan2(lit('f64', 1), -1));
  });
  const { out } = await interpreter.run(kernel, { count: 1, buffers: { out: new Float64Array(2) } });
  expect([...(out as Float64Array)]).toEqual([Math.SQRT2, (3 * Math.PI) / 4]);
});
