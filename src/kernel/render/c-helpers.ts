import type { Node, Op } from '../ir.js';
import type { Scalar } from '../types.js';
import type { Operand } from './cstyle.js';

/**
 * The table of C forms: operators where C has the language's meaning, small functions where it has not. A function is
 * printed only when it is used; its form for a gang is either written here or a loop over the lanes.
 */
export class Helpers {
  readonly #lanes: number;
  readonly #ternaryLogic: boolean;
  readonly #used = new Set<string>();
  /** The header costs a compiler 0.2 s, so it stands only where it is needed. */
  #usesIntrinsics = false;

  constructor(lanes: number, ternaryLogic: boolean) {
    this.#lanes = lanes;
    this.#ternaryLogic = ternaryLogic;
    if (lanes > 1) for (const type of scalars) this.#used.add(`splat_${type}`);
  }

  /** Notes that a function is needed. */
  use(name: string): string {
    this.#used.add(name);
    return name;
  }

  /** The name to call, scalar or for all lanes. */
  call(name: string, varying: boolean): string {
    this.#used.add(name);
    if (varying) this.#used.add(`${name}_v`);
    return varying ? `${name}_v` : name;
  }

  operation(node: Node, args: readonly Operand[], varying: boolean): string {
    const type = node.args[0]?.type ?? node.type;
    const spread = (operand: Operand): string =>
      varying && !operand.varying ? `splat_${operand.node.type}(${operand.text})` : operand.text;
    const count = node.args[1]?.op === 'const' ? node.args[1].detail.value : undefined; // `fold` has reduced it to below the width
    if (isShift(node.op) && count !== undefined && type !== 'i32')
      return `${spread(args[0] as Operand)} ${node.op === 'shl' ? '<<' : '>>'} ${count}`;
    const infix = operatorOf(node.op, type, varying);
    if (infix) return this.#infix(infix, node, args, varying, spread);
    const name = functionName(node, type);
    if (node.op === 'any') return `${this.use('any')}(${args[0]?.text})`;
    // A count known now stays a scalar: compilers make it an immediate rotate.
    if (isRotate(node.op) && count !== undefined && varying)
      return `${this.use(`${name}_c`)}(${spread(args[0] as Operand)}, ${count})`;
    if (node.op === 'logic3') return this.#logic3(node, args.map(spread), varying);
    return `${this.call(name, varying)}(${args.map(spread).join(', ')})`;
  }

  #infix(
    operator: string,
    node: Node,
    args: readonly Operand[],
    varying: boolean,
    spread: (operand: Operand) => string,
  ): string {
    const [a, b] = args as [Operand, Operand];
    if (args.length === 1) return `${operator}${varying ? spread(a) : a.text}`;
    const compares = node.type === 'bool' && a.node.type !== 'bool';
    // The compilers spread a scalar next to a vector by themselves; two scalars need one spread.
    const left = varying && !a.varying && (!b.varying || a.node.type === 'bool') ? spread(a) : a.text;
    const right = varying && b.node.type === 'bool' ? spread(b) : b.text;
    const text = `${left} ${operator} ${right}`;
    if (!compares || !varying) return text;
    return a.node.type === 'u64' || a.node.type === 'f64'
      ? `__builtin_convertvector(${text}, i32v)`
      : `(i32v)(${text})`;
  }

  #logic3(node: Node, args: readonly string[], varying: boolean): string {
    const truth = node.detail.truth ?? 0;
    const [a, b, c] = args as [string, string, string];
    if (varying && this.#ternaryLogic && node.type === 'u32') {
      this.#usesIntrinsics = true;
      return `(u32v)_mm512_ternarylogic_epi32((__m512i)${a}, (__m512i)${b}, (__m512i)${c}, 0x${truth.toString(16)})`;
    }
    const not = node.type === 'bool' && !varying ? '!' : '~';
    const rows = [...Array(8).keys()].filter((row) => (truth >> row) & 1);
    const term = (row: number) => `(${row & 4 ? '' : not}${a} & ${row & 2 ? '' : not}${b} & ${row & 1 ? '' : not}${c})`;
    return rows.length === 0 ? `${a} ^ ${a}` : rows.map(term).join(' | ');
  }

  prelude(): string[] {
    const vectors = this.#lanes > 1;
    const lines = [
      '#include <stdint.h>',
      ...(this.#usesIntrinsics ? ['#include <immintrin.h>'] : []),
      'typedef uint32_t u32; typedef int32_t i32; typedef unsigned long long u64; typedef float f32; typedef double f64; typedef int bool;',
    ];
    if (vectors) {
      lines.push(`enum { LANES = ${this.#lanes} };`);
      for (const [name, bytes] of [
        ['u32', 4],
        ['i32', 4],
        ['u64', 8],
        ['f32', 4],
        ['f64', 8],
      ] as const) {
        lines.push(`typedef ${name} ${name}v __attribute__((vector_size(${bytes * this.#lanes})));`);
      }
      lines.push(`typedef long long i64v __attribute__((vector_size(${8 * this.#lanes})));`);
      lines.push(`static const u32v lane_numbers = {${[...Array(this.#lanes).keys()].join(', ')}};`);
    }
    const printed = new Set<string>();
    for (const name of [...this.#used].sort(byDependency)) this.#print(name, printed, lines);
    return lines;
  }

  #print(name: string, printed: Set<string>, lines: string[]): void {
    if (printed.has(name)) return;
    printed.add(name);
    const text = this.#definition(name, (other) => this.#print(other, printed, lines));
    lines.push(text);
  }

  #definition(name: string, need: (name: string) => void): string {
    const shared = functions[name];
    if (shared) {
      for (const other of shared.needs ?? []) need(other);
      return `static inline ${shared.result} ${name}(${shared.args.map((type, i) => `${type} ${'abcd'[i]}`).join(', ')}) { return ${shared.body}; }`;
    }
    if (name === 'any')
      return 'static inline bool any(i32v m) { i32 r = 0; for (int l = 0; l < LANES; l++) r |= m[l]; return r != 0; }';
    if (name.startsWith('splat_')) {
      const type = name.slice(6) as Scalar;
      const vector = type === 'bool' ? 'i32v' : `${type}v`;
      const value = type === 'bool' ? '-(i32)a' : 'a';
      return `static inline ${vector} ${name}(${type} a) { return (${vector}){${Array(this.#lanes).fill(value).join(', ')}}; }`;
    }
    const vector = vectorFunctions[name];
    if (vector) {
      for (const other of vector.needs ?? []) need(other);
      return `static inline ${vector.result} ${name}(${vector.args.map((type, i) => `${type} ${'abcd'[i]}`).join(', ')}) { return ${vector.body}; }`;
    }
    return this.#laneLoop(name.replace(/_v$/, ''), need);
  }

  /** The scalar function, lane by lane; compilers make vector code of it where there is any. */
  #laneLoop(scalar: string, need: (name: string) => void): string {
    const shape = functions[scalar];
    if (!shape) throw new TypeError(`no C function ${scalar}`);
    need(scalar);
    const vector = (type: Scalar) => (type === 'bool' ? 'i32v' : `${type}v`);
    const args = shape.args.map((type, i) => `${vector(type)} ${'abcd'[i]}`).join(', ');
    // A lane that holds is all ones; scalar functions take 0 or 1.
    const lanes = shape.args.map((type, i) => `${'abcd'[i]}[l]${type === 'bool' ? ' & 1' : ''}`).join(', ');
    const value = `${scalar}(${lanes})`;
    return `static inline ${vector(shape.result)} ${scalar}_v(${args}) { ${vector(shape.result)} r; for (int l = 0; l < LANES; l++) r[l] = ${shape.result === 'bool' ? `-(${value})` : value}; return r; }`;
  }
}

