import {
  addChain,
  bitSelect,
  type Expr,
  type Float,
  fma,
  funnel,
  type Integer,
  max,
  min,
  mulHi,
  type Numeric,
  type Scalar,
  select,
  subChain,
  type Unsigned,
  u64Of,
  type Value,
  wmad,
} from '../../kernel/index.js';
import type { Device } from '../device.js';
import { can, needsOfType } from './case.js';
import { converted, extreme, modelled, reinterpreted } from './model.js';

/** Operands: a to d are of the operation's own type, n is a u32 (a count), p a bool. */
export type Slot = 'a' | 'b' | 'c' | 'd' | 'n' | 'p';

/** One operation on one type: how a kernel says it and what it must give. */
export interface Operation {
  /** `add.u32`, `to.f64.i32`. */
  readonly name: string;
  readonly on: Scalar;
  readonly uses: readonly Slot[];
  readonly result: Scalar;
  build(args: readonly Expr<Scalar>[]): Expr<Scalar>;
  model(args: readonly Value[]): Value;
}

export const slotType = (slot: Slot, on: Scalar): Scalar => (slot === 'n' ? 'u32' : slot === 'p' ? 'bool' : on);

type Uses = readonly Slot[];
const one: Uses = ['a'];
const two: Uses = ['a', 'b'];
const three: Uses = ['a', 'b', 'c'];
const four: Uses = ['a', 'b', 'c', 'd'];
const counted: Uses = ['a', 'n'];

/** An operation whose model goes by its name. The builder is given operands of the types that `uses` names. */
function define<A extends Scalar>(
  on: A,
  name: string,
  uses: Uses,
  build: (...args: [Expr<A>, Expr<A>, Expr<A>, Expr<A>]) => Expr<Scalar>,
  result: Scalar = on,
  model: (args: readonly Value[]) => Value = (args) => modelled(name, on, args),
): Operation {
  return {
    name: `${name}.${on}`,
    on,
    uses,
    result,
    build: (args) => build(...(args as [Expr<A>, Expr<A>, Expr<A>, Expr<A>])),
    model,
  };
}

const count = (value: Expr<Scalar>): Expr<'u32'> => value as unknown as Expr<'u32'>;
const condition = (value: Expr<Scalar>): Expr<'bool'> => value as unknown as Expr<'bool'>;

const everyType = <T extends Scalar>(type: T): Operation[] => [
  define(type, 'eq', two, (a, b) => a.eq(b), 'bool'),
  define(type, 'ne', two, (a, b) => a.ne(b), 'bool'),
  define(
    type,
    'select',
    ['p', 'a', 'b'],
    (p, a, b) => select<T>(condition(p), a, b),
    type,
    ([p, a, b]) => (p ? a : b) as Value,
  ),
];

const numeric = <T extends Numeric>(type: T): Operation[] => [
  define(type, 'add', two, (a, b) => a.add(b)),
  define(type, 'sub', two, (a, b) => a.sub(b)),
  define(type, 'mul', two, (a, b) => a.mul(b)),
  define(type, 'div', two, (a, b) => a.div(b)),
  define(type, 'neg', one, (a) => a.neg()),
  define(type, 'lt', two, (a, b) => a.lt(b), 'bool'),
  define(type, 'le', two, (a, b) => a.le(b), 'bool'),
  define(type, 'gt', two, (a, b) => a.gt(b), 'bool'),
  define(type, 'ge', two, (a, b) => a.ge(b), 'bool'),
  define(
    type,
    'min',
    two,
    (a, b) => min(a, b),
    type,
    ([a, b]) => extreme('min', a as Value, b as Value),
  ),
  define(
    type,
    'max',
    two,
    (a, b) => max(a, b),
    type,
    ([a, b]) => extreme('max', a as Value, b as Value),
  ),
];

const bitwise = <T extends Integer | 'bool'>(type: T): Operation[] => [
  define(type, 'and', two, (a, b) => a.and(b)),
  define(type, 'or', two, (a, b) => a.or(b)),
  define(type, 'xor', two, (a, b) => a.xor(b)),
  define(type, 'not', one, (a) => a.not()),
];

const integer = <T extends Integer>(type: T): Operation[] => [
  define(type, 'rem', two, (a, b) => a.rem(b)),
  define(type, 'shl', counted, (a, n) => a.shl(count(n))),
  define(type, 'shr', counted, (a, n) => a.shr(count(n))),
  define(type, 'rotl', counted, (a, n) => a.rotl(count(n))),
  define(type, 'rotr', counted, (a, n) => a.rotr(count(n))),
  define(type, 'popcount', one, (a) => a.popcount(), 'u32'),
  define(type, 'clz', one, (a) => a.clz(), 'u32'),
];

