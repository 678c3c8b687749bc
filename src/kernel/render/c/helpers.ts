import { formName, ops, type PureOp, signatureOf, typeSets } from '../../ir/ops.js';
import type { Node } from '../../ir/program.js';
import type { Scalar } from '../../language/types.js';
import type { Operand } from './c-like.js';
import { functions, neonFunctions, vectorFunctions } from './forms.js';

/**
 * The table of C forms: an operator if C's has the language's meaning, a small function otherwise. A function is printed
 * only if it is used. Its form for a gang is either written here or a loop over the lanes.
 */
export class Helpers {
  readonly #lanes: number;
  readonly #ternaryLogic: boolean;
  readonly #used = new Set<string>();
  /** The header costs a compiler 0.2 s, so it is included only if it is needed. */
  #usesIntrinsics = false;

  constructor(lanes: number, ternaryLogic: boolean) {
    this.#lanes = lanes;
    this.#ternaryLogic = ternaryLogic;
    if (lanes > 1) for (const type of typeSets.any) this.#used.add(`splat_${type}`);
  }

  /** Records that a function is needed and returns its name. */
  use(name: string): string {
    this.#used.add(name);
    return name;
  }

  /** Returns the name to call, scalar or for all lanes. */
  call(name: string, varying: boolean): string {
    this.#used.add(name);
    if (varying) this.#used.add(`${name}_v`);
    return varying ? `${name}_v` : name;
  }

  operation(node: Node, args: readonly Operand[], varying: boolean): string {
    const type = node.args[0]?.type ?? node.type;
    const broadcast = (operand: Operand): string =>
      varying && !operand.varying ? `splat_${operand.node.type}(${operand.text})` : operand.text;
    const name = formName(node);
    const { symbol, class: kind } = ops[node.op as PureOp];
    const count = node.args[1]?.op === 'const' ? node.args[1].detail.value : undefined; // `fold` reduced it below the width
    if (kind === 'shifts' && count !== undefined && type !== 'i32')
      return `${broadcast(args[0] as Operand)} ${symbol} ${count}`;
    if (symbol && !functions[name]) {
      const isLogicalNot = node.op === 'not' && type === 'bool' && !varying;
      return this.#infix(isLogicalNot ? '!' : symbol, node, args, varying, broadcast);
    }
    if (node.op === 'any') return `${this.use('any')}(${args[0]?.text})`;
    // A constant count stays a scalar: compilers make it an immediate rotate.
    if (vectorFunctions[`${name}_c`] && count !== undefined && varying)
      return `${this.use(`${name}_c`)}(${broadcast(args[0] as Operand)}, ${count})`;
    if (node.op === 'logic3') return this.#logic3(node, args.map(broadcast), varying);
    return `${this.call(name, varying)}(${args.map(broadcast).join(', ')})`;
  }

  #infix(
    operator: string,
    node: Node,
    args: readonly Operand[],
    varying: boolean,
    broadcast: (operand: Operand) => string,
  ): string {
    const [a, b] = args as [Operand, Operand];
    if (args.length === 1) return `${operator}${varying ? broadcast(a) : a.text}`;
    const compares = node.type === 'bool' && a.node.type !== 'bool';
    // Compilers broadcast a scalar beside a vector by themselves; of two scalars one must be broadcast.
    const left = varying && !a.varying && (!b.varying || a.node.type === 'bool') ? broadcast(a) : a.text;
    const right = varying && b.node.type === 'bool' ? broadcast(b) : b.text;
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
    if (shared !== undefined) {
      const { args, result } = signatureOf(name);
      for (const other of calledIn(shared)) need(other);
      return `static inline ${result} ${name}(${parameters(args)}) { return ${shared}; }`;
    }
    if (name === 'any')
      return 'static inline bool any(i32v m) { i32 r = 0; for (int l = 0; l < LANES; l++) r |= m[l]; return r != 0; }';
    if (name.startsWith('splat_')) {
      const type = name.slice(6) as Scalar;
      const value = type === 'bool' ? '-(i32)a' : 'a';
      return `static inline ${vectorOf(type)} ${name}(${type} a) { return (${vectorOf(type)}){${Array(this.#lanes).fill(value).join(', ')}}; }`;
    }
    const vector = vectorFunctions[name];
    if (vector === undefined) return this.#laneLoop(name.replace(/_v$/, ''), need);
    const { args, result } = signatureOf(name.replace(/_[cv]$/, ''));
    const types = args.map((type, i) => (name.endsWith('_c') && i === 1 ? 'int' : vectorOf(type)));
    const plain = `static inline ${vectorOf(result)} ${name}(${parameters(types)}) { return ${vector}; }`;
    const neon = neonFunctions[name];
    if (neon === undefined || this.#lanes !== NEON_LANES) return plain;
    const names = [...'abcd'].slice(0, args.length).join(', ');
    return `#ifdef __aarch64__\n#include <arm_neon.h>\n#define ${name}(${names}) ${neon}\n#else\n${plain}\n#endif`;
  }

  /** Calls the scalar function lane by lane; compilers vectorize it if they can. */
  #laneLoop(scalar: string, need: (name: string) => void): string {
    if (functions[scalar] === undefined) throw new TypeError(`no C function ${scalar}`);
    need(scalar);
    const { args, result } = signatureOf(scalar);
    const vector = vectorOf(result);
    // A true lane is all ones; scalar functions take 0 or 1.
    const lanes = args.map((type, i) => `${'abcd'[i]}[l]${type === 'bool' ? ' & 1' : ''}`).join(', ');
    const value = `${scalar}(${lanes})`;
    return `static inline ${vector} ${scalar}_v(${parameters(args.map(vectorOf))}) { ${vector} r; for (int l = 0; l < LANES; l++) r[l] = ${result === 'bool' ? `-(${value})` : value}; return r; }`;
  }
}

const vectorOf = (type: Scalar): string => (type === 'bool' ? 'i32v' : `${type}v`);
const parameters = (types: readonly string[]): string => types.map((type, i) => `${type} ${'abcd'[i]}`).join(', ');
/** Returns the functions of the table that a body calls. */
const calledIn = (body: string): string[] =>
  [...body.matchAll(/\b(\w+)\(/g)]
    .map(([, name = '']) => name)
    .filter((name) => name in functions)
    .sort();

/** 32-bit lanes in a NEON register. */
const NEON_LANES = 4;

/** Orders splats before the functions that may use them, and scalar functions before their vector forms. */
const byDependency = (a: string, b: string) => rank(a) - rank(b) || (a < b ? -1 : 1);
const rank = (name: string) => (name.startsWith('splat_') ? 0 : name.endsWith('_v') || name.endsWith('_c') ? 2 : 1);
