import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkProgram } from '../../ir/check.js';
import { interpret } from '../../ir/interpret.js';
import { read, rw } from '../../language/buffers.js';
import type { Expr } from '../../language/expr.js';
import { items } from '../../language/items.js';
import type { Kernel } from '../../language/signature.js';
import { u32 } from '../../language/types.js';
import { renderIr } from '../../render/ir.js';
import { sha256 } from '../../std/hash/sha256.js';
import { floatingProgram } from '../floating.js';
import { placeNodes } from '../shape/place-nodes.js';
import { balancePipes, type PipeShares } from './balance-pipes.js';

const through = (kernel: Kernel, shares: number | PipeShares) =>
  placeNodes(balancePipes(floatingProgram(kernel.trace()), shares));
/** The operations of the balanced kernel, one per line. */
const linesOf = (kernel: Kernel, shares: number | PipeShares): string[] =>
  renderIr(through(kernel, shares))
    .split('\n')
    .filter((line) => /^\s+(%|out\[)/.test(line))
    .map((line) => line.trim());
const count = (lines: readonly string[], pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;

/** A kernel that computes one word from three. */
const ofThree = (body: (a: Expr<'u32'>, b: Expr<'u32'>, c: Expr<'u32'>) => Expr<'u32'>): Kernel =>
  items('three', { job: { k: u32 }, buffers: { x: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
    const [a, b, c] = [0, 1, 2].map((i) => buffers.x.at(item.mul(3).add(i))) as [Expr<'u32'>, Expr<'u32'>, Expr<'u32'>];
    buffers.out.set(item, body(a, b, c));
  });
const run = (kernel: Kernel, shares: number | PipeShares, words: readonly number[]): number => {
  const program = through(kernel, shares);
  checkProgram(program);
  const out = new Uint32Array(1);
  const buffers = { x: new Uint8Array(Uint32Array.from(words).buffer), out: new Uint8Array(out.buffer) };
  interpret(program, { job: { k: 7 }, count: 1, buffers });
  return out[0] as number;
};
const additionsOnly = (additions: number): PipeShares => ({ additions, turns: false });
const all: PipeShares = { additions: 1, turns: true };
const turnsOnly: PipeShares = { additions: 0, turns: true };
const rotr = (x: number, n: number) => ((x >>> n) | (x << (32 - n))) >>> 0;

describe('balancePipes', () => {
  it('moves the given share of the additions, evenly', () => {
    const kernel = items('adds', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      let x = item;
      for (let i = 0; i < 30; i++) x = x.xor(i + 1).add(item.mul(x));
      buffers.out.set(item, x);
    });
    const moved = [0, 0.5, 2 / 3, 1].map((share) => {
      const lines = linesOf(kernel, additionsOnly(share));
      const one = lines.find((line) => line.endsWith('= mul one, one'))?.split(':')[0];
      return count(lines, new RegExp(`= mul %\\d+, ${one}$`));
    });
    expect(moved).toEqual([0, 15, 20, 30]);
  });

  it('leaves additions of constants, and additions of shifted or rotated values', () => {
    const kernel = ofThree((a, b, c) => a.add(5).xor(b.rotr(3).add(c)).xor(c.shl(4).add(a)).xor(a.shr(9).add(b)));
    const lines = linesOf(kernel, 1);
    expect(count(lines, /= mul %\d+, %\d+$/)).toBe(0);
    expect(run(kernel, 1, [1, 2, 3])).toBe(run(kernel, 0, [1, 2, 3]));
  });
});

describe('hoistRotations', () => {
  it('hoists the rotation common to all operands out of a xor that is added', () => {
    const kernel = ofThree((a, b) => a.rotr(6).xor(a.rotr(11)).xor(a.rotr(25)).add(b));
    expect(linesOf(kernel, turnsOnly)).toMatchInlineSnapshot(`
      [
        "%0: u32 = mul item, 3",
        "%1: u32 = x[%0]",
        "%2: u32 = add %0, 1",
        "%3: u32 = x[%2]",
        "%4: u32 = rotr %1, 5",
        "%5: u32 = xor %1, %4",
        "%6: u32 = rotr %1, 19",
        "%7: u32 = xor %5, %6",
        "%8: u32 = rotr %7, 6",
        "%9: u32 = add %8, %3",
        "out[item] := %9",
      ]
    `);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff_ffff }), fc.integer({ min: 0, max: 0xffff_ffff }), (a, b) => {
        expect(run(kernel, turnsOnly, [a, b, 0])).toBe(((rotr(a, 6) ^ rotr(a, 11) ^ rotr(a, 25)) + b) >>> 0);
      }),
    );
  });

  it('works on rotations of different values, and of equal counts', () => {
    const kernel = ofThree((a, b, c) => a.rotr(9).xor(b.rotr(4)).xor(c.rotr(4)).add(c));
    const lines = linesOf(kernel, turnsOnly);
    expect(count(lines, /rotr/)).toBe(2);
    expect(run(kernel, turnsOnly, [0x1234_5678, 0x9abc_def0, 0xdead_beef])).toBe(
      ((rotr(0x1234_5678, 9) ^ rotr(0x9abc_def0, 4) ^ rotr(0xdead_beef, 4)) + 0xdead_beef) >>> 0,
    );
  });

  it.each<[string, Kernel]>([
    ['the xor has another operand', ofThree((a, b) => a.rotr(6).xor(a.rotr(11)).xor(a.shr(3)).add(b))],
    ['nothing is added', ofThree((a) => a.rotr(6).xor(a.rotr(11)))],
    [
      'a rotation has another use',
      ofThree((a, b, c) =>
        a
          .rotr(6)
          .xor(a.rotr(11))
          .add(b)
          .mul(c.xor(a.rotr(6))),
      ),
    ],
    [
      'the xor has another use',
      ofThree((a, b, c) =>
        a
          .rotr(6)
          .xor(a.rotr(11))
          .add(b)
          .mul(a.rotr(6).xor(a.rotr(11)).mul(c)),
      ),
    ],
  ])('does nothing where %s', (_, kernel) => {
    expect(linesOf(kernel, turnsOnly)).toEqual(linesOf(kernel, 0));
  });
});