const limbs = <T extends Unsigned>(a: Expr<T>, b: Expr<T>, c: Expr<T>, d: Expr<T>) => ({
  sum: addChain([a, b], [c, d]),
  difference: subChain([a, b], [c, d]),
});

const unsigned = <T extends Unsigned>(type: T): Operation[] => [
  define(type, 'byteSwap', one, (a) => a.byteSwap()),
  define(type, 'mulHi', two, (a, b) => mulHi(a, b)),
  define(type, 'bitSelect', three, (a, b, c) => bitSelect(a, b, c)),
  define(type, 'wmadLo', four, (a, b, c, d) => wmad(a, b, c, d).lo),
  define(type, 'wmadHi', four, (a, b, c, d) => wmad(a, b, c, d).hi),
  define(type, 'sumLow', four, (...args) => limbs(...args).sum.limbs[0] as Expr<T>),
  define(type, 'sumHigh', four, (...args) => limbs(...args).sum.limbs[1] as Expr<T>),
  define(type, 'sumOut', four, (...args) => limbs(...args).sum.out),
  define(type, 'differenceLow', four, (...args) => limbs(...args).difference.limbs[0] as Expr<T>),
  define(type, 'differenceHigh', four, (...args) => limbs(...args).difference.limbs[1] as Expr<T>),
  define(type, 'differenceOut', four, (...args) => limbs(...args).difference.out),
];

const float = <T extends Float>(type: T): Operation[] => [
  define(type, 'sqrt', one, (a) => a.sqrt()),
  define(type, 'fma', three, (a, b, c) => fma(a, b, c)),
];

const words: readonly Operation[] = [
  define('u32', 'funnel', ['a', 'b', 'n'], (a, b, n) => funnel(a, b, n)),
  define(
    'u32',
    'u64Of',
    two,
    (a, b) => u64Of(a, b),
    'u64',
    ([a, b]) => BigInt(a as number) + BigInt(b as number) * 2n ** 32n,
  ),
  ...([0, 1, 2, 3] as const).map((k) =>
    define(
      'u32',
      `byte${k}`,
      one,
      (a) => a.byte(k),
      'u32',
      ([a]) => Math.floor((a as number) / 256 ** k) % 256,
    ),
  ),
  define(
    'u64',
    'lo',
    one,
    (a) => a.lo,
    'u32',
    ([a]) => Number((a as bigint) % 2n ** 32n),
  ),
  define(
    'u64',
    'hi',
    one,
    (a) => a.hi,
    'u32',
    ([a]) => Number((a as bigint) / 2n ** 32n),
  ),
];

export const scalars: readonly Scalar[] = ['u32', 'i32', 'u64', 'f32', 'f64', 'bool'];

const conversions = (from: Scalar): Operation[] =>
  scalars
    .filter((to) => to !== from)
    .map((to) =>
      define(
        from,
        `to.${to}`,
        one,
        (a) => a.to(to),
        to,
        ([a]) => converted(from, to, a as Value),
      ),
    );

const castings = (from: Scalar): Operation[] => {
  const same: readonly (readonly Numeric[])[] = [
    ['u32', 'i32', 'f32'],
    ['u64', 'f64'],
  ];
  const group = same.find((types) => (types as readonly Scalar[]).includes(from)) ?? [];
  return group
    .filter((to) => to !== from)
    .map((to) =>
      define(
        from,
        `bits.${to}`,
        one,
        (a) => (a as unknown as Expr<Numeric>).bits(to),
        to,
        ([a]) => reinterpreted(from, to, a as Value),
      ),
    );
};

/** Every operation there is. */
export const operations: readonly Operation[] = [
  ...scalars.flatMap((type) => [...everyType(type), ...conversions(type), ...castings(type)]),
  ...(['u32', 'i32', 'u64', 'f32', 'f64'] as const).flatMap((type) => numeric(type)),
  ...(['u32', 'i32', 'u64', 'bool'] as const).flatMap((type) => bitwise(type)),
  ...(['u32', 'i32', 'u64'] as const).flatMap((type) => integer(type)),
  ...(['u32', 'u64'] as const).flatMap((type) => unsigned(type)),
  ...(['f32', 'f64'] as const).flatMap((type) => float(type)),
  ...words,
];

/** Those on a type that a device has: none that give floats which it has not. */
export const operationsOn = (type: Scalar, device: Device): readonly Operation[] =>
  operations.filter(
    ({ name, on, result }) =>
      on === type &&
      needsOfType(result).every((ability) => can(device, ability)) &&
      (!quotients.includes(name) || can(device, 'f32-divide')),
  );

const quotients: readonly string[] = ['div.f32', 'sqrt.f32'];
