import type { MillraceError } from './error.js';
import type { BinaryOp, Detail, Node, Op, UnaryOp } from './ir.js';
import { currentTrace } from './trace.js';
import {
  type Float,
  type Integer,
  isFloat,
  isInteger,
  literal,
  type Numeric,
  type Scalar,
  type Unsigned,
} from './types.js';

/** Anything that can stand where a value of type T is wanted: a traced value or a literal. */
export type In<T extends Scalar> = Expr<T> | number | bigint | (T extends 'bool' ? boolean : never);

/**
 * An immutable traced value. A method adds one operation to the kernel being traced and gives its result; which methods
 * a type has is said by their `this` parameter, so that TypeScript refuses the rest.
 */
export class Expr<T extends Scalar> {
  readonly type: T;
  readonly #node: Node | undefined;

  constructor(type: T, node: Node | undefined) {
    this.type = type;
    this.#node = node;
  }

  /** The IR node behind this value. */
  get node(): Node {
    if (!this.#node) throw new TypeError('a value without a node');
    return this.#node;
  }

  add<N extends Numeric>(this: Expr<N>, other: In<NoInfer<N>>): Expr<N> {
    return binary('add', this, other);
  }
  sub<N extends Numeric>(this: Expr<N>, other: In<NoInfer<N>>): Expr<N> {
    return binary('sub', this, other);
  }
  mul<N extends Numeric>(this: Expr<N>, other: In<NoInfer<N>>): Expr<N> {
    return binary('mul', this, other);
  }
  /** Integers: towards zero; x / 0 is x. */
  div<N extends Numeric>(this: Expr<N>, other: In<NoInfer<N>>): Expr<N> {
    return binary('div', this, other);
  }
  /** x % 0 is 0; the sign is the dividend's. */
  rem<I extends Integer>(this: Expr<I>, other: In<NoInfer<I>>): Expr<I> {
    return binary('rem', this, other);
  }

  and<B extends Integer | 'bool'>(this: Expr<B>, other: In<NoInfer<B>>): Expr<B> {
    return binary('and', this, other);
  }
  or<B extends Integer | 'bool'>(this: Expr<B>, other: In<NoInfer<B>>): Expr<B> {
    return binary('or', this, other);
  }
  xor<B extends Integer | 'bool'>(this: Expr<B>, other: In<NoInfer<B>>): Expr<B> {
    return binary('xor', this, other);
  }
  not<B extends Integer | 'bool'>(this: Expr<B>): Expr<B> {
    return unary('not', this);
  }

  /** Counts of shifts and rotations are taken modulo the width. */
  shl<I extends Integer>(this: Expr<I>, count: In<'u32'>): Expr<I> {
    return shift('shl', this, count);
  }
  /** Arithmetic on i32, logical otherwise. */
  shr<I extends Integer>(this: Expr<I>, count: In<'u32'>): Expr<I> {
    return shift('shr', this, count);
  }
  rotl<I extends Integer>(this: Expr<I>, count: In<'u32'>): Expr<I> {
    return shift('rotl', this, count);
  }
  rotr<I extends Integer>(this: Expr<I>, count: In<'u32'>): Expr<I> {
    return shift('rotr', this, count);
  }

  eq(other: In<T>): Expr<'bool'> {
    return compare('eq', this, other);
  }
  ne(other: In<T>): Expr<'bool'> {
    return compare('ne', this, other);
  }
  lt<N extends Numeric>(this: Expr<N>, other: In<NoInfer<N>>): Expr<'bool'> {
    return compare('lt', this, other);
  }
  le<N extends Numeric>(this: Expr<N>, other: In<NoInfer<N>>): Expr<'bool'> {
    return compare('le', this, other);
  }
  gt<N extends Numeric>(this: Expr<N>, other: In<NoInfer<N>>): Expr<'bool'> {
    return compare('lt', operand(this.type, other), this);
  }
  ge<N extends Numeric>(this: Expr<N>, other: In<NoInfer<N>>): Expr<'bool'> {
    return compare('le', operand(this.type, other), this);
  }

  neg<N extends Numeric>(this: Expr<N>): Expr<N> {
    return unary('neg', this);
  }
  sqrt<F extends Float>(this: Expr<F>): Expr<F> {
    return unary('sqrt', this);
  }
  byteSwap<U extends Unsigned>(this: Expr<U>): Expr<U> {
    return unary('byteSwap', this);
  }
  popcount<I extends Integer>(this: Expr<I>): Expr<'u32'> {
    return make('u32', 'popcount', [this]);
  }
  /** Leading zeros; the width for 0. */
  clz<I extends Integer>(this: Expr<I>): Expr<'u32'> {
    return make('u32', 'clz', [this]);
  }

  /** Conversion by value: integers wrap, floats to integers saturate (NaN gives 0), bool gives 0 or 1, x to bool is x ≠ 0. */
  to<U extends Scalar>(type: U): Expr<U> {
    if ((this.type as Scalar) === type) return this as unknown as Expr<U>;
    return make(type, 'cast', [this]);
  }
  /** The same bits as another type of the same width. */
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
    return wideHalf(this, 'cast');
  }
  /** The high word of a u64. */
  get hi(): Expr<'u32'> {
    return wideHalf(this, 'hi');
  }
  /** Byte n, counted from the least significant. */
  byte(this: Expr<'u32'>, n: 0 | 1 | 2 | 3): Expr<'u32'> {
    return this.shr(8 * n).and(0xff);
  }
}

