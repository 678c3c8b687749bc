import type { Float, Integer, Numeric, Scalar, Signed, Type, Unsigned } from '../language/types.js';

/**
 * The table of operations: types, class, algebraic rules, C operator. The checker, the methods of `Expr`, the simplifier,
 * the statistics, the printers and the conformance suite read it. A new operation needs a row here, its meaning in
 * `evaluate.ts`, and a form for each target that has neither the operator nor an instruction with its name.
 */
export interface Operation {
  /** Types of the operands. `T` is one of the types in `on`, the same for all operands marked `T`. */
  readonly args: readonly ('T' | Scalar)[];
  /** The type of the result. `own` is the type of the node. */
  readonly result: 'T' | Scalar | 'own';
  /** The types that the operation accepts: those of T, or of the first operand. */
  readonly on: keyof TypeSets;
  readonly class: OperationClass;
  /** True if `Expr` has a method of this name. */
  readonly method?: true;
  /** The position of the operand that is a bit count. */
  readonly count?: 1 | 2;
  /** True if two operands may be exchanged. */
  readonly commutes?: true;
  /** An operator of C and WGSL with this meaning, used for types for which a target has no other form. */
  readonly symbol?: string;
  /** On integers and bools: x op identity = x. -1 has all bits set. */
  readonly identity?: 0 | 1 | -1;
  /** On integers and bools: x op absorbing = absorbing. */
  readonly absorbing?: 0 | -1;
  /** On integers and bools: the value of x op x. */
  readonly same?: 0 | 1 | 'x';
  /** On integers and bools: op op x = x. */
  readonly isInvolution?: true;
}

export const operationClasses = [
  'additions',
  'rotations',
  'shifts',
  'logic', // one three-input instruction on targets that have it
  'multiplications',
  'divisions',
  'comparisons',
  'selects',
  'floats',
  'lookups',
  'memory',
  'other',
] as const;
/** Classes of operations, as processors distinguish them. */
export type OperationClass = (typeof operationClasses)[number];

/** Sets of types that operations accept in the language. */
export interface TypeSets {
  readonly any: Type;
  readonly numeric: Numeric;
  readonly integer: Integer;
  readonly unsigned: Unsigned;
  readonly signed: Signed;
  readonly float: Float;
  readonly bitwise: Integer | 'bool';
  readonly u32: 'u32';
  readonly u64: 'u64';
  readonly bool: 'bool';
}

/** The types of a program in these sets: without those that tracing lowers. */
export const typeSets: { readonly [S in keyof TypeSets]: readonly (TypeSets[S] & Scalar)[] } = {
  any: ['u32', 'i32', 'u64', 'f32', 'f64', 'bool'],
  numeric: ['u32', 'i32', 'u64', 'f32', 'f64'],
  integer: ['u32', 'i32', 'u64'],
  unsigned: ['u32', 'u64'],
  signed: ['i32', 'f32', 'f64'],
  float: ['f32', 'f64'],
  bitwise: ['u32', 'i32', 'u64', 'bool'],
  u32: ['u32'],
  u64: ['u64'],
  bool: ['bool'],
};

/** The types of the language in these sets. */
export const languageSets: { readonly [S in keyof TypeSets]: readonly TypeSets[S][] } = {
  ...typeSets,
  any: [...typeSets.any, 'i64', 'f16'],
  numeric: [...typeSets.numeric, 'i64', 'f16'],
  integer: [...typeSets.integer, 'i64'],
  signed: [...typeSets.signed, 'i64', 'f16'],
  float: [...typeSets.float, 'f16'],
  bitwise: [...typeSets.bitwise, 'i64'],
};

const binary = { args: ['T', 'T'], result: 'T', method: true } as const;
const unary = { args: ['T'], result: 'T', method: true } as const;
const shiftRow = { args: ['T', 'u32'], result: 'T', on: 'integer', method: true, count: 1 } as const;
const ordered = { args: ['T', 'T'], result: 'bool', class: 'comparisons', method: true } as const;
const ternary = { args: ['T', 'T', 'T'], result: 'T' } as const;

