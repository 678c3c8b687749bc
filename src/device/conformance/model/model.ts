import type { Float, Integer, Type, Value } from '../../../kernel/index.js';
import { floatResult, halfBits, halfValue, nearestFloat, nearestTo, toFraction } from './float-model.js';

/**
 * Computes the result of each operation by the table of semantics, with bigints and fractions. It shares no code with the
 * language's evaluation, the interpreter or a target.
 */
export function modelResult(op: string, type: Type, args: readonly Value[]): Value {
  const [a, b, c] = args as [Value, Value, Value];
  if (op === 'select') return a ? b : c;
  if (op === 'min' || op === 'max') return minOrMax(op, a, b);
  if (op === 'clamp') return minOrMax('min', minOrMax('max', a, b), c);
  const [conversion, to] = op.split('.') as [string, Type?];
  if (to) return conversion === 'to' ? convert(type, to, a) : reinterpret(type, to, a);
  if (type === 'bool') return boolResult(op, args as readonly boolean[]);
  if (op in comparisons) return (comparisons[op] as Comparison)(args[0] as number, args[1] as number);
  if (isFloat(type)) return floatResult(op, type, args as readonly number[]);
  if (op === 'half') return halfValue(Number(a) % 65536);
  const result = integerResult(
    op,
    type,
    args.map((x) => BigInt(x)),
  );
  return typeof result === 'bigint' && op !== 'pack' ? wrapTo(type, result) : result;
}

type Comparison = (a: number, b: number) => boolean;
const comparisons: Readonly<Record<string, Comparison>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => !(a === b),
  lt: (a, b) => a < b,
  le: (a, b) => a < b || a === b,
  gt: (a, b) => a > b,
  ge: (a, b) => a > b || a === b,
};

const width = (type: Integer): bigint => (type === 'u64' || type === 'i64' ? 64n : 32n);
const isSigned = (type: Integer): boolean => type === 'i32' || type === 'i64';
const isFloat = (type: Type): type is Float => type === 'f16' || type === 'f32' || type === 'f64';
const modulo = (x: bigint, m: bigint): bigint => ((x % m) + m) % m;

/** Returns a whole number wrapped to a type, as the host represents it. */
function wrapTo(type: Integer, x: bigint): Value {
  const [bits, size] = [width(type), 1n << width(type)];
  const pattern = modulo(x, size);
  const wrapped = isSigned(type) && pattern >= size / 2n ? pattern - size : pattern;
  return bits === 64n ? wrapped : Number(wrapped);
}

function integerResult(op: string, type: Integer, args: readonly bigint[]): bigint | number {
  const w = width(type);
  const size = 1n << w;
  const [a = 0n, b = 0n, c = 0n, d = 0n] = args;
  const bits = modulo(a, size); // a as an unsigned pattern
  const count = modulo(b, w);
  switch (op) {
    case 'add':
      return a + b;
    case 'sub':
      return a - b;
    case 'mul':
      return a * b;
    case 'mulHi':
      return (a * b) / size;
    case 'div':
    case 'quotient':
      return b === 0n ? a : a / b;
    case 'rem':
    case 'remainder':
      return b === 0n ? 0n : a - (a / b) * b;
    case 'and':
      return a & b;
    case 'or':
      return a | b;
    case 'xor':
      return a ^ b;
    case 'not':
      return size - 1n - bits;
    case 'bitSelect':
      return (a & b) + ((size - 1n - a) & c); // of unsigned numbers; no bit is in both
    case 'neg':
      return -a;
    case 'shl':
      return a * 2n ** count;
    case 'shr':
      return (a - modulo(a, 2n ** count)) / 2n ** count;
    case 'rotl':
      return bits * 2n ** count + bits / 2n ** (w - count);
    case 'rotr':
      return bits / 2n ** count + bits * 2n ** (w - count);
    case 'funnel':
      return (bits * size + b) / 2n ** modulo(c, w);
    case 'pack':
      return a + b * size;
    case 'lo':
      return Number(a % (1n << 32n));
    case 'hi':
      return Number(a / (1n << 32n));
    case 'byte0':
    case 'byte1':
    case 'byte2':
    case 'byte3':
      return Math.floor(Number(a) / 256 ** Number(op.slice(4))) % 256;
    case 'byteSwap':
      return BigInt(
        `0x${(
          bits
            .toString(16)
            .padStart(Number(w / 4n), '0')
            .match(/../g) ?? []
        )
          .reverse()
          .join('')}`,
      );
    case 'popcount':
      return bits.toString(2).split('1').length - 1;
    case 'clz':
      return Number(w) - (bits === 0n ? 0 : bits.toString(2).length);
    case 'ctz':
      return bits === 0n ? Number(w) : bits.toString(2).length - 1 - bits.toString(2).lastIndexOf('1');
    case 'abs':
      return a < 0n ? -a : a;
    case 'wmadLo':
      return a * b + c + d;
    case 'wmadHi':
      return (a * b + c + d) / size;
    // Two-limb numbers (a, b) and (c, d), least significant limb first.
    case 'sumLow':
      return a + c;
    case 'sumHigh':
      return (a + b * size + c + d * size) / size;
    case 'sumOut':
      return (a + b * size + c + d * size) / (size * size);
    case 'differenceLow':
      return a - c;
    case 'differenceHigh':
      return modulo(a + b * size - c - d * size, size * size) / size;
    case 'differenceOut':
      return a + b * size < c + d * size ? 1n : 0n;
    default:
      throw new TypeError(`the model has no ${op} of integers`);
  }
}

