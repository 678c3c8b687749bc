import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { interpret } from '../../ir/interpret.js';
import type { Program } from '../../ir/program.js';
import { read, rw } from '../../language/buffers.js';
import { cell, loop, table, when } from '../../language/control.js';
import type { Expr } from '../../language/expr.js';
import { items } from '../../language/items.js';
import { addChain, bitSelect, mulHi, select, subChain, u64Of, wmad } from '../../language/operations.js';
import type { Kernel } from '../../language/signature.js';
import { tiles } from '../../language/tiles.js';
import { f32, f64, i32, u32, u64 } from '../../language/types.js';
import { renderIr } from '../../render/ir.js';
import { floatingProgram } from '../floating.js';
import { placeNodes } from '../shape/place-nodes.js';
import { splitU64 } from './split-u64.js';

const WORD = (1n << 64n) - 1n;
const wrap = (x: bigint) => BigInt.asUintN(64, x);
const narrowed = (kernel: Kernel) => placeNodes(splitU64(floatingProgram(kernel.trace())));

type Wide = Expr<'u64'>;
/** An operation in the language and in bigint arithmetic. */
const operations: Record<
  string,
  { traced: (a: Wide, b: Wide, n: Expr<'u32'>) => Wide; model: (a: bigint, b: bigint, n: bigint) => bigint }
> = {
  add: { traced: (a, b) => a.add(b), model: (a, b) => a + b },
  sub: { traced: (a, b) => a.sub(b), model: (a, b) => a - b },
  mul: { traced: (a, b) => a.mul(b), model: (a, b) => a * b },
  mulHi: { traced: (a, b) => mulHi(a, b), model: (a, b) => (a * b) >> 64n },
  wmadLo: { traced: (a, b) => wmad(a, b, a, b).lo, model: (a, b) => a * b + a + b },
  wmadHi: { traced: (a, b) => wmad(a, b, a, b).hi, model: (a, b) => (a * b + a + b) >> 64n },
  div: { traced: (a, b) => a.div(b), model: (a, b) => (b === 0n ? a : a / b) },
  rem: { traced: (a, b) => a.rem(b), model: (a, b) => (b === 0n ? 0n : a % b) },
  byHalf: { traced: (a, b) => a.div(b.shr(33)), model: (a, b) => (b >> 33n === 0n ? a : a / (b >> 33n)) },
  byTen: { traced: (a) => a.div(10n), model: (a) => a / 10n },
  restOfBig: { traced: (a) => a.rem(0x1_0000_0001n), model: (a) => a % 0x1_0000_0001n },
  and: { traced: (a, b) => a.and(b), model: (a, b) => a & b },
  or: { traced: (a, b) => a.or(b), model: (a, b) => a | b },
  xor: { traced: (a, b) => a.xor(b), model: (a, b) => a ^ b },
  not: { traced: (a) => a.not(), model: (a) => ~a },
  neg: { traced: (a) => a.neg(), model: (a) => -a },
  bitSelect: { traced: (a, b) => bitSelect(a, b, a.not()), model: (a, b) => (a & b) | (~a & ~a) },
  shl: { traced: (a, _, n) => a.shl(n), model: (a, _, n) => a << (n & 63n) },
  shr: { traced: (a, _, n) => a.shr(n), model: (a, _, n) => a >> (n & 63n) },
  rotl: { traced: (a, _, n) => a.rotl(n), model: (a, _, n) => (a << (n & 63n)) | (a >> (64n - (n & 63n))) },
  rotr: { traced: (a, _, n) => a.rotr(n), model: (a, _, n) => (a >> (n & 63n)) | (a << (64n - (n & 63n))) },
  ...Object.fromEntries(
    [1, 31, 32, 33, 63].flatMap((n) => [
      [`shl${n}`, { traced: (a: Wide) => a.shl(n), model: (a: bigint) => a << BigInt(n) }],
      [`shr${n}`, { traced: (a: Wide) => a.shr(n), model: (a: bigint) => a >> BigInt(n) }],
      [`rotl${n}`, { traced: (a: Wide) => a.rotl(n), model: (a: bigint) => (a << BigInt(n)) | (a >> BigInt(64 - n)) }],
    ]),
  ),
  eq: { traced: (a, b) => a.eq(b).to(u64), model: (a, b) => BigInt(a === b) },
  ne: { traced: (a, b) => a.ne(b).to(u64), model: (a, b) => BigInt(a !== b) },
  lt: { traced: (a, b) => a.lt(b).to(u64), model: (a, b) => BigInt(a < b) },
  le: { traced: (a, b) => a.le(b).to(u64), model: (a, b) => BigInt(a <= b) },
  select: { traced: (a, b, n) => select(n.lt(32), a, b), model: (a, b, n) => (n < 32n ? a : b) },
  carry: { traced: (a, b) => addChain([a, b], [b, a]).out, model: (a, b) => (a + (b << 64n) + b + (a << 64n)) >> 128n },
  sum: {
    traced: (a, b) => addChain([a, b], [b, a]).limbs[1] as Wide,
    model: (a, b) => (a + (b << 64n) + b + (a << 64n)) >> 64n,
  },
  borrow: { traced: (a, b) => subChain([a, b], [b, a]).out, model: (a, b) => BigInt(a + (b << 64n) < b + (a << 64n)) },
  clz: { traced: (a) => a.clz().to(u64), model: (a) => (a === 0n ? 64n : BigInt(64 - a.toString(2).length)) },
  ctz: {
    traced: (a) => a.ctz().to(u64),
    model: (a) => (a === 0n ? 64n : BigInt(a.toString(2).length - 1 - a.toString(2).lastIndexOf('1'))),
  },
  popcount: {
    traced: (a) => a.popcount().to(u64),
    model: (a) => BigInt([...a.toString(2)].filter((digit) => digit === '1').length),
  },
  byteSwap: {
    traced: (a) => a.byteSwap(),
    model: (a) => [0n, 8n, 16n, 24n, 32n, 40n, 48n, 56n].reduce((x, s) => (x << 8n) | ((a >> s) & 255n), 0n),
  },
  signed: { traced: (a) => a.to(i32).to(u64), model: (a) => BigInt.asIntN(32, a) },
  halves: { traced: (a) => u64Of(a.hi, a.lo), model: (a) => (a << 32n) | (a >> 32n) },
  f32: {
    traced: (a) => a.to(f32).bits(u32).to(u64),
    model: (a) => BigInt(new Uint32Array(Float32Array.of(nearest(a, 24)).buffer)[0] as number),
  },
  f64: {
    traced: (a) => a.to(f64).bits(u64),
    model: (a) => new BigUint64Array(Float64Array.of(Number(a)).buffer)[0] as bigint,
  },
  fromF32: { traced: (a) => a.to(f32).to(u64), model: (a) => saturated(nearest(a, 24)) },
  fromF64: {
    traced: (a) => a.to(f64).mul(-1.5).to(u64).add(a.to(f64).mul(1.5).to(u64)),
    model: (a) => saturated(Number(a) * 1.5),
  },
};

