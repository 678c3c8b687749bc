import { describe, expect, test } from 'vitest';
import {
  atan2,
  Engine,
  exp,
  f16,
  f16Bits,
  f16Of,
  f32,
  f64,
  fma,
  i64,
  items,
  listDevices,
  log,
  mix,
  openDevice,
  pow,
  print,
  read,
  run,
  rw,
  search,
  sincos,
  tanh,
  tiles,
  u32,
  when,
} from '../src/index.js';
import { byTier, isShort, patience } from './tier.js';

/** f16 and i64 beyond the conformance suite: all floats of 16 bits, and i64 where values enter and leave a kernel. */
const { devices } = await listDevices();
const present = (names: readonly string[]) => names.filter((name) => devices.some(({ kind }) => kind === name));
/** WGSL does not promise exact floats; the conformance suite checks its bounds. */
const exact = present(isShort ? ['wasm'] : ['interpreter', 'native', 'wasm', 'opencl', 'cuda']);

/** All positive floats of 16 bits in order; after the largest, 2^16. */
const halves = Array.from({ length: 0x7c01 }, (_, bits) =>
  bits < 1024 ? bits * 2 ** -24 : (1024 + (bits % 1024)) * 2 ** (Math.floor(bits / 1024) - 25),
);

/** The bits of the float of 16 bits nearest to a double, ties to even. */
function nearest(x: number): number {
  if (Number.isNaN(x)) return Number.NaN;
  const [size, sign] = [Math.abs(x), x < 0 || Object.is(x, -0) ? 0x8000 : 0];
  let [low, high] = [0, 0x7c00];
  if (size >= 65536) return sign + high;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((halves[middle] as number) <= size) low = middle;
    else high = middle;
  }
  const border = ((halves[low] as number) + (halves[high] as number)) / 2;
  return sign + (size < border || (size === border && low % 2 === 0) ? low : high);
}

/** The value of 16 bits. */
function valueAt(bits: number): number {
  const size = bits % 0x8000;
  const value = size > 0x7c00 ? Number.NaN : size === 0x7c00 ? Number.POSITIVE_INFINITY : (halves[size] as number);
  return bits >= 0x8000 ? -value : value;
}

/** a·b + c as a double with a sticky bit: it rounds to 16 bits as the exact sum does. */
function fused(a: number, b: number, c: number): number {
  const plain = a * b + c;
  if (!Number.isFinite(plain) || plain === 0) return plain; // a sum of zero is exact, and has the right sign
  const whole = (x: number): bigint => BigInt(x * 2 ** 24);
  let sum = whole(a) * whole(b) + (whole(c) << 24n);
  let exponent = -48;
  const size = (): number => (sum < 0n ? -sum : sum).toString(2).length;
  for (; size() > 50; exponent++) sum = (sum >> 1n) | (sum & 1n);
  return Number(sum) * 2 ** exponent;
}

const arithmetic = items(
  'f16-arithmetic',
  { buffers: { a: read(f16), b: read(f16), c: read(f16), out: rw(u32) } },
  ({ item, buffers }) => {
    const [a, b, c] = [buffers.a.at(item), buffers.b.at(item), buffers.c.at(item)];
    const results = [a.add(b), a.sub(b), a.mul(b), a.div(b), a.sqrt(), fma(a, b, c), a.neg(), f16Of(f16Bits(a))];
    results.forEach((result, k) => {
      buffers.out.set(item.mul(8).add(k), f16Bits(result));
    });
  },
);
const expected = (a: number, b: number, c: number): number[] => [
  ...[a + b, a - b, a * b, a / b, Math.sqrt(a), fused(a, b, c), -a, a].map(nearest),
];

