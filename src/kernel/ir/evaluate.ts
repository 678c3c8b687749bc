import { MillraceError } from '../error.js';
import {
  fromWords,
  type Integer,
  isFloat,
  type Scalar,
  toWords,
  type Value,
  type WideFloat,
  wrap,
} from '../language/types.js';
import { fusedMultiplyAdd, round } from './fused-multiply-add.js';
import type { PureOp } from './ops.js';
import type { AtomicOp, Node, Statement } from './program.js';

/**
 * Evaluates a pure operation on host values. This is the language's definition: the interpreter, constant folding and all
 * host computation call it, and every target must produce the same bits. It never throws.
 */
export function evaluate(node: Node, args: readonly Value[]): Value {
  const [a = 0, b = 0, c = 0, d = 0] = args;
  const type = node.args[0]?.type ?? node.type;
  const { any, float, word, big } = uniformMeanings.get(node.op) ?? throwUndefined(node);
  if (any) return any(a, b, c, node);
  if (isFloat(type)) {
    if (!float) return throwUndefined(node);
    const result = float(a as number, b as number, c as number, type);
    return type === 'f32' ? Math.fround(result) : result;
  }
  if (word && type !== 'u64') {
    const result = word(a as number, b as number, c as number, node);
    return type === 'u32' ? result >>> 0 : type === 'i32' ? result | 0 : (result & 1) === 1;
  }
  if (!big) return throwUndefined(node);
  const result = big(BigInt(a), BigInt(b), BigInt(c), BigInt(d), type === 'u64' ? 64n : 32n, node);
  return node.type === 'bool' ? (result & 1n) === 1n : wrap(node.type as Integer & Scalar, result);
}

interface Meaning {
  /** For all types, on values as they are. */
  readonly any?: (a: Value, b: Value, c: Value, node: Node) => Value;
  /** For floats. The result is rounded to an f32 if that is the type. */
  readonly float?: (a: number, b: number, c: number, type: WideFloat) => number;
  /** For integers of any width. Bits beyond the width are dropped. */
  readonly big?: (a: bigint, b: bigint, c: bigint, d: bigint, width: bigint, node: Node) => bigint;
  /** The same for u32, i32 and bool, for which bigints would be slow. */
  readonly word?: (a: number, b: number, c: number, node: Node) => number;
}

