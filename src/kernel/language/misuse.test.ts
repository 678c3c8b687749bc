import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { MillraceError } from '../error.js';
import { print } from '../std/debug/print.js';
import { pow } from '../std/math/pow.js';
import { random } from '../std/number/random.js';
import { atomic, read } from './buffers.js';
import { cell, choose, loop, table, when, whileTrue } from './control.js';
import { type Expr, lit } from './expr.js';
import { type ItemContext, items } from './items.js';
import { max, min, select } from './operations.js';
import { std } from './std-function.js';
import { tiles } from './tiles.js';
import { bool, f32, u32 } from './types.js';

const signature = { job: { n: u32, flag: bool }, buffers: { x: read(f32), count: atomic() }, hit: { n: u32 } } as const;
type Context = ItemContext<typeof signature.job, Record<never, never>, typeof signature.buffers, typeof signature.hit>;
const mistaken = (body: (context: Context) => void) => items('mistaken', signature, body);

/** The error that tracing a body throws. */
function failure(body: (context: Context) => unknown): MillraceError {
  try {
    mistaken((context) => void body(context)).trace();
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error('tracing succeeded');
}

/** `file:line` of the only line of this file that holds a text. */
function lineOf(text: string): string {
  const { pathname } = new URL(import.meta.url);
  const lines = readFileSync(pathname, 'utf8').split('\n');
  const found = lines.flatMap((line, at) => (line.includes(text) && !line.includes('lineOf') ? at + 1 : []));
  expect(found, text).toHaveLength(1);
  return `${pathname}:${found[0]}`;
}

/** An error's text, with positions reduced to lines. */
const textOf = ({ message }: MillraceError) => message.replaceAll(/(:\d+):\d+/g, '$1');

const ONLY_WHILE_IT_RUNS = 'which has a value only while the kernel runs';
const conversion = (does: string, what: string, at: string, advice: string): string =>
  [
    `kernel mistaken: ${does} ${what}, ${ONLY_WHILE_IT_RUNS}`,
    `  asked:  mistaken at ${at}`,
    `  advice: ${advice}`,
  ].join('\n');
const NUMBER =
  'write lt(), le(), gt(), ge() for < and >, sub(), mul(), and() for - * &; decide with when() or select()';
const DEFAULT = 'write add() for + and eq() for ==';
const STRING = 'leave it out of texts and keys; to look up a value by it, write table(type, values).at(index)';
const JSON_ADVICE = 'leave it out; results leave a kernel through buffers and emit()';

// The mistakes are written as JavaScript: TypeScript refuses some of them.
const asNumber = (value: unknown) => value as number;

describe('JavaScript cannot use a value of the kernel', () => {
  test('as a number', () => {
    const less = failure(({ item, job }) => asNumber(item) < asNumber(job.n)); // compared
    expect(less.code).toBe('kernel-type');
    expect(textOf(less)).toBe(conversion('JavaScript calculates with', 'a u32', lineOf('// compared'), NUMBER));
    const product = failure(({ buffers }) => asNumber(buffers.x.at(0)) * 2); // multiplied
    expect(textOf(product)).toBe(conversion('JavaScript calculates with', 'an f32', lineOf('// multiplied'), NUMBER));
    for (const wrong of [
      ({ item }: Context) => -asNumber(item),
      ({ item }: Context) => asNumber(item) >>> 0,
      ({ item }: Context) => Math.max(asNumber(item), 3),
      ({ item }: Context) => Number(item),
      ({ item }: Context) => item.valueOf(),
      ({ index }: Context) => BigInt.asUintN(32, index as never),
    ])
      expect(failure(wrong).message).toContain('JavaScript calculates with a u');
  });

  test('in a sum or an equation', () => {
    const sum = failure(({ item }) => asNumber(item) + 1); // added
    expect(textOf(sum)).toBe(conversion('JavaScript adds or compares', 'a u32', lineOf('// added'), DEFAULT));
    // biome-ignore lint/suspicious/noDoubleEquals: the mistake
    const equal = failure(({ job }) => asNumber(job.n) == 3); // equated
    expect(textOf(equal)).toBe(conversion('JavaScript adds or compares', 'a u32', lineOf('// equated'), DEFAULT));
  });

  test('as text or key', () => {
    const text = failure(({ item }) => `item ${item}`); // in a template
    expect(textOf(text)).toBe(conversion('JavaScript makes text of', 'a u32', lineOf('// in a template'), STRING));
    const key = failure(({ item }) => [1, 2, 3][asNumber(item)]); // as a key
    expect(textOf(key)).toBe(conversion('JavaScript makes text of', 'a u32', lineOf('// as a key'), STRING));
    expect(failure(({ item }) => item.toString()).message).toContain('JavaScript makes text of a u32');
    expect(failure(({ item }) => String(item)).message).toContain('JavaScript makes text of a u32');
  });

  test('in JSON', () => {
    const json = failure(({ item }) => JSON.stringify({ item })); // as JSON
    expect(textOf(json)).toBe(conversion('JSON.stringify() writes', 'a u32', lineOf('// as JSON'), JSON_ADVICE));
  });

  test('nor a cell, a table, a buffer or an array', () => {
    expect(failure(() => asNumber(cell(u32, 0)) + 1).message).toContain('adds or compares a cell of u32,');
    expect(failure(() => `${table(u32, [1])}`).message).toContain('makes text of a table of u32,');
    expect(failure(({ buffers }) => asNumber(buffers.x) + 1).message).toContain('adds or compares the buffer x,');
    expect(failure(({ buffers }) => `${buffers.count}`).message).toContain('makes text of the buffer count,');
    const near = tiles('near', {}, (tile) => void `${tile.near(f32, 4)}`);
    expect(() => near.trace()).toThrow('makes text of a near array of f32,');
  });

  test('after tracing', () => {
    const kept: Expr<'u32'>[] = [];
    items('leaky', {}, ({ item }) => void kept.push(item)).trace();
    const text = () => `${kept[0]}`; // too late
    expect(text).toThrow(`JavaScript makes text of a u32, ${ONLY_WHILE_IT_RUNS}`);
    expect(text).toThrow(lineOf('// too late'));
  });

  test('but Node and vitest print it', () => {
    items('printed', signature, ({ item, buffers }) => {
      const [variable, values] = [cell(f32, 1), table(u32, [1, 2])];
      expect(inspect({ item, variable, values, x: buffers.x }, { breakLength: Infinity })).toBe(
        '{ item: [a u32], variable: [a cell of f32], values: [a table of u32], x: [the buffer x] }',
      );
      expect(() => expect(item).toBe(3)).toThrow(/^expected .* to be 3/);
      expect(() => expect({ item }).toEqual({ item: 3 })).toThrow(/^expected .* to deeply equal /);
      expect(item).toEqual(item);
    }).trace();
  });
});

/** TypeScript refuses these; JavaScript does not. */
describe('in JavaScript', () => {
  type Loose = (...values: unknown[]) => unknown;
  const summary = (body: (context: Context) => unknown) => failure(body).summary;
  const untyped = 'kernel mistaken: the first argument is a literal, which has no type';

  test('an operation without a value of the kernel has no type', () => {
    expect(summary(({ item }) => (min as Loose)(5, item))).toBe(untyped);
    expect(summary(() => (max as Loose)(5, 6))).toBe(untyped);
    expect(summary(({ item }) => (pow as Loose)(2, item.to(f32)))).toBe(untyped);
  });

  test('print() shows no value that is known while tracing; a literal is a random word', () => {
    expect(summary(() => (print as Loose)('x', 3))).toBe(
      'kernel mistaken: print() of a value that is known while tracing',
    );
    expect(() => mistaken(() => (random.uniform as Loose)(f32, 5)).trace()).not.toThrow();
  });

  test('tables and near arrays have numbers, atomic updates u32 and u64', () => {
    expect(summary(() => (table as Loose)(bool, [true, false]))).toBe('kernel mistaken: a table of bool');
    const near = (body: (context: { near: Loose }) => unknown) => () =>
      tiles('mistaken', {}, (context) => void body(context as unknown as { near: Loose })).trace();
    expect(near((context) => context.near(bool, 8))).toThrow('kernel mistaken: a near array of bool');
    expect(near((context) => (context.near(f32, 3) as { add: Loose }).add(0, 1))).toThrow(
      'kernel mistaken: add() of a near array of f32',
    );
  });

  test('choose() needs a case', () => {
    expect(summary(({ item }) => choose(item, []))).toBe('kernel mistaken: choose() has no cases');
  });

  test('a signature has the types that its parts can have', () => {
    const of = (signature: object) => () => items('mistaken', signature, () => undefined).trace();
    expect(of({ buffers: { x: (read as Loose)(bool) } })).toThrow('buffer x has read elements of bool');
    expect(of({ buffers: { x: (atomic as Loose)('i32') } })).toThrow('buffer x has atomic elements of i32');
    expect(of({ buffers: { x: 'u32' } })).toThrow('buffer x is "u32"');
    expect(of({ job: { n: 'u8' } })).toThrow('field n has the type u8');
    expect(of({ job: { n: undefined } })).toThrow('field n has the type undefined');
  });
});

describe('a bool that nothing uses', () => {
  const unused = (at: string, chain = 'mistaken') =>
    [
      `kernel mistaken: the bool made at ${at} is never used: \`when\`, not \`if\`?`,
      `  asked:  ${chain} at ${at}`,
      '  advice: write when() for if, select() for ?:, not(), and(), or() for ! && ||; leave it out if nothing needs it',
    ].join('\n');

  test('is the mistake of if, ?:, ! and &&', () => {
    const branch = failure(({ item, emit }) => {
      if (item.eq(0)) emit({ n: 1 }); // in if
    });
    expect(branch.code).toBe('kernel-control');
    expect(textOf(branch)).toBe(unused(lineOf('// in if')));
    const choice = failure(({ item }) => (item.eq(0) ? 1 : 2)); // in ?:
    expect(textOf(choice)).toBe(unused(lineOf('// in ?:')));
    const negation = failure(({ item }) => !item.lt(5)); // in !
    expect(textOf(negation)).toBe(unused(lineOf('// in !')));
    const both = failure(({ item, emit }) => {
      const first = item.ne(3); // in &&
      when(first && item.ne(4), () => emit({ n: 1 }));
    });
    expect(textOf(both)).toBe(unused(lineOf('// in &&')));
    const read = failure(() => (cell(bool, true).get() ? 1 : 2)); // of a cell
    expect(textOf(read)).toBe(unused(lineOf('// of a cell')));
  });

  test('is found in blocks and helpers, the first one first', () => {
    const isLarge = (x: Expr<'u32'>) => x.gt(1000); // in a helper
    const inHelper = failure(({ item }) => {
      loop(3, (i) => {
        if (isLarge(item.add(i))) return;
      });
      if (item.eq(0)) return;
    });
    expect(textOf(inHelper)).toBe(unused(lineOf('// in a helper'), 'mistaken > isLarge'));
    const beforeLaunch = failure(({ job }) => when(job.flag, () => void job.n.eq(0))); // of the job
    expect(textOf(beforeLaunch)).toBe(unused(lineOf('// of the job')));
  });

  test('is one that no statement reads, directly or in another value', () => {
    const used = mistaken(({ item, job, buffers }) => {
      const isFirst = item.eq(0);
      const kept = cell(bool, item.eq(1));
      kept.set(item.eq(2));
      when(isFirst.and(job.flag), () => {});
      whileTrue(
        () => kept.and(item.lt(3)),
        () => kept.set(item.eq(4)),
      );
      buffers.count.add(0, select(item.gt(5), 1, item).add(item.eq(6).to(u32)));
    });
    expect(() => used.trace()).not.toThrow();
  });

  test('may be left by a std function', () => {
    const withCarry = std({
      name: 'withCarry',
      results: () => [u32, bool],
      generic: (a, b) => {
        const sum = (a as Expr<'u32'>).add(b as Expr<'u32'>);
        return [sum, sum.lt(a as Expr<'u32'>)];
      },
    });
    const kernel = mistaken(({ item, buffers }) => {
      const [sum] = withCarry(item, lit(u32, 7)) as [Expr<'u32'>];
      buffers.count.add(0, sum);
    });
    expect(() => kernel.trace()).not.toThrow();
  });
});
