import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import { Engine, type EngineOptions, search } from '../src/engine/index.js';
import { compositeMask, type Intervals, intervalsOf, parseChineseSet } from '../src/workload/gaps/job/chinese-set.js';
import { intervalFlow } from '../src/workload/gaps/job/interval-flow.js';
import { searchIntervals } from '../src/workload/gaps/job/interval-search.js';
import { isProbablePrime, nextPrime } from '../src/workload/gaps/kernel/reference-primes.js';
import { byTier, isShort } from './tier.js';

/** Intervals that repeat with a primorial (`--crt`), on every available device. */
const names = ['native', 'wasm', 'cuda', 'opencl', 'webgpu'];
const { absent } = await listDevices();

const sets = JSON.parse(readFileSync(new URL('data/gaps/chinese_sets.json', import.meta.url), 'utf8')) as {
  file: string;
  n_primes: number;
  size: number;
  n_candidates: number;
  counted: number;
  primorial_bits: number;
  offset: string;
}[];
const fileOf = (n_primes: number, size: number, n_candidates: number, offset: string) =>
  `|== ChineseSet ==|\nn_primes:    ${n_primes}\nsize:        ${size}\nn_candidates: ${n_candidates}\noffset:      ${offset}\n`;

describe('sets in files', () => {
  test.each(sets)('$file', ({ n_primes, size, n_candidates, counted, primorial_bits, offset }) => {
    const set = parseChineseSet(fileOf(n_primes, size, n_candidates, offset));
    expect(set.primorial.toString(2)).toHaveLength(primorial_bits);
    const left = compositeMask(set, Math.ceil((size + 1) / 2)).filter((isStruck) => isStruck === 0).length;
    // The positions are those of the file, and at most one more.
    expect([counted, counted + 1]).toContain(left);
  });

  test('that are invalid are rejected', () => {
    const good = fileOf(5, 100, 20, '77');
    expect(parseChineseSet(good)).toMatchObject({ primes: 5, size: 100, offset: 76n, primorial: 2310n });
    expect(() => parseChineseSet(good.replace('|==', '=='))).toThrow(/heading/);
    expect(() => parseChineseSet(good.replace('size', 'length'))).toThrow(/size is missing/);
    expect(() => parseChineseSet(fileOf(5, 100, 20, '2310'))).toThrow(/below the primorial/);
    expect(() => intervalsOf(parseChineseSet(good), { start: 10_000n, length: 2000n }, 20)).toThrow(/no interval/);
  });
});

const set = parseChineseSet(fileOf(6, 160, 0, '1327'));
/** Numbers of 64 bits, which compile fast. */
const range = { start: 0xd5ca_da15_b5b6_6983n, length: 30_030n * 3001n };
const intervals = intervalsOf(set, range, 120);

/** The intervals without a prime, found by testing each number. */
function expectedHits({ first, step, length }: Intervals, count: number): bigint[] {
  const isEmpty = (k: number) => {
    const base = first + BigInt(k) * step;
    return Array.from({ length: length / 2 }, (_, i) => base + BigInt(2 * i + 1)).every((n) => !isProbablePrime(n));
  };
  return Array.from({ length: count }, (_, k) => k)
    .filter(isEmpty)
    .map(BigInt);
}
const COUNT = 600;
/** Intervals of 320 bits; interval 17 is the first without a prime. */
const COUNT_LONG = byTier(10, 256);
const expected = expectedHits(intervals, COUNT);

test('the intervals lie in the range', () => {
  expect(intervals).toMatchObject({ step: 30_030n, length: 120 });
  expect(intervals.first % 30_030n).toBe(1326n);
  expect(intervals.first).toBeGreaterThan(range.start);
  expect(intervals.first + intervals.count * intervals.step).toBeLessThanOrEqual(range.start + range.length);
  expect(expected.length).toBeGreaterThan(10);
  expect(expected.length).toBeLessThan(COUNT / 2);
});

describe.each(names)('%s', (name) => {
  const missing = absent.find(({ id }) => id === name);
  let device: Device | undefined;
  beforeAll(async () => {
    if (!missing) device = await openDevice(name);
  });
  afterAll(() => device?.close());

  test('finds every interval without a prime, with few primes and with many', { timeout: 120_000 }, async (ctx) => {
    if (missing) return ctx.skip(missing.reason);
    const ways: [number, EngineOptions][] = [
      [200, {}],
      [0, { streams: 1, slots: 1 }],
      [6542, { streams: 3 }],
    ];
    // Each number of primes is a separate kernel, which is compiled fastest for wasm.
    const hasOne = isShort && name !== 'wasm';
    for (const [primes, options] of ways.slice(0, hasOne ? 1 : byTier(2, 3))) {
      const engine = new Engine([device!], options);
      try {
        const found: bigint[] = [];
        const flow = intervalFlow(set, intervals, { primes });
        for await (const { index } of search(flow, { engine, space: COUNT })) found.push(index);
        expect(found, `${primes} primes`).toEqual(expected);
      } finally {
        await engine.close();
      }
    }
  });
});

test('finds and checks the gaps around intervals of 320 bits', { timeout: 120_000 }, async (ctx) => {
  const missing = absent.find(({ id }) => id === 'native');
  if (missing) return ctx.skip(missing.reason);
  if (isShort)
    return ctx.skip('the compiler takes seconds for these limbs; test/gaps-cli checks gaps: npm run test:all');
  const { n_primes, size, n_candidates, offset } = sets.find(({ file }) => file.includes('64s'))!;
  const long = parseChineseSet(fileOf(n_primes, size, n_candidates, offset));
  const start = 0x8f20eb9cdb6ac2efee61f2cba1a68e298919804f05e82ac5e67359218b10c39en << 64n;
  const all = intervalsOf(long, { start, length: 1n << 64n }, 900);
  expect(all.length).toBe(904);
  const device = await openDevice('native');
  const engine = new Engine([device]);
  try {
    const found = [];
    const some = { ...all, count: BigInt(COUNT_LONG) };
    for await (const gap of searchIntervals({ set: long, intervals: some, start }, { engine })) found.push(gap);
    expect(found.map(({ index }) => index)).toEqual(expectedHits(all, COUNT_LONG));
    for (const { start: p, end, offset: adder } of found) {
      expect(end - p).toBeGreaterThanOrEqual(904n);
      expect(nextPrime(p)).toBe(end);
      expect(start + adder).toBe(p);
    }
    expect(engine.devices[0]?.canaries).toBeGreaterThan(0);
  } finally {
    await engine.close();
    await device.close();
  }
});
