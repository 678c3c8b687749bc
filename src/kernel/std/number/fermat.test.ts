import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ptxInC } from '../../../../test/ptx-in-c.js';
import { kernelRunners } from '../../../../test/run-kernel.js';
import { byTier } from '../../../../test/tier.js';
import { lowerGpu } from '../../abi/lower-gpu.js';
import { read, rw } from '../../language/buffers.js';
import { items } from '../../language/items.js';
import { hasDigits, passesByDigits } from './fermat-digits.js';
import { fermatText } from './fermat-ptx.js';
import { montgomery } from './montgomery.js';

const passesFermat = (n: bigint): boolean => {
  let x = 1n;
  for (const bit of (n - 1n).toString(2)) x = (x * x * (bit === '1' ? 2n : 1n)) % n;
  return x === 1n;
};

const random = (bits: number): bigint => {
  let x = 0n;
  for (let i = 0; i < bits; i += 24) x = (x << 24n) | BigInt(Math.floor(Math.random() * 2 ** 24));
  return BigInt.asUintN(bits, x);
};

/** Odd numbers from 3 on of up to so many bits: the smallest, the largest, those around limbs, primes among all of them. */
function numbersOf(bits: number): bigint[] {
  const list: bigint[] = [];
  /** Adds numbers in steps of two until one passes. */
  const upToPrime = (first: bigint, step: bigint) => {
    let n = first | 1n;
    for (; !passesFermat(n); n += step) if (list.length % 4 === 0 || n < 1000n) list.push(n);
    list.push(n);
  };
  const lengths = [14, 15, 16, 17, 31, 32, 33, 63, 64, 65, bits - 32, bits - 31, bits - 1, bits];
  for (const length of lengths.filter((length) => length > 8 && length <= bits)) {
    const top = 1n << BigInt(length - 1);
    upToPrime(top, 2n);
    upToPrime(2n * top - 1n, -2n);
    upToPrime(random(length) | top, 2n);
  }
  for (let n = 3n; n < 600n; n += 2n) list.push(n); // 341 and 561 pass
  for (let i = 0; i < 20; i++) list.push(random(bits) | 3n);
  return list.filter((n) => n >> BigInt(bits) === 0n);
}

const wordsOf = (n: bigint, limbs: number): number[] =>
  Array.from({ length: limbs }, (_, j) => Number(BigInt.asUintN(32, n >> BigInt(32 * j))));

const vectors = JSON.parse(
  readFileSync(new URL('../../../../test/data/gaps/fermat.json', import.meta.url), 'utf8'),
) as { n_hex: string; bits: number; fermat_base2_pass: boolean }[];

/** Numbers of a size and whether they pass: computed here, and those of the gaps workload. */
function expectedOf(bits: number): Map<bigint, boolean> {
  const known = vectors.filter((row) => row.bits <= bits).slice(0, 40);
  return new Map([
    ...numbersOf(bits).map((n) => [n, passesFermat(n)] as const),
    ...known.map((row) => [BigInt(row.n_hex), row.fermat_base2_pass] as const),
  ]);
}

// No spare bit, one, two and more; few limbs and many.
const sizes = byTier([64], [33, 63, 64, 65, 94, 281, 286, 287, 288, 316, 319, 320, 352]);

