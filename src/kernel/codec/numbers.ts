import type { PureOp } from '../ir/ops.js';
import type { AtomicOp, LeafOp } from '../ir/program.js';
import type { RecordedBuffer, TraceEvent } from '../ir/recording.js';
import type { Scalar, Type } from '../language/types.js';

/**
 * The numbers of the format, version 1. A number keeps its meaning for ever: additions take new ones, and what is removed
 * leaves a gap. TypeScript requires a number here for every type, operation and statement of the language.
 */

export const MAGIC = [0x4d, 0x52, 0x4b] as const; // MRK
export const VERSION = 1;

/**
 * Properties of an encoded kernel, one bit each. A reader refuses bits that it does not know, so an addition that old
 * readers cannot skip takes a bit.
 */
export const Feature = { origins: 1, functions: 2 } as const;
export const knownFeatures = Object.values(Feature).reduce((all, bit) => all | bit, 0);

export const typeNumbers: Readonly<Record<Scalar, number>> = { u32: 0, i32: 1, u64: 2, f32: 3, f64: 4, bool: 5 };

/** Types of values that cross a kernel's border. */
export const fieldTypeNumbers: Readonly<Record<Type, number>> = { ...typeNumbers, i64: 6, f16: 18 };

export const bufferTypeNumbers: Readonly<Record<RecordedBuffer['type'], number>> = {
  u32: 0,
  i32: 1,
  u64: 2,
  f32: 3,
  f64: 4,
  i64: 6,
  u8: 16,
  u16: 17,
  f16: 18,
};

export const bufferKindNumbers: Readonly<Record<RecordedBuffer['kind'], number>> = { read: 0, rw: 1, atomic: 2 };

export const kindNumbers = { items: 0, tiles: 1 } as const;

/** Leaves of a trace, without constants, which have a form of their own, and leaves that passes make. */
export type RecordedLeaf = Exclude<LeafOp, 'const' | 'param' | 'active' | 'local'>;
export const leafNumbers: Readonly<Record<RecordedLeaf, number>> = { job: 0, chunk: 1, item: 2, length: 3 };

/** Operations of a trace, without those that only passes make. */
export type RecordedOp = Exclude<PureOp, 'any' | 'logic3'>;
export const opNumbers: Readonly<Record<RecordedOp, number>> = {
  add: 0,
  sub: 1,
  mul: 2,
  div: 3,
  rem: 4,
  neg: 5,
  and: 6,
  or: 7,
  xor: 8,
  not: 9,
  shl: 10,
  shr: 11,
  rotl: 12,
  rotr: 13,
  eq: 14,
  ne: 15,
  lt: 16,
  le: 17,
  sqrt: 18,
  byteSwap: 19,
  popcount: 20,
  clz: 21,
  mulHi: 22,
  wmadHi: 23,
  fma: 24,
  carry: 25,
  borrow: 26,
  bitSelect: 27,
  funnel: 28,
  pack: 29,
  hi: 30,
  select: 31,
  cast: 32,
  bits: 33,
  lookup: 34,
  abs: 35,
  floor: 36,
  ceil: 37,
  trunc: 38,
  round: 39,
  ctz: 40,
};

export const atomicNumbers: Readonly<Record<AtomicOp, number>> = {
  add: 0,
  or: 1,
  min: 2,
  max: 3,
  exchange: 4,
  load: 5,
  store: 6,
  sub: 7,
  and: 8,
  xor: 9,
  compareExchange: 10,
};

/** Codes that are not statements: the end of a block, and a change of the source line. */
export const END = 0;
export const ORIGIN = 1;

/** Whose a function is, in kernels with functions of their own (`Feature.functions`). */
export const functionKinds = { std: 0, own: 1 } as const;

/** Statements of a recording. A `let` has the code of its operation, `FIRST_OPERATION` and more. */
export type RecordedKind = Exclude<
  TraceEvent['kind'],
  'let' | 'native' | 'function' | 'parameters' | 'results' | 'invoke'
>;
export const statementNumbers: Readonly<Record<RecordedKind, number>> = {
  cell: 2,
  get: 3,
  set: 4,
  load: 5,
  store: 6,
  prefetch: 7,
  atomic: 8,
  when: 9,
  loop: 10,
  while: 11,
  break: 12,
  emit: 13,
  each: 14,
  sum: 15,
  scan: 16,
  once: 17,
  call: 18,
  table: 19,
  near: 20,
  array: 21,
  return: 22,
};
export const FIRST_OPERATION = 64;

/** Codes of an operand that is used for the first time. Others count back from the latest value, 2 being that one. */
export const NEW_CONSTANT = 0;
export const NEW_LEAF = 1;
export const LATEST_VALUE = 2;

/** Returns the entries of a table by number. */
export const byNumber = <K extends string>(numbers: Readonly<Record<K, number>>): ReadonlyMap<number, K> =>
  new Map((Object.keys(numbers) as K[]).map((name) => [numbers[name], name]));
