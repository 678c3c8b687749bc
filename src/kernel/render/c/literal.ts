import { type Scalar, toWords, type Value } from '../../language/types.js';

export const vectorType = (type: Scalar, varying: boolean): string =>
  varying ? (type === 'bool' ? 'i32v' : `${type}v`) : type;

/** Returns a constant as C text: large integers in hexadecimal, floats that have no plain form by their exact bits. */
export function cLiteral(type: Scalar, value: Value): string {
  switch (type) {
    case 'bool':
      return value ? '1' : '0';
    case 'u32':
    case 'u64': {
      const big = BigInt(value as number);
      return `${big > 999n ? `0x${big.toString(16)}` : big}${type === 'u64' ? 'ull' : 'u'}`;
    }
    case 'i32':
      return value === -2147483648 ? '(-2147483647 - 1)' : Number(value) < 0 ? `(${value})` : String(value);
    case 'f32':
    case 'f64': {
      const x = Number(value);
      const suffix = type === 'f32' ? 'f' : '';
      if (Number.isNaN(x)) return type === 'f32' ? '__builtin_nanf("")' : '__builtin_nan("")';
      if (!Number.isFinite(x)) return `(${x < 0 ? '-' : ''}__builtin_inf${suffix}())`;
      const [low = 0, high = 0] = toWords('f64', x);
      if (Number.isInteger(x) && Math.abs(x) < 2 ** 53 && !Object.is(x, -0))
        return x < 0 ? `(${x}.0${suffix})` : `${x}.0${suffix}`;
      return hexFloat(low, high, suffix);
    }
  }
}

/** Returns C's exact notation for a double (every float is one): sign, significand in hexadecimal, power of two. */
export function hexFloat(low: number, high: number, suffix: string): string {
  const exponent = (high >>> 20) & 0x7ff;
  const digits = (high & 0xfffff).toString(16).padStart(5, '0') + low.toString(16).padStart(8, '0');
  const text = exponent === 0 ? `0x0.${digits}p-1022` : `0x1.${digits}p${exponent - 1023}`;
  return high >>> 31 ? `(-${text}${suffix})` : text + suffix;
}
