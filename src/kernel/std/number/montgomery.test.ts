import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { armWithAes, missing, runForeign } from '../../../../test/foreign.js';
import { type CompileOptions, kernelRunners, type Runner } from '../../../../test/run-kernel.js';
import { byTier, isShort } from '../../../../test/tier.js';
import { bestLanes, nativeKeys } from '../../abi/cpu.js';
import { kernelText } from '../../abi/lower.js';
import { read, rw } from '../../language/buffers.js';
import type { Expr } from '../../language/expr.js';
import { items } from '../../language/items.js';
import { type Unsigned, u32 } from '../../language/types.js';
import { montgomery, montgomeryConstants } from './montgomery.js';

const { interpreter, native } = await kernelRunners();

const fermatVectors = (
  JSON.parse(readFileSync(new URL('../../../../test/data/gaps/fermat.json', import.meta.url), 'utf8')) as {
    n_hex: string;
    bits: number;
    fermat_base2_pass: boolean;
    residue_2_pow_n_minus_1_hex: string;
    mont_n0inv_neg_hex: string;
    R_mod_n_hex: string;
    R2_mod_n_hex: string;
    limbs32: number;
  }[]
).map((row) => ({ ...row, n: BigInt(row.n_hex), residue: BigInt(row.residue_2_pow_n_minus_1_hex) }));

/** Numbers of `limbs` limbs each, one after the other. */
function pack(limb: Unsigned, limbs: number, numbers: readonly bigint[]): Uint32Array | BigUint64Array {
  const width = limb === 'u32' ? 32 : 64;
  const all = numbers.flatMap((x) =>
    Array.from({ length: limbs }, (_, i) => BigInt.asUintN(width, x >> BigInt(width * i))),
  );
  return limb === 'u32' ? Uint32Array.from(all.map(Number)) : BigUint64Array.from(all);
}

function unpack(limbs: number, data: Uint32Array | BigUint64Array): bigint[] {
  const width = BigInt(data.BYTES_PER_ELEMENT * 8);
  const values = Array.from<number | bigint, bigint>(data, BigInt);
  return Array.from({ length: values.length / limbs }, (_, k) =>
    values.slice(k * limbs, (k + 1) * limbs).reduceRight((sum, x) => (sum << width) | x, 0n),
  );
}

const modPower = (base: bigint, exponent: bigint, n: bigint): bigint => {
  let result = 1n % n;
  for (const bit of exponent.toString(2)) result = (((result * result) % n) * (bit === '1' ? base : 1n)) % n;
  return result;
};

const random = (bits: number): bigint => {
  let x = 0n;
  for (let i = 0; i < bits; i += 24) x = (x << 24n) | BigInt(Math.floor(Math.random() * 2 ** 24));
  return BigInt.asUintN(bits, x);
};

/** Reads numbers, applies `body` to each set of them, writes one number per item. */
const overNumbers = <L extends Unsigned>(
  limb: L,
  bits: number,
  count: number,
  body: (m: ReturnType<typeof montgomery<L>>, numbers: Expr<L>[][]) => Expr<L>[],
) =>
  items('numbers', { buffers: { x: read(limb), out: rw(limb) } }, ({ item, buffers }) => {
    const m = montgomery(limb, bits);
    const at = (k: number, i: number) => item.mul(count * m.limbs).add(k * m.limbs + i);
    const numbers = Array.from({ length: count }, (_, k) =>
      Array.from({ length: m.limbs }, (_, i) => buffers.x.at(at(k, i)) as unknown as Expr<L>),
    );
    body(m, numbers).forEach((value, i) => {
      (buffers.out as { set(i: Expr<'u32'>, v: Expr<L>): void }).set(item.mul(m.limbs).add(i), value);
    });
  });

