import { formName, rowOf, signatureOf, typeSets } from '../../ir/ops.js';
import type { Node } from '../../ir/program.js';
import type { Float, Scalar } from '../../language/types.js';
import { divisor, fromFloat } from '../c/forms.js';

/** A small function of the generated text, printed only if it is used. */
export interface Helper {
  readonly args: readonly Scalar[];
  readonly result: Scalar;
  /** An expression over a, b, c, d, or statements that end in a `return`. */
  readonly body: string;
}

/**
 * A language's forms of operations that it has no operator for. A key is the name of a form, or of an operation on all
 * types. A form is text with $a, $b … for the operands. A form that needs an operand twice is a function, given by its body.
 * A form that ends in `_const` is for a constant count: $b is that number, and $r the width minus it. One that ends in
 * `_zero_a` or `_zero_b` is for that operand if it is a constant 0 or −0.
 */
export interface OperationTable {
  readonly forms: Readonly<Record<string, string>>;
  readonly functions: Readonly<Record<string, string>>;
  /** Returns the body of a function of three inputs, if the language has an instruction for each of them. */
  readonly logic3?: (type: Scalar, truth: number) => string;
}

/** Prints operations from a table and records which functions they need. */
export class OperationPrinter {
  readonly #table: OperationTable;
  readonly #print: (name: string, helper: Helper) => string;
  readonly #used = new Set<string>();
  readonly #logic = new Map<string, Helper>();

  constructor(table: OperationTable, print: (name: string, helper: Helper) => string) {
    this.#table = table;
    this.#print = print;
  }