const rows = {
  add: { ...binary, on: 'numeric', class: 'additions', symbol: '+', commutes: true, identity: 0 },
  sub: { ...binary, on: 'numeric', class: 'additions', symbol: '-', identity: 0, same: 0 },
  mul: { ...binary, on: 'numeric', class: 'multiplications', symbol: '*', commutes: true, identity: 1, absorbing: 0 },
  /** Integers: towards zero; x / 0 is x. */
  div: { ...binary, on: 'numeric', class: 'divisions', symbol: '/', identity: 1 },
  /** x % 0 is 0; the result has the dividend's sign. */
  rem: { ...binary, on: 'integer', class: 'divisions', symbol: '%' },
  neg: { ...unary, on: 'numeric', class: 'additions', symbol: '-', isInvolution: true },
  /** Wraps on i32: the smallest stays itself. On floats it clears the sign. */
  abs: { ...unary, on: 'signed', class: 'other' },

  and: { ...binary, on: 'bitwise', class: 'logic', symbol: '&', commutes: true, identity: -1, absorbing: 0, same: 'x' },
  or: { ...binary, on: 'bitwise', class: 'logic', symbol: '|', commutes: true, identity: 0, absorbing: -1, same: 'x' },
  xor: { ...binary, on: 'bitwise', class: 'logic', symbol: '^', commutes: true, identity: 0, same: 0 },
  not: { ...unary, on: 'bitwise', class: 'logic', symbol: '~', isInvolution: true },

  /** The count is taken modulo the width. */
  shl: { ...shiftRow, class: 'shifts', symbol: '<<' },
  /** Arithmetic on i32, logical otherwise. The count is taken modulo the width. */
  shr: { ...shiftRow, class: 'shifts', symbol: '>>' },
  /** The count is taken modulo the width. */
  rotl: { ...shiftRow, class: 'rotations' },
  /** The count is taken modulo the width. */
  rotr: { ...shiftRow, class: 'rotations' },

  eq: { ...ordered, on: 'any', symbol: '==', commutes: true, same: 1 },
  ne: { ...ordered, on: 'any', symbol: '!=', commutes: true, same: 0 },
  lt: { ...ordered, on: 'numeric', symbol: '<', same: 0 },
  le: { ...ordered, on: 'numeric', symbol: '<=', same: 1 },

  sqrt: { ...unary, on: 'float', class: 'other' },
  /** A zero result of these four has the operand's sign; infinities stay, and a NaN is a NaN. */
  floor: { ...unary, on: 'float', class: 'other' },
  ceil: { ...unary, on: 'float', class: 'other' },
  /** Towards zero. */
  trunc: { ...unary, on: 'float', class: 'other' },
  /** To the nearest integer, ties to even. */
  round: { ...unary, on: 'float', class: 'other' },
  byteSwap: { ...unary, on: 'unsigned', class: 'other', isInvolution: true },
  popcount: { args: ['T'], result: 'u32', on: 'integer', class: 'other', method: true },
  /** Leading zeros; the width if the operand is 0. */
  clz: { args: ['T'], result: 'u32', on: 'integer', class: 'other', method: true },
  /** Trailing zeros; the width if the operand is 0. */
  ctz: { args: ['T'], result: 'u32', on: 'integer', class: 'other', method: true },

  /** The upper half of the product. */
  mulHi: { args: ['T', 'T'], result: 'T', on: 'unsigned', class: 'multiplications', commutes: true },
  /** The upper half of a·b + c + d. */
  wmadHi: { args: ['T', 'T', 'T', 'T'], result: 'T', on: 'unsigned', class: 'multiplications' },
  /** a·b + c with one rounding. */
  fma: { ...ternary, on: 'float', class: 'other' },
  /** The carry, 0 or 1, out of a + b + (0 or 1). */
  carry: { ...ternary, on: 'unsigned', class: 'additions' },
  /** The borrow, 0 or 1, out of a - b - (0 or 1). */
  borrow: { ...ternary, on: 'unsigned', class: 'additions' },
  /** Operands: (mask, ones, zeros), bit by bit. */
  bitSelect: { ...ternary, on: 'unsigned', class: 'logic' },
  /** Any three-input bit function, given by `detail.truth`. */
  logic3: { ...ternary, on: 'bitwise', class: 'logic' },
  /** The low word of high:low >> count. Operands: (high, low, count). */
  funnel: { args: ['u32', 'u32', 'u32'], result: 'u32', on: 'u32', class: 'rotations', count: 2 },
  /** A u64 made of (low, high). */
  pack: { args: ['u32', 'u32'], result: 'u64', on: 'u32', class: 'other' },
  /** The upper half of a u64. */
  hi: { args: ['u64'], result: 'u32', on: 'u64', class: 'other' },

  /** Operands: (condition, yes, no). */
  select: { args: ['bool', 'T', 'T'], result: 'T', on: 'any', class: 'selects' },
  /** Converts by value to the node's type. */
  cast: { args: ['T'], result: 'own', on: 'any', class: 'other' },
  /** Reinterprets the bits as another type. */
  bits: { args: ['T'], result: 'own', on: 'numeric', class: 'other' },
  /** Gangs: true if the operand is true in some lane. The result is the same for all lanes. */
  any: { args: ['bool'], result: 'bool', on: 'bool', class: 'other' },
  /** An entry of `detail.table`. */
  lookup: { args: ['u32'], result: 'own', on: 'u32', class: 'lookups' },
} as const satisfies Readonly<Record<string, Operation>>;

