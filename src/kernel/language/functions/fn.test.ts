import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { kernelText } from '../../abi/lower.js';
import { lowerGpu } from '../../abi/lower-gpu.js';
import { MillraceError } from '../../error.js';
import { interpret } from '../../ir/interpret.js';
import { functionsOf } from '../../ir/program.js';
import { floatingProgram } from '../../passes/floating.js';
import { canInlineAll, SMALL_FUNCTION } from '../../passes/shape/inline.js';
import { print } from '../../std/debug/print.js';
import { array } from '../array.js';
import { atomic, read, rw } from '../buffers.js';
import { breakWhen, cell, loop, returnItem, table, when } from '../control.js';
import { type Expr, lit } from '../expr.js';
import { type ItemContext, items } from '../items.js';
import type { Kernel } from '../signature.js';
import { tiles } from '../tiles.js';
import { f16, i64, u32, u64 } from '../types.js';
import { fn } from './fn.js';

const signature = {
  job: { n: u32 },
  chunk: { c: u32 },
  buffers: { x: read(u32), out: rw(u32), count: atomic() },
  hit: { n: u32 },
} as const;
type Context = ItemContext<
  typeof signature.job,
  typeof signature.chunk,
  typeof signature.buffers,
  typeof signature.hit
>;

/** The error that tracing a kernel with this body throws. */
function failure(body: (context: Context) => unknown, trace = () => items('faulty', signature, body as never).trace()) {
  try {
    trace();
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error('tracing succeeded');
}

/** `file:line` of the only line of this file that ends with a comment. */
function lineOf(comment: string): string {
  const { pathname } = new URL(import.meta.url);
  const lines = readFileSync(pathname, 'utf8').split('\n');
  const found = lines.flatMap((line, at) => (line.endsWith(`// ${comment}`) ? at + 1 : []));
  expect(found, comment).toHaveLength(1);
  return `${pathname}:${found[0]}`;
}

const textOf = ({ message }: MillraceError) => message.replaceAll(/(:\d+):\d+/g, '$1');

/** A body of more statements than are inlined. */
const large = (x: Expr<'u32'>): Expr<'u32'> => {
  let y = x;
  for (let k = 0; k < SMALL_FUNCTION; k++) y = y.mul(2654435761).add(k);
  return y;
};

describe('a function', () => {
  const half = fn('half', { x: u32, pair: [u64, 2] }, ({ x, pair }) => ({
    low: x.shr(1).add(pair[0].lo),
    parts: [pair[1], x.and(1).eq(1)],
  }));
  const kernel = items('halves', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
    const { low, parts } = half({ x: item, pair: [5n, item.to(u64)] });
    const sum = cell(u32, low);
    when(parts[1], () => sum.set(sum.add(half({ x: 7, pair: [parts[0], 1n] }).low)));
    buffers.out.set(item, sum);
  });

  test('returns records and lists of values', () => {
    const out = new Uint32Array(4);
    interpret(kernel.trace(), { job: {}, count: 4, buffers: { out: new Uint8Array(out.buffer) } });
    expect([...out]).toEqual([5, 5 + 3 + 1, 6, 6 + 3 + 3]);
  });

  test('takes and gives i64 and f16', () => {
    const step = fn('step', { x: i64, h: f16 }, ({ x, h }) => [x.sub(3n), x.lt(2n), h.add(0.0001)]);
    const kernel = items('lowered', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const [x, isLess, h] = step({ x: item.to(i64), h: 1 });
      const again = step({ x, h })[1];
      const isOne = h.eq(1); // 1.0001 is not an f16
      buffers.out.set(
        item,
        x.shr(63).to(u32).and(8).add(isLess.to(u32)).add(again.to(u32).mul(2)).add(isOne.to(u32).mul(4)),
      );
    });
    const out = new Uint32Array(4);
    interpret(kernel.trace(), { job: {}, count: 4, buffers: { out: new Uint8Array(out.buffer) } });
    expect([...out]).toEqual([8 + 4 + 2 + 1, 8 + 4 + 2 + 1, 8 + 4 + 2, 4 + 2]);
  });

  test('is traced once', () => {
    let traced = 0;
    const counted = fn('counted', { x: u32 }, ({ x }) => {
      traced++;
      return x.add(1);
    });
    const calls = items('calls', signature, ({ item, buffers }) => {
      const again = fn('counted', { x: u32 }, ({ x }) => x.add(2)); // another one of the same name
      buffers.out.set(item, counted({ x: counted({ x: again({ x: counted({ x: item }) }) }) }));
    });
    const { body } = calls.trace();
    expect(traced).toBe(1);
    expect(functionsOf({ body }).map(({ callee }) => [callee.id, callee.name])).toEqual([
      [0, 'counted'],
      [1, 'counted'],
    ]);
  });

  test('is seen by an observer of the interpreter, line by line and call by call', () => {
    const add = fn('add', { x: u32, y: u32 }, ({ x, y }) => x.add(y)); // observed sum
    const observed = items('observed', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      buffers.out.set(item, add({ x: add({ x: item, y: 5 }), y: 7 }));
    });
    const program = observed.trace();
    const seen: string[] = [];
    interpret(program, {
      job: {},
      count: 1,
      buffers: { out: new Uint8Array(4) },
      observer: {
        after: (statement, read) => {
          const at = statement.origin.line.replace(/:\d+$/, '');
          if (at === lineOf('observed sum'))
            seen.push(statement.kind === 'let' ? String(read(statement.node)) : statement.kind);
          if (statement.kind === 'invoke') seen.push(`gives ${statement.results.map(read).join()}`);
        },
      },
    });
    expect(seen).toEqual(['5', 'gives 5', '12', 'gives 12']);
  });

  test('takes cells and literals, and gives the value of a cell', () => {
    const next = fn('next', { x: u32 }, ({ x }) => {
      const y = cell(u32, x);
      y.set(y.add(1));
      return y;
    });
    const counting = items('counting', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const x = cell(u32, next({ x: 41 }));
      const y = next({ x });
      x.set(9);
      buffers.out.set(item, y.add(next({ x })));
    });
    const out = new Uint32Array(1);
    interpret(counting.trace(), { job: {}, count: 1, buffers: { out: new Uint8Array(out.buffer) } });
    expect(out[0]).toBe(43 + 10);
  });
});