const boolOperations: Readonly<Record<string, (a: boolean, b: boolean) => boolean>> = {
  and: (a, b) => a && b,
  or: (a, b) => a || b,
  xor: (a, b) => a !== b,
};

function boolResult(op: string, [a = false, b = false]: readonly boolean[]): boolean {
  if (op === 'not') return !a;
  if (op === 'eq') return a === b;
  if (op === 'ne') return a !== b;
  return boolOperations[op]?.(a, b) ?? false;
}

/** Returns `a` unless `b` is smaller (larger). A NaN is therefore kept as the first operand and ignored as the second. */
function minOrMax(op: 'min' | 'max', a: Value, b: Value): Value {
  return (op === 'min' ? b < a : b > a) ? b : a;
}

/** Converts by value. */
function convert(from: Type, to: Type, value: Value): Value {
  if (to === 'bool') return typeof value === 'boolean' ? value : value !== 0 && value !== 0n;
  if (isFloat(to)) {
    if (isFloat(from)) return nearestTo(to, value as number);
    return nearestFloat(to, { numerator: BigInt(value), denominator: 1n });
  }
  if (!isFloat(from)) return wrapTo(to, BigInt(value));
  const half = 2n ** (width(to) - 1n);
  const [min, max] = isSigned(to) ? [-half, half - 1n] : [0n, 2n * half - 1n];
  if (Number.isNaN(value as number)) return wrapTo(to, 0n);
  if (!Number.isFinite(value as number)) return wrapTo(to, (value as number) < 0 ? min : max);
  const { numerator, denominator } = toFraction(value as number);
  const towardsZero = numerator / denominator;
  return wrapTo(to, towardsZero < min ? min : towardsZero > max ? max : towardsZero);
}

/** Reinterprets the bits as another type. */
function reinterpret(from: Type, to: Type | 'u16', value: Value): Value {
  if (to === 'u16') return halfBits(value as number);
  const view = new DataView(new ArrayBuffer(8));
  if (from === 'u32' || from === 'i32') view.setUint32(0, Number(value) >>> 0);
  else if (from === 'u64') view.setBigUint64(0, value as bigint);
  else if (from === 'i64') view.setBigInt64(0, value as bigint);
  else if (from === 'f32') view.setFloat32(0, value as number);
  else view.setFloat64(0, value as number);
  if (to === 'u32') return view.getUint32(0);
  if (to === 'i32') return view.getInt32(0);
  if (to === 'u64') return view.getBigUint64(0);
  if (to === 'i64') return view.getBigInt64(0);
  return to === 'f32' ? view.getFloat32(0) : view.getFloat64(0);
}
