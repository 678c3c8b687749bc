import {
  addChain,
  bitSelect,
  clamp,
  divMod,
  type Expr,
  type Float,
  f16Bits,
  f16Of,
  fma,
  funnel,
  max,
  min,
  mix,
  mulHi,
  type Numeric,
  select,
  subChain,
  type Type,
  u64Of,
  type Value,
  wmad,
} from '../../../kernel/index.js';
import { languageSets, ops, type PureOp } from '../../../kernel/ir/ops.js';
import type { Device } from '../../device.js';
import { hasAbility, needsOfType } from '../case.js';
import { modelResult } from '../model/model.js';

/** Operands: a to d are of the operation's own type, n is a u32 (a count), p a bool. */
export type Slot = 'a' | 'b' | 'c' | 'd' | 'n' | 'p';

/** One operation on one type: how a kernel writes it, and the model of its result. */
export interface Operation {
  /** `add.u32`, `to.f64.i32`. */
  readonly name: string;
  readonly on: Type;
  readonly uses: readonly Slot[];
  readonly result: Type;
  build(args: readonly Expr<Type>[]): Expr<Type>;
  model(args: readonly Value[]): Value;
}

export const slotType = (slot: Slot, on: Type): Type => (slot === 'n' ? 'u32' : slot === 'p' ? 'bool' : on);

type Build = (...args: [Expr<Type>, Expr<Type>, Expr<Type>, Expr<Type>]) => Expr<Type>;

/** Returns an operation whose model is found by its name. */
function define(name: string, on: Type, uses: readonly Slot[], build: Build, result: Type = on): Operation {
  return {
    name: `${name}.${on}`,
    on,
    uses,
    result,
    build: (args) => build(...(args as Parameters<Build>)),
    model: (args) => modelResult(name, on, args),
  };
}

/** Operations of the language's table that kernels write as functions, not methods. */
const functions: Partial<Record<PureOp, unknown>> = {
  select,
  bitSelect,
  funnel,
  mulHi,
  fma,
  pack: u64Of,
  hi: (a: Expr<'u64'>) => a.hi,
  wmadHi: (...[a, b, c, d]: Limbs) => wmad(a, b, c, d).hi,
};

/** Returns an operation of the table on all of its types; empty if kernels cannot write it directly. */
export function operationsOf(op: PureOp): Operation[] {
  const row = ops[op];
  const build =
    functions[op] ?? (row.method && ((a: Record<PureOp, Build>, ...rest: Parameters<Build>) => a[op](...rest)));
  if (!build) return [];
  const own: Slot[] = ['a', 'b', 'c', 'd'];
  const uses = row.args.map((type, i) => (i === row.count ? 'n' : type === 'bool' ? 'p' : (own.shift() as Slot)));
  return languageSets[row.on].map((on) =>
    define(op, on, uses, build as Build, row.result === 'T' ? on : (row.result as Type)),
  );
}

/** Functions made of several operations of the table. */
const compositeOperations: readonly Operation[] = [
  ...languageSets.numeric.flatMap((type) => [
    define('gt', type, ['a', 'b'], (a, b) => asNumeric(a).gt(asNumeric(b)), 'bool'),
    define('ge', type, ['a', 'b'], (a, b) => asNumeric(a).ge(asNumeric(b)), 'bool'),
    define('min', type, ['a', 'b'], (a, b) => min(asNumeric(a), asNumeric(b))),
    define('max', type, ['a', 'b'], (a, b) => max(asNumeric(a), asNumeric(b))),
    define('clamp', type, ['a', 'b', 'c'], (a, b, c) => clamp(asNumeric(a), asNumeric(b), asNumeric(c))),
  ]),
  ...languageSets.float.map((type) =>
    define('mix', type, ['a', 'b', 'c'], (a, b, c) => mix(asFloat(a), asFloat(b), asFloat(c))),
  ),
  ...languageSets.unsigned.flatMap((type) => {
    const limbs = (name: string, build: (...args: Limbs) => Expr<'u32'> | undefined) =>
      define(name, type, ['a', 'b', 'c', 'd'], (...args) => build(...(args as unknown as Limbs)) as Expr<'u32'>);
    return [
      limbs('wmadLo', (a, b, c, d) => wmad(a, b, c, d).lo),
      limbs('sumLow', (a, b, c, d) => addChain([a, b], [c, d]).limbs[0]),
      limbs('sumHigh', (a, b, c, d) => addChain([a, b], [c, d]).limbs[1]),
      limbs('sumOut', (a, b, c, d) => addChain([a, b], [c, d]).out),
      limbs('differenceLow', (a, b, c, d) => subChain([a, b], [c, d]).limbs[0]),
      limbs('differenceHigh', (a, b, c, d) => subChain([a, b], [c, d]).limbs[1]),
      limbs('differenceOut', (a, b, c, d) => subChain([a, b], [c, d]).out),
      define('quotient', type, ['a', 'b'], (a, b) => divMod(a as Expr<'u32'>, b as Expr<'u32'>).div),
      define('remainder', type, ['a', 'b'], (a, b) => divMod(a as Expr<'u32'>, b as Expr<'u32'>).rem),
    ];
  }),
  ...([0, 1, 2, 3] as const).map((k) => define(`byte${k}`, 'u32', ['a'], (a) => (a as Expr<'u32'>).byte(k))),
  define('lo', 'u64', ['a'], (a) => a.lo, 'u32'),
  define('half', 'u32', ['a'], (a) => f16Of(a as Expr<'u32'>), 'f16'),
  define('bits.u16', 'f16', ['a'], (a) => f16Bits(a as Expr<'f16'>), 'u32'),
];

type Limbs = [Expr<'u32'>, Expr<'u32'>, Expr<'u32'>, Expr<'u32'>];
const asNumeric = (value: Expr<Type>): Expr<Numeric> => value as Expr<Numeric>;
const asFloat = (value: Expr<Type>): Expr<Float> => value as Expr<Float>;

export const scalars: readonly Type[] = languageSets.any;

/** Conversions by value between all types, and by bits between those of one width. */
const conversions: readonly Operation[] = scalars.flatMap((from) =>
  scalars
    .filter((to) => to !== from)
    .flatMap((to) => [
      define(`to.${to}`, from, ['a'], (a) => a.to(to), to),
      ...(widthOf(from) === widthOf(to) && to !== 'bool'
        ? [define(`bits.${to}`, from, ['a'], (a) => asNumeric(a).bits(to), to)]
        : []),
    ]),
);

function widthOf(type: Type): number {
  return type === 'bool' ? 1 : type === 'f16' ? 16 : type === 'u64' || type === 'i64' || type === 'f64' ? 64 : 32;
}

/** All operations. */
export const operations: readonly Operation[] = [
  ...(Object.keys(ops) as PureOp[]).flatMap(operationsOf),
  ...compositeOperations,
  ...conversions,
];

/** Returns the operations on a type that a device supports, without those whose float results it cannot compute. */
export const operationsOn = (type: Type, device: Device): readonly Operation[] =>
  operations.filter(
    ({ name, on, result }) =>
      on === type &&
      needsOfType(result).every((ability) => hasAbility(device, ability)) &&
      (!quotients.includes(name) || hasAbility(device, 'f32-divide')),
  );

const quotients: readonly string[] = ['div.f32', 'sqrt.f32', 'div.f16', 'sqrt.f16'];