describe('what is inlined', () => {
  const using = (body: (x: Expr<'u32'>) => Expr<'u32'>, calls: number): Kernel => {
    const made = fn('made', { x: u32 }, ({ x }) => body(x));
    return items('uses', { job: { n: u32 }, buffers: { out: rw(u32) } }, ({ item, job, buffers }) => {
      for (let k = 0; k < calls; k++) buffers.out.set(item.add(k), made({ x: item.add(k) }));
      buffers.out.set(0, made({ x: job.n }));
    }) as unknown as Kernel;
  };
  const kept = (kernel: Kernel, all = false) => functionsOf(floatingProgram(kernel.trace(), true, !all)).length;
  const withArray = (x: Expr<'u32'>) => {
    const a = array(u32, 4);
    a.set(x.and(3), x);
    return a.at(x.shr(2).and(3));
  };

  test('small functions, unless they have arrays, and functions with one call', () => {
    expect(kept(using((x) => x.add(1), 3))).toBe(0);
    expect(kept(using(large, 3))).toBe(1);
    expect(kept(using(withArray, 3))).toBe(1);
    expect(kept(using(large, 0))).toBe(0);
    expect(kept(using(large, 3), true)).toBe(0);
  });

  test('calls whose arguments the host knows, if it can compute the function', () => {
    const { host } = floatingProgram(using(large, 3).trace(), true, true);
    expect(host.length).toBeGreaterThan(SMALL_FUNCTION);
    expect(floatingProgram(using((x) => large(withArray(x)), 3).trace(), true, true).host.length).toBeLessThan(5);
  });

  test('in a tile, functions with look-ups', () => {
    const look = fn('look', { x: u32 }, ({ x }) => large(table(u32, [1, 2, 3]).at(x.rem(3))));
    const tile = tiles('looks', { buffers: { out: rw(u32) } }, ({ tile: at, once, buffers }) =>
      once(() => buffers.out.set(at, look({ x: at }).add(look({ x: at.add(1) })))),
    ) as unknown as Kernel;
    expect(kept(tile)).toBe(0);
  });

  test('everything in a gang, unless the kernel would be too large: then it has one lane', () => {
    const cpu = { arch: 'arm', features: new Set<string>() } as const;
    const headOf = (kernel: Kernel) => kernelText(kernel, { target: 'c', cpu, lanes: 4 }).split('\n')[0];
    expect(headOf(using(large, 3))).toBe('/* kernel uses, 4 lanes */');
    const many = using((x) => large(large(large(large(large(x))))), 80);
    expect(canInlineAll(many.trace())).toBe(false);
    expect(headOf(many)).toBe('/* kernel uses, 1 lane */');
    const arrays = using((x) => withArray(array(u32, 500).at(x.and(255))), 5);
    expect(headOf(arrays)).toBe('/* kernel uses, 1 lane */');
  });

  test('the limit of statements counts a function once', () => {
    const body = (x: Expr<'u32'>) => {
      let y = x;
      for (let k = 0; k < 700; k++) y = y.xor(y.shl(13)).add(k);
      return y;
    };
    const { statements } = lowerGpu(using(body, 8), { target: 'wgsl' });
    expect(statements).toBeGreaterThan(700);
    expect(statements).toBeLessThan(1000);
  });
});

