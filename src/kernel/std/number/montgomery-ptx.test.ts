import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { type PtxInstruction, type PtxKind, ptxInstructions, ptxText } from './montgomery-ptx.js';

const MASK = 0xffff_ffffn;

/** Simulates the instructions, with the carry flag that chains share. */
function simulate(list: readonly PtxInstruction[], registers: Map<string, bigint>): void {
  let flag = 0n;
  for (const { op, to, from, when } of list) {
    if (when !== undefined && registers.get(when) === 0n) continue;
    const [x = 0n, y = 0n, z = 0n] = from.map((name) => {
      const value = /^[a-z]/.test(name) ? registers.get(name) : BigInt(name);
      if (value === undefined) throw new Error(`${op} ${to} reads ${name}, which is not set`);
      return value;
    });
    const [name, ...marks] = op.split('.') as [string, ...string[]];
    const carryIn = /^(mad|add|sub)c$/.test(name) ? flag : 0n;
    let wide: bigint;
    if (name.startsWith('mad')) wide = (marks.includes('hi') ? (x * y) >> 32n : (x * y) & MASK) + z + carryIn;
    else if (name.startsWith('add')) wide = x + y + carryIn;
    else if (name.startsWith('sub')) wide = x - y - carryIn;
    else if (name === 'mul') wide = (x * y) & MASK;
    else if (name === 'and') wide = x & y;
    else if (name === 'shf') wide = ((y << z) | (x >> (32n - z))) & MASK;
    else if (op === 'setp.ne') wide = x !== y ? 1n : 0n;
    else if (op === 'setp.lt.s32') wide = BigInt.asIntN(32, x) < BigInt.asIntN(32, y) ? 1n : 0n;
    else wide = x !== 0n ? y : z;
    if (marks.includes('cc')) flag = wide < 0n || wide > MASK ? 1n : 0n;
    // Instructions that set no flag must not lose a carry (a borrow gives all ones, as intended).
    else if (wide > MASK) throw new Error(`${op} ${to} loses a carry`);
    registers.set(to, BigInt.asUintN(32, wide));
  }
}

function run(kind: PtxKind, limbs: number, spare: number, a: bigint, b: bigint, n: bigint): bigint {
  let inverse = 1n;
  for (let i = 0; i < 5; i++) inverse = BigInt.asUintN(32, inverse * (2n - n * inverse));
  const registers = new Map([['k', BigInt.asUintN(32, -inverse)]]);
  for (const [name, x, count] of [
    ['a', a, kind === 'fold' ? limbs + 1 : limbs],
    ['b', b, limbs],
    ['n', n, limbs],
  ] as const)
    for (let j = 0; j < count; j++) registers.set(`${name}${j}`, (x >> BigInt(32 * j)) & MASK);
  simulate(ptxInstructions(kind, limbs, spare), registers);
  let result = 0n;
  for (let j = limbs - 1; j >= 0; j--) result = (result << 32n) | (registers.get(`r${j}`) as bigint);
  return result;
}

const random = (bits: number): bigint => {
  let x = 0n;
  for (let i = 0; i < bits; i += 24) x = (x << 24n) | BigInt(Math.floor(Math.random() * 2 ** 24));
  return BigInt.asUintN(bits, x);
};

