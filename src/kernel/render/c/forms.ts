import { typeSets } from '../../ir/ops.js';
import type { Float, Integer } from '../../language/types.js';

/** Pairs of types of the same width. */
const sameWidthPairs = [
  ['u32', 'i32'],
  ['u32', 'f32'],
  ['i32', 'f32'],
  ['u64', 'f64'],
  ['i32', 'u32'],
  ['f32', 'u32'],
  ['f32', 'i32'],
  ['f64', 'u64'],
] as const;

/**
 * Bodies of the C functions for operations that C's operators do not have, or not with this meaning, keyed by form name.
 * Operands are a to d; their types and the result's follow from the name.
 */
export const functions: Readonly<Record<string, string>> = scalarFunctions();

function scalarFunctions(): Record<string, string> {
  const table: Record<string, string> = {};
  for (const type of typeSets.integer) {
    const bits = type === 'u64' ? 64 : 32;
    const raw = type === 'i32' ? 'u32' : type;
    const back = type === 'i32' ? '(i32)' : '';
    const count = `(b & ${bits - 1})`;
    table[`shl_${type}`] = `${back}((${raw})a << ${count})`;
    table[`shr_${type}`] = `a >> ${count}`;
    table[`rotl_${type}`] = `${back}((${raw})a << ${count} | (${raw})a >> (-b & ${bits - 1}))`;
    table[`rotr_${type}`] = `${back}((${raw})a >> ${count} | (${raw})a << (-b & ${bits - 1}))`;
    table[`div_${type}`] = `a / ${divisor(type)}`;
    table[`rem_${type}`] = `a % ${divisor(type)}`;
    const suffix = type === 'u64' ? 'll' : '';
    table[`popcount_${type}`] = `(u32)__builtin_popcount${suffix}((${raw})a)`;
    table[`clz_${type}`] = `a == 0 ? ${bits}u : (u32)__builtin_clz${suffix}((${raw})a)`;
    table[`ctz_${type}`] = `a == 0 ? ${bits}u : (u32)__builtin_ctz${suffix}((${raw})a)`;
    for (const to of typeSets.numeric) if (type !== to) table[`cast_${type}_${to}`] = `(${to})a`;
    table[`cast_${type}_bool`] = 'a != 0';
  }
  for (const [type, bits, twice] of [
    ['u32', 32, 'u64'],
    ['u64', 64, 'unsigned __int128'],
  ] as const) {
    table[`byteSwap_${type}`] = `__builtin_bswap${bits}(a)`;
    table[`mulHi_${type}`] = `(${type})((${twice})a * b >> ${bits})`;
    table[`wmadHi_${type}`] = `(${type})(((${twice})a * b + c + d) >> ${bits})`;
    table[`carry_${type}`] = `(${type})(((${twice})a + b + c) >> ${bits})`;
    table[`borrow_${type}`] = `(${twice})a < (${twice})b + c`;
    table[`bitSelect_${type}`] = '(a & b) | (~a & c)';
  }
  table.abs_i32 = 'a < 0 ? (i32)(0u - (u32)a) : a';
  table.funnel_u32 = '(u32)(((u64)a << 32 | b) >> (c & 31))';
  table.hi_u64 = '(u32)(a >> 32)';
  table.pack_u32 = '(u64)b << 32 | a';
  for (const type of typeSets.any) table[`select_${type}`] = 'a ? b : c';
  for (const type of typeSets.numeric) table[`cast_bool_${type}`] = `(${type})a`;
  for (const [type, suffix, raw, sign] of [
    ['f32', 'f', 'u32', '0x80000000u'],
    ['f64', '', 'u64', '0x8000000000000000ull'],
  ] as const) {
    table[`sqrt_${type}`] = `__builtin_sqrt${suffix}(a)`;
    table[`fma_${type}`] = `__builtin_fma${suffix}(a, b, c)`;
    table[`abs_${type}`] = `__builtin_fabs${suffix}(a)`;
    for (const op of ['floor', 'ceil', 'trunc']) table[`${op}_${type}`] = `__builtin_${op}${suffix}(a)`;
    table[`round_${type}`] = `__builtin_rint${suffix}(a)`; // the rounding mode is always to nearest, ties to even
    // Not -a: GCC turns -(a·b + c) into one instruction, -(a·b) - c, which gives +0 instead of -0.
    table[`neg_${type}`] = `bits_${raw}_${type}(bits_${type}_${raw}(a) ^ ${sign})`;
    Object.assign(table, fromFloat(type, suffix, '0xffffffffffffffffull', '0ull'));
    table[`cast_${type}_bool`] = `a != 0.0${suffix}`;
  }
  table.cast_f64_i32 =
    'a >= 2147483648.0 ? 2147483647 : a > -2147483649.0 ? (i32)a : a <= -2147483648.0 ? -2147483647 - 1 : 0';
  table.cast_f32_f64 = '(f64)a';
  table.cast_f64_f32 = '(f32)a';
  for (const [from, to] of sameWidthPairs)
    table[`bits_${from}_${to}`] = `((union { ${from} x; ${to} y; }){ .x = a }).y`;
  return table;
}