async function results(
  runner: Runner,
  kernel: ReturnType<typeof overNumbers>,
  limb: Unsigned,
  bits: number,
  rows: readonly (readonly bigint[])[],
  options = {},
): Promise<bigint[]> {
  const limbs = Math.ceil(bits / (limb === 'u32' ? 32 : 64));
  const x = pack(limb, limbs, rows.flat());
  const out = pack(
    limb,
    limbs,
    rows.map(() => 0n),
  );
  const outcome = await runner.run(kernel, { count: rows.length, buffers: { x, out } }, options);
  return unpack(limbs, outcome.out as Uint32Array | BigUint64Array);
}

/** a·b·b/R³ mod n: a square, a product, and the conversion from Montgomery form. */
const productOf = (limb: Unsigned, bits: number) =>
  overNumbers(limb, bits, 3, (m, [a, b, n]) => {
    const inverse = m.negInverse(n![0]!);
    return m.fromMontgomery(m.multiply(a!, m.square(b!, n!, inverse), n!, inverse), n!, inverse);
  });

/** Rows of a, b and n: moduli of all sizes up to `bits`, with the largest factors and random ones. */
function productRows(bits: number, count: number): bigint[][] {
  const largest = (1n << BigInt(bits)) - 1n;
  const moduli = [largest, largest - 2n, (1n << BigInt(bits - 1)) | 1n, 3n, random(Math.ceil(bits / 2)) | 3n];
  while (moduli.length < count) moduli.push(random(bits) | 3n);
  return moduli.flatMap((n) => [
    [n - 1n, n - 1n, n],
    [random(bits) % n, random(bits) % n, n],
  ]);
}

/** Checks that `found` holds the products of the rows, all below their moduli. */
function expectProducts(limb: Unsigned, bits: number, rows: readonly bigint[][], found: readonly bigint[]): void {
  const width = limb === 'u32' ? 32 : 64;
  const r = 1n << BigInt(width * Math.ceil(bits / width));
  expect(found.map((x, i) => (x * r * r * r) % rows[i]![2]!)).toEqual(rows.map(([a, b, n]) => (a! * b! * b!) % n!));
  expect(found.every((x, i) => x < rows[i]![2]!)).toBe(true);
}

describe('products', () => {
  const check = async (runner: Runner, limb: Unsigned, bits: number, count: number, options: CompileOptions = {}) => {
    const rows = productRows(bits, count);
    expectProducts(limb, bits, rows, await results(runner, productOf(limb, bits), limb, bits, rows, options));
  };

  // Every regime: no spare bit, one to three, four and more; one limb, odd and even counts.
  for (const [limb, sizes] of [
    ['u32', byTier([32, 31, 28, 63, 95], [32, 31, 28, 64, 63, 95, 270, 288, 317])],
    ['u64', byTier([64, 63, 60, 192], [64, 63, 60, 128, 192, 270, 319, 320])],
  ] as const) {
    test.each(sizes)(`of ${limb} limbs, %i bits, on the interpreter`, (bits) => check(interpreter, limb, bits, 6));
  }

  // Compiling is slow: one size of each regime, more in longer runs.
  for (const [limb, few, more, most] of [
    ['u32', [64], [281, 320], [155]],
    ['u64', [64, 281], [320, 512, 1020], [100, 128, 200, 256, 319, 384, 700, 768, 1024]],
  ] as const) {
    const sizes = byTier<readonly number[]>(few, [...few, ...more], [...few, ...more, ...most]);
    test(`of ${limb} limbs, ${sizes.join(', ')} bits, compiled`, { timeout: 120_000 }, async (ctx) => {
      if (native.absent) return ctx.skip(native.absent);
      for (const bits of sizes) await check(native, limb, bits, 300, { lanes: 1 });
    });
  }

  test('by generic operations and by native bodies, in gangs too', { timeout: 120_000 }, async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    for (const bits of byTier([192], [281, 319, 320]))
      await check(native, 'u64', bits, 40, { lanes: 1, nativeBodies: false });
    await check(native, 'u64', byTier(128, 320), 40, { lanes: 4 });
    if (!isShort) await check(native, 'u32', 281, 40, { lanes: 4 });
  });

  test('by 128-bit integers, where the processor is not x86', (ctx) => {
    const reason = missing(armWithAes);
    if (reason) return ctx.skip(reason);
    for (const bits of byTier([320], [63, 64, 281, 319, 320])) {
      const limbs = Math.ceil(bits / 64);
      const rows = productRows(bits, 40);
      const x = new Uint32Array(pack('u64', limbs, rows.flat()).buffer);
      const out = new Uint32Array(rows.length * limbs * 2);
      const outcome = runForeign(armWithAes, productOf('u64', bits), 1, rows.length, { x, out });
      expectProducts('u64', bits, rows, unpack(limbs, new BigUint64Array(outcome.out!.buffer)));
    }
  });
});

