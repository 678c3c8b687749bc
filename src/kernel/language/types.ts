import { MillraceError } from '../error.js';

/** The types of the language. The constants below are schema values and, through `typeof`, the types. */
export type Type = Scalar | Lowered;
/** The types of a traced program's values. */
export type Scalar = 'u32' | 'i32' | 'u64' | 'f32' | 'f64' | 'bool';
/**
 * Types that a program does not have. While tracing, an i64 is a u64 with the same bits and an f16 is the f32 of the same
 * value: their operations become operations on these.
 */
export type Lowered = 'i64' | 'f16';
export type Integer = 'u32' | 'i32' | 'u64' | 'i64';
export type Unsigned = 'u32' | 'u64';
export type Float = 'f16' | 'f32' | 'f64';
/** Floats that a program has. */
export type WideFloat = Float & Scalar;
/** Types with negative values. */
export type Signed = 'i32' | 'i64' | Float;
export type Numeric = Integer | Float;

export const u32 = 'u32';
export const i32 = 'i32';
export const u64 = 'u64';
export const i64 = 'i64';
export const f16 = 'f16';
export const f32 = 'f32';
export const f64 = 'f64';
export const bool = 'bool';
/** Types for buffers only. Values are u32. */
export type Packed = 'u8' | 'u16';
export const u8 = 'u8';
export const u16 = 'u16';

export const isPacked = (type: string): type is Packed => type === 'u8' || type === 'u16';
export const isLowered = (type: string): type is Lowered => type === 'i64' || type === 'f16';

/** Returns the type that values of a type have in a program. */
export function scalarOf<T extends Type>(type: T): ScalarOf<T>;
export function scalarOf(type: Type): Scalar {
  return type === 'i64' ? 'u64' : type === 'f16' ? 'f32' : type;
}
export type ScalarOf<T extends Type> = T extends 'i64' ? 'u64' : T extends 'f16' ? 'f32' : T & Scalar;

/** A value on the host: u32 and i32 are exact numbers in range, f32 is already rounded. */
export type Value = number | bigint | boolean;

export const bytesOf: Readonly<Record<Scalar, number>> = { u32: 4, i32: 4, u64: 8, f32: 4, f64: 8, bool: 4 };
export const wordsOf = (type: Type): number => bytesOf[scalarOf(type)] / 4;
export const bitsOf = (type: Integer): number => bytesOf[scalarOf(type)] * 8;

export const isFloat = (type: Scalar): type is WideFloat => type === 'f32' || type === 'f64';
export const isInteger = (type: Scalar): type is Integer & Scalar => type === 'u32' || type === 'i32' || type === 'u64';

/** Wraps an integer to the range of its type, as every integer operation does. */
export function wrap(type: Integer & Scalar, value: bigint): number | bigint {
  if (type === 'u64') return BigInt.asUintN(64, value);
  return Number(type === 'u32' ? BigInt.asUintN(32, value) : BigInt.asIntN(32, value));
}

/**
 * Converts a literal to the value that it has in a program (`scalarOf`). Integers may be written signed or unsigned (`-1` and `0xffffffff` are the same
 * u32, since TypeScript's own bit operators return signed numbers). Throws if the value does not fit that width.
 */
export function literal(type: Type, written: Value): Value {
  const refuse = (why: string): never => {
    throw new MillraceError({
      code: 'kernel-value',
      message: `${String(written)} is not a valid ${type}: ${why}`,
      asked: `a ${type} literal`,
      advice: `write a value that a ${type} holds, or convert with .to()`,
    });
  };
  if (type === 'bool') return typeof written === 'boolean' ? written : refuse('a bool is true or false');
  if (typeof written === 'boolean') return refuse('a bool needs select() to become a number');
  if (typeof written !== 'number' && typeof written !== 'bigint') return refuse('it is not a number');
  if (type === 'f16') return roundToHalf(Number(written));
  if (type === 'f32' || type === 'f64') return type === 'f32' ? Math.fround(Number(written)) : Number(written);
  if (typeof written === 'number' && !Number.isSafeInteger(written)) {
    return refuse(Number.isInteger(written) ? 'past 2^53 it is not exact, write a bigint' : 'it is not an integer');
  }
  const big = BigInt(written);
  const bits = BigInt(bitsOf(type));
  if (big < -(1n << (bits - 1n)) || big >= 1n << bits) return refuse(`it does not fit ${bits} bits`);
  return wrap(scalarOf(type), big);
}

/** Rounds to the nearest float of 16 bits, ties to even. */
export function roundToHalf(x: number): number {
  const size = Math.abs(x);
  if (!(size > 0 && size < HALF_OVERFLOW)) return size >= HALF_OVERFLOW ? Math.sign(x) * Number.POSITIVE_INFINITY : x;
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setFloat64(0, size);
  const exponent = Math.max((bytes.getUint16(0) >> 4) - 1023, -14);
  const rounder = 2 ** (exponent - 10 + 52); // its last bit is that of the result
  const rounded = size + rounder - rounder;
  return x < 0 ? -rounded : rounded;
}

/** Half a unit above the largest float of 16 bits, 65,504. */
const HALF_OVERFLOW = 65520;

/** Returns the 32-bit words of a value, low word first: the format of parameters and hits. */
export function toWords(type: Scalar, value: Value): number[] {
  if (type === 'bool') return [value ? 1 : 0];
  if (type === 'u32' || type === 'i32') return [Number(value) >>> 0];
  if (type === 'u64') {
    const big = BigInt(value as bigint);
    return [Number(big & 0xffffffffn), Number((big >> 32n) & 0xffffffffn)];
  }
  // A NaN has the processor's sign (negative on x86) or none, depending on the JavaScript engine: one bit pattern is used.
  if (Number.isNaN(value)) return type === 'f32' ? [0x7fc0_0000] : [0, 0x7ff8_0000];
  const bytes = new DataView(new ArrayBuffer(8));
  if (type === 'f32') {
    bytes.setFloat32(0, Number(value), true);
    return [bytes.getUint32(0, true)];
  }
  bytes.setFloat64(0, Number(value), true);
  return [bytes.getUint32(0, true), bytes.getUint32(4, true)];
}

/** Inverts `toWords`: reads `wordsOf(type)` words from `at`. An i64 has its sign. */
export function fromWords(type: Type, words: ArrayLike<number>, at = 0): Value {
  const low = (words[at] ?? 0) >>> 0;
  const high = () => (words[at + 1] ?? 0) >>> 0;
  switch (type) {
    case 'bool':
      return low !== 0;
    case 'u32':
      return low;
    case 'i32':
      return low | 0;
    case 'u64':
    case 'i64': {
      const bits = (BigInt(high()) << 32n) | BigInt(low);
      return type === 'u64' ? bits : BigInt.asIntN(64, bits);
    }
    case 'f16':
    case 'f32':
    case 'f64': {
      const bytes = new DataView(new ArrayBuffer(8));
      bytes.setUint32(0, low, true);
      if (type !== 'f64') return bytes.getFloat32(0, true);
      bytes.setUint32(4, high(), true);
      return bytes.getFloat64(0, true);
    }
  }
}
