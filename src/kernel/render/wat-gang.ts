import type { Scalar } from '../types.js';

/**
 * The table of WAT forms for gangs. A register (v128) holds four 32-bit lanes or two 64-bit ones; a bool is a mask of 32
 * bits. `A` to `D` stand for the operands' registers as wide as the form, where narrower ones have been widened and wide
 * ones narrowed; `L` for the first operand's 32-bit lanes moved to the lower half. `N` is a count that all lanes share.
 * Operations that are not here go lane by lane, in their scalar form.
 */
export interface GangForm {
  readonly text: string;
  /** Bits per lane of the registers that the form works on. */
  readonly width: 32 | 64;
  /** Results of two 64-bit registers lie in their lower halves: join those. Else a narrower result is the low words. */
  readonly joins?: true;
}

export const shapeOf = (type: Scalar): 'i32x4' | 'i64x2' | 'f32x4' | 'f64x2' =>
  type === 'u64' ? 'i64x2' : type === 'f32' ? 'f32x4' : type === 'f64' ? 'f64x2' : 'i32x4';

export const shuffle = (words: readonly number[], a: string, b: string): string =>
  `(i8x16.shuffle ${words.flatMap((word) => [0, 1, 2, 3].map((byte) => 4 * word + byte)).join(' ')} ${a} ${b})`;

/** Low words of the four 64-bit lanes of two registers. */
export const lowWords = (a: string, b: string): string => shuffle([0, 2, 4, 6], a, b);
/** Lower halves of two registers. */
export const lowHalves = (a: string, b: string): string => shuffle([0, 1, 4, 5], a, b);
export const highHalves = (a: string, b: string): string => shuffle([2, 3, 6, 7], a, b);

function makeForms(): Record<string, GangForm> {
  const forms: Record<string, GangForm> = {};
  for (const type of ['u32', 'i32', 'u64'] as const) Object.assign(forms, integerForms(type));
  for (const type of ['f32', 'f64'] as const) Object.assign(forms, floatForms(type));
  Object.assign(forms, words(), doubleWords(), bools(), conversions());
  for (const type of ['u32', 'i32', 'f32', 'bool'] as const) forms[`select.${type}`] = on32('(v128.bitselect B C A)');
  for (const type of ['u64', 'f64'] as const) forms[`select.${type}`] = on64('(v128.bitselect B C A)');
  return forms;
}

const on32 = (text: string): GangForm => ({ text, width: 32 });
const on64 = (text: string): GangForm => ({ text, width: 64 });

function integerForms(type: 'u32' | 'i32' | 'u64'): Record<string, GangForm> {
  const shape = shapeOf(type);
  const make = type === 'u64' ? on64 : on32;
  const sign = type === 'i32' ? 's' : 'u';
  const forms: Record<string, GangForm> = {};
  const put = (op: string, text: string): void => {
    forms[`${op}.${type}`] = make(text);
  };
  for (const op of ['add', 'sub', 'mul', 'eq', 'ne']) put(op, `(${shape}.${op} A B)`);
  for (const op of ['and', 'or', 'xor']) put(op, `(v128.${op} A B)`);
  put('not', '(v128.not A)');
  put('neg', `(${shape}.neg A)`);
  put('shl', `(${shape}.shl A N)`);
  put('shr', `(${shape}.shr_${sign} A N)`);
  // M is the width less N; counts are taken modulo the width, so N = 0 gives A | A.
  put('rotl', `(v128.or (${shape}.shl A N) (${shape}.shr_u A M))`);
  put('rotr', `(v128.or (${shape}.shr_u A N) (${shape}.shl A M))`);
  put('lt', type === 'u64' ? below('A', 'B') : `(i32x4.lt_${sign} A B)`);
  put('le', type === 'u64' ? `(v128.not ${below('B', 'A')})` : `(i32x4.le_${sign} A B)`);
  put('bitSelect', '(v128.bitselect B C A)');
  return forms;
}

/** There is no unsigned comparison of 64-bit lanes: with the top bit flipped the signed one serves. */
function below(a: string, b: string): string {
  const flipped = (x: string): string => `(v128.xor ${x} (i64x2.splat (i64.const 0x8000000000000000)))`;
  return `(i64x2.lt_s ${flipped(a)} ${flipped(b)})`;
}

function floatForms(type: 'f32' | 'f64'): Record<string, GangForm> {
  const shape = shapeOf(type);
  const make = type === 'f64' ? on64 : on32;
  const forms: Record<string, GangForm> = {};
  for (const op of ['add', 'sub', 'mul', 'div', 'eq', 'ne', 'lt', 'le'])
    forms[`${op}.${type}`] = make(`(${shape}.${op} A B)`);
  for (const op of ['neg', 'sqrt']) forms[`${op}.${type}`] = make(`(${shape}.${op} A)`);
  return forms;
}

const ONES_IN_WORDS = '(i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u (i8x16.popcnt A)))';