describe('powers', () => {
  const rSquaredOf = (limb: Unsigned, bits: number, n: bigint): bigint =>
    montgomeryConstants(limb, bits, n).rSquared.reduceRight((sum, x) => (sum << (limb === 'u32' ? 32n : 64n)) | x, 0n);

  test('with a varying exponent', async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    for (const bits of byTier([128], [128, 250])) {
      const kernel = overNumbers('u64', bits, 4, (m, [base, exponent, n, rSquared]) => {
        const inverse = m.negInverse(n![0]!);
        return m.fromMontgomery(
          m.power(m.toMontgomery(base!, rSquared!, n!, inverse), exponent!, n!, inverse),
          n!,
          inverse,
        );
      });
      const rows = productRows(bits, 30).map((row) => [...row, rSquaredOf('u64', bits, row[2]!)]);
      const expected = rows.map(([base, exponent, n]) => modPower(base!, exponent!, n!));
      expect(await results(native, kernel, 'u64', bits, rows)).toEqual(expected);
    }
  });

  test('with constant exponents, 0 and 1 among them', async () => {
    for (const exponent of [0, 1, 2, 65537]) {
      const kernel = overNumbers('u32', 62, 3, (m, [base, n, rSquared]) => {
        const inverse = m.negInverse(n![0]!);
        return m.fromMontgomery(
          m.power(m.toMontgomery(base!, rSquared!, n!, inverse), [exponent], n!, inverse),
          n!,
          inverse,
        );
      });
      const rows = productRows(62, 6).map(([a, , n]) => [a!, n!, rSquaredOf('u32', 62, n!)]);
      const expected = rows.map(([base, n]) => modPower(base!, BigInt(exponent), n!));
      expect(await results(interpreter, kernel, 'u32', 62, rows)).toEqual(expected);
    }
  });
});

const fermatOf = (limb: Unsigned, bits: number) => overNumbers(limb, bits, 1, (m, [n]) => m.fermat(n!));