describe('SHA-256d', () => {
  const kernel = items(
    'digests',
    { job: { header: [u32, 19] }, buffers: { out: rw(u32) } },
    ({ job, index, item, buffers }) => {
      const digest = sha256.double([...job.header, index.lo.byteSwap()]);
      digest.forEach((word, i) => void buffers.out.set(item.mul(8).add(i), word));
    },
  );
  const header = Uint8Array.from({ length: 80 }, (_, i) => 37 * i + 11);
  const words = Array.from({ length: 19 }, (_, i) => Buffer.from(header).readUInt32BE(4 * i));
  const BASE = 0xffff_fff0n;

  it.each<number | PipeShares>([0.5, all, turnsOnly])('gives the digests of node:crypto, with %o', (shares) => {
    const out = new Uint32Array(8 * 8);
    interpret(through(kernel, shares), {
      job: { header: words },
      base: BASE,
      count: 8,
      buffers: { out: new Uint8Array(out.buffer) },
    });
    const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();
    const expected = Array.from({ length: 8 }, (_, i) => {
      const block = Buffer.from(header);
      block.writeUInt32LE(Number(BASE) + i, 76);
      return sha(sha(block)).toString('hex');
    });
    const actual = expected.map((_, i) =>
      [...out.subarray(8 * i, 8 * i + 8)].map((word) => word.toString(16).padStart(8, '0')).join(''),
    );
    expect(actual).toEqual(expected);
  });

  it('has one rotation for each big sigma that is the operand of an addition', () => {
    const [lines, plain] = [linesOf(kernel, all), linesOf(kernel, 0)];
    const rotated = (list: readonly string[]) =>
      new Set(list.flatMap((line) => /^(%\d+): u32 = rotr /.exec(line)?.[1] ?? []));
    const added = (list: readonly string[]) => {
      const names = rotated(list);
      return list.filter((line) => / = add /.test(line) && line.split(/[ ,]+/).some((name) => names.has(name))).length;
    };
    // Rounds 4 to 63 of the header's second block, 1 to 63 of the second hash: two sigmas each.
    expect(added(lines)).toBe(2 * 60 + 2 * 63);
    expect(added(plain)).toBe(0);
    expect(rotated(lines).size).toBe(rotated(plain).size);
  });
});