/** The meaning of each operation. Look-ups are missing: the callers, which have the tables, evaluate them. */
export const meanings: Readonly<Record<Exclude<PureOp, 'lookup'>, Meaning>> = {
  add: { float: (a, b) => a + b, word: (a, b) => a + b, big: (a, b) => a + b },
  sub: { float: (a, b) => a - b, word: (a, b) => a - b, big: (a, b) => a - b },
  mul: { float: (a, b) => a * b, word: Math.imul, big: (a, b) => a * b },
  div: {
    float: (a, b) => a / b,
    word: (a, b) => (b === 0 ? a : Math.trunc(a / b)),
    big: (a, b) => (b === 0n ? a : a / b),
  },
  rem: { word: (a, b) => (b === 0 ? 0 : a % b), big: (a, b) => (b === 0n ? 0n : a % b) },
  neg: { float: (a) => -a, word: (a) => -a, big: (a) => -a },
  abs: { float: Math.abs, word: Math.abs },
  and: { word: (a, b) => a & b, big: (a, b) => a & b },
  or: { word: (a, b) => a | b, big: (a, b) => a | b },
  xor: { word: (a, b) => a ^ b, big: (a, b) => a ^ b },
  not: { word: (a) => ~a, big: (a) => ~a },
  // JavaScript takes shift counts of words modulo 32.
  shl: { word: (a, n) => a << n, big: (a, n, _c, _d, width) => a << (n % width) },
  shr: {
    word: (a, n, _, { type }) => (type === 'i32' ? a >> n : a >>> n),
    big: (a, n, _c, _d, width) => a >> (n % width),
  },
  rotl: {
    word: (a, n) => (a << n) | (a >>> -n),
    big: (a, n, _c, _d, width) => (a << (n % width)) | (a >> (width - (n % width))),
  },
  rotr: {
    word: (a, n) => (a >>> n) | (a << -n),
    big: (a, n, _c, _d, width) => (a >> (n % width)) | (a << (width - (n % width))),
  },
  eq: { any: (a, b) => a === b },
  ne: { any: (a, b) => a !== b },
  lt: { any: (a, b) => a < b },
  le: { any: (a, b) => a <= b },
  sqrt: { float: Math.sqrt },
  floor: { float: Math.floor },
  ceil: { float: Math.ceil },
  trunc: { float: Math.trunc },
  round: { float: roundToEven },
  byteSwap: {
    word: (a) => (a << 24) | ((a << 8) & 0xff0000) | ((a >>> 8) & 0xff00) | (a >>> 24),
    big: (a) => {
      let swapped = 0n;
      for (let i = 0n; i < 64n; i += 8n) swapped = (swapped << 8n) | ((a >> i) & 0xffn);
      return swapped;
    },
  },
  popcount: {
    big: (a, _b, _c, _d, width) => BigInt(BigInt.asUintN(Number(width), a).toString(2).replaceAll('0', '').length),
  },
  clz: { word: Math.clz32, big: (a, _b, _c, _d, width) => (a === 0n ? width : width - BigInt(a.toString(2).length)) },
  ctz: {
    // The lowest set bit alone; of 0 there is none.
    word: (a) => (a === 0 ? 32 : 31 - Math.clz32(a & -a)),
    big: (a, _b, _c, _d, width) => (a === 0n ? width : BigInt((a & -a).toString(2).length - 1)),
  },
  mulHi: { big: (a, b, _c, _d, width) => (a * b) >> width },
  wmadHi: { big: (a, b, c, d, width) => (a * b + c + d) >> width },
  fma: { float: (a, b, c, type) => fusedMultiplyAdd(type, a, b, c) },
  carry: { word: (a, b, c) => (a + b + c > 0xffff_ffff ? 1 : 0), big: (a, b, c, _d, width) => (a + b + c) >> width },
  borrow: { word: (a, b, c) => (a < b + c ? 1 : 0), big: (a, b, c) => (a < b + c ? 1n : 0n) },
  bitSelect: { word: (a, b, c) => (a & b) | (~a & c), big: (a, b, c) => (a & b) | (~a & c) },
  logic3: {
    big: (a, b, c, _d, _width, { detail }) => {
      let result = 0n;
      for (let row = 0; row < 8; row++) {
        if (!(((detail.truth ?? 0) >> row) & 1)) continue;
        result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
      }
      return result;
    },
  },
  funnel: { word: (high, low, n) => (n % 32 === 0 ? low : (low >>> n) | (high << -n)) },
  hi: { any: (a) => Number((a as bigint) >> 32n) },
  pack: { any: (a, b) => (BigInt(b) << 32n) | BigInt(a) },
  select: { any: (a, b, c) => (a ? b : c) },
  cast: { any: (a, _b, _c, { type, args }) => convert(args[0]?.type ?? type, type, a) },
  bits: { any: (a, _b, _c, { type, args }) => fromWords(type, toWords(args[0]?.type ?? type, a)) },
  any: { any: (a) => a },
};

/** The meanings as objects of one shape, which JavaScript engines read twice as fast. */
const uniformMeanings = new Map(
  Object.entries(meanings).map(([op, { any, float, word, big }]: [string, Meaning]) => [op, { any, float, word, big }]),
);

/** Returns what an atomic access leaves in memory that held `before`. `expected` is that of compareExchange. */
export function atomicResult(op: AtomicOp, before: Value, value: Value, expected: Value): Value {
  return typeof before === 'bigint'
    ? BigInt.asUintN(64, wideUpdates[op](before, value as bigint, expected as bigint))
    : wordUpdates[op](before as number, value as number, expected as number) >>> 0;
}