describe.each(exact)('f16 on %s', (name) => {
  test('+ − × ÷ √ fma are correctly rounded', { timeout: patience(300_000) }, async () => {
    const count = name === 'interpreter' ? 1024 : byTier(256, 65_536);
    const device = await openDevice(name);
    try {
      for (let round = 0; round < byTier(1, 6); round++) {
        // Every float is `a`; the others are spread by odd factors, in half of the rounds near its size.
        const step = 65_536 / count;
        const a = Uint16Array.from({ length: count }, (_, i) => i * step + (round % step));
        const b = a.map((bits, i) => (round % 2 === 0 ? i * 40_503 + round * 977 : bits + ((i * 2654435761) % 4096)));
        const c = a.map((_, i) => i * 25_713 + round * 12_345);
        const { out } = await run(arithmetic, { count, devices: device, buffers: { a, b, c, out: 8 * count } });
        const wrong: unknown[] = [];
        for (let i = 0; i < count; i++) {
          const args = [a, b, c].map((list) => valueAt(list[i] as number)) as [number, number, number];
          for (const [k, bits] of expected(...args).entries()) {
            const got = out[8 * i + k] as number;
            if (Number.isNaN(bits) ? got % 0x8000 <= 0x7c00 : got !== bits) wrong.push([k, args, got, bits]);
          }
        }
        expect(wrong.slice(0, 5)).toEqual([]);
      }
    } finally {
      await device.close();
    }
  });

  test.skipIf(isShort)('an f64 is rounded once', async ({ skip }) => {
    if (!devices.some(({ kind, capabilities }) => kind === name && capabilities.includes('f64'))) return skip('no f64');
    const kernel = items('f16-of-f64', { buffers: { x: read(f64), out: rw(f16) } }, ({ item, buffers }) =>
      buffers.out.set4(
        item,
        [0, 1, 2, 3].map((k) => buffers.x.at(item.mul(4).add(k)).to(f16)),
      ),
    );
    // Halfway between neighbours, and less than an f32 can see beside it.
    const step = name === 'interpreter' ? 31 : 1;
    const x = Float64Array.from({ length: Math.floor(0x7c00 / step) * 4 }, (_, i) => {
      const low = (i >> 2) * step;
      const border = ((halves[low] as number) + (halves[low + 1] as number)) / 2;
      return [border, border * (1 + 2 ** -40), -border * (1 - 2 ** -40), border * (1 - 2 ** -52)][i % 4] as number;
    });
    const { out } = await run(kernel, { count: x.length / 4, devices: name, buffers: { x, out: x.length } });
    expect(out).toEqual(Uint16Array.from(x, nearest));
  });

  test.skipIf(isShort)('functions are those of f32, rounded', async () => {
    const kernel = items('f16-functions', { buffers: { x: read(f16), out: rw(u32) } }, ({ item, buffers }) => {
      const x = buffers.x.at(item);
      const results = [exp(x), log(x), tanh(x), sincos(x).sin, pow(x, 2.5), atan2(x, 3), mix(x, 2, 0.25), x.floor()];
      results.forEach((result, k) => {
        buffers.out.set(item.mul(8).add(k), f16Bits(result));
      });
    });
    const count = name === 'interpreter' ? 0x400 : 0x8000;
    const x = Uint16Array.from({ length: count }, (_, i) => (0x10000 / count) * i + 1);
    const { out } = await run(kernel, { count, devices: name, buffers: { x, out: 8 * count } });
    const rounded = (value: number): number => (Number.isNaN(value) ? value : valueAt(nearest(value)));
    let worst = 0;
    for (let i = 0; i < count; i++) {
      const a = valueAt(x[i] as number);
      if (!Number.isFinite(a)) continue;
      const exactly = [Math.exp(a), Math.log(a), Math.tanh(a), Math.sin(a), a ** 2.5, Math.atan2(a, 3)];
      for (const [k, value] of exactly.entries()) {
        const got = valueAt(out[8 * i + k] as number);
        if (Number.isNaN(value) || Math.abs(value) >= 65_520) expect(got).toEqual(rounded(value));
        else {
          const unit = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(value))), -14) - 10);
          worst = Math.max(worst, Math.abs(got - value) / unit);
        }
      }
      const mixed = rounded(rounded(a * 0.75) + 0.5);
      expect([6, 7].map((k) => valueAt(out[8 * i + k] as number))).toEqual([mixed, Math.floor(a)]);
    }
    expect(worst).toBeLessThan(0.5003);
  });
});

