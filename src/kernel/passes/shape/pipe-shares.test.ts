import { describe, expect, it } from 'vitest';
import { lowerGpu } from '../../abi/lower-gpu.js';
import { read, rw } from '../../language/buffers.js';
import type { Expr } from '../../language/expr.js';
import { items } from '../../language/items.js';
import type { Kernel } from '../../language/signature.js';
import { u32 } from '../../language/types.js';
import { sha256 } from '../../std/hash/sha256.js';
import { floatingProgram } from '../floating.js';
import { estimatePipeShares } from './pipe-shares.js';

const sharesOf = (kernel: Kernel) => estimatePipeShares(floatingProgram(kernel.trace()));

/** A kernel that combines two words, repeatedly. */
const rounds = (body: (a: Expr<'u32'>, b: Expr<'u32'>) => Expr<'u32'>): Kernel =>
  items('rounds', { buffers: { x: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
    let [a, b] = [buffers.x.at(item), buffers.x.at(item.add(1))];
    for (let i = 0; i < 50; i++) [a, b] = [b, body(a, b)];
    buffers.out.set(item, b);
  });

const hash = items('hash', { buffers: { x: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
  const digest = sha256.hash(Array.from({ length: 8 }, (_, i) => buffers.x.at(item.mul(8).add(i))));
  buffers.out.set(item, digest[0]);
});

describe('shares for the multiply-add pipe', () => {
  it('are 1 if rotations and logic fill the other pipe', () => {
    expect(sharesOf(hash)).toEqual({ additions: 1, turns: true });
  });

  it('are 0 if products already fill it', () => {
    expect(sharesOf(rounds((a, b) => a.mul(b).add(a)))).toMatchObject({ additions: 0 });
  });

  it('are partial if moving all additions would be too much', () => {
    // In a round, xor, rotation and two additions cost 2.5 on one pipe, and the product 1 on the other. Each addition
    // that moves reduces the difference of 1.5 by 1.5.
    const { additions } = sharesOf(rounds((a, b) => a.mul(b).xor(a.rotr(7)).add(a).add(b)));
    expect(additions).toBeCloseTo(0.5, 1);
  });

  it('are applied to the generated text', () => {
    const text = (pipes: 0 | 'nvidia') => lowerGpu(hash, { target: 'cuda', pipes }).text;
    expect(text(0)).not.toMatch(/p_one/);
    expect(text('nvidia')).toMatch(/= p_one \* p_one;/);
  });
});
