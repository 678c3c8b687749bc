import { expectTypeOf, test } from 'vitest';
import { exp } from '../std/math/exp.js';
import { array } from './array.js';
import { atomic, type ReadSpec, type RwSpec, read, rw } from './buffers.js';
import { cell, when } from './control.js';
import { type Expr, lit } from './expr.js';
import { fn } from './functions/fn.js';
import { items } from './items.js';
import { fma, mix, mulHi, select } from './operations.js';
import { tiles } from './tiles.js';
import { type Float, f16, f32, f64, i32, i64, u8, u32, u64 } from './types.js';

// Code that TypeScript itself must reject. Nothing here runs.
declare const word: Expr<'u32'>;
declare const wide: Expr<'u64'>;
declare const real: Expr<'f32'>;
declare const truth: Expr<'bool'>;

test('operands have one type', () => {
  expectTypeOf(word.add(1)).toEqualTypeOf<Expr<'u32'>>();
  expectTypeOf(word.to(u64)).toEqualTypeOf<Expr<'u64'>>();
  expectTypeOf(word.lt(3)).toEqualTypeOf<Expr<'bool'>>();
  // @ts-expect-error a u64 does not add to a u32
  word.add(wide);
  // @ts-expect-error nor a float to a u64
  wide.xor(real);
  // @ts-expect-error nor a bool to a u32
  word.add(true);
  // @ts-expect-error both arms of a select have one type
  select(truth, word, real);
});

test('operations belong to types', () => {
  // @ts-expect-error floats do not rotate
  real.rotl(3);
  // @ts-expect-error nor have they a remainder
  real.rem(2);
  // @ts-expect-error integers have no square root
  word.sqrt();
  // @ts-expect-error nor are they rounded
  word.floor();
  // @ts-expect-error an unsigned integer has no sign
  word.abs();
  // @ts-expect-error mix is for floats
  mix(word, word, word);
  // @ts-expect-error bools do not add
  truth.add(truth);
  // @ts-expect-error nor compare by order
  truth.lt(truth);
  // @ts-expect-error mulHi is for unsigned integers
  mulHi(lit(i32, 1), 2);
  // @ts-expect-error fma is for floats
  fma(word, word, word);
  // @ts-expect-error bytes are swapped in unsigned integers
  real.byteSwap();
});

test('conditions are bools', () => {
  // @ts-expect-error a number is not a condition
  when(word, () => {});
  // @ts-expect-error a cell takes its own type
  cell(u32, 0).set(real);
});

test('a signature types its kernel', () => {
  items(
    'typed',
    {
      job: { seed: u32, key: [u64, 2] },
      buffers: { x: read(f64), y: rw(f32), n: atomic(), wide: atomic(u64), text: read(u8) },
      hit: { at: u32 },
    },
    ({ job, buffers, emit, index }) => {
      expectTypeOf(job.seed).toEqualTypeOf<Expr<'u32'>>();
      expectTypeOf(job.key).toEqualTypeOf<readonly [Expr<'u64'>, Expr<'u64'>]>();
      expectTypeOf(index).toEqualTypeOf<Expr<'u64'>>();
      expectTypeOf(buffers.x.at(0)).toEqualTypeOf<Expr<'f64'>>();
      expectTypeOf(buffers.text.at(0)).toEqualTypeOf<Expr<'u32'>>();
      expectTypeOf(buffers.n.xor(0, 1)).toEqualTypeOf<Expr<'u32'>>();
      expectTypeOf(buffers.wide.compareExchange(0, 1n, index)).toEqualTypeOf<Expr<'u64'>>();
      // @ts-expect-error a u32 does not go into atomics of u64
      buffers.wide.add(0, job.seed);
      // @ts-expect-error no such field
      job.other;
      // @ts-expect-error a read buffer is not written
      buffers.x.set(0, 1);
      // @ts-expect-error an f32 buffer takes f32
      buffers.y.set(0, job.seed);
      // @ts-expect-error an atomic buffer is not read plainly
      buffers.n.at(0);
      // @ts-expect-error a hit has its declared fields
      emit({ where: 1 });
      // @ts-expect-error of their declared types
      emit({ at: index });
    },
  );
});