export type PureOp = keyof typeof rows;
export const ops: Readonly<Record<PureOp, Operation>> = rows;

/** Operations that `Expr` has as methods, with their rows. */
export type MethodRows = {
  readonly [O in PureOp as (typeof rows)[O] extends { method: true } ? O : never]: (typeof rows)[O];
};
export const methods = (Object.keys(rows) as PureOp[]).filter((op) => ops[op].method) as (keyof MethodRows)[];

/** The parts of a node that determine the form of its operation. */
interface OperationShape {
  readonly op: string;
  readonly type: Scalar;
  readonly args: readonly { readonly type: Scalar }[];
}

/** Returns the row of an operation; undefined for a leaf. */
export const rowOf = (op: string): Operation | undefined => (ops as Readonly<Record<string, Operation>>)[op];

/** Returns the type that an operation works on: T, or the type of its first operand. */
export function operandType({ op, type, args }: OperationShape): Scalar {
  return args[Math.max(0, rowOf(op)?.args.indexOf('T') ?? 0)]?.type ?? type;
}

/** Returns the type of the result. Conversions and look-ups have the node's own type. */
export function resultType({ op, type, args }: OperationShape): Scalar {
  const result = rowOf(op)?.result ?? 'own';
  return result === 'own' ? type : result === 'T' ? operandType({ op, type, args }) : result;
}

/** Returns the name of a form in a target's tables: `add_u32`, `cast_u64_f32`. */
export function formName(node: OperationShape): string {
  const name = `${node.op}_${operandType(node)}`;
  return rowOf(node.op)?.result === 'own' ? `${name}_${node.type}` : name;
}

/** Returns the types of a form's operands and result, given its name. */
export function signatureOf(name: string): { readonly args: readonly Scalar[]; readonly result: Scalar } {
  const [op = '', on, type = on] = name.split('_') as [string, Scalar, Scalar?];
  const args = rowOf(op)?.args.map((arg) => (arg === 'T' ? on : arg));
  if (!args) throw new TypeError(`${name} is not a form of an operation`);
  return { args, result: resultType({ op, type, args: args.map((arg) => ({ type: arg })) }) };
}
