import { describe, expect, it } from 'vitest';
import { kernelText } from '../abi/lower.js';
import { MillraceError } from '../error.js';
import { interpret } from '../ir/interpret.js';
import { floatingProgram } from '../passes/floating.js';
import { boundArrays } from '../passes/shape/bound-arrays.js';
import { placeNodes } from '../passes/shape/place-nodes.js';
import { array, type ItemArray } from './array.js';
import { rw } from './buffers.js';
import { cell, loop, when } from './control.js';
import type { Expr, ExprLike } from './expr.js';
import { items } from './items.js';
import type { Kernel } from './signature.js';
import { tiles } from './tiles.js';
import { bool, u32, u64 } from './types.js';

/** The error that tracing or running throws. */
function failure(act: () => unknown): MillraceError {
  try {
    act();
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
const refused = (body: Parameters<typeof items>[2]): string => failure(() => items('faulty', {}, body).trace()).message;

/** Runs a kernel's trace and the output of the passes; both must leave the same words. */
function words(kernel: Kernel, count: number, perItem: number, job: Record<string, readonly number[]> = {}): number[] {
  const runs = [kernel.trace(), placeNodes(boundArrays(floatingProgram(kernel.trace())))].map((program) => {
    const out = new Uint32Array(count * perItem);
    interpret(program, { job, count, buffers: { out: new Uint8Array(out.buffer) } });
    return [...out];
  });
  expect(runs[1]).toEqual(runs[0]);
  return runs[0] as number[];
}

const BYTES = 16;
/** Bytes of RC4's key stream. */
const rc4 = (keyLength: number): Kernel =>
  items('rc4', { job: { key: [u32, keyLength] }, buffers: { out: rw(u32) } }, ({ job, buffers }) => {
    const key = array(u32, job.key as readonly Expr<'u32'>[]);
    const s = array(u32, 256);
    loop(256, (i) => s.set(i, i));
    const j = cell(u32, 0);
    const swap = (i: ExprLike<'u32'>, k: Expr<'u32'>): Expr<'u32'> => {
      const [x, y] = [s.at(i), s.at(k)];
      s.set(i, y);
      s.set(k, x);
      return x.add(y).and(255);
    };
    loop(256, (i) => {
      j.set(
        j
          .add(s.at(i))
          .add(key.at(i.rem(keyLength)))
          .and(255),
      );
      swap(i, j.get());
    });
    j.set(0);
    loop(BYTES, (n) => {
      const i = n.add(1).and(255);
      j.set(j.add(s.at(i)).and(255));
      buffers.out.set(n, s.at(swap(i, j.get())));
    });
  });

describe('an array', () => {
  // RFC 6229, offset 0 of keys of 40, 56 and 128 bits.
  it.each([
    ['0102030405', 'b2396305f03dc027ccc3524a0a1118a8'],
    ['01020304050607', '293f02d47f37c9b633f2af5285feb46b'],
    ['0102030405060708090a0b0c0d0e0f10', '9ac7cc9a609d1ef7b2932899cde41b97'],
  ])('holds the state of RC4: the key %s', (key, stream) => {
    const bytes = [...Buffer.from(key, 'hex')];
    expect(Buffer.from(words(rc4(bytes.length), 1, BYTES, { key: bytes })).toString('hex')).toBe(stream);
  });

  it('has no memory if its indices are constant', () => {
    const kernel = items('registers', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const a = array(u32, 16);
      for (let k = 0; k < 16; k++) a.set(k, item.add(k));
      when(item.and(1).eq(1), () => a.set(3, a.at(15)));
      buffers.out.set(item, a.at(3).add(a.at(lastIndex(a))));
    });
    const lastIndex = (a: ItemArray<'u32'>) => a.length - 1;
    expect(words(kernel, 4, 1)).toEqual([18, 32, 22, 36]);
    for (const target of ['c', 'wat', 'cuda', 'opencl', 'wgsl'] as const)
      expect(kernelText(kernel, { target, lanes: 4 })).not.toContain('array0');
  });

  it('is local memory otherwise, and no index leaves it', () => {
    const kernel = items('memory', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const a = array(u32, 10);
      loop(10, (i) => a.set(i, i));
      a.set(item, 7);
      buffers.out.set(item, a.at(item.and(7)));
    });
    const texts = (target: 'c' | 'cuda' | 'wgsl') => kernelText(kernel, { target, lanes: 1 });
    expect(texts('c')).toContain('u32 array0[10] = {0};');
    expect(texts('wgsl')).toContain('var array0 = array<u32, 10>();');
    // The loop's index and three bits are inside; the item may not be.
    expect(texts('cuda').match(/array0\[.*?\]/g)).toEqual([
      'array0[10]',
      'array0[v0]',
      'array0[((item < 10u) ? item : 9u)]',
      'array0[(item & 7u)]',
    ]);
  });

  it('of bools and of u64 starts at false and 0', () => {
    const kernel = items('zeros', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const flags = array(bool, 3);
      const wide = array(u64, 3);
      flags.set(item.rem(3), item.gt(1));
      wide.set(item.rem(3), 2n ** 40n);
      buffers.out.set(item.mul(2), flags.at(2).to(u32).add(flags.at(0).to(u32)));
      buffers.out.set(item.mul(2).add(1), wide.at(1).hi);
    });
    expect(words(kernel, 4, 2)).toEqual([0, 0, 0, 256, 1, 0, 1, 0]);
  });

  it('belongs to its block', () => {
    expect(
      refused(({ item }) => {
        let leaked: ItemArray<'u32'> | undefined;
        when(item.eq(3), () => {
          leaked = array(u32, 2);
        });
        leaked?.at(0);
      }),
    ).toContain('an array is used outside the when that made it');
    const inRegion = tiles('region', {}, ({ each }) => {
      const outside = array(u32, 2);
      each(4, (i) => outside.set(0, i));
    });
    expect(failure(() => inRegion.trace()).message).toContain('an array from outside is set in each()');
  });

  it('refuses sizes and indices that cannot be', () => {
    expect(refused(() => void array(u32, 0))).toContain('an array of 0 elements');
    expect(refused(() => void array(u32, []))).toContain('an array of 0 elements');
    expect(refused(() => void array(u32, 2.5))).toContain('an array of 2.5 elements');
    expect(refused(() => array(u32, 3).set(3, 1))).toContain('index 3 is outside an array of 3 elements');
    expect(refused(() => void [array(u64, 1024), array(u32, 1)])).toContain('have 8196 bytes, the limit is 8192');
  });

  it('is checked by the interpreter', () => {
    const kernel = items('outside', { buffers: { out: rw(u32) } }, ({ item, buffers }) =>
      buffers.out.set(item, array(u32, [1, 2, 3]).at(item)),
    );
    const error = failure(() => words(kernel, 4, 1));
    expect(error.code).toBe('kernel-bounds');
    expect(error.message).toContain('index 3 is outside an array of 3 elements');
  });
});