test('a kernel can be generic over its float type', () => {
  const square = <F extends Float>(real: F) =>
    items('square', { job: { scale: f64 }, buffers: { x: read(real), y: rw(real) } }, ({ item, job, buffers }) => {
      const x = buffers.x.at(item);
      expectTypeOf(x).toEqualTypeOf<Expr<F>>();
      const total = cell(real, 0);
      total.set(fma(x, x, total).add(lit(real, 0.5)).mul(job.scale.to(real)));
      buffers.y.set(item, select(x.lt(0), total, x.neg()));
      // @ts-expect-error a word is no float
      buffers.y.set(item, item);
    });
  expectTypeOf(square('f32').signature.buffers).toEqualTypeOf<
    { readonly x: ReadSpec<'f32'>; readonly y: RwSpec<'f32'> } | undefined
  >();
  const norm = <F extends Float>(real: F) =>
    tiles('norm', { buffers: { x: read(real), y: rw(real) } }, ({ tile, near, each, sum, once, buffers }) => {
      const squares = near(real, 256);
      each(256, (i) => squares.set(i, buffers.x.at(i).mul(buffers.x.at(i))));
      const total = sum(real, 256, (i) => squares.at(i));
      once(() => buffers.y.set(tile, total.sqrt()));
    });
  const longest = <F extends Float>(real: F) => {
    const length = fn('length', { x: real, y: real }, ({ x, y }) => x.mul(x).add(y.mul(y)).sqrt());
    const declared = { job: { limit: real }, buffers: { x: read(real) }, hit: { found: real } };
    return items('longest', declared, ({ item, job, buffers, emit }) => {
      const found = length({ x: buffers.x.at(item), y: job.limit });
      expectTypeOf(found).toEqualTypeOf<Expr<F>>();
      when(found.gt(job.limit), () => emit({ found }));
      // @ts-expect-error a word is no float
      length({ x: item, y: job.limit });
    });
  };
  expectTypeOf(longest('f32').signature.hit).toEqualTypeOf<{ found: 'f32' } | undefined>();
  norm('f64');
  square('f16');
  norm('f16');
});

test('i64 and f16 are types of their own', () => {
  expectTypeOf(wide.to(i64)).toEqualTypeOf<Expr<'i64'>>();
  expectTypeOf(lit(i64, -1).shr(3).abs()).toEqualTypeOf<Expr<'i64'>>();
  expectTypeOf(lit(f16, 0.5).sqrt().to(f32)).toEqualTypeOf<Expr<'f32'>>();
  expectTypeOf(exp(lit(f16, 0.5))).toEqualTypeOf<Expr<'f16'>>();
  // @ts-expect-error an i64 does not add to a u64
  wide.add(lit(i64, 1));
  // @ts-expect-error it has no words: write bits(u64)
  mulHi(lit(i64, 1), 2);
  // @ts-expect-error an f32 does not add to an f16
  lit(f16, 1).add(real);
  // @ts-expect-error an i64 has no square root
  lit(i64, 4).sqrt();
  items(
    'lowered',
    { job: { at: i64 }, buffers: { x: read(i64), y: rw(f16) }, hit: { n: i64 } },
    ({ buffers, job, emit }) => {
      expectTypeOf(buffers.x.at(0)).toEqualTypeOf<Expr<'i64'>>();
      expectTypeOf(buffers.y.at(0)).toEqualTypeOf<Expr<'f16'>>();
      emit({ n: job.at });
      // @ts-expect-error a u64 is no i64
      emit({ n: wide });
      // @ts-expect-error an f32 is rounded by to(f16)
      buffers.y.set(0, real);
    },
  );
});

test('a function takes its parameters and gives what its body returns', () => {
  const one = fn('one', { x: u32, key: [u64, 2] }, ({ x, key }) => {
    expectTypeOf(x).toEqualTypeOf<Expr<'u32'>>();
    expectTypeOf(key).toEqualTypeOf<readonly [Expr<'u64'>, Expr<'u64'>]>();
    return x.add(key[1].lo);
  });
  expectTypeOf(one({ x: word, key: [wide, 1n] })).toEqualTypeOf<Expr<'u32'>>();
  expectTypeOf(fn('cell', {}, () => cell(f32, 1))({})).toEqualTypeOf<Expr<'f32'>>();
  const pair = fn('pair', { x: f32 }, ({ x }) => [x.neg(), x.lt(0)])({ x: 0.5 });
  expectTypeOf(pair).toEqualTypeOf<readonly [Expr<'f32'>, Expr<'bool'>]>();
  const record = fn('record', { x: u64 }, ({ x }) => ({ low: x.lo, parts: [x, cell(u32, 1)] }))({ x: 3 });
  expectTypeOf(record.low).toEqualTypeOf<Expr<'u32'>>();
  expectTypeOf(record.parts).toEqualTypeOf<readonly [Expr<'u64'>, Expr<'u32'>]>();
  const many = fn('many', { x: u32 }, ({ x }) => Array.from({ length: 3 }, () => x))({ x: word });
  expectTypeOf(many).toEqualTypeOf<readonly Expr<'u32'>[]>();
  // @ts-expect-error a parameter is missing
  one({ x: word });
  // @ts-expect-error a parameter has its own type
  one({ x: wide, key: [wide, wide] });
  // @ts-expect-error no such parameter
  one({ x: word, key: [wide, wide], other: word });
  // @ts-expect-error a function returns values
  fn('none', { x: u32 }, () => 3);
});

test('an array has elements of one type', () => {
  expectTypeOf(array(u32, 3).at(word)).toEqualTypeOf<Expr<'u32'>>();
  expectTypeOf(array(u64, [wide, 1n]).at(0)).toEqualTypeOf<Expr<'u64'>>();
  // @ts-expect-error an array of u32 takes no u64
  array(u32, 3).set(0, wide);
  // @ts-expect-error an index is a u32
  array(u32, 3).at(real);
});
