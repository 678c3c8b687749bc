import { MillraceError } from './error.js';
import { fused, round } from './exact.js';
import type { Node, Statement } from './ir.js';
import { type Float, fromWords, type Integer, isFloat, type Scalar, toWords, type Value, wrap } from './types.js';

/**
 * What each pure operation means, on host values. This is the language's definition: the interpreter, constant folding
 * and everything computed on the host go through here, and every target must give these bits. It never throws.
 */
export function evaluate(node: Node, args: readonly Value[]): Value {
  const [a = 0, b = 0, c = 0, d = 0] = args;
  const type = node.args[0]?.type ?? node.type;
  switch (node.op) {
    case 'select':
      return a ? b : c;
    case 'eq':
      return a === b;
    case 'ne':
      return a !== b;
    case 'lt':
      return a < b;
    case 'le':
      return a <= b;
    case 'cast':
      return convert(type, node.type, a);
    case 'bits':
      return fromWords(node.type, toWords(type, a));
    case 'hi':
      return Number((a as bigint) >> 32n);
    case 'pack':
      return (BigInt(b) << 32n) | BigInt(a);
    case 'any':
      return a;
    default:
      if (type === 'bool') return onBools(node, a as boolean, b as boolean, c as boolean);
      if (isFloat(type)) return onFloats(node, type, a as number, b as number, c as number);
      if (type === 'u64') return onWide(node, a as bigint, b, c as bigint, d as bigint);
      return onWords(node, type, a as number, b as number, c as number, d as number);
  }
}

/** Evaluates nodes in order, operands before users, into `known`; `earlier` holds what was evaluated before. */
export function evaluateNodes(
  nodes: readonly Node[],
  leaf: (node: Node) => Value,
  known: Map<Node, Value>,
  earlier: ReadonlyMap<Node, Value> = known,
): void {
  const of = (node: Node): Value =>
    (node.op === 'const' ? node.detail.value : (known.get(node) ?? earlier.get(node))) as Value;
  for (const node of nodes) {
    if (node.op !== 'const') known.set(node, node.args.length === 0 ? leaf(node) : evaluate(node, node.args.map(of)));
  }
}

export function outOfBounds(at: Node | Statement, what: string, index: number | bigint): MillraceError {
  return new MillraceError({
    code: 'kernel-bounds',
    message: `index ${index} is outside ${what}`,
    asked: at.origin.line,
    advice: 'guard the access with when(), or make it larger',
  });
}

function onBools(node: Node, a: boolean, b: boolean, c: boolean): boolean {
  switch (node.op) {
    case 'and':
      return a && b;
    case 'or':
      return a || b;
    case 'xor':
      return a !== b;
    case 'not':
      return !a;
    case 'logic3':
      return ((node.detail.truth ?? 0) >> ((a ? 4 : 0) | (b ? 2 : 0) | (c ? 1 : 0))) % 2 === 1;
    default:
      return undefinedOn(node);
  }
}

function onFloats(node: Node, type: Float, a: number, b: number, c: number): number {
  const single = type === 'f32' ? Math.fround : (x: number) => x;
  switch (node.op) {
    case 'add':
      return single(a + b);
    case 'sub':
      return single(a - b);
    case 'mul':
      return single(a * b);
    case 'div':
      return single(a / b);
    case 'neg':
      return -a;
    case 'sqrt':
      return single(Math.sqrt(a));
    case 'fma':
      return fused(type, a, b, c);
    default:
      return undefinedOn(node);
  }
}

/** u32 and i32, held as numbers in range. */
function onWords(node: Node, type: Integer, a: number, b: number, c: number, d: number): number {
  const held = type === 'i32' ? (x: number) => x | 0 : (x: number) => x >>> 0;
  const count = b & 31;
  switch (node.op) {
    case 'add':
      return held(a + b);
    case 'sub':
      return held(a - b);
    case 'mul':
      return held(Math.imul(a, b));
    case 'mulHi':
      return Number((BigInt(a) * BigInt(b)) >> 32n);
    case 'div':
      return b === 0 ? a : held(Math.trunc(a / b));
    case 'rem':
      return b === 0 ? 0 : held(a % b);
    case 'and':
      return held(a & b);
    case 'or':
      return held(a | b);
    case 'xor':
      return held(a ^ b);
    case 'not':
      return held(~a);
    case 'neg':
      return held(-a);
    case 'shl':
      return held(a << count);
    case 'shr':
      return type === 'i32' ? a >> count : a >>> count;
    case 'rotl':
      return held(count === 0 ? a : (a << count) | (a >>> (32 - count)));
    case 'rotr':
      return held(count === 0 ? a : (a >>> count) | (a << (32 - count)));
    case 'byteSwap':
      return held((a << 24) | ((a << 8) & 0xff0000) | ((a >>> 8) & 0xff00) | (a >>> 24));
    case 'popcount':
      return ones(BigInt(a >>> 0));
    case 'clz':
      return Math.clz32(a);
    case 'bitSelect':
      return held((a & b) | (~a & c));
    case 'logic3':
      return held(logic(node.detail.truth ?? 0, a, b, c));
    case 'funnel':
      return (c & 31) === 0 ? b : held((b >>> (c & 31)) | (a << (32 - (c & 31))));
    case 'carry':
      return a + b + c > 0xffff_ffff ? 1 : 0;
    case 'borrow':
      return a < b + c ? 1 : 0;
    case 'wmadHi':
      return Number((BigInt(a) * BigInt(b) + BigInt(c) + BigInt(d)) >> 32n);
    default:
      return undefinedOn(node);
  }
}

