import type { Scalar } from '../types.js';

/** The C functions that stand for operations which C's operators do not have, or not with this meaning. */
export const scalars: readonly Scalar[] = ['u32', 'i32', 'u64', 'f32', 'f64', 'bool'];

export interface CFunction {
  readonly args: readonly Scalar[];
  readonly result: Scalar;
  readonly body: string;
  readonly needs?: readonly string[];
}

export const functions: Readonly<Record<string, CFunction>> = scalarFunctions();

function scalarFunctions(): Record<string, CFunction> {
  const table: Record<string, CFunction> = {};
  const put = (name: string, args: readonly Scalar[], result: Scalar, body: string, needs: readonly string[] = []) => {
    table[name] = { args, result, body, needs };
  };
  for (const type of ['u32', 'i32', 'u64'] as const) {
    const bits = type === 'u64' ? 64 : 32;
    const raw = type === 'i32' ? 'u32' : type;
    const back = type === 'i32' ? '(i32)' : '';
    const count = `(b & ${bits - 1})`;
    put(`shl_${type}`, [type, 'u32'], type, `${back}((${raw})a << ${count})`);
    put(`shr_${type}`, [type, 'u32'], type, `a >> ${count}`);
    put(`rotl_${type}`, [type, 'u32'], type, `${back}((${raw})a << ${count} | (${raw})a >> (-b & ${bits - 1}))`);
    put(`rotr_${type}`, [type, 'u32'], type, `${back}((${raw})a >> ${count} | (${raw})a << (-b & ${bits - 1}))`);
    // x / 0 is x and x % 0 is 0: both are what division by 1 gives. The same serves min / -1, which would trap.
    const safe = type === 'i32' ? '(b == 0 || (b == -1 && a == -2147483647 - 1) ? 1 : b)' : '(b == 0 ? 1 : b)';
    put(`div_${type}`, [type, type], type, `a / ${safe}`);
    put(`rem_${type}`, [type, type], type, `a % ${safe}`);
    const suffix = type === 'u64' ? 'll' : '';
    put(`popcount_${type}`, [type], 'u32', `(u32)__builtin_popcount${suffix}((${raw})a)`);
    put(`clz_${type}`, [type], 'u32', `a == 0 ? ${bits}u : (u32)__builtin_clz${suffix}((${raw})a)`);
  }
  put('byteSwap_u32', ['u32'], 'u32', '__builtin_bswap32(a)');
  put('byteSwap_u64', ['u64'], 'u64', '__builtin_bswap64(a)');
  put('mulHi_u32', ['u32', 'u32'], 'u32', '(u32)((u64)a * b >> 32)');
  put('mulHi_u64', ['u64', 'u64'], 'u64', '(u64)((unsigned __int128)a * b >> 64)');
  put('wmadHi_u32', ['u32', 'u32', 'u32', 'u32'], 'u32', '(u32)(((u64)a * b + c + d) >> 32)');
  put('wmadHi_u64', ['u64', 'u64', 'u64', 'u64'], 'u64', '(u64)(((unsigned __int128)a * b + c + d) >> 64)');
  put('carry_u32', ['u32', 'u32', 'u32'], 'u32', '(u32)(((u64)a + b + c) >> 32)');
  put('carry_u64', ['u64', 'u64', 'u64'], 'u64', '(u64)(((unsigned __int128)a + b + c) >> 64)');
  put('borrow_u32', ['u32', 'u32', 'u32'], 'u32', '(u64)a < (u64)b + c');
  put('borrow_u64', ['u64', 'u64', 'u64'], 'u64', '(unsigned __int128)a < (unsigned __int128)b + c');
  for (const type of ['u32', 'u64'] as const) put(`bitSelect_${type}`, [type, type, type], type, '(a & b) | (~a & c)');
  put('funnel_u32', ['u32', 'u32', 'u32'], 'u32', '(u32)(((u64)a << 32 | b) >> (c & 31))');
  put('hi_u64', ['u64'], 'u32', '(u32)(a >> 32)');
  put('pack_u32', ['u32', 'u32'], 'u64', '(u64)b << 32 | a');
  for (const type of scalars) put(`select_${type}`, ['bool', type, type], type, 'a ? b : c');
  for (const [type, suffix] of [
    ['f32', 'f'],
    ['f64', ''],
  ] as const) {
    put(`sqrt_${type}`, [type], type, `__builtin_sqrt${suffix}(a)`);
    put(`fma_${type}`, [type, type, type], type, `__builtin_fma${suffix}(a, b, c)`);
    // Not -a: GCC makes -(a·b + c) one instruction, -(a·b) - c, which is +0 where this is -0.
    const [raw, sign] =
      type === 'f32' ? (['u32', '0x80000000u'] as const) : (['u64', '0x8000000000000000ull'] as const);
    const [there, back] = [`bits_${type}_${raw}`, `bits_${raw}_${type}`];
    put(`neg_${type}`, [type], type, `${back}(${there}(a) ^ ${sign})`, [there, back]);
    // Comparisons with a NaN are false, so it falls through to 0.
    const one = (value: string) => `${value}${suffix}`;
    put(
      `cast_${type}_u32`,
      [type],
      'u32',
      `a >= ${one('4294967296.0')} ? 0xffffffffu : a > ${one('0.0')} ? (u32)a : 0u`,
    );
    put(
      `cast_${type}_u64`,
      [type],
      'u64',
      `a >= ${one('18446744073709551616.0')} ? 0xffffffffffffffffull : a > ${one('0.0')} ? (u64)a : 0ull`,
    );
    put(
      `cast_${type}_i32`,
      [type],
      'i32',
      `a >= ${one('2147483648.0')} ? 2147483647 : a > ${one('-2147483649.0')} ? (i32)a : a <= ${one('-2147483648.0')} ? -2147483647 - 1 : 0`,
    );
    put(`cast_${type}_bool`, [type], 'bool', `a != ${one('0.0')}`);
    put(`cast_bool_${type}`, ['bool'], type, `(${type})a`);
  }
  table.cast_f32_i32 = {
    args: ['f32'],
    result: 'i32',
    body: 'a >= 2147483648.0f ? 2147483647 : a >= -2147483648.0f ? (i32)a : a < 0.0f ? -2147483647 - 1 : 0',
  };
  put('cast_f32_f64', ['f32'], 'f64', '(f64)a');
  put('cast_f64_f32', ['f64'], 'f32', '(f32)a');
  for (const from of ['u32', 'i32', 'u64'] as const) {
    for (const to of ['u32', 'i32', 'u64', 'f32', 'f64'] as const)
      if (from !== to) put(`cast_${from}_${to}`, [from], to, `(${to})a`);
    put(`cast_${from}_bool`, [from], 'bool', 'a != 0');
    put(`cast_bool_${from}`, ['bool'], from, `(${from})a`);
  }
  const pairs = [
    ['u32', 'i32'],
    ['u32', 'f32'],
    ['i32', 'f32'],
    ['u64', 'f64'],
  ] as const;
  for (const [x, y] of pairs) {
    for (const [from, to] of [
      [x, y],
      [y, x],
    ] as const)
      put(`bits_${from}_${to}`, [from], to, `((union { ${from} x; ${to} y; }){ .x = a }).y`);
  }
  return table;
}