describe("Fermat's test for NVIDIA", () => {
  test.for(sizes)('of %i bits, translated to C', { timeout: 60_000 }, (bits, ctx) => {
    if (spawnSync('gcc', ['--version']).status !== 0) return ctx.skip('gcc is not installed');
    const limbs = Math.ceil(bits / 32);
    const { prelude = '', text } = fermatText({ limbs, spare: 32 * limbs - bits }, 'opencl');
    const expected = expectedOf(bits);
    const rows = [...expected.keys()].map((n) => `{${wordsOf(n, limbs)}}`);
    const args = Array.from({ length: limbs }, (_, j) => `rows[i][${j}]`);
    const source = [
      '#include <stdbool.h>',
      '#include <stdio.h>',
      'typedef unsigned u32; typedef unsigned long long u64;',
      ptxInC(prelude),
      `static const u32 rows[][${limbs}] = {${rows.join(',\n')}};`,
      `int main(void) { for (int i = 0; i < ${rows.length}; i++) { bool passes; ${text({ lanes: 1, args, results: ['passes'] })} putchar(passes ? '1' : '0'); } }`,
    ].join('\n');
    const folder = mkdtempSync(join(tmpdir(), 'millrace-fermat-'));
    try {
      writeFileSync(join(folder, 'test.c'), source);
      execFileSync('gcc', ['-w', '-o', join(folder, 'test'), join(folder, 'test.c')]);
      const found = execFileSync(join(folder, 'test'), { encoding: 'utf8' });
      const wrong = [...expected].filter(([, passes], i) => found[i] !== (passes ? '1' : '0')).map(([n]) => n);
      expect(wrong).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('has no PTX in the OpenCL text of other platforms', () => {
    const kernel = passesKernel(64, (n) => montgomery('u32', 64).isProbablePrime(n));
    const text = (inlinePtx: boolean, nativeBodies = true) =>
      lowerGpu(kernel, { target: 'opencl', inlinePtx, nativeBodies }).text;
    expect(text(true)).toContain('asm(');
    expect(text(false)).not.toContain('asm(');
    expect(text(true, false)).not.toContain('asm(');
    expect(lowerGpu(kernel, { target: 'cuda' }).text).toContain('asm(');
  });
});

type Numbers = Parameters<typeof passesByDigits>[1];

/** One number an item: 1 if it passes. */
const passesKernel = (bits: number, passes: (n: Numbers) => ReturnType<typeof passesByDigits>) =>
  items('passes', { buffers: { x: read('u32'), out: rw('u32') } }, ({ item, buffers }) => {
    const limbs = Math.ceil(bits / 32);
    const n = Array.from({ length: limbs }, (_, j) => buffers.x.at(item.mul(limbs).add(j)));
    buffers.out.set(item, passes(n).to('u32'));
  });

const { interpreter, native } = await kernelRunners();

describe("Fermat's test in digits of 14 bits", () => {
  const check = async (runner: typeof native, bits: number, expected: Map<bigint, boolean>) => {
    const kernel = passesKernel(bits, (n) => {
      const [lowest] = n;
      return passesByDigits(bits, n, montgomery('u32', bits).negInverse(lowest!));
    });
    const numbers = [...expected.keys()];
    const x = Uint32Array.from(numbers.flatMap((n) => wordsOf(n, Math.ceil(bits / 32))));
    const { out } = await runner.run(kernel, {
      count: numbers.length,
      buffers: { x, out: new Uint32Array(numbers.length) },
    });
    const wrong = numbers.filter((n, i) => (out as Uint32Array)[i] !== Number(expected.get(n)));
    expect(wrong).toEqual([]);
  };

  // An odd and an even number of digits.
  test.for(byTier<readonly number[]>([], [32, 60, 64, 97, 281, 288, 301, 320, 352, 418]))(
    'of %i bits, compiled',
    { timeout: 120_000 },
    async (bits, ctx) => {
      if (native.absent) return ctx.skip(native.absent);
      await check(native, bits, expectedOf(bits));
    },
  );

  test('is used as far as the columns fit words', () => {
    expect([418, 419].map(hasDigits)).toEqual([true, false]);
    const wgsl = (bits: number) =>
      lowerGpu(
        passesKernel(bits, (n) => montgomery('u32', bits).isProbablePrime(n)),
        { target: 'wgsl' },
      ).text;
    expect(wgsl(64)).toContain('i32');
    expect(wgsl(450)).not.toContain('i32');
  });

  test('of few numbers, on the interpreter', async () => {
    const few = [3n, 341n, 32_749n, 32_769n, 2n ** 31n - 1n, 2n ** 61n - 1n, 2n ** 61n - 3n];
    await check(interpreter, 61, new Map(few.map((n) => [n, passesFermat(n)])));
  });
});