describe('text', () => {
  const split = fn('split-2', { x: u64, y: u32 }, ({ x, y }) => [large(x.lo.add(y)), x.hi.lt(y)]);
  const kernel = items('parts', { buffers: { out: rw(u32) } }, ({ item, index, buffers }) => {
    const [a, b] = split({ x: index, y: item });
    const [c] = split({ x: 7n, y: a });
    buffers.out.set(item, c.add(b.to(u32)));
  }) as unknown as Kernel;
  const linesWith = (target: Parameters<typeof kernelText>[1]['target'], ...patterns: RegExp[]) =>
    kernelText(kernel, { target, lanes: 1 })
      .split('\n')
      .filter((line) => patterns.some((pattern) => pattern.test(line)))
      .map((line) => line.trim());

  test('of a function with two results', () => {
    expect(linesWith('c', /fn0/)).toMatchInlineSnapshot(`
      [
        "typedef struct { u32 r0; bool r1; } fn0_split_2_results;",
        "static fn0_split_2_results fn0_split_2(u64 v0, u32 v1) {",
        "{ fn0_split_2_results all; all.r0 = v14; all.r1 = (hi_u64(v0)) < v1; return all; }",
        "const fn0_split_2_results r15 = fn0_split_2(pack_u32((item + p_base_0), p_base_1), item);",
        "const fn0_split_2_results r17 = fn0_split_2(7ull, v15);",
      ]
    `);
    expect(linesWith('cuda', /fn0/)).toMatchInlineSnapshot(`
      [
        "typedef struct { u32 r0; bool r1; } fn0_split_2_results;",
        "static __device__ fn0_split_2_results fn0_split_2(u64 v0, u32 v1) {",
        "{ fn0_split_2_results all; all.r0 = v14; all.r1 = ((u32)(v0 >> 32)) < v1; return all; }",
        "const fn0_split_2_results r15 = fn0_split_2((u64)p_base_1 << 32 | (item + p_base_0), item);",
        "const fn0_split_2_results r17 = fn0_split_2(7ull, v15);",
      ]
    `);
    expect(linesWith('opencl', /fn0/)).toMatchInlineSnapshot(`
      [
        "typedef struct { u32 r0; bool r1; } fn0_split_2_results;",
        "static fn0_split_2_results fn0_split_2(u64 v0, u32 v1) {",
        "{ fn0_split_2_results all; all.r0 = v14; all.r1 = ((u32)(v0 >> 32)) < v1; return all; }",
        "const fn0_split_2_results r15 = fn0_split_2((u64)p_base_1 << 32 | (item + p_base_0), item);",
        "const fn0_split_2_results r17 = fn0_split_2(7ul, v15);",
      ]
    `);
    expect(linesWith('wgsl', /fn0/)).toMatchInlineSnapshot(`
      [
        "struct fn0_split_2_results { r0: u32, r1: bool }",
        "fn fn0_split_2(v0: u32, v1: u32, v2: u32) -> fn0_split_2_results {",
        "return fn0_split_2_results((((v14 * 0x9e3779b1u) + 30u) * 0x9e3779b1u) + 31u, v1 < v2);",
        "let r15 = fn0_split_2(item + p_base_0, p_base_1, item);",
        "let r17 = fn0_split_2(7u, 0u, v15);",
      ]
    `);
    expect(linesWith('wat', /fn0/, /^ *\(local\.set \$v\d+\)$/)).toMatchInlineSnapshot(`
      [
        "(func $fn0_split_2 (param $v0 i64) (param $v1 i32) (result i32 i32)",
        "(call $fn0_split_2 (i64.or (i64.shl (i64.extend_i32_u (local.get $p_base_1)) (i64.const 32)) (i64.extend_i32_u (i32.add (local.get $item) (local.get $p_base_0)))) (local.get $item))",
        "(local.set $v1)",
        "(local.set $v0)",
        "(call $fn0_split_2 (i64.const 7) (local.get $v0))",
        "(local.set $v3)",
        "(local.set $v2)",
      ]
    `);
    expect(linesWith('ir', /split/, /gives/, /takes/)).toMatchInlineSnapshot(`
      [
        "function split-2",
        "takes %0: u64, %1: u32",
        "gives %66, %68",
        "%71: u32, %72: bool = split-2(%70, item)",
        "%73: u32, %74: bool = split-2(7, %71)",
      ]
    `);
  });
});