/**
 * Returns a divisor that is safe: x / 0 is x and x % 0 is 0, as for a division by 1. The same replaces min / -1, which would
 * trap.
 */
export function divisor(type: Integer): string {
  return type === 'i32' ? '(b == 0 || (b == -1 && a == -2147483647 - 1) ? 1 : b)' : '(b == 0 ? 1 : b)';
}

/** Returns saturating conversions to integers. Comparisons with a NaN are false, so a NaN falls through to 0. */
export function fromFloat(type: Float, f: string, maxU64: string, zero: string): Record<string, string> {
  return {
    [`cast_${type}_u32`]: `a >= 4294967296.0${f} ? 0xffffffffu : a > 0.0${f} ? (u32)a : 0u`,
    [`cast_${type}_u64`]: `a >= 18446744073709551616.0${f} ? ${maxU64} : a > 0.0${f} ? (u64)a : ${zero}`,
    [`cast_${type}_i32`]: `a >= 2147483648.0${f} ? 2147483647 : a >= -2147483648.0${f} ? (i32)a : a < 0.0${f} ? -2147483647 - 1 : 0`,
  };
}

/**
 * Bodies for all lanes at once, if they are better than a loop. A `_c` form takes a count that is the same for all lanes.
 */
export const vectorFunctions: Readonly<Record<string, string>> = wholeGangFunctions();