type Updates<V> = Readonly<Record<AtomicOp, (before: V, value: V, expected: V) => V>>;
const wordUpdates: Updates<number> = {
  add: (before, value) => before + value,
  sub: (before, value) => before - value,
  and: (before, value) => before & value,
  or: (before, value) => before | value,
  xor: (before, value) => before ^ value,
  min: (before, value) => Math.min(before, value),
  max: (before, value) => Math.max(before, value),
  exchange: (_, value) => value,
  compareExchange: (before, value, expected) => (before === expected ? value : before),
  load: (before) => before,
  store: (_, value) => value,
};
const wideUpdates: Updates<bigint> = {
  add: (before, value) => before + value,
  sub: (before, value) => before - value,
  and: (before, value) => before & value,
  or: (before, value) => before | value,
  xor: (before, value) => before ^ value,
  min: (before, value) => (value < before ? value : before),
  max: (before, value) => (value > before ? value : before),
  exchange: (_, value) => value,
  compareExchange: (before, value, expected) => (before === expected ? value : before),
  load: (before) => before,
  store: (_, value) => value,
};

/** Evaluates nodes in order, operands before users, into `known`; `earlier` holds values that are already known. */
export function evaluateNodes(
  nodes: readonly Node[],
  leaf: (node: Node) => Value,
  known: Map<Node, Value>,
  earlier: ReadonlyMap<Node, Value> = known,
): void {
  const valueOfNode = (node: Node): Value =>
    (node.op === 'const' ? node.detail.value : (known.get(node) ?? earlier.get(node))) as Value;
  for (const node of nodes) {
    if (node.op !== 'const')
      known.set(node, node.args.length === 0 ? leaf(node) : evaluate(node, node.args.map(valueOfNode)));
  }
}

export function outOfBounds(at: Node | Statement, what: string, index: number | bigint): MillraceError {
  return new MillraceError({
    code: 'kernel-bounds',
    message: `index ${index} is outside ${what}`,
    asked: at.origin.line,
    advice: 'guard the access with when(), or make the buffer, table or array larger',
  });
}

/** Rounds to the nearest integer, ties to even. The magnitude's fraction is exact, so that nothing is rounded twice. */
function roundToEven(x: number): number {
  const size = Math.abs(x);
  const below = Math.floor(size);
  const fraction = size - below; // NaN for an infinity, which is its own floor
  const rounded = fraction > 0.5 || (fraction === 0.5 && below % 2 === 1) ? below + 1 : below;
  return x < 0 || Object.is(x, -0) ? -rounded : rounded;
}

function convert(from: Scalar, to: Scalar, value: Value): Value {
  if (to === 'bool') return typeof value === 'boolean' ? value : value !== 0 && value !== 0n; // NaN is not zero: true
  if (from === 'bool') return to === 'u64' ? BigInt(value) : Number(value);
  if (isFloat(to)) {
    if (from === 'u64') return round(to, value as bigint, 0);
    return to === 'f32' ? Math.fround(Number(value)) : Number(value);
  }
  if (!isFloat(from)) return wrap(to, BigInt(value as bigint));
  const [min, max] =
    to === 'u64' ? [0n, (1n << 64n) - 1n] : to === 'u32' ? [0n, 0xffff_ffffn] : [-0x8000_0000n, 0x7fff_ffffn];
  const x = value as number;
  if (Number.isNaN(x)) return wrap(to, 0n);
  if (x <= Number(min)) return wrap(to, min);
  if (x >= Number(max)) return wrap(to, max);
  return wrap(to, BigInt(Math.trunc(x)));
}

/** Unreachable on a program that `check.ts` passed. */
function throwUndefined(node: Node): never {
  throw new TypeError(`no meaning for ${node.op} on ${node.args.map((arg) => arg.type).join(', ')}`);
}
