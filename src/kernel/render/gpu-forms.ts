import type { Node } from '../ir.js';
import type { Scalar } from '../types.js';

/** A small function of the generated text, printed where it is used. */
export interface Helper {
  readonly args: readonly Scalar[];
  readonly result: Scalar;
  /** An expression over a, b, c, d; or statements that end in a `return`. */
  readonly body: string;
  readonly needs?: readonly string[];
}

/**
 * How a language writes operations. A key is `op_type` (the type of the first operand), `cast_from_to`, or just `op`.
 * A form is text with $a, $b … for the operands; what needs an operand twice is a function. A form that ends in `_const`
 * is for a count that is known: $b is then that number, and $r what is left of the width.
 */
export interface OperationTable {
  readonly forms: Readonly<Record<string, string>>;
  readonly functions: Readonly<Record<string, Helper>>;
}

/** Prints operations by a table and remembers which functions they need. */
export class Forms {
  readonly #table: OperationTable;
  readonly #print: (name: string, helper: Helper) => string;
  readonly #used = new Set<string>();

  constructor(table: OperationTable, print: (name: string, helper: Helper) => string) {
    this.#table = table;
    this.#print = print;
  }

  operation(node: Node, args: readonly string[]): string {
    const type = node.args[0]?.type ?? node.type;
    if (node.op === 'logic3') return this.#logic3(node, args);
    const key = node.op === 'cast' || node.op === 'bits' ? `${node.op}_${type}_${node.type}` : `${node.op}_${type}`;
    const count = node.args[1];
    const counted = this.#table.forms[`${key}_const`];
    if (counted && count?.op === 'const') {
      // `fold` has reduced it to below the width, and zero to nothing
      const known = Number(count.detail.value);
      const rest = (type === 'u64' ? 64 : 32) - known;
      return substitute(counted, [args[0] ?? '', String(known)]).replaceAll('$r', String(rest));
    }
    return this.apply(key, args, node.op);
  }