export interface VectorFunction {
  readonly args: readonly string[];
  readonly result: string;
  readonly body: string;
  readonly needs?: readonly string[];
  /** The body where a vector is one of NEON's; a macro's, since counts must be constants there. */
  readonly neon?: string;
}

/** Forms for all lanes at once, where they are better than a loop. A `_c` form takes a count that is the same for all. */
export const vectorFunctions: Readonly<Record<string, VectorFunction>> = wholeGangFunctions();

function wholeGangFunctions(): Record<string, VectorFunction> {
  const table: Record<string, VectorFunction> = {};
  const put = (name: string, args: readonly string[], result: string, body: string, neon?: string) => {
    table[name] = { args, result, body, ...(neon === undefined ? {} : { neon }) };
  };
  for (const type of ['u32', 'i32', 'u64'] as const) {
    const bits = type === 'u64' ? 64 : 32;
    const raw = type === 'i32' ? 'u32v' : `${type}v`;
    const back = type === 'i32' ? '(i32v)' : '';
    const [right, left] = [
      `${back}(((${raw})a >> b) | ((${raw})a << (${bits} - b)))`,
      `${back}(((${raw})a << b) | ((${raw})a >> (${bits} - b)))`,
    ];
    const isWord = type === 'u32';
    put(`rotr_${type}_c`, [`${type}v`, 'int'], `${type}v`, right, isWord ? neonRotate('(b)') : undefined);
    put(`rotl_${type}_c`, [`${type}v`, 'int'], `${type}v`, left, isWord ? neonRotate('(32 - (b) & 31)') : undefined);
    const count = type === 'u64' ? '(__builtin_convertvector(b, u64v) & 63)' : '(b & 31)';
    const negative = type === 'u64' ? '(-__builtin_convertvector(b, u64v) & 63)' : '(-b & 31)';
    put(`shl_${type}_v`, [`${type}v`, 'u32v'], `${type}v`, `${back}((${raw})a << ${count})`);
    put(`shr_${type}_v`, [`${type}v`, 'u32v'], `${type}v`, `a >> ${type === 'i32' ? '(i32v)' : ''}${count}`);
    put(
      `rotl_${type}_v`,
      [`${type}v`, 'u32v'],
      `${type}v`,
      `${back}(((${raw})a << ${count}) | ((${raw})a >> ${negative}))`,
    );
    put(
      `rotr_${type}_v`,
      [`${type}v`, 'u32v'],
      `${type}v`,
      `${back}(((${raw})a >> ${count}) | ((${raw})a << ${negative}))`,
    );
  }
  put(
    'byteSwap_u32_v',
    ['u32v'],
    'u32v',
    '(((a >> 8) | (a << 24)) & 0xff00ff00u) | (((a >> 24) | (a << 8)) & 0x00ff00ffu)',
    '((u32v)vrev32q_u8((uint8x16_t)(a)))',
  );
  put(
    'mulHi_u32_v',
    ['u32v', 'u32v'],
    'u32v',
    '__builtin_convertvector(__builtin_convertvector(a, u64v) * __builtin_convertvector(b, u64v) >> 32, u32v)',
  );
  const widened = (name: string) => `__builtin_convertvector(${name}, u64v)`;
  put(
    'wmadHi_u32_v',
    ['u32v', 'u32v', 'u32v', 'u32v'],
    'u32v',
    `__builtin_convertvector((${widened('a')} * ${widened('b')} + ${widened('c')} + ${widened('d')}) >> 32, u32v)`,
  );
  put('hi_u64_v', ['u64v'], 'u32v', '__builtin_convertvector(a >> 32, u32v)');
  put('neg_f32_v', ['f32v'], 'f32v', '(f32v)((u32v)a ^ 0x80000000u)');
  put('neg_f64_v', ['f64v'], 'f64v', '(f64v)((u64v)a ^ 0x8000000000000000ull)');
  put(
    'pack_u32_v',
    ['u32v', 'u32v'],
    'u64v',
    '(__builtin_convertvector(b, u64v) << 32) | __builtin_convertvector(a, u64v)',
  );
  for (const type of ['u32', 'u64'] as const) {
    const [v, three] = [`${type}v`, [`${type}v`, `${type}v`, `${type}v`]];
    put(`bitSelect_${type}_v`, three, v, '(a & b) | (~a & c)');
    // c is 0 or 1. Not as a loop over the lanes: GCC 12 takes comparisons that are stored lane by lane for masks, and
    // gives -1 for 1 (its -ftree-slp-vectorize).
    put(`carry_${type}_v`, three, v, `-((${v})(a + b < a) | (${v})(a + b + c < c))`);
    put(`borrow_${type}_v`, three, v, `-((${v})(a < b) | ((${v})(a == b) & -c))`);
  }
  for (const [type, mask] of [
    ['u32', 'a'],
    ['i32', 'a'],
    ['f32', 'a'],
    ['u64', '__builtin_convertvector(a, i64v)'],
    ['f64', '__builtin_convertvector(a, i64v)'],
  ] as const) {
    const integer = type === 'u64' || type === 'f64' ? 'i64v' : 'i32v';
    put(
      `select_${type}_v`,
      ['i32v', `${type}v`, `${type}v`],
      `${type}v`,
      `(${type}v)((${mask} & (${integer})b) | (~${mask} & (${integer})c))`,
    );
  }
  put('select_bool_v', ['i32v', 'i32v', 'i32v'], 'i32v', '(a & b) | (~a & c)');
  for (const from of ['u32', 'i32', 'u64', 'f32', 'f64'] as const) {
    const wide = from === 'u64' || from === 'f64';
    put(`cast_${from}_bool_v`, [`${from}v`], 'i32v', wide ? '__builtin_convertvector(a != 0, i32v)' : '(i32v)(a != 0)');
  }
  for (const to of ['u32', 'i32'] as const) put(`cast_bool_${to}_v`, ['i32v'], `${to}v`, `(${to}v)(a & 1)`);
  put('cast_u32_i32_v', ['u32v'], 'i32v', '(i32v)a');
  put('cast_i32_u32_v', ['i32v'], 'u32v', '(u32v)a');
  put('cast_u32_u64_v', ['u32v'], 'u64v', '__builtin_convertvector(a, u64v)');
  put('cast_u64_u32_v', ['u64v'], 'u32v', '__builtin_convertvector(a, u32v)');
  for (const [x, y] of [
    ['u32', 'i32'],
    ['u32', 'f32'],
    ['i32', 'f32'],
    ['u64', 'f64'],
  ] as const) {
    put(`bits_${x}_${y}_v`, [`${x}v`], `${y}v`, `(${y}v)a`);
    put(`bits_${y}_${x}_v`, [`${y}v`], `${x}v`, `(${x}v)a`);
  }
  return table;
}

/**
 * A rotation to the right. GCC makes three instructions of the plain form, two of which only one of Neoverse-N1's two
 * pipes has; whole bytes need one, which both have, and the rest two.
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