function wholeGangFunctions(): Record<string, string> {
  const table: Record<string, string> = {};
  const widened = (name: string) => `__builtin_convertvector(${name}, u64v)`;
  for (const type of typeSets.integer) {
    const bits = type === 'u64' ? 64 : 32;
    const raw = type === 'i32' ? 'u32v' : `${type}v`;
    const back = type === 'i32' ? '(i32v)' : '';
    table[`rotr_${type}_c`] = `${back}(((${raw})a >> b) | ((${raw})a << (${bits} - b)))`;
    table[`rotl_${type}_c`] = `${back}(((${raw})a << b) | ((${raw})a >> (${bits} - b)))`;
    const b = type === 'u64' ? widened('b') : 'b';
    const [count, negative] = [`(${b} & ${bits - 1})`, `(-${b} & ${bits - 1})`];
    table[`shl_${type}_v`] = `${back}((${raw})a << ${count})`;
    table[`shr_${type}_v`] = `a >> ${back}${count}`;
    table[`rotl_${type}_v`] = `${back}(((${raw})a << ${count}) | ((${raw})a >> ${negative}))`;
    table[`rotr_${type}_v`] = `${back}(((${raw})a >> ${count}) | ((${raw})a << ${negative}))`;
  }
  table.byteSwap_u32_v = '(((a >> 8) | (a << 24)) & 0xff00ff00u) | (((a >> 24) | (a << 8)) & 0x00ff00ffu)';
  table.mulHi_u32_v = `__builtin_convertvector(${widened('a')} * ${widened('b')} >> 32, u32v)`;
  const sum = `${widened('a')} * ${widened('b')} + ${widened('c')} + ${widened('d')}`;
  table.wmadHi_u32_v = `__builtin_convertvector((${sum}) >> 32, u32v)`;
  table.hi_u64_v = '__builtin_convertvector(a >> 32, u32v)';
  table.pack_u32_v = `(${widened('b')} << 32) | ${widened('a')}`;
  table.neg_f32_v = '(f32v)((u32v)a ^ 0x80000000u)';
  table.neg_f64_v = '(f64v)((u64v)a ^ 0x8000000000000000ull)';
  table.abs_f32_v = '(f32v)((u32v)a & 0x7fffffffu)';
  table.abs_f64_v = '(f64v)((u64v)a & 0x7fffffffffffffffull)';
  table.abs_i32_v = '(i32v)(((u32v)a ^ (u32v)(a >> 31)) - (u32v)(a >> 31))';
  for (const type of typeSets.unsigned) {
    const v = `${type}v`;
    table[`bitSelect_${type}_v`] = '(a & b) | (~a & c)';
    // c is 0 or 1. This is not a loop over the lanes: GCC 12 takes comparisons that are stored lane by lane for masks, and
    // gives -1 instead of 1 (its -ftree-slp-vectorize).
    table[`carry_${type}_v`] = `-((${v})(a + b < a) | (${v})(a + b + c < c))`;
    table[`borrow_${type}_v`] = `-((${v})(a < b) | ((${v})(a == b) & -c))`;
  }
  for (const type of typeSets.numeric) {
    const isWide = type === 'u64' || type === 'f64';
    const [mask, integer] = isWide ? ['__builtin_convertvector(a, i64v)', 'i64v'] : ['a', 'i32v'];
    table[`select_${type}_v`] = `(${type}v)((${mask} & (${integer})b) | (~${mask} & (${integer})c))`;
    table[`cast_${type}_bool_v`] = isWide ? '__builtin_convertvector(a != 0, i32v)' : '(i32v)(a != 0)';
  }
  table.select_bool_v = '(a & b) | (~a & c)';
  for (const to of ['u32', 'i32'] as const) table[`cast_bool_${to}_v`] = `(${to}v)(a & 1)`;
  table.cast_u32_i32_v = '(i32v)a';
  table.cast_i32_u32_v = '(u32v)a';
  table.cast_u32_u64_v = widened('a');
  table.cast_u64_u32_v = '__builtin_convertvector(a, u32v)';
  for (const [from, to] of sameWidthPairs) table[`bits_${from}_${to}_v`] = `(${to}v)a`;
  return table;
}

/** Bodies for NEON vectors. They are macros, since NEON's counts must be constants. */
export const neonFunctions: Readonly<Record<string, string>> = {
  rotr_u32_c: neonRotate('(b)'),
  rotl_u32_c: neonRotate('(32 - (b) & 31)'),
  byteSwap_u32_v: '((u32v)vrev32q_u8((uint8x16_t)(a)))',
};

/**
 * Returns a rotation to the right. GCC makes three instructions of the plain form, two of which run on only one of
 * Neoverse-N1's two pipes. Rotations by whole bytes need one instruction, which both pipes have, others two.
 */
function neonRotate(by: string): string {
  const bytes = [...Array(16).keys()].map((i) => (i & 12) + ((i + 1) & 3));
  return (
    `(${by} == 16 ? (u32v)vrev32q_u16((uint16x8_t)(a)) : ` +
    `${by} == 8 ? (u32v)vqtbl1q_u8((uint8x16_t)(a), (uint8x16_t){${bytes.join(', ')}}) : ` +
    `({ const uint32x4_t rotated = (uint32x4_t)(a); ` +
    `(u32v)vsriq_n_u32(vshlq_n_u32(rotated, 32 - ${by} & 31), rotated, ${by} ? ${by} : 32); }))`
  );
}
