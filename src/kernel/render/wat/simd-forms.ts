import { typeSets } from '../../ir/ops.js';
import type { Scalar } from '../../language/types.js';

export const shapeOf = (type: Scalar): 'i32x4' | 'i64x2' | 'f32x4' | 'f64x2' =>
  type === 'u64' ? 'i64x2' : type === 'f32' ? 'f32x4' : type === 'f64' ? 'f64x2' : 'i32x4';

export const shuffle = (words: readonly number[], a: string, b: string): string =>
  `(i8x16.shuffle ${words.flatMap((word) => [0, 1, 2, 3].map((byte) => 4 * word + byte)).join(' ')} ${a} ${b})`;

/** Returns the low words of the four 64-bit lanes of two registers. */
export const lowWords = (a: string, b: string): string => shuffle([0, 2, 4, 6], a, b);
/** Returns the lower halves of two registers. */
export const lowHalves = (a: string, b: string): string => shuffle([0, 1, 4, 5], a, b);
export const highHalves = (a: string, b: string): string => shuffle([2, 3, 6, 7], a, b);

/**
 * Results of two 64-bit registers that are in their lower halves, which are joined. Other narrower results are the low
 * words.
 */
export const inLowerHalves: ReadonlySet<string> = new Set(['cast_f64_f32', 'cast_f64_u32', 'cast_f64_i32']);

function makeForms(): Record<string, string> {
  const forms: Record<string, string> = { ...words(), ...doubleWords(), ...bools(), ...conversions() };
  for (const type of typeSets.integer) Object.assign(forms, integerForms(type));
  for (const type of typeSets.any) forms[`select_${type}`] = '(v128.bitselect B C A)';
  for (const type of typeSets.float) {
    for (const op of ['add', 'sub', 'mul', 'div', 'eq', 'ne', 'lt', 'le'])
      forms[`${op}_${type}`] = `(${shapeOf(type)}.${op} A B)`;
    for (const op of ['neg', 'abs', 'sqrt', 'floor', 'ceil', 'trunc'])
      forms[`${op}_${type}`] = `(${shapeOf(type)}.${op} A)`;
    forms[`round_${type}`] = `(${shapeOf(type)}.nearest A)`;
  }
  return forms;
}

function integerForms(type: 'u32' | 'i32' | 'u64'): Record<string, string> {
  const shape = shapeOf(type);
  const sign = type === 'i32' ? 's' : 'u';
  const forms: Record<string, string> = {
    not: '(v128.not A)',
    neg: `(${shape}.neg A)`,
    shl: `(${shape}.shl A N)`,
    shr: `(${shape}.shr_${sign} A N)`,
    // Counts are taken modulo the width, so N = 0 gives A | A.
    rotl: `(v128.or (${shape}.shl A N) (${shape}.shr_u A M))`,
    rotr: `(v128.or (${shape}.shr_u A N) (${shape}.shl A M))`,
    lt: type === 'u64' ? below('A', 'B') : `(i32x4.lt_${sign} A B)`,
    le: type === 'u64' ? `(v128.not ${below('B', 'A')})` : `(i32x4.le_${sign} A B)`,
    bitSelect: '(v128.bitselect B C A)',
  };
  for (const op of ['add', 'sub', 'mul', 'eq', 'ne']) forms[op] = `(${shape}.${op} A B)`;
  for (const op of ['and', 'or', 'xor']) forms[op] = `(v128.${op} A B)`;
  return named(type, forms);
}

/** Returns forms of operations under their names on one type. */
export const named = (type: Scalar, forms: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(forms).map(([op, form]) => [`${op}_${type}`, form]));

/** There is no unsigned comparison of 64-bit lanes: the signed one is used with the top bits flipped. */
function below(a: string, b: string): string {
  const flipped = (x: string): string => `(v128.xor ${x} (i64x2.splat (i64.const 0x8000000000000000)))`;
  return `(i64x2.lt_s ${flipped(a)} ${flipped(b)})`;
}

const onesInWords = '(i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u (i8x16.popcnt A)))';
const onesInDoubleWords = `(i64x2.add ${onesInWords} (i64x2.shr_u ${onesInWords} (i32.const 32)))`;
/** The ones below the lowest set bit; all of them if there is none. Their number is that of the trailing zeros. */
const trailing = (shape: string, one: string): string => `(v128.andnot (${shape}.sub A (v128.const ${one})) A)`;
const trailingInWords = onesInWords.replace('A', trailing('i32x4', 'i32x4 1 1 1 1'));
const trailingInDoubleWords = onesInDoubleWords.replaceAll(/\bA\b/g, trailing('i64x2', 'i64x2 1 1'));

