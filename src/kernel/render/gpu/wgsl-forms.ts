import type { OperationTable } from './forms.js';

/**
 * Operations in WGSL. Its integers follow the language's rules: they wrap, x / 0 is x, x % 0 is 0, and shift counts at
 * run time are taken modulo 32. It has no 64-bit integers (`splitU64` has removed them) and no wide product.
 */
export const wgslTable: OperationTable = {
  forms: {
    xor_bool: '$a != $b',
    not_bool: '!$a',
    neg_u32: '0u - $a',
    select: 'select($c, $b, $a)',
    sqrt: 'sqrt($a)',
    fma: 'fma($a, $b, $c)',
    abs: 'abs($a)', // of the smallest i32, itself
    floor: 'floor($a)',
    ceil: 'ceil($a)',
    trunc: 'trunc($a)',
    shl_u32_const: '$a << $bu',
    shl_i32_const: '$a << $bu',
    shr_u32_const: '$a >> $bu',
    shr_i32_const: '$a >> $bu',
    popcount_u32: 'countOneBits($a)',
    popcount_i32: 'u32(countOneBits($a))',
    clz_u32: 'countLeadingZeros($a)',
    clz_i32: 'u32(countLeadingZeros($a))',
    ctz_u32: 'countTrailingZeros($a)',
    ctz_i32: 'u32(countTrailingZeros($a))',
    cast_u32_i32: 'bitcast<i32>($a)',
    cast_i32_u32: 'bitcast<u32>($a)',
    cast_u32_f32: 'f32($a)',
    cast_i32_f32: 'f32($a)',
    cast_bool_u32: 'u32($a)',
    cast_bool_i32: 'i32($a)',
    cast_bool_f32: 'f32($a)',
    cast_u32_bool: '$a != 0u',
    cast_i32_bool: '$a != 0i',
    cast_f32_bool: '$a != 0.0f',
    bits_u32_i32: 'bitcast<i32>($a)',
    bits_i32_u32: 'bitcast<u32>($a)',
    bits_u32_f32: 'bitcast<f32>($a)',
    bits_i32_f32: 'bitcast<f32>($a)',
    bits_f32_u32: 'bitcast<u32>($a)',
    bits_f32_i32: 'bitcast<i32>($a)',
  },
  functions: functions(),
};

function functions(): Record<string, string> {
  const left = (a: string) => `(${a} << (b & 31u)) | (${a} >> ((32u - b) & 31u))`;
  const right = (a: string) => `(${a} >> (b & 31u)) | (${a} << ((32u - b) & 31u))`;
  const signed = (form: typeof left) => `let w = bitcast<u32>(a); return bitcast<i32>(${form('w')});`;
  return {
    rotl_u32: left('a'),
    rotr_u32: right('a'),
    rotl_i32: signed(left),
    rotr_i32: signed(right),
    byteSwap_u32: '(a << 24u) | ((a & 0xff00u) << 8u) | ((a >> 8u) & 0xff00u) | (a >> 24u)',
    bitSelect_u32: '(a & b) | (~a & c)',
    funnel_u32: '(b >> (c & 31u)) | ((a << 1u) << (31u - (c & 31u)))',
    mulHi_u32: [
      'let p = (a & 0xffffu) * (b & 0xffffu);',
      'let q = (a >> 16u) * (b & 0xffffu) + (p >> 16u);',
      'let r = (a & 0xffffu) * (b >> 16u) + (q & 0xffffu);',
      'return (a >> 16u) * (b >> 16u) + (q >> 16u) + (r >> 16u);',
    ].join(' '),
    round_f32: 'round(a)', // ties to even; a function, since the entry has a variable of that name
    wmadHi_u32: 'let x = a * b + c; let y = x + d; return mulHi_u32(a, b) + u32(x < c) + u32(y < d);',
    carry_u32: 'u32(a + b < a) | u32(a + b + c < c)',
    borrow_u32: 'u32(a < b) | (u32(a == b) & c)',
    cast_f32_u32: 'select(select(0u, u32(a), a > 0.0f), 0xffffffffu, a >= 4294967296.0f)',
    cast_f32_i32:
      'select(select(select(0i, i32(-2147483648), a < 0.0f), i32(a), a >= -2147483648.0f), 2147483647i, a >= 2147483648.0f)',
  };
}
