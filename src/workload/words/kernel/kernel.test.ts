import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { kernelStats, kernelText } from '../../../kernel/index.js';
import { parseMask } from '../space/mask.js';
import { divisorOf } from './divisor.js';
import { wordPieces } from './kernel.js';
import { Plan } from './plan.js';
import { wordRuns } from './runs.js';

describe('division by one multiplication', () => {
  test('is exact for every size and every value below 2^31', () => {
    const quotient = (value: number, size: number): number => {
      const [, magic, shift] = divisorOf(size);
      return Number(((2n * BigInt(value) * BigInt(magic)) >> 32n) >> BigInt(shift));
    };
    const size = fc.oneof(
      fc.integer({ min: 1, max: 2 ** 31 - 1 }),
      fc.integer({ min: 1, max: 5000 }),
      fc.integer({ min: 0, max: 30 }).map((power) => 2 ** power),
    );
    fc.assert(
      fc.property(size, fc.integer({ min: 0, max: 2 ** 31 - 1 }), (by, value) => {
        // An error would show first around a multiple.
        const multiple = value - (value % by);
        const near = [value, multiple, multiple - 1, multiple + by - 1, 0, 2 ** 31 - 1];
        for (const x of near) if (x >= 0 && x < 2 ** 31) expect(quotient(x, by)).toBe(Math.floor(x / by));
        expect(divisorOf(by)[1]).toBeLessThan(2 ** 32);
      }),
      { numRuns: byTier(400, 2000) },
    );
  });
});

describe('the words kernel', () => {
  test('has no division, no table, and few operations for 16 bytes', () => {
    const { always, words } = kernelStats(wordPieces(1));
    expect(always.divisions).toBe(0);
    expect(always.multiplications).toBeLessThanOrEqual(16);
    const others = always.additions + always.logic + always.shifts + always.selects;
    expect(others).toBeLessThanOrEqual(36);
    expect(words.jobAlways).toBeLessThanOrEqual(20);
  });

  test('stores 16 bytes at a time, neighbours next to each other', () => {
    const text = kernelText(wordPieces(1), { target: 'cuda' });
    expect(text.match(/\(\(uint4 \*\)b_out\)\[item\] = /g)).toHaveLength(1);
    expect(text).not.toMatch(/u64 v\d+ = /);
  });

  test('is not split into lanes on a CPU with vectors', () => {
    const cpu = { arch: 'x86', features: new Set(['avx2', 'avx512f']) } as const;
    expect(kernelText(wordPieces(32), { target: 'c', cpu })).toContain('kernel words, 1 lane');
  });

  test('has runs of four quads on CPUs: 16 loads of 16 bytes, one index for each', () => {
    const text = kernelText(wordRuns(32), { target: 'c', cpu: { arch: 'x86', features: new Set(['avx2']) } });
    expect(text).toContain('kernel words, 1 lane');
    const run = /if \(64u < (?:.|\n)*?\n {6}\}/.exec(text)?.[0] ?? '';
    expect(run.match(/= b_(near|middle|far)\[/g)).toHaveLength(3 * 4 * 4);
    expect(run.match(/\*\(u32x4 \*\)&b_out\[/g)).toHaveLength(4);
  });

  test.each([1, 32])('renders the same text each time, with %d quads an item', (quads) => {
    for (const target of ['c', 'cuda', 'opencl', 'wgsl', 'wat'] as const) {
      expect(kernelText(wordPieces(quads), { target })).toBe(kernelText(wordPieces(quads), { target }));
    }
  });
});

describe('a plan', () => {
  test.each([
    ['?l?l?l?l?l?l?l?l', '', { stride: 8, align: 2, near: 2 * 5408, middle: 676 * 16 }],
    ['?l?l?l?l?l?l?l?l', '\n', { stride: 9, align: 16, near: 16 * 24_336, middle: 676 * 9 * 16 }],
    ['?l?l?l?l?l?l?d?d?d?d', '', { stride: 10, align: 8, near: 8 * 10_000, middle: 6760 * 5 * 16 }],
    ['?l?l?l?l?l?l?l?l?l?l?l?l?d?d?d?d', '', { stride: 16, align: 1, near: 16_000, middle: 6760 * 16 }],
  ])('for %s and %j has tables that fit in caches', (mask, separator, expected) => {
    const { stride, align, near, middle } = new Plan(parseMask(mask), 'canonical', separator);
    expect({ stride, align, near: near.length, middle: middle.length }).toEqual(expected);
  });

  test('for runs has its rows in the order of quads, and the first three quads of rows and blocks twice', () => {
    const plain = new Plan(parseMask('?l?l?l?l?l?l?d?d?d?d'), 'canonical', '');
    const plan = plain.withRun(4);
    expect(plan.withRun(4)).toBe(plan);
    expect(plan.near.length).toBe(8 * (10_000 + 48));
    expect(plan.middle.length).toBe(6760 * (5 + 3) * 16);
    for (let quad = 0; quad < 8; quad++) {
      const phase = (quad * (plain.job.step ?? 0)) % 5;
      expect(plan.middle.subarray(quad * 16, quad * 16 + 16)).toEqual(
        plain.middle.subarray(phase * 16, phase * 16 + 16),
      );
    }
    expect(plan.near.subarray(10_000, 10_048)).toEqual(plan.near.subarray(0, 48));
    expect(plan.job).toMatchObject({ rowQuads: 8, nextQuad: 4, nextPhase: 4 });
  });

  test('needs few bytes from the host for a launch: 16 a phase for each turn', () => {
    const plan = new Plan(parseMask('?l?l?l?l?l?l?l?l'), 'canonical', '');
    const quads = 2 ** 28; // 4 GiB
    const { far } = plan.launch(12_345n, quads, new Uint8Array(plan.farBytes(quads)));
    expect(far.length).toBeLessThan(20_000);
  });

  test('rejects words of several lengths', () => {
    expect(() => new Plan([['a', 'bc']], 'canonical', '\n')).toThrow('several lengths');
  });
});
