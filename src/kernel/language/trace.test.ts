import { describe, expect, it } from 'vitest';
import { MillraceError } from '../error.js';
import { sha256 } from '../std/hash/sha256.js';
import { atomic, rw } from './buffers.js';
import { breakWhen, type Cell, cell, loop, returnItem, table, when, whileTrue } from './control.js';
import { type Expr, lit } from './expr.js';
import { items } from './items.js';
import { select, wmad } from './operations.js';
import { tiles } from './tiles.js';
import { f32, u32, u64 } from './types.js';

/** The error that tracing a kernel throws. */
function failure(body: Parameters<typeof items>[2], signature: Parameters<typeof items>[1] = {}): MillraceError {
  try {
    items('faulty', signature, body).trace();
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error('tracing succeeded');
}

/** The line of this file that holds `marker`, as errors name it. */
function lineOf(text: string, marker: string): number {
  return text.split('\n').findIndex((line) => line.includes(marker) && !line.includes('lineOf')) + 1;
}

const thisFile = async () => (await import('node:fs')).readFileSync(new URL(import.meta.url), 'utf8');

describe('checks while tracing', () => {
  it('name the kernel, the helpers and the line of a value used outside its block', async () => {
    const outerHelper = (leaked: Expr<'u32'>) => innerHelper(leaked);
    const innerHelper = (leaked: Expr<'u32'>) => leaked.add(1); // MARK leaked use
    const error = failure(({ item }) => {
      let leaked = item;
      when(item.eq(3), () => {
        leaked = item.mul(7);
      });
      outerHelper(leaked);
    });
    expect(error.code).toBe('kernel-scope');
    expect(error.message).toContain('kernel faulty: the value made at');
    expect(error.message).toContain('is used outside the when that made it');
    expect(error.asked).toMatch(/^faulty > outerHelper > innerHelper at /);
    expect(error.asked).toContain(`trace.test.ts:${lineOf(await thisFile(), 'MARK leaked use')}:`);
    expect(error.advice).toContain('cell');
  });

  it('reject a loop index after its loop', () => {
    const error = failure(() => {
      let last: Expr<'u32'> | undefined;
      loop(4, (i) => {
        last = i;
      });
      last?.add(1);
    });
    expect(error.message).toContain('outside the loop that made it');
  });

  it('reject a cell after its block, even to set it', () => {
    const error = failure(({ item }) => {
      let inner: Cell<'u32'> | undefined;
      when(item.eq(0), () => {
        inner = cell(u32, 1);
      });
      inner?.set(2);
    });
    expect(error.code).toBe('kernel-scope');
    expect(error.message).toContain('a cell is used outside the when');
  });

  it('reject values of another kernel', () => {
    let stolen: Expr<'u32'> | undefined;
    items('first', {}, ({ item }) => {
      stolen = item;
    }).trace();
    const error = failure(({ item }) => {
      item.add(stolen as Expr<'u32'>);
    });
    expect(error.code).toBe('kernel-scope');
    expect(error.message).toContain('another kernel');
  });

  it('reject wrong types hidden from TypeScript by a cast', () => {
    const error = failure(({ item }) => {
      item.add(lit(f32, 1) as unknown as Expr<'u32'>);
    });
    expect(error.code).toBe('kernel-type');
    expect(error.message).toContain('expected u32, got f32');
    expect(error.asked).toContain('trace.test.ts:');
  });

  it('name the std helper that was given a wrong type', () => {
    const error = failure(({ item }) => {
      sha256.compress([...Array(7).fill(item), lit(u64, 1) as unknown as Expr<'u32'>], Array(16).fill(item));
    });
    expect(error.code).toBe('kernel-type');
    expect(error.asked).toContain('compress');
    expect(error.asked).toContain('trace.test.ts:');
  });

  it('reject literals that a type cannot hold', () => {
    expect(failure(({ item }) => void item.add(2 ** 32)).message).toContain('does not fit 32 bits');
    expect(failure(({ item }) => void item.add(0.5)).message).toContain('not an integer');
    expect(failure(({ item }) => void item.to(u64).add(2 ** 60)).message).toContain('write a bigint');
  });

  it('reject misplaced control flow', () => {
    expect(failure(({ item }) => breakWhen(item.eq(1))).code).toBe('kernel-control');
    expect(
      failure(({ item }) => {
        const branch = when(item.eq(1), () => {});
        cell(u32, 1);
        branch.otherwise(() => {});
      }).message,
    ).toContain('otherwise() does not follow');
    expect(() => lit(u32, 1)).toThrow(/only while a kernel is being traced/);
  });

  it('reject tables of varying values, empty tables, and emit without a hit', () => {
    expect(failure(({ item }) => void table(u32, [item])).message).toContain('constants and job values only');
    expect(failure(() => void table(u32, [])).message).toContain('at least one value');
    expect(failure(({ emit }) => emit({})).message).toContain('without hits');
  });

  it('reject operations that a type does not have', () => {
    const asU32 = (value: Expr<'f32'>) => value as unknown as Expr<'u32'>;
    expect(failure(() => void asU32(lit(f32, 1)).rotl(3)).message).toContain('rotl is not defined for f32');
    expect(failure(() => void wmad(asU32(lit(f32, 1)), 1, 1, 1)).message).toContain('wmadHi is not defined for f32');
    expect(failure(({ item }) => void select(item.eq(0), 1 as never, 2 as never)).message).toContain('two literals');
  });

  it('reject invalid names and signatures', () => {
    expect(() => items('9lives', {}, () => {})).toThrow(/is not a valid kernel name/);
    // Names are copied into generated code, the kernel's into a comment.
    for (const name of ['a*/ evil', 'a\n#include "x"', 'a\n', 'a\\', 'a"b', 'ä', 'a_b', ''])
      for (const kernel of [
        () => items(name, {}, () => {}),
        () => items('k', { job: { [name]: u32 } }, () => {}),
        () => items('k', { chunk: { [name]: u32 } }, () => {}),
        () => items('k', { hit: { [name]: u32 } }, () => {}),
        () => items('k', { buffers: { [name]: rw(u32) } }, () => {}),
      ])
        expect(kernel).toThrow(/is not a valid/);
    expect(() => items('k', { buffers: { ring: rw(u32) } }, () => {})).toThrow(/cannot be called ring/);
    expect(() => items('k', { hit: { index: u32 } }, () => {})).toThrow(/a hit cannot be called index/);
    expect(() => items('k', { job: { x: [u32, 0] } }, () => {})).toThrow(/length 0/);
    const misspelled = { hits: { x: u32 } };
    expect(() => items('k', misspelled as object, () => {})).toThrow('kernel k: unknown part "hits" of its signature');
    const emits = items('k', { hit: { constructor: u32 } }, ({ emit }) => emit({} as never));
    expect(() => emits.trace()).toThrow(/needs 1 value\(s\) for constructor/);
    expect(() => items('k', { buffers: { a: atomic() } }, () => {}).trace()).not.toThrow();
  });
});

describe('tracing', () => {
  it('gives the same program each time', () => {
    const kernel = items('twice', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const x = cell(u32, item);
      loop(3, (i) => x.set(x.mul(5).add(i)));
      buffers.out.set(item, x);
    });
    const shape = (program: ReturnType<typeof kernel.trace>) =>
      JSON.stringify(program, (key, value) => (key === 'origin' ? undefined : value));
    expect(shape(kernel.trace())).toBe(shape(kernel.trace()));
  });

  it('works for the next kernel after one has failed', () => {
    expect(failure(({ item }) => void item.add(0.5)).code).toBe('kernel-value');
    expect(() => items('fine', {}, ({ item }) => void item.add(1)).trace()).not.toThrow();
  });
});

describe('returnItem', () => {
  it('is refused in a tile and in the condition of a loop', () => {
    const tile = tiles('tile', {}, ({ each }) => each(3, (i) => void when(i.eq(1), () => returnItem())));
    expect(() => tile.trace()).toThrow(/returnItem\(\) is in a tile, whose threads must stay together/);
    const inCondition = failure(({ item }) =>
      whileTrue(
        () => {
          when(item.eq(1), () => returnItem());
          return item.eq(2);
        },
        () => undefined,
      ),
    );
    expect(inCondition.message).toContain('returnItem() is in the condition of a loop');
  });
});