describe("Fermat's test", () => {
  // Each number goes to the narrowest kernel that fits, loose or tight. 766 bits in 32-bit limbs would exceed the
  // statement budget.
  for (const [limb, widths] of [
    ['u32', [284, 288, 320, 352]],
    ['u64', byTier([320], [316, 320, 380, 766])],
  ] as const) {
    test(`gives the residues of the gaps workload, ${limb} limbs`, { timeout: 120_000 }, async (ctx) => {
      if (native.absent) return ctx.skip(native.absent);
      if (isShort && limb === 'u32') return ctx.skip('the compiler takes seconds for these limbs: npm run test:all');
      let tried = 0;
      for (const [k, bits] of widths.entries()) {
        const rows = fermatVectors.filter((row) => row.bits <= bits && row.bits > (widths[k - 1] ?? 0));
        const numbers = rows.map(({ n }) => [n]);
        const found = await results(native, fermatOf(limb, bits), limb, bits, numbers, { lanes: 1 });
        expect(found).toEqual(rows.map(({ residue }) => residue));
        expect(found.map((residue) => residue === 1n)).toEqual(rows.map((row) => row.fermat_base2_pass));
        tried += rows.length;
      }
      expect(tried).toBe(fermatVectors.filter((row) => row.bits <= widths.at(-1)!).length);
    });
  }

  test('takes small moduli, and moduli shorter than their limbs', async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    for (const bits of byTier([200], [64, 200, 256])) {
      const moduli = [
        3n,
        5n,
        7n,
        9n,
        341n,
        0x1fff_ffff_ffff_fff7n,
        ...[17, 33, 63, 64].map((b) => random(b) | (1n << BigInt(b - 1)) | 1n),
      ];
      const rows = moduli.map((n) => [n]);
      expect(await results(native, fermatOf('u64', bits), 'u64', bits, rows)).toEqual(
        moduli.map((n) => modPower(2n, n - 1n, n)),
      );
    }
  });

  test('takes one number on the interpreter', async () => {
    const { n } = fermatVectors[0]!;
    const small = n & 0xffff_ffff_ffff_ffffn;
    for (const limb of ['u32', 'u64'] as const) {
      const found = await results(interpreter, fermatOf(limb, 64), limb, 64, [[small]]);
      expect(found).toEqual([modPower(2n, small - 1n, small)]);
    }
  });

  test('recognizes primes', async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    const kernel = items('primes', { buffers: { n: read('u64'), out: rw(u32) } }, ({ item, buffers }) => {
      const m = montgomery('u64', 288);
      const n = Array.from({ length: m.limbs }, (_, i) => buffers.n.at(item.mul(m.limbs).add(i)));
      buffers.out.set(item, m.isProbablePrime(n).to('u32'));
    });
    const cpu = { arch: 'x86', features: new Set(['avx2']) } as const;
    expect(bestLanes(kernel.trace({ natives: nativeKeys(cpu) }).body, 8)).toBe(1);
    const rows = fermatVectors.filter(({ bits }) => bits <= 288);
    const setup = {
      count: rows.length,
      buffers: {
        n: pack(
          'u64',
          5,
          rows.map(({ n }) => n),
        ),
        out: new Uint32Array(rows.length),
      },
    };
    const { out } = await native.run(kernel, setup);
    expect([...(out as Uint32Array)]).toEqual(rows.map((row) => Number(row.fermat_base2_pass)));
  });
});

describe('constants', () => {
  test('match those of the gaps workload', () => {
    for (const row of fermatVectors) {
      const { one, rSquared, inverse } = montgomeryConstants('u32', row.bits, row.n);
      const join = (limbs: readonly bigint[]) => limbs.reduceRight((sum, x) => (sum << 32n) | x, 0n);
      expect(one).toHaveLength(row.limbs32);
      expect(join(one)).toBe(BigInt(row.R_mod_n_hex));
      expect(join(rSquared)).toBe(BigInt(row.R2_mod_n_hex));
      expect(inverse).toBe(BigInt(row.mont_n0inv_neg_hex));
    }
  });

  test('are refused for an invalid modulus size, or a number of another size', () => {
    for (const bits of [1, 64.5]) expect(() => montgomery('u32', bits)).toThrow(`${bits} bits`);
    const short = overNumbers('u32', 64, 1, (m, [modulus]) => m.one(modulus!.slice(1)));
    expect(() => kernelText(short, { target: 'ir' })).toThrow('1 limbs');
  });

  test('match those that a kernel computes', async () => {
    const { n } = fermatVectors[4]!;
    const kernel = overNumbers('u32', 288, 1, (m, [modulus]) => [
      m.negInverse(modulus![0]!),
      ...m.one(modulus!).slice(1),
    ]);
    const { inverse, one } = montgomeryConstants('u32', 288, n);
    const expected = [inverse, ...one.slice(1)].reduceRight((sum, x) => (sum << 32n) | x, 0n);
    expect(await results(interpreter, kernel, 'u32', 288, [[n]])).toEqual([expected]);
  });
});

test('a Fermat test stays within the statement budget', () => {
  const shapes = [
    ['u32', 352],
    ['u32', 320],
    ['u64', 320],
    ['u64', 766],
  ] as const;
  for (const [limb, bits] of shapes.slice(0, byTier(1, 4))) {
    const text = kernelText(fermatOf(limb, bits), { target: 'ir' });
    expect(text.split('\n').length, `${bits} bits in ${limb}`).toBeLessThan(5000);
  }
});