  operation(node: Node, args: readonly string[]): string {
    if (node.op === 'logic3') return this.#logic3(node, args);
    const key = formName(node);
    const count = node.args[1];
    const counted = this.#table.forms[`${key}_const`];
    if (counted && count?.op === 'const') {
      // `fold` has reduced the count to below the width, and removed counts of 0
      const known = Number(count.detail.value);
      const rest = (node.type === 'u64' ? 64 : 32) - known;
      return substitute(counted, [args[0] ?? '', String(known)]).replaceAll('$r', String(rest));
    }
    const zero = ['a', 'b'].find((_, at) => isZero(node.args[at]));
    return this.apply(zero && `${key}_zero_${zero}` in this.#table.forms ? `${key}_zero_${zero}` : key, args);
  }

  /** Returns the text of one operation by its form: the type's, the operation's, or the operator. */
  apply(key: string, args: readonly string[]): string {
    const { forms, functions } = this.#table;
    if (functions[key] !== undefined && forms[key] === undefined) {
      this.#used.add(key);
      return `${key}(${args.join(', ')})`;
    }
    const op = key.slice(0, key.indexOf('_'));
    const symbol = rowOf(op)?.symbol;
    const form = forms[key] ?? forms[op] ?? (symbol && (args.length === 1 ? `${symbol}$a` : `$a ${symbol} $b`));
    if (form === undefined) throw new TypeError(`no form for ${key}`);
    return substitute(form, args);
  }

  /** Returns the functions that were used, each after those that it calls. */
  prelude(): string[] {
    const lines: string[] = [];
    const printed = new Set<string>();
    const print = (name: string): void => {
      if (printed.has(name)) return;
      printed.add(name);
      const body = this.#table.functions[name] ?? '';
      for (const [, other = ''] of body.matchAll(/\b(\w+)\(/g)) if (other in this.#table.functions) print(other);
      lines.push(this.#print(name, { ...signatureOf(name), body }));
    };
    for (const name of [...this.#used].sort()) print(name);
    return [...lines, ...[...this.#logic].map(([name, helper]) => this.#print(name, helper))];
  }

  /** Prints a three-input function; without an instruction as a sum of products, for which compilers find one. */
  #logic3(node: Node, args: readonly string[]): string {
    const truth = node.detail.truth ?? 0;
    if (this.#table.logic3) {
      const name = `logic_${node.type}_${truth.toString(16).padStart(2, '0')}`;
      const { type } = node;
      this.#logic.set(name, { args: [type, type, type], result: type, body: this.#table.logic3(type, truth) });
      return `${name}(${args.join(', ')})`;
    }
    const not = (text: string) => this.apply(`not_${node.type}`, [text]);
    const [a, b, c] = args as [string, string, string];
    const rows = [...Array(8).keys()].filter((row) => (truth >> row) & 1);
    if (rows.length === 0) return this.apply(`xor_${node.type}`, [a, a]);
    const term = (row: number) => [row & 4 ? a : not(a), row & 2 ? b : not(b), row & 1 ? c : not(c)].join(' & ');
    return rows.map((row) => `(${term(row)})`).join(' | ');
  }
}

const isZero = (node?: Node): boolean => node?.op === 'const' && Number(node.detail.value) === 0;

function substitute(form: string, args: readonly string[]): string {
  return form.replace(/\$([abcd])/g, (_, letter: string) => args['abcd'.indexOf(letter)] ?? 'missing_operand');
}

/** Returns the body text of a helper; an expression gets a `return`. */
export const helperBody = ({ body }: Helper): string => (body.includes('return') ? body : `return ${body};`);

/**
 * Compares with 0 by the bits of a float. NVIDIA's compilers make `0 < x ? x : 0` one instruction, the maximum, for which −0
 * is less than 0. `first` are the bits of the negative number next to 0, `infinity` those of +∞.
 */
function comparisonsWithZero(type: Float, bits: string, first: string, infinity: string, zero: string) {
  return {
    [`lt_${type}_zero_a`]: `${bits}($b) - 1 < ${infinity}`,
    [`lt_${type}_zero_b`]: `${bits}($a) - ${first} < ${infinity}`,
    // −0 + 0 is 0
    [`le_${type}_zero_a`]: `${bits}($b + ${zero}) <= ${infinity}`,
    [`le_${type}_zero_b`]: `${bits}(${zero} - $a) <= ${infinity}`,
  };
}

/**
 * Complements on NVIDIA. In a branch where ptxas 13.0 knows x, it takes `~x & y`, `~x | y` and `~x ^ y` for `x & y`, `x | y` and `x ^ y`.
 * The difference from −1 and functions of three inputs it gets right. They are instructions, since the compiler before it
 * makes any other form of a complement `not`.
 */
export const nvidiaComplements = {
  functions: {
    not_u32: 'u32 rest; asm("sub.u32 %0, 0xffffffff, %1;" : "=r"(rest) : "r"(a)); return rest;',
    not_i32: '(i32)not_u32((u32)a)',
    not_u64: '(u64)not_u32((u32)(a >> 32)) << 32 | not_u32((u32)a)',
  },
  logic3(type: Scalar, truth: number): string {
    const table = `0x${truth.toString(16)}`;
    if (type !== 'u64') return asmOf(type, 'r', `lop3.b32 %0, %1, %2, %3, ${table};`);
    const split = ['a', 'b', 'c'].map((name, at) => `mov.b64 {${name}0, ${name}1}, %${at + 1};`).join(' ');
    const halves = [0, 1].map((k) => `lop3.b32 a${k}, a${k}, b${k}, c${k}, ${table};`).join(' ');
    return asmOf(type, 'l', `{ .reg .b32 a0, a1, b0, b1, c0, c1; ${split} ${halves} mov.b64 %0, {a0, a1}; }`);
  },
} as const satisfies Partial<OperationTable>;

const asmOf = (type: Scalar, kind: string, text: string): string =>
  `${type} r; asm("${text}" : "=${kind}"(r) : "${kind}"(a), "${kind}"(b), "${kind}"(c)); return r;`;

/**
 * Forms that CUDA and OpenCL C have in common. Signed overflow is undefined in both, so i32 is computed as u32. Division by
 * zero and conversions that do not fit are undefined too, so they are written out.
 */
export function cFamily(ull: string, bitsOf: { readonly f32: string; readonly f64: string }): OperationTable {
  const forms: Record<string, string> = {
    ...comparisonsWithZero('f32', bitsOf.f32, '0x80000001u', '0x7f800000u', '0.0f'),
    ...comparisonsWithZero('f64', bitsOf.f64, `0x8000000000000001${ull}`, `0x7ff0000000000000${ull}`, '0.0'),
    not_bool: '!$a',
    select: '$a ? $b : $c',
    hi: '(u32)($a >> 32)',
    pack: '(u64)$b << 32 | $a',
    cast_bool_f32: '$a ? 1.0f : 0.0f',
    cast_bool_f64: '$a ? 1.0 : 0.0',
    cast_f32_bool: '$a != 0.0f',
    cast_f64_bool: '$a != 0.0',
    cast_f32_f64: '(f64)$a',
    cast_f64_f32: '(f32)$a',
    add_i32: '(i32)((u32)$a + (u32)$b)',
    sub_i32: '(i32)((u32)$a - (u32)$b)',
    mul_i32: '(i32)((u32)$a * (u32)$b)',
    neg_i32: '(i32)(0u - (u32)$a)',
    bits_u32_i32: '(i32)$a',
    bits_i32_u32: '(u32)$a',
    shl_u32_const: '$a << $b',
    shl_u64_const: '$a << $b',
    shl_i32_const: '(i32)((u32)$a << $b)',
  };
  const functions: Record<string, string> = {
    abs_i32: 'a < 0 ? (i32)(0u - (u32)a) : a',
    bitSelect_u32: '(a & b) | (~a & c)',
    bitSelect_u64: '(a & b) | (~a & c)',
    wmadHi_u32: '(u32)(((u64)a * b + c + d) >> 32)',
    carry_u32: '(u32)(((u64)a + b + c) >> 32)',
    borrow_u32: '(u64)a < (u64)b + c',
    // The carry in is 0 or 1: at most one of the two additions overflows.
    carry_u64: '(u64)(a + b < a) | (u64)(a + b + c < c)',
    borrow_u64: '(u64)(a < b) | ((u64)(a == b) & c)',
    ...fromFloat('f32', 'f', `0xffffffffffffffff${ull}`, '0u'),
    ...fromFloat('f64', '', `0xffffffffffffffff${ull}`, '0u'),
  };
  for (const type of typeSets.integer) {
    const mask = type === 'u64' ? 63 : 31;
    forms[`shr_${type}_const`] = '$a >> $b';
    forms[`shr_${type}`] = `$a >> ($b & ${mask}u)`;
    forms[`shl_${type}`] = type === 'i32' ? '(i32)((u32)$a << ($b & 31u))' : `$a << ($b & ${mask}u)`;
    functions[`div_${type}`] = `a / ${divisor(type)}`;
    functions[`rem_${type}`] = `a % ${divisor(type)}`;
    forms[`cast_${type}_bool`] = '$a != 0';
    forms[`cast_bool_${type}`] = `(${type})$a`;
    for (const to of typeSets.numeric) forms[`cast_${type}_${to}`] = `(${to})$a`;
  }
  return { forms, functions };
}