  /** The text of one operation by its key. */
  apply(key: string, args: readonly string[], op: string = key.slice(0, key.indexOf('_'))): string {
    const form = this.#table.forms[key];
    if (form) return substitute(form, args);
    if (this.#table.functions[key]) return `${this.use(key)}(${args.join(', ')})`;
    const common = this.#table.forms[op];
    if (common) return substitute(common, args);
    throw new TypeError(`no form for ${key}`);
  }

  use(name: string): string {
    this.#used.add(name);
    return name;
  }

  /** The functions that were used, those that they need first. */
  prelude(): string[] {
    const lines: string[] = [];
    const printed = new Set<string>();
    const print = (name: string): void => {
      if (printed.has(name)) return;
      printed.add(name);
      const helper = this.#table.functions[name];
      if (!helper) throw new TypeError(`no function ${name}`);
      for (const other of helper.needs ?? []) print(other);
      lines.push(this.#print(name, helper));
    };
    for (const name of [...this.#used].sort()) print(name);
    return lines;
  }

  /** Any three-input function as the products that make it up; compilers find the one instruction for it. */
  #logic3(node: Node, args: readonly string[]): string {
    const truth = node.detail.truth ?? 0;
    const not = (text: string) => this.apply(`not_${node.type}`, [text]);
    const [a, b, c] = args as [string, string, string];
    const rows = [...Array(8).keys()].filter((row) => (truth >> row) & 1);
    if (rows.length === 0) return this.apply(`xor_${node.type}`, [a, a]);
    const term = (row: number) => [row & 4 ? a : not(a), row & 2 ? b : not(b), row & 1 ? c : not(c)].join(' & ');
    return rows.map((row) => `(${term(row)})`).join(' | ');
  }
}

function substitute(form: string, args: readonly string[]): string {
  return form.replace(/\$([abcd])/g, (_, letter: string) => args['abcd'.indexOf(letter)] ?? 'missing_operand');
}

/** Body text of a helper: an expression gets its `return`. */
export const helperBody = ({ body }: Helper): string => (body.includes('return') ? body : `return ${body};`);

/**
 * What CUDA and OpenCL C have in common. Signed overflow is undefined in both, so i32 is computed as u32; division by
 * zero and the conversion of what does not fit are too, so they are written out.
 */
export function cFamily(ull: string): OperationTable {
  const forms: Record<string, string> = {
    add: '$a + $b',
    sub: '$a - $b',
    mul: '$a * $b',
    div: '$a / $b',
    and: '$a & $b',
    or: '$a | $b',
    xor: '$a ^ $b',
    not: '~$a',
    not_bool: '!$a',
    neg: '-$a',
    eq: '$a == $b',
    ne: '$a != $b',
    lt: '$a < $b',
    le: '$a <= $b',
    select: '$a ? $b : $c',
    hi: '(u32)($a >> 32)',
    pack: '(u64)$b << 32 | $a',
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
  const functions: Record<string, Helper> = {};
  const define = (name: string, args: readonly Scalar[], result: Scalar, body: string) => {
    functions[name] = { args, result, body };
  };
  for (const type of ['u32', 'i32', 'u64'] as const) {
    const mask = type === 'u64' ? 63 : 31;
    forms[`shr_${type}_const`] = '$a >> $b';
    forms[`shr_${type}`] = `$a >> ($b & ${mask}u)`;
    forms[`shl_${type}`] = type === 'i32' ? '(i32)((u32)$a << ($b & 31u))' : `$a << ($b & ${mask}u)`;
    // x / 0 is x and x % 0 is 0: both are what division by 1 gives. The same serves min / -1.
    const safe = type === 'i32' ? '(b == 0 || (b == -1 && a == -2147483647 - 1) ? 1 : b)' : '(b == 0 ? 1 : b)';
    define(`div_${type}`, [type, type], type, `a / ${safe}`);
    define(`rem_${type}`, [type, type], type, `a % ${safe}`);
    forms[`cast_${type}_bool`] = '$a != 0';
    forms[`cast_bool_${type}`] = `(${type})$a`;
    for (const to of ['u32', 'i32', 'u64', 'f32', 'f64'] as const) forms[`cast_${type}_${to}`] = `(${to})$a`;
  }
  for (const [type, f] of [
    ['f32', 'f'],
    ['f64', ''],
  ] as const) {
    forms[`cast_bool_${type}`] = `$a ? 1.0${f} : 0.0${f}`;
    // Comparisons with a NaN are false, so it falls through to 0.
    const most = `0xffffffffffffffff${ull}`;
    define(`cast_${type}_u32`, [type], 'u32', `a >= 4294967296.0${f} ? 0xffffffffu : a > 0.0${f} ? (u32)a : 0u`);
    define(`cast_${type}_u64`, [type], 'u64', `a >= 18446744073709551616.0${f} ? ${most} : a > 0.0${f} ? (u64)a : 0u`);
    define(
      `cast_${type}_i32`,
      [type],
      'i32',
      `a >= 2147483648.0${f} ? 2147483647 : a >= -2147483648.0${f} ? (i32)a : a < 0.0${f} ? -2147483647 - 1 : 0`,
    );
  }
  define('bitSelect_u32', ['u32', 'u32', 'u32'], 'u32', '(a & b) | (~a & c)');
  define('bitSelect_u64', ['u64', 'u64', 'u64'], 'u64', '(a & b) | (~a & c)');
  define('wmadHi_u32', ['u32', 'u32', 'u32', 'u32'], 'u32', '(u32)(((u64)a * b + c + d) >> 32)');
  define('carry_u32', ['u32', 'u32', 'u32'], 'u32', '(u32)(((u64)a + b + c) >> 32)');
  define('borrow_u32', ['u32', 'u32', 'u32'], 'u32', '(u64)a < (u64)b + c');
  // The carry in is 0 or 1: at most one of the two additions overflows.
  define('carry_u64', ['u64', 'u64', 'u64'], 'u64', '(u64)(a + b < a) | (u64)(a + b + c < c)');
  define('borrow_u64', ['u64', 'u64', 'u64'], 'u64', '(u64)(a < b) | ((u64)(a == b) & c)');
  return { forms, functions };
}