describe('a function refuses', () => {
  const asks = (at: string) => `  asked:  faulty at ${at}`;
  const PARAMETER = '  advice: give it to the function as a parameter';
  const COMPUTES = '  advice: a function only computes: give it values, and use what it returns where it is called';

  test('a value from outside', () => {
    const error = failure(({ item }) => {
      const outer = item.mul(3); // outer value
      return fn('sees', { x: u32 }, ({ x }) => x.add(outer))({ x: 1 }); // captured value
    });
    expect(error.code).toBe('kernel-scope');
    expect(textOf(error)).toBe(
      [
        `kernel faulty: function sees uses the value made at ${lineOf('outer value')}, which is not its own`,
        asks(lineOf('captured value')),
        PARAMETER,
      ].join('\n'),
    );
  });

  test.each<[string, (context: Context) => () => unknown]>([
    [
      'a job value, which is not its own',
      ({ job }) =>
        () =>
          job.n.add(1),
    ],
    [
      'a chunk value, which is not its own',
      ({ chunk }) =>
        () =>
          chunk.c.add(1),
    ],
    [
      'the number of the item, which is not its own',
      ({ item }) =>
        () =>
          item.add(1),
    ],
    [
      'the length of a buffer, which is not its own',
      ({ buffers }) =>
        () =>
          buffers.x.length,
    ],
    [
      'a cell, which is not its own',
      () => {
        const c = cell(u32, 1);
        return () => c.add(1);
      },
    ],
    [
      'an array, which is not its own',
      () => {
        const a = array(u32, 3);
        return () => a.at(0);
      },
    ],
    [
      'a job value, which is not its own',
      ({ job }) => {
        const t = table(u32, [1, job.n]);
        return () => t.at(lit(u32, 1));
      },
    ],
  ])('%s', (what, body) => {
    const error = failure((context) => {
      const inside = body(context);
      return fn('sees', { x: u32 }, () => inside() as Expr<'u32'>)({ x: 1 });
    });
    expect(error.code).toBe('kernel-scope');
    expect(error.summary).toBe(`kernel faulty: function sees uses ${what}`);
    expect(error.advice).toBe('give it to the function as a parameter');
  });

  test('an effect', () => {
    const error = failure(({ buffers }) =>
      fn('acts', { x: u32 }, ({ x }) => {
        buffers.out.set(x, 1); // stored
        return x;
      })({ x: 1 }),
    );
    expect(error.code).toBe('kernel-control');
    expect(textOf(error)).toBe(
      ['kernel faulty: a store is in function acts', asks(lineOf('stored')), COMPUTES].join('\n'),
    );
  });

  test.each<[string, (context: Context, x: Expr<'u32'>) => unknown]>([
    ['an access to buffer x', ({ buffers }, x) => buffers.x.at(x)],
    ['an access to buffer x', ({ buffers }, x) => buffers.x.prefetch4(x)],
    ['an atomic update', ({ buffers }, x) => buffers.count.add(0, x)],
    ['emit()', ({ emit }, x) => emit({ n: x })],
    ['print()', (_, x) => print('x', x)],
    ['returnItem()', (_, x) => when(x.eq(1), () => returnItem())],
  ])('%s', (what, act) => {
    const error = failure((context) =>
      fn('acts', { x: u32 }, ({ x }) => {
        act(context, x);
        return x;
      })({ x: 1 }),
    );
    expect(error.summary).toBe(`kernel faulty: ${what} is in function acts`);
  });

  test('regions and arrays of a tile', () => {
    const inTile = (act: (context: never) => void) =>
      failure(
        () => undefined,
        () =>
          tiles('faulty', { buffers: { out: rw(u32) } }, (context) => {
            const near = context.near(u32, 4);
            fn('acts', { x: u32 }, ({ x }) => {
              act({ ...context, shared: near, x } as never);
              return x;
            })({ x: 1 });
          }).trace(),
      ).summary;
    type Tile = { each: (n: number, body: () => void) => void; near: (type: 'u32', n: number) => void };
    type Shared = { shared: { at(i: number): unknown } };
    expect(inTile(({ each }: Tile) => each(4, () => {}))).toBe('kernel faulty: each() is in function acts');
    expect(inTile(({ near }: Tile) => near(u32, 4))).toBe('kernel faulty: near() is in function acts');
    expect(inTile(({ shared }: Shared) => void shared.at(0))).toBe(
      'kernel faulty: an access to a near array is in function acts',
    );
  });

  test('to call itself', () => {
    const ping: (args: { x: Expr<'u32'> }) => Expr<'u32'> = fn('ping', { x: u32 }, ({ x }) => pong({ x })); // back
    const pong: (args: { x: Expr<'u32'> }) => Expr<'u32'> = fn('pong', { x: u32 }, ({ x }) => ping({ x })); // and forth
    const self: (args: { x: Expr<'u32'> }) => Expr<'u32'> = fn('self', { x: u32 }, ({ x }) => self({ x }));
    const LOOP = 'write a loop, with an array() as its stack: kernels have no recursion';
    const error = failure(({ item }) => ping({ x: item }));
    expect(error.code).toBe('kernel-control');
    expect(textOf(error)).toBe(
      ['kernel faulty: function ping calls itself through pong', asks(lineOf('and forth')), `  advice: ${LOOP}`].join(
        '\n',
      ),
    );
    expect(failure(({ item }) => self({ x: item })).summary).toBe('kernel faulty: function self calls itself');
  });

  test('results that are not values, and missing arguments', () => {
    const returning = (result: unknown) =>
      failure(({ item }) => fn('gives', { x: u32 }, () => result as Expr<'u32'>)({ x: item })).summary;
    expect(returning(undefined)).toBe('kernel faulty: function gives returns nothing');
    expect(returning(3)).toBe('kernel faulty: function gives returns number 3');
    expect(returning([])).toBe('kernel faulty: function gives returns an empty list');
    expect(returning({})).toBe('kernel faulty: function gives returns an empty record');
    expect(returning({ a: null })).toBe('kernel faulty: function gives returns an object that is not a value');
    const error = failure(() => fn('takes', { x: u32, y: u32 }, ({ x }) => x)({ x: 1 } as never));
    expect(error.summary).toBe('kernel faulty: function takes needs 1 value(s) for y');
    expect(error.advice).toBe('give all its parameters: takes({ x, y })');
  });

  test('names that cannot appear in text', () => {
    expect(() => fn('two words', {}, () => lit(u32, 1))).toThrow('"two words" is not a valid function name');
    expect(() => fn('odd', { 'a b': u32 }, () => lit(u32, 1))).toThrow('"a b" is not a valid field name');
  });

  test('a break without a loop of its own, and a bool that nothing uses', () => {
    const error = failure(({ item }) =>
      loop(
        item,
        () =>
          void fn('leaves', { x: u32 }, ({ x }) => {
            breakWhen(x.eq(1));
            return x;
          })({ x: 1 }),
      ),
    );
    expect(error.summary).toBe('kernel faulty: breakWhen() is outside a loop');
    const unused = failure(({ item }) =>
      fn('tests', { x: u32 }, ({ x }) => {
        void x.eq(1); // never read
        return x.add(1);
      })({ x: item }),
    );
    expect(unused.summary.replaceAll(/(:\d+):\d+/g, '$1')).toBe(
      `kernel faulty: the bool made at ${lineOf('never read')} is never used: \`when\`, not \`if\`?`,
    );
  });

  test('that its values are used outside', () => {
    const kept: Expr<'u32'>[] = [];
    const error = failure(({ item }) => {
      fn('leaks', { x: u32 }, ({ x }) => {
        kept.push(x.add(1)); // leaked
        return x;
      })({ x: item });
      return kept[0]?.add(1);
    });
    expect(error.summary.replaceAll(/(:\d+):\d+/g, '$1')).toBe(
      `kernel faulty: the value made at ${lineOf('leaked')} is used outside the function that made it`,
    );
    expect(error.advice).toBe('return it from the function');
  });
});