/** Adds one operation to the kernel being traced. Types of arguments have been checked by the caller. */
export function make<T extends Scalar>(type: T, op: Op, args: readonly Expr<Scalar>[], detail: Detail = {}): Expr<T> {
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

/** `value` as a traced value of `type`; an error where it is of another. */
export function operand<T extends Scalar>(type: T, value: In<T>): Expr<T> {
  if (!(value instanceof Expr)) return lit(type, value as number | bigint | boolean);
  if ((value.type as Scalar) !== type) {
    throw typeError(`a ${type} is wanted here, not a ${value.type}`, `convert it with .to(${type}) or .bits(${type})`);
  }
  return value;
}

export function typeError(message: string, advice: string): MillraceError {
  return currentTrace().fail('kernel-type', message, advice);
}

/** For methods that a type does not have: TypeScript refuses them, this catches what was cast past it. */
function require(accepts: boolean, what: string, type: Scalar): void {
  if (!accepts) throw typeError(`there is no ${what} for ${type}`, 'convert the value first');
}

const acceptedBy: Readonly<Record<string, (type: Scalar) => boolean>> = {
  rem: isInteger,
  and: (type) => !isFloat(type),
  or: (type) => !isFloat(type),
  xor: (type) => !isFloat(type),
  not: (type) => !isFloat(type),
  eq: () => true,
  ne: () => true,
  sqrt: isFloat,
  byteSwap: (type) => type === 'u32' || type === 'u64',
  shl: isInteger,
  shr: isInteger,
  rotl: isInteger,
  rotr: isInteger,
};
const notBool = (type: Scalar) => type !== 'bool';

function check(op: Op, type: Scalar): void {
  require((acceptedBy[op] ?? notBool)(type), op, type);
}

function unary<T extends Scalar>(op: UnaryOp, a: Expr<T>): Expr<T> {
  check(op, a.type);
  return make(a.type, op, [a]);
}

function binary<T extends Scalar>(op: BinaryOp, a: Expr<T>, b: In<T>): Expr<T> {
  check(op, a.type);
  return make(a.type, op, [a, operand(a.type, b)]);
}

function shift<T extends Integer>(op: BinaryOp, a: Expr<T>, count: In<'u32'>): Expr<T> {
  check(op, a.type);
  return make(a.type, op, [a, operand('u32', count)]);
}

function compare<T extends Scalar>(op: BinaryOp, a: Expr<T>, b: In<T>): Expr<'bool'> {
  check(op, a.type);
  return make('bool', op, [a, operand(a.type, b)]);
}

function wideHalf(value: Expr<Scalar>, op: 'cast' | 'hi'): Expr<'u32'> {
  require(value.type === 'u64', op === 'hi' ? 'hi' : 'lo', value.type);
  return make('u32', op, [value]);
}