test('buffers of f16 have quads, slices and a length', async () => {
  const kernel = items(
    'f16-views',
    { buffers: { x: read(f16), y: rw(f16), n: rw(u32) } },
    ({ item, buffers: { x, y, n } }) => {
      const [a, b, c, d] = x.slice(1).slice(item).at4(0);
      y.slice(item).set4(0, [d, c, b, a.add(1)]);
      n.set(item, x.slice(1).slice(item).length);
    },
  );
  const x = Uint16Array.from({ length: 24 }, (_, i) => nearest(i));
  const { y, n } = await run(kernel, { count: 5, devices: 'interpreter', buffers: { x, y: 20, n: 5 } });
  const swapped = Array.from({ length: 20 }, (_, i) => 4 + i - (i % 4) + 3 - (i % 4) + (i % 4 === 3 ? 1 : 0));
  expect(Array.from(y, valueAt)).toEqual(swapped);
  expect([...n]).toEqual([20, 16, 12, 8, 4]);
});

test('a sum of f16 is one of f32, rounded at the end', async () => {
  const kernel = tiles('f16-sum', { buffers: { x: read(f16), y: rw(f32) } }, ({ near, each, sum, once, buffers }) => {
    const all = near(f16, 300);
    each(300, (i) => all.set(i, buffers.x.at(i)));
    const total = sum(f16, 300, (i) => all.at(i));
    once(() => buffers.y.set(0, total.to(f32)));
  });
  const x = new Uint16Array(300).fill(nearest(8.0078125));
  const { y } = await run(kernel, { count: 1, devices: 'interpreter', buffers: { x, y: 1 } });
  expect([...y]).toEqual([2402]); // 2402.34; with a rounding after each addition it would be 2400 or less
});

describe('i64', () => {
  const kernel = items(
    'i64-border',
    { job: { from: i64, steps: [i64, 2] }, hit: { at: i64, half: f16 } },
    ({ index, job, emit }) => {
      const at = job.from.add(index.to(i64).mul(job.steps[0]));
      print('at', at);
      when(at.rem(job.steps[1]).eq(-3), () => emit({ at, half: at.to(f16).mul(0.5) }));
    },
  );

  test.each(present(isShort ? ['interpreter'] : ['interpreter', 'native', 'wasm', 'opencl', 'webgpu', 'cuda']))(
    'enters by jobs and leaves by hits and prints with its sign, on %s',
    async (name) => {
      const printed: unknown[] = [];
      const device = await openDevice(name);
      const engine = new Engine([device], { onPrint: (one) => printed.push('value' in one ? one.value : one) });
      const job = { from: -(2n ** 40n), steps: [-7, -10n] };
      const hits = [];
      try {
        const verify = ({ index, at }: { index: bigint; at: bigint }) => at === job.from - 7n * index;
        for await (const hit of search(kernel, { job, space: 20n, engine, verify })) hits.push(hit);
      } finally {
        await engine.close();
        await device.close();
      }
      const all = Array.from({ length: 20 }, (_, i) => -(2n ** 40n) - 7n * BigInt(i));
      const wanted = all.flatMap((at, i) => (at % 10n === -3n ? [{ index: BigInt(i), at }] : []));
      expect(wanted).toHaveLength(2);
      expect(hits).toEqual(wanted.map((one) => ({ ...one, half: Number.NEGATIVE_INFINITY })));
      expect(printed).toEqual(expect.arrayContaining(all));
    },
  );

  test('is BigInt64Array on the host', async () => {
    const double = items('i64-double', { buffers: { x: read(i64), y: rw(i64) } }, ({ item, buffers }) =>
      buffers.y.set(item, buffers.x.at(item).shr(1).sub(1)),
    );
    const x = BigInt64Array.of(-1n, 5n, -(2n ** 63n), 2n ** 63n - 1n);
    const { y } = await run(double, { count: 4, devices: 'interpreter', buffers: { x, y: 4 } });
    expect(y).toEqual(x.map((each) => (each >> 1n) - 1n));
  });
});