function words(): Record<string, string> {
  const product = (half: string): string => `(i64x2.extmul_${half}_i32x4_u A B)`;
  const sum = (half: string): string =>
    `(i64x2.add (i64x2.add ${product(half)} (i64x2.extend_${half}_i32x4_u C)) (i64x2.extend_${half}_i32x4_u D))`;
  const highWords = (a: string, b: string): string => shuffle([1, 3, 5, 7], a, b);
  return {
    byteSwap_u32: '(i8x16.shuffle 3 2 1 0 7 6 5 4 11 10 9 8 15 14 13 12 A A)',
    popcount_u32: onesInWords,
    popcount_i32: onesInWords,
    ctz_u32: trailingInWords,
    ctz_i32: trailingInWords,
    abs_i32: '(i32x4.abs A)',
    mulHi_u32: highWords(product('low'), product('high')),
    wmadHi_u32: highWords(sum('low'), sum('high')),
    // A mask is -1 if true.
    carry_u32: '(i32x4.neg (v128.or (i32x4.lt_u (i32x4.add A B) A) (i32x4.lt_u (i32x4.add (i32x4.add A B) C) C)))',
    borrow_u32: '(i32x4.neg (v128.or (i32x4.lt_u A B) (i32x4.lt_u (i32x4.sub A B) C)))',
    // In two steps, so that a count of 0 shifts everything out.
    funnel_u32: '(v128.or (i32x4.shr_u B N) (i32x4.shl (i32x4.shl A (i32.const 1)) (i32.sub (i32.const 31) N)))',
    pack_u32: '(v128.or (i64x2.shl B (i32.const 32)) A)',
  };
}

const doubleWords = (): Record<string, string> => ({
  hi_u64: '(i64x2.shr_u A (i32.const 32))',
  byteSwap_u64: '(i8x16.shuffle 7 6 5 4 3 2 1 0 15 14 13 12 11 10 9 8 A A)',
  popcount_u64: onesInDoubleWords,
  ctz_u64: trailingInDoubleWords,
  carry_u64: `(i64x2.neg (v128.or ${below('(i64x2.add A B)', 'A')} ${below('(i64x2.add (i64x2.add A B) C)', 'C')}))`,
  borrow_u64: `(i64x2.neg (v128.or ${below('A', 'B')} ${below('(i64x2.sub A B)', 'C')}))`,
});

const bools = (): Record<string, string> => ({
  and_bool: '(v128.and A B)',
  or_bool: '(v128.or A B)',
  xor_bool: '(v128.xor A B)',
  not_bool: '(v128.not A)',
  eq_bool: '(v128.not (v128.xor A B))',
  ne_bool: '(v128.xor A B)',
});

function conversions(): Record<string, string> {
  const forms: Record<string, string> = {
    cast_bool_u32: '(i32x4.neg A)',
    cast_bool_i32: '(i32x4.neg A)',
    cast_bool_f32: '(f32x4.convert_i32x4_s (i32x4.neg A))',
    cast_bool_u64: '(i64x2.neg A)',
    cast_bool_f64: '(f64x2.convert_low_i32x4_s (i32x4.neg L))',
    cast_f32_f64: '(f64x2.promote_low_f32x4 L)',
    cast_f64_f32: '(f32x4.demote_f64x2_zero A)',
    cast_u32_i32: 'A',
    cast_i32_u32: 'A',
    bits_u32_i32: 'A',
    bits_i32_u32: 'A',
    bits_u64_f64: 'A',
    bits_f64_u64: 'A',
  };
  for (const type of ['u32', 'i32'] as const) {
    const sign = type === 'i32' ? 's' : 'u';
    forms[`cast_${type}_u64`] = 'A'; // extended with its own sign
    forms[`cast_u64_${type}`] = 'A'; // the low words
    forms[`cast_${type}_f32`] = `(f32x4.convert_i32x4_${sign} A)`;
    forms[`cast_f32_${type}`] = `(i32x4.trunc_sat_f32x4_${sign} A)`;
    forms[`cast_${type}_f64`] = `(f64x2.convert_low_i32x4_${sign} L)`;
    forms[`cast_f64_${type}`] = `(i32x4.trunc_sat_f64x2_${sign}_zero A)`;
    forms[`bits_${type}_f32`] = 'A';
    forms[`bits_f32_${type}`] = 'A';
  }
  for (const type of typeSets.numeric) {
    const shape = shapeOf(type);
    forms[`cast_${type}_bool`] = `(${shape}.ne A (${shape}.splat (${shape.slice(0, 3)}.const 0)))`;
  }
  return forms;
}

/**
 * The table of WAT forms for gangs, by their names. A register (v128) holds four 32-bit lanes or two 64-bit ones; a bool is
 * a mask of 32 bits. A form works on 64-bit lanes if an operand or the result has 64 bits. `A` to `D` are the operands'
 * registers, widened or narrowed to the form's width; `L` is the first operand's 32-bit lanes moved to the lower half. `N`
 * is a count that all lanes share, `M` the width minus `N`. Operations that are not here are done lane by lane, in their
 * scalar form.
 */
export const gangForms: Readonly<Record<string, string>> = makeForms();