/** u64, held as bigint. `b` is a number where it counts bits. */
function onWide(node: Node, a: bigint, b: Value, c: bigint, d: bigint): Value {
  const held = (x: bigint) => BigInt.asUintN(64, x);
  const y = BigInt(b as bigint);
  const count = y & 63n;
  switch (node.op) {
    case 'add':
      return held(a + y);
    case 'sub':
      return held(a - y);
    case 'mul':
      return held(a * y);
    case 'mulHi':
      return (a * y) >> 64n;
    case 'div':
      return y === 0n ? a : a / y;
    case 'rem':
      return y === 0n ? 0n : a % y;
    case 'and':
      return a & y;
    case 'or':
      return a | y;
    case 'xor':
      return a ^ y;
    case 'not':
      return held(~a);
    case 'neg':
      return held(-a);
    case 'shl':
      return held(a << count);
    case 'shr':
      return a >> count;
    case 'rotl':
      return held((a << count) | (a >> (64n - count)));
    case 'rotr':
      return held((a >> count) | (a << (64n - count)));
    case 'byteSwap': {
      let swapped = 0n;
      for (let i = 0n; i < 64n; i += 8n) swapped = (swapped << 8n) | ((a >> i) & 0xffn);
      return swapped;
    }
    case 'popcount':
      return ones(a);
    case 'clz':
      return a === 0n ? 64 : 64 - a.toString(2).length;
    case 'bitSelect':
      return (a & y) | (held(~a) & c);
    case 'carry':
      return (a + y + c) >> 64n;
    case 'borrow':
      return a < y + c ? 1n : 0n;
    case 'wmadHi':
      return (a * y + c + d) >> 64n;
    case 'logic3': {
      let result = 0n;
      for (let row = 0; row < 8; row++) {
        if (!(((node.detail.truth ?? 0) >> row) & 1)) continue;
        result |= (row & 4 ? a : held(~a)) & (row & 2 ? y : held(~y)) & (row & 1 ? c : held(~c));
      }
      return result;
    }
    default:
      return undefinedOn(node);
  }
}

function convert(from: Scalar, to: Scalar, value: Value): Value {
  if (to === 'bool') return typeof value === 'boolean' ? value : value !== 0 && value !== 0n; // NaN is not zero: true
  if (from === 'bool') return to === 'u64' ? BigInt(value) : Number(value);
  if (isFloat(to)) {
    if (from === 'u64') return round(to, value as bigint, 0);
    return to === 'f32' ? Math.fround(Number(value)) : Number(value);
  }
  if (!isFloat(from)) return wrap(to, BigInt(value as bigint));
  const [least, most] =
    to === 'u64' ? [0n, (1n << 64n) - 1n] : to === 'u32' ? [0n, 0xffff_ffffn] : [-0x8000_0000n, 0x7fff_ffffn];
  const x = value as number;
  if (Number.isNaN(x)) return wrap(to, 0n);
  if (x <= Number(least)) return wrap(to, least);
  if (x >= Number(most)) return wrap(to, most);
  return wrap(to, BigInt(Math.trunc(x)));
}

function logic(truth: number, a: number, b: number, c: number): number {
  let result = 0;
  for (let row = 0; row < 8; row++) {
    if ((truth >> row) & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  }
  return result;
}

function ones(x: bigint): number {
  let count = 0;
  for (let rest = x; rest !== 0n; rest >>= 1n) count += Number(rest & 1n);
  return count;
}

/** Unreachable on a program that `check.ts` passed. */
function undefinedOn(node: Node): never {
  throw new TypeError(`no meaning for ${node.op} on ${node.args.map((arg) => arg.type).join(', ')}`);
}