const scalars: readonly Scalar[] = ['u32', 'i32', 'u64', 'f32', 'f64', 'bool'];
/** Splats before the functions that may use them, scalar functions before their vector forms. */
const byDependency = (a: string, b: string) => rank(a) - rank(b) || (a < b ? -1 : 1);
const rank = (name: string) => (name.startsWith('splat_') ? 0 : name.endsWith('_v') || name.endsWith('_c') ? 2 : 1);

const isRotate = (op: Op) => op === 'rotl' || op === 'rotr';
const isShift = (op: Op) => op === 'shl' || op === 'shr';

function functionName(node: Node, type: Scalar): string {
  if (node.op === 'cast' || node.op === 'bits') return `${node.op}_${type}_${node.type}`;
  if (node.op === 'select') return `select_${node.type}`;
  return `${node.op}_${type}`;
}

/** Operators whose C meaning is the language's (with -fwrapv). */
function operatorOf(op: Op, type: Scalar, varying: boolean): string | undefined {
  const symbols: Partial<Record<Op, string>> = {
    add: '+',
    sub: '-',
    mul: '*',
    and: '&',
    or: '|',
    xor: '^',
    eq: '==',
    ne: '!=',
    lt: '<',
    le: '<=',
    neg: '-',
  };
  if (op === 'not') return type === 'bool' && !varying ? '!' : '~';
  if (op === 'div' && (type === 'f32' || type === 'f64')) return '/';
  return symbols[op];
}

interface CFunction {
  readonly args: readonly Scalar[];
  readonly result: Scalar;
  readonly body: string;
  readonly needs?: readonly string[];
}

const functions: Readonly<Record<string, CFunction>> = scalarFunctions();

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

interface VectorFunction {
  readonly args: readonly string[];
  readonly result: string;
  readonly body: string;
  readonly needs?: readonly string[];
}

/** Forms for all lanes at once, where they are better than a loop. A `_c` form takes a count that is the same for all. */
const vectorFunctions: Readonly<Record<string, VectorFunction>> = wholeGangFunctions();

function wholeGangFunctions(): Record<string, VectorFunction> {
  const table: Record<string, VectorFunction> = {};
  const put = (name: string, args: readonly string[], result: string, body: string) => {
    table[name] = { args, result, body };
  };
  for (const type of ['u32', 'i32', 'u64'] as const) {
    const bits = type === 'u64' ? 64 : 32;
    const raw = type === 'i32' ? 'u32v' : `${type}v`;
    const back = type === 'i32' ? '(i32v)' : '';
    put(`rotr_${type}_c`, [`${type}v`, 'int'], `${type}v`, `${back}(((${raw})a >> b) | ((${raw})a << (${bits} - b)))`);
    put(`rotl_${type}_c`, [`${type}v`, 'int'], `${type}v`, `${back}(((${raw})a << b) | ((${raw})a >> (${bits} - b)))`);
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
  );
  put(
    'mulHi_u32_v',
    ['u32v', 'u32v'],
    'u32v',
    '__builtin_convertvector(__builtin_convertvector(a, u64v) * __builtin_convertvector(b, u64v) >> 32, u32v)',
  );
  put('hi_u64_v', ['u64v'], 'u32v', '__builtin_convertvector(a >> 32, u32v)');
  put(
    'pack_u32_v',
    ['u32v', 'u32v'],
    'u64v',
    '(__builtin_convertvector(b, u64v) << 32) | __builtin_convertvector(a, u64v)',
  );
  for (const type of ['u32', 'u64'] as const)
    put(`bitSelect_${type}_v`, [`${type}v`, `${type}v`, `${type}v`], `${type}v`, '(a & b) | (~a & c)');
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