/** Rounds to `bits` bits, ties to even; the result is exact as a double. */
function nearest(a: bigint, bits: number): number {
  const drop = BigInt(Math.max(0, a.toString(2).length - bits));
  if (drop === 0n) return Number(a);
  const [kept, rest, half] = [a >> drop, a & ((1n << drop) - 1n), 1n << (drop - 1n)];
  return Number((kept + (rest > half || (rest === half && kept & 1n) ? 1n : 0n)) << drop);
}
const saturated = (x: number) => (x >= 2 ** 64 ? WORD : BigInt(Math.trunc(x)));

const everything = items(
  'wide',
  { buffers: { a: read(u64), b: read(u64), n: read(u32), out: rw(u64) } },
  ({ item, buffers }) => {
    const [a, b, n] = [buffers.a.at(item), buffers.b.at(item), buffers.n.at(item)];
    for (const [k, { traced }] of Object.values(operations).entries()) {
      buffers.out.slice(0).set(item.mul(Object.keys(operations).length).add(k), traced(a, b, n));
    }
  },
);

function run(program: Program, inputs: readonly (readonly [bigint, bigint, number])[]): bigint[] {
  const out = new BigUint64Array(inputs.length * Object.keys(operations).length);
  const bytes = (array: { buffer: ArrayBuffer }) => new Uint8Array(array.buffer);
  const a = BigUint64Array.from(inputs.map(([x]) => x));
  const b = BigUint64Array.from(inputs.map(([, y]) => y));
  const n = Uint32Array.from(inputs.map(([, , z]) => z));
  interpret(program, {
    job: {},
    count: inputs.length,
    buffers: { a: bytes(a), b: bytes(b), n: bytes(n), out: bytes(out) },
  });
  return [...out];
}

