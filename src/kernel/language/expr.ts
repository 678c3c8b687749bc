import type { MillraceError } from '../error.js';
import { type MethodRows, methods, type Operation, ops, type PureOp, type TypeSets, typeSets } from '../ir/ops.js';
import type { Node, NodeDetail, Op } from '../ir/program.js';
import { currentTrace, Traced } from './trace.js';
import {
  isLowered,
  type Lowered,
  literal,
  type Numeric,
  type Scalar,
  type ScalarOf,
  scalarOf,
  type Type,
} from './types.js';

/** A value of type T as an operand: a traced value or a literal. */
export type ExprLike<T extends Type> = Expr<T> | number | bigint | (T extends 'bool' ? boolean : never);

/**
 * The type of a method of `Expr`. After `this` it takes no argument, an operand of the same type, or a count, as its row
 * states.
 */
type Method<Row extends Operation> = Row['args'] extends readonly ['T']
  ? <T extends TypeSets[Row['on']]>(this: Expr<T>) => Expr<ResultOf<Row, T>>
  : Row['args'] extends readonly ['T', 'T']
    ? <T extends TypeSets[Row['on']]>(this: Expr<T>, other: ExprLike<NoInfer<T>>) => Expr<ResultOf<Row, T>>
    : <T extends TypeSets[Row['on']]>(this: Expr<T>, count: ExprLike<'u32'>) => Expr<ResultOf<Row, T>>;
type ResultOf<Row extends Operation, T> = Row['result'] extends Scalar ? Row['result'] : T & Type;

/** A method for each row of `ir/ops.ts` that has `method`. */
export type Methods = { readonly [Op in keyof MethodRows]: Method<MethodRows[Op]> };

abstract class WithMethods extends Traced {}
for (const op of methods) {
  const method = function (this: Expr<Type>, ...others: ExprLike<Type>[]): Expr<Type> {
    return apply(op, this, ...others);
  };
  Object.defineProperty(WithMethods.prototype, op, { value: method });
}

/** Types of nodes that are not their own. */
const writtenTypes = new WeakMap<Node, Lowered>();

/** Returns the type that the kernel's author gave to a value. */
export const writtenType = (node: Node): Type => writtenTypes.get(node) ?? node.type;

/**
 * An immutable traced value. A method adds one operation to the kernel being traced and returns its result. The `this`
 * parameter of a method states which types have it, so that TypeScript rejects the others.
 */
export class Expr<T extends Type> extends (WithMethods as abstract new () => Methods & Traced) {
  readonly type: T;
  readonly #node: Node | undefined;

  constructor(type: T, node: Node | undefined) {
    super();
    this.type = type;
    this.#node = node;
    if (node && isLowered(type)) writtenTypes.set(node, type);
  }