describe('PTX carry chains', () => {
  for (const limbs of byTier([1, 2, 3, 4, 9, 10], [1, 2, 3, 4, 5, 8, 9, 10, 11, 16, 24])) {
    test(`multiply and square ${limbs} limbs, simulated`, () => {
      for (const spare of [0, 1, 3, 4, 7]) {
        const bits = 32 * limbs - spare;
        const r = 1n << BigInt(32 * limbs);
        const largest = (1n << BigInt(bits)) - 1n;
        for (const n of [
          largest,
          largest - 2n,
          (1n << BigInt(bits - 1)) + 1n,
          random(bits) | 1n,
          random(bits) | 1n,
          random(bits) | 1n,
        ]) {
          const loose = spare >= 4;
          const maxFactor = loose ? 4n * n - 1n : n - 1n;
          const below = () => random(32 * limbs) % (maxFactor + 1n);
          for (const [a, b] of [
            [maxFactor, maxFactor],
            [0n, maxFactor],
            [1n, 1n],
            ...Array.from({ length: 6 }, () => [below(), below()] as const),
          ] as const) {
            for (const kind of ['multiply', 'square'] as const) {
              const result = run(kind, limbs, spare, a, b, n);
              const product = kind === 'square' ? a * a : a * b;
              expect((result * r) % n).toBe(product % n);
              expect(result < (loose ? 2n * n : n)).toBe(true);
            }
          }
        }
      }
    });
  }

  for (const limbs of byTier([2, 3, 10], [2, 3, 4, 5, 8, 9, 10, 11, 16, 24])) {
    test(`square and reduce ${limbs} limbs below R, simulated`, () => {
      for (const spare of [0, 1, 2, 7]) {
        const bits = 32 * limbs - spare;
        const r = 1n << BigInt(32 * limbs);
        const largest = (1n << BigInt(bits)) - 1n;
        const bound = spare < 2 ? r : r / 2n;
        for (const n of [largest, (1n << BigInt(bits - 1)) + 1n, 3n, random(bits) | 1n, random(bits) | 1n]) {
          const all = [bound - 1n, 0n, 1n, ...Array.from({ length: 6 }, () => random(32 * limbs) % bound)];
          for (const a of all) {
            const squared = run('loose', limbs, spare, a, 0n, n);
            expect((squared * r) % n).toBe((a * a) % n);
            expect(squared < bound).toBe(true);
            const longer = a << BigInt(Math.floor(Math.random() * 32));
            const folded = run('fold', limbs, spare, longer, 0n, n);
            expect((folded << 32n) % n).toBe(longer % n);
            expect(folded < bound).toBe(true);
            const left = run('leave', limbs, spare, a, 0n, n);
            expect((left * r) % n).toBe(a % n);
            expect(left <= n).toBe(true);
          }
        }
      }
    });
  }

  test('compile without spills, by nvcc for sm_90', { timeout: 120_000 }, (ctx) => {
    if (spawnSync('nvcc', ['--version']).status !== 0) return ctx.skip('nvcc is not installed');
    const folder = mkdtempSync(join(tmpdir(), 'millrace-ptx-'));
    try {
      const file = join(folder, 'kernel.cu');
      writeFileSync(file, squareLoop(10, 0) + squareLoop(10, 19) + squareLoop(9, 7));
      const flags = ['-arch=sm_90', '-Xptxas', '-v', '-cubin', '-o', join(folder, 'kernel.cubin'), file];
      const { status, stderr } = spawnSync('nvcc', flags, { encoding: 'utf8' });
      expect(status, stderr).toBe(0);
      expect(stderr.match(/0 bytes spill stores, 0 bytes spill loads/g)).toHaveLength(3);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** A kernel that squares in a loop, as a Fermat test does. */
function squareLoop(limbs: number, spare: number): string {
  const names = (prefix: string) => Array.from({ length: limbs }, (_, j) => `${prefix}${j}`);
  const [x, n, y] = [names('x'), names('n'), names('y')];
  const text = ptxText('square', { limbs, spare }).text({ lanes: 1, args: [...x, ...n, 'k'], results: y });
  return `extern "C" __global__ void square_${limbs}_${spare}(unsigned *p, unsigned k) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned ${x.map((name, j) => `${name} = p[t + ${j}]`).join(', ')}, ${n.map((name, j) => `${name} = p[t + ${limbs + j}]`).join(', ')};
  #pragma unroll 1
  for (int i = 0; i < 300; i++) {
    unsigned ${y.join(', ')};
    ${text}
    ${x.map((name, j) => `${name} = ${y[j]};`).join(' ')}
  }
  ${x.map((name, j) => `p[t + ${j}] = ${name};`).join(' ')}
}
`;
}