function words(): Record<string, GangForm> {
  const product = (half: string): string => `(i64x2.extmul_${half}_i32x4_u A B)`;
  const sum = (half: string): string =>
    `(i64x2.add (i64x2.add ${product(half)} (i64x2.extend_${half}_i32x4_u C)) (i64x2.extend_${half}_i32x4_u D))`;
  const highWords = (a: string, b: string): string => shuffle([1, 3, 5, 7], a, b);
  return {
    'byteSwap.u32': on32('(i8x16.shuffle 3 2 1 0 7 6 5 4 11 10 9 8 15 14 13 12 A A)'),
    'popcount.u32': on32(ONES_IN_WORDS),
    'popcount.i32': on32(ONES_IN_WORDS),
    'mulHi.u32': on32(highWords(product('low'), product('high'))),
    'wmadHi.u32': on32(highWords(sum('low'), sum('high'))),
    // A mask is -1 where it holds.
    'carry.u32': on32(
      '(i32x4.neg (v128.or (i32x4.lt_u (i32x4.add A B) A) (i32x4.lt_u (i32x4.add (i32x4.add A B) C) C)))',
    ),
    'borrow.u32': on32('(i32x4.neg (v128.or (i32x4.lt_u A B) (i32x4.lt_u (i32x4.sub A B) C)))'),
    // In two steps, so that a count of 0 shifts everything out.
    'funnel.u32': on32(
      '(v128.or (i32x4.shr_u B N) (i32x4.shl (i32x4.shl A (i32.const 1)) (i32.sub (i32.const 31) N)))',
    ),
    'pack.u32': on64('(v128.or (i64x2.shl B (i32.const 32)) A)'),
  };
}

function doubleWords(): Record<string, GangForm> {
  return {
    'hi.u64': on64('(i64x2.shr_u A (i32.const 32))'),
    'byteSwap.u64': on64('(i8x16.shuffle 7 6 5 4 3 2 1 0 15 14 13 12 11 10 9 8 A A)'),
    'popcount.u64': on64(`(i64x2.add ${ONES_IN_WORDS} (i64x2.shr_u ${ONES_IN_WORDS} (i32.const 32)))`),
    'carry.u64': on64(
      `(i64x2.neg (v128.or ${below('(i64x2.add A B)', 'A')} ${below('(i64x2.add (i64x2.add A B) C)', 'C')}))`,
    ),
    'borrow.u64': on64(`(i64x2.neg (v128.or ${below('A', 'B')} ${below('(i64x2.sub A B)', 'C')}))`),
  };
}

function bools(): Record<string, GangForm> {
  return {
    'and.bool': on32('(v128.and A B)'),
    'or.bool': on32('(v128.or A B)'),
    'xor.bool': on32('(v128.xor A B)'),
    'not.bool': on32('(v128.not A)'),
    'eq.bool': on32('(v128.not (v128.xor A B))'),
    'ne.bool': on32('(v128.xor A B)'),
  };
}

function conversions(): Record<string, GangForm> {
  const joined = (text: string): GangForm => ({ text, width: 64, joins: true });
  const zero = (shape: string): string => `(${shape}.splat (${shape.slice(0, 3)}.const 0))`;
  const forms: Record<string, GangForm> = {
    'cast.bool.u32': on32('(i32x4.neg A)'),
    'cast.bool.i32': on32('(i32x4.neg A)'),
    'cast.bool.f32': on32('(f32x4.convert_i32x4_s (i32x4.neg A))'),
    'cast.bool.u64': on64('(i64x2.neg A)'),
    'cast.bool.f64': on64('(f64x2.convert_low_i32x4_s (i32x4.neg L))'),
    'cast.f32.f64': on64('(f64x2.promote_low_f32x4 L)'),
    'cast.f64.f32': joined('(f32x4.demote_f64x2_zero A)'),
  };
  for (const type of ['u32', 'i32'] as const) {
    const sign = type === 'i32' ? 's' : 'u';
    forms[`cast.${type}.u64`] = on64('A'); // widened by its own sign
    forms[`cast.u64.${type}`] = on64('A'); // its low words
    forms[`cast.${type}.f32`] = on32(`(f32x4.convert_i32x4_${sign} A)`);
    forms[`cast.f32.${type}`] = on32(`(i32x4.trunc_sat_f32x4_${sign} A)`);
    forms[`cast.${type}.f64`] = on64(`(f64x2.convert_low_i32x4_${sign} L)`);
    forms[`cast.f64.${type}`] = joined(`(i32x4.trunc_sat_f64x2_${sign}_zero A)`);
    for (const [from, to] of [
      [type, 'f32'],
      ['f32', type],
    ])
      forms[`bits.${from}.${to}`] = on32('A');
  }
  for (const op of ['cast', 'bits']) for (const pair of ['u32.i32', 'i32.u32']) forms[`${op}.${pair}`] = on32('A');
  for (const pair of ['u64.f64', 'f64.u64']) forms[`bits.${pair}`] = on64('A');
  for (const type of ['u32', 'i32', 'f32'] as const)
    forms[`cast.${type}.bool`] = on32(`(${shapeOf(type)}.ne A ${zero(shapeOf(type))})`);
  for (const type of ['u64', 'f64'] as const)
    forms[`cast.${type}.bool`] = on64(`(${shapeOf(type)}.ne A ${zero(shapeOf(type))})`);
  return forms;
}

export const gangForms: Readonly<Record<string, GangForm>> = makeForms();