describe('splitU64', () => {
  const program = narrowed(everything);
  const expectRight = (inputs: readonly (readonly [bigint, bigint, number])[]) => {
    const results = run(program, inputs);
    inputs.forEach(([a, b, n], i) => {
      Object.entries(operations).forEach(([name, { model }], k) => {
        const expected = wrap(model(a, b, BigInt(n)));
        const got = results[i * Object.keys(operations).length + k];
        if (got !== expected)
          throw new Error(
            `${name}(0x${a.toString(16)}, 0x${b.toString(16)}, ${n}) is 0x${got?.toString(16)}, not 0x${expected.toString(16)}`,
          );
      });
    });
  };

  it('leaves no 64-bit integers except the bits of doubles', () => {
    const left = renderIr(program)
      .split('\n')
      .filter((line) => line.includes(': u64'));
    expect(left.every((line) => / = (bits|pack) /.test(line))).toBe(true);
    expect(renderIr(program)).toContain('buffer a: read u32');
  });

  it('is exact at edge values', () => {
    const edges = [
      0n,
      1n,
      2n,
      3n,
      10n,
      0x7fff_ffffn,
      0x8000_0000n,
      0xffff_ffffn,
      0x1_0000_0000n,
      0x1_0000_0001n,
      0x1_8000_0000n,
      (1n << 53n) + 1n,
      1n << 63n,
      (1n << 63n) - 1n,
      WORD - 1n,
      WORD,
      0xffff_ff80_0000_0000n,
      0x0000_0100_0000_0001n,
    ];
    const counts = [0, 1, 31, 32, 33, 63, 64, 0xffff_ffff];
    expectRight(
      edges.flatMap((a, i) => edges.map((b, j) => [a, b, counts[(i + j) % counts.length] as number] as const)),
    );
    expectRight(counts.flatMap((n) => edges.map((a) => [a, 5n, n] as const)));
  });

  it('is exact on random values of all lengths', () => {
    const value = fc
      .tuple(fc.bigInt({ min: 0n, max: WORD }), fc.integer({ min: 0, max: 63 }))
      .map(([x, drop]) => x >> BigInt(drop));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(value, value, fc.integer({ min: 0, max: 2 ** 32 - 1 })), { minLength: 8, maxLength: 8 }),
        expectRight,
      ),
      { numRuns: byTier(50, 150) },
    );
  });

  it('splits cells, tables, quads and indices', () => {
    const kernel = items(
      'parts',
      { job: { k: u64 }, buffers: { x: read(u64), out: rw(u64) } },
      ({ job, item, index, buffers }) => {
        const t = table(u64, [1n << 40n, 7n, WORD]);
        const sum = cell(u64, index);
        loop(5, (i) => sum.set(sum.mul(3n).add(t.at(i.rem(3)))));
        when(sum.and(1n).eq(0), () => sum.set(sum.xor(job.k)));
        const [a, b, c, d] = buffers.x.slice(item.to(u64)).at4(0);
        buffers.out.set4(item, [sum, a.add(d), b, c]);
      },
    );
    const x = BigUint64Array.from({ length: 12 }, (_, i) => BigInt(i) * 0x1234_5678_9abc_def1n);
    const results = [kernel.trace(), narrowed(kernel)].map((program) => {
      const out = new BigUint64Array(12);
      interpret(program, {
        job: { k: 0xdead_beef_0000_0001n },
        base: 5n << 32n,
        count: 3,
        buffers: { x: new Uint8Array(x.buffer), out: new Uint8Array(out.buffer) },
      });
      return [...out];
    });
    expect(results[1]).toEqual(results[0]);
    expect(results[0]?.[1]).toBe(wrap((x[0] as bigint) + (x[3] as bigint)));
  });
});

describe('sums of u64', () => {
  const LENGTHS = [0, 1, 2, 255, 256, 257, 513, 1000];
  const kernel = tiles('totals', { buffers: { n: read(u32), x: read(u64), out: rw(u64) } }, (context) => {
    const { tile, sum, once, buffers } = context;
    const total = sum(u64, buffers.n.at(tile), (i) => {
      const x = cell(u64, buffers.x.at(i));
      loop(i.and(3), () => x.set(x.mul(5n)));
      return x.add(tile.to(u64));
    });
    once(() => buffers.out.set(tile, total));
  });

  it('are split into words, for any length', () => {
    const x = BigUint64Array.from({ length: 1000 }, (_, i) => wrap(BigInt(i + 3) ** 9n));
    const out = new BigUint64Array(LENGTHS.length);
    const bytes = (data: BigUint64Array | Uint32Array) => new Uint8Array(data.buffer);
    const program = narrowed(kernel);
    interpret(program, {
      job: {},
      count: LENGTHS.length,
      buffers: { n: bytes(Uint32Array.from(LENGTHS)), x: bytes(x), out: bytes(out) },
    });
    const wanted = LENGTHS.map((length, tile) =>
      [...x.slice(0, length)].reduce((total, value, i) => wrap(total + value * 5n ** BigInt(i % 4) + BigInt(tile)), 0n),
    );
    expect([...out]).toEqual(wanted);
    expect(renderIr(program)).not.toMatch(/u64/);
  });
});