  /** The IR node behind this value. Its type is `scalarOf(this.type)`. */
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
  to<U extends Type>(type: U): Expr<U> {
    if ((this.type as Type) === type) return this as unknown as Expr<U>;
    return convert(this, type);
  }
  /** Reinterprets the bits as another type of the same width. */
  bits<U extends Numeric>(this: Expr<Numeric>, type: U): Expr<U> {
    if ((this.type as Type) === type) return this as unknown as Expr<U>;
    const wide = (t: Type) => scalarOf(t) === 'u64' || t === 'f64';
    if (this.type === 'f16' || type === 'f16')
      throw typeError('bits() of an f16, which has 16', 'write f16Bits() for its bits, and f16Of() for the way back');
    if (wide(this.type) !== wide(type)) {
      throw typeError(`bits() needs types of one width, not ${this.type} and ${type}`, 'use to() to convert by value');
    }
    return scalarOf(type) === scalarOf(this.type) ? new Expr(type, this.node) : make(type, 'bits', [this]);
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
export function make<T extends Type>(type: T, op: Op, args: readonly Expr<Type>[], detail: NodeDetail = {}): Expr<T> {
  return new Expr(
    type,
    currentTrace().pure(
      op,
      scalarOf(type),
      args.map((arg) => arg.node),
      detail,
    ),
  );
}

export function lit<T extends Type>(type: T, value: number | bigint | boolean): Expr<T> {
  if (type === undefined) throw untypedError();
  return new Expr(type, currentTrace().constant(scalarOf(type), literal(type, value)));
}

/** Returns `value` as a traced value of `type`; throws if it has another type. */
export function operand<T extends Type>(type: T, value: ExprLike<T>): Expr<T> {
  if (!(value instanceof Expr)) return lit(type, value as number | bigint | boolean);
  if (type === undefined) throw untypedError();
  if ((value.type as Type) !== type) {
    throw typeError(`expected ${type}, got ${value.type}`, `convert it with .to(${type}) or .bits(${type})`);
  }
  return value;
}

/** In JavaScript a literal may stand where the value is missing from which an operation takes its type. */
const untypedError = (): MillraceError =>
  typeError('the first argument is a literal, which has no type', 'write it as lit(type, value)');

export function typeError(message: string, advice: string): MillraceError {
  return currentTrace().error('kernel-type', message, advice);
}

/** How values of a type that programs do not have are computed. All operands and results are scalars. */
export interface Lowering {
  /** Operations that are the same on the scalar: those with a result of the type give one of the type. */
  readonly same: ReadonlySet<PureOp>;
  /** The other operations that the type has. */
  readonly operations: Readonly<Partial<Record<PureOp, (...operands: Expr<Scalar>[]) => Expr<Scalar>>>>;
  /** Converts a value of another type. */
  from(value: Expr<Scalar>): Expr<Scalar>;
  /** Converts to another type. */
  to(value: Expr<Scalar>, type: Scalar): Expr<Scalar>;
}
export type Lowerings = Readonly<Record<Lowered, Lowering>>;

/**
 * Adds an operation as its row declares it. T is the type of the first traced operand whose type is `T` in the row.
 * TypeScript rejects operands that the row does not take; the checks here catch casts.
 */
export function apply<Result extends Type>(op: PureOp, ...values: readonly ExprLike<Type>[]): Expr<Result> {
  const { args, result, on } = ops[op];
  const typed = values.find((value, i): value is Expr<Type> => args[i] === 'T' && value instanceof Expr);
  if (!typed && args.includes('T'))
    throw typeError(`${op} of two literals has no type`, 'write one of them as lit(type, value)');
  const T = typed?.type ?? 'u32';
  const lowering = isLowered(T) ? currentTrace().lowerings[T] : undefined;
  const lowered = lowering?.operations[op];
  const isDefined = lowering ? lowered || lowering.same.has(op) : (typeSets[on] as readonly Type[]).includes(T);
  if (typed && !isDefined) throw typeError(`${op} is not defined for ${T}`, 'convert the value first');
  const operands = values.map((value, i) => operand(args[i] === 'T' ? T : (args[i] as Scalar), value));
  const type = (result === 'T' ? T : result) as Result;
  return lowered ? new Expr(type, lowered(...operands.map(asScalar)).node) : make(type, op, operands);
}

/** Returns a value as the scalar that it is in the program. */
export const asScalar = <T extends Type>(value: Expr<T>): Expr<ScalarOf<T>> =>
  new Expr(scalarOf(value.type), value.node);

/** Between two types that programs do not have, an f32 is exact enough: an integer of more than 16 bits is no f16. */
function convert<U extends Type>(value: Expr<Type>, type: U): Expr<U> {
  const { lowerings } = currentTrace();
  const target: Scalar = isLowered(type) ? 'f32' : (type as Scalar);
  const own: Expr<Scalar> = asScalar(value);
  const scalar = isLowered(value.type) ? lowerings[value.type].to(own, target) : own;
  if (isLowered(type)) return new Expr(type, lowerings[type].from(scalar).node);
  return (scalar.type === type ? scalar : make(type, 'cast', [scalar])) as Expr<U>;
}

function u64Half(value: Expr<Type>, op: 'cast' | 'hi'): Expr<'u32'> {
  if (value.type !== 'u64')
    throw typeError(`${op === 'hi' ? 'hi' : 'lo'} is not defined for ${value.type}`, 'convert the value first');
  return make('u32', op, [value]);
}
