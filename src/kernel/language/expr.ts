import type { MillraceError } from '../error.js';
import { type MethodRows, methods, type Operation, ops, type PureOp, type TypeSets, typeSets } from '../ir/ops.js';
import type { Node, NodeDetail, Op } from '../ir/program.js';
import { currentTrace, Traced } from './trace.js';
import { literal, type Numeric, type Scalar } from './types.js';

/** A value of type T as an operand: a traced value or a literal. */
export type ExprLike<T extends Scalar> = Expr<T> | number | bigint | (T extends 'bool' ? boolean : never);

/**
 * The type of a method of `Expr`. After `this` it takes no argument, an operand of the same type, or a count, as its row
 * states.
 */
type Method<Row extends Operation> = Row['args'] extends readonly ['T']
  ? <T extends TypeSets[Row['on']]>(this: Expr<T>) => Expr<ResultOf<Row, T>>
  : Row['args'] extends readonly ['T', 'T']
    ? <T extends TypeSets[Row['on']]>(this: Expr<T>, other: ExprLike<NoInfer<T>>) => Expr<ResultOf<Row, T>>
    : <T extends TypeSets[Row['on']]>(this: Expr<T>, count: ExprLike<'u32'>) => Expr<ResultOf<Row, T>>;
type ResultOf<Row extends Operation, T> = Row['result'] extends Scalar ? Row['result'] : T & Scalar;

/** A method for each row of `ir/ops.ts` that has `method`. */
export type Methods = { readonly [Op in keyof MethodRows]: Method<MethodRows[Op]> };

abstract class WithMethods extends Traced {}
for (const op of methods) {
  const method = function (this: Expr<Scalar>, ...others: ExprLike<Scalar>[]): Expr<Scalar> {
    return apply(op, this, ...others);
  };
  Object.defineProperty(WithMethods.prototype, op, { value: method });
}

/**
 * An immutable traced value. A method adds one operation to the kernel being traced and returns its result. The `this`
 * parameter of a method states which types have it, so that TypeScript rejects the others.
 */
export class Expr<T extends Scalar> extends (WithMethods as abstract new () => Methods & Traced) {
  readonly type: T;
  readonly #node: Node | undefined;

  constructor(type: T, node: Node | undefined) {
    super();
    this.type = type;
    this.#node = node;
  }

  /** The IR node behind this value. */
  get node(): Node {
    if (!this.#node) throw new TypeError('a value without a node');
    return this.#node;
  }

  protected override describe(): string {
    return `${/^[fi]/.test(this.type) ? 'an' : 'a'} ${this.type}`;
  }

  gt<N extends Numeric>(this: Expr<N>, other: ExprLike<NoInfer<N>>): Expr<'bool'> {
    return apply('lt', operand(this.type, other), this);
  }
  ge<N extends Numeric>(this: Expr<N>, other: ExprLike<NoInfer<N>>): Expr<'bool'> {
    return apply('le', operand(this.type, other), this);
  }

  /** Converts by value: integers wrap, floats to integers saturate (NaN gives 0), bool gives 0 or 1, x to bool is x ≠ 0. */
  to<U extends Scalar>(type: U): Expr<U> {
    if ((this.type as Scalar) === type) return this as unknown as Expr<U>;
    return make(type, 'cast', [this]);
  }
  /** Reinterprets the bits as another type of the same width. */
  bits<U extends Numeric>(this: Expr<Numeric>, type: U): Expr<U> {
    if ((this.type as Scalar) === type) return this as unknown as Expr<U>;
    const wide = (t: Scalar) => t === 'u64' || t === 'f64';
    if (wide(this.type) !== wide(type)) {
      throw typeError(`bits() needs types of one width, not ${this.type} and ${type}`, 'use to() to convert by value');
    }
    return make(type, 'bits', [this]);
  }
  /** The low word of a u64. */
  get lo(): Expr<'u32'> {
    return u64Half(this, 'cast');
  }
  /** The high word of a u64. */
  get hi(): Expr<'u32'> {
    return u64Half(this, 'hi');
  }
  /** Byte n, counted from the least significant. */
  byte(this: Expr<'u32'>, n: 0 | 1 | 2 | 3): Expr<'u32'> {
    return this.shr(8 * n).and(0xff);
  }
}

/** Adds one operation to the kernel being traced. The caller has checked the types of the arguments. */
export function make<T extends Scalar>(
  type: T,
  op: Op,
  args: readonly Expr<Scalar>[],
  detail: NodeDetail = {},
): Expr<T> {
  return new Expr(
    type,
    currentTrace().pure(
      op,
      type,
      args.map((arg) => arg.node),
      detail,
    ),
  );
}

export function lit<T extends Scalar>(type: T, value: number | bigint | boolean): Expr<T> {
  return new Expr(type, currentTrace().constant(type, literal(type, value)));
}

/** Returns `value` as a traced value of `type`; throws if it has another type. */
export function operand<T extends Scalar>(type: T, value: ExprLike<T>): Expr<T> {
  if (!(value instanceof Expr)) return lit(type, value as number | bigint | boolean);
  if ((value.type as Scalar) !== type) {
    throw typeError(`expected ${type}, got ${value.type}`, `convert it with .to(${type}) or .bits(${type})`);
  }
  return value;
}

export function typeError(message: string, advice: string): MillraceError {
  return currentTrace().error('kernel-type', message, advice);
}

/**
 * Adds an operation as its row declares it. T is the type of the first traced operand whose type is `T` in the row.
 * TypeScript rejects operands that the row does not take; the checks here catch casts.
 */
export function apply<Result extends Scalar>(op: PureOp, ...values: readonly ExprLike<Scalar>[]): Expr<Result> {
  const { args, result, on } = ops[op];
  const typed = values.find((value, i): value is Expr<Scalar> => args[i] === 'T' && value instanceof Expr);
  if (!typed && args.includes('T'))
    throw typeError(`${op} of two literals has no type`, 'write one of them as lit(type, value)');
  const T = typed?.type ?? 'u32';
  if (typed && !(typeSets[on] as readonly Scalar[]).includes(T))
    throw typeError(`${op} is not defined for ${T}`, 'convert the value first');
  const operands = values.map((value, i) => operand(args[i] === 'T' ? T : (args[i] as Scalar), value));
  return make((result === 'T' ? T : result) as Result, op, operands);
}

function u64Half(value: Expr<Scalar>, op: 'cast' | 'hi'): Expr<'u32'> {
  if (value.type !== 'u64')
    throw typeError(`${op === 'hi' ? 'hi' : 'lo'} is not defined for ${value.type}`, 'convert the value first');
  return make('u32', op, [value]);
}
