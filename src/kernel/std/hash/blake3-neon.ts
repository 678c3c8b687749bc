import type { NativeShape } from '../../ir/program.js';
import type { NativeText } from '../../language/std-function.js';

/** The working words of each mix, and the position of each message word in the next round. */
export interface Blake3Rounds {
  readonly quarters: readonly (readonly [number, number, number, number])[];
  readonly permutation: readonly number[];
}

/**
 * BLAKE3's seven rounds over four lanes, with a fixed instruction order. Neoverse-N1 has two pipes for these instructions
 * and only one of them can shift. The four mixes of a half round are independent: compilers run them side by side, so that
 * all shift at once and the other pipe waits, 573 cycles. In this order, in which one mix shifts while another adds, it is
 * 484; 904 instructions take at least 452.
 */
export function neonBody(rounds: Blake3Rounds): NativeText {
  let prelude: string | undefined;
  return {
    get prelude() {
      prelude ??= preludeOf(instructionsOf(rounds));
      return prelude;
    },
    text: (shape) => (shape.lanes % 4 === 0 ? byFours(shape) : plain(shape, instructionsOf(rounds))),
  };
}

type InstructionKind = 'add' | 'xor' | 'turn16' | 'turn8' | 'left' | 'insert';

/** One instruction: computes `name` from other values, with a bit count. */
interface Instruction {
  readonly kind: InstructionKind;
  readonly name: string;
  readonly from: readonly string[];
  readonly by?: number;
}

interface InstructionList {
  readonly instructions: readonly Instruction[];
  /** Names of the sixteen working words afterwards. Before, they are v0 to v15, and the message is m0 to m15. */
  readonly results: readonly string[];
}

function instructionsOf({ quarters, permutation }: Blake3Rounds): InstructionList {
  const instructions: Instruction[] = [];
  const step = (kind: InstructionKind, from: readonly string[], by?: number): string => {
    const name = `t${instructions.length}`;
    instructions.push({ kind, name, from, ...(by === undefined ? {} : { by }) });
    return name;
  };
  const v = Array.from({ length: 16 }, (_, i) => `v${i}`);
  let m = Array.from({ length: 16 }, (_, i) => `m${i}`);
  const at = (words: readonly string[], i: number): string => words[i] as string;
  for (let round = 0; round < 7; round++) {
    quarters.forEach(([a, b, c, d], q) => {
      const half = (word: string, turn: 'turn16' | 'turn8', right: number): void => {
        v[a] = step('add', [step('add', [at(v, a), word]), at(v, b)]);
        v[d] = step(turn, [step('xor', [at(v, d), at(v, a)])]);
        v[c] = step('add', [at(v, c), at(v, d)]);
        const mixed = step('xor', [at(v, b), at(v, c)]);
        v[b] = step('insert', [step('left', [mixed], 32 - right), mixed], right);
      };
      half(at(m, 2 * q), 'turn16', 12);
      half(at(m, 2 * q + 1), 'turn8', 7);
    });
    m = permutation.map((from) => at(m, from));
  }
  return { instructions, results: v };
}

const isShift = ({ kind }: Instruction): boolean => kind === 'left' || kind === 'insert';
/** Cycles after which a result can be used. */
const LATENCY = 2;

/** Orders steps as two pipes would start them in each cycle, earlier steps first; only one pipe takes shifts. */
function scheduleForTwoPipes(steps: readonly Instruction[]): Instruction[] {
  const ready = new Map<string, number>();
  let waiting = [...steps];
  const order: Instruction[] = [];
  const made = new Set(steps.map(({ name }) => name));
  for (let cycle = 0; waiting.length > 0; cycle++) {
    const can = waiting.filter(({ from }) =>
      from.every((name) => !made.has(name) || (ready.get(name) ?? Number.POSITIVE_INFINITY) <= cycle),
    );
    const [shift, others] = [can.find(isShift), can.filter((one) => !isShift(one))];
    const started = shift ? [shift, ...others.slice(0, 1)] : others.slice(0, 2);
    order.push(...waiting.filter((one) => started.includes(one)));
    for (const { name } of started) ready.set(name, cycle + LATENCY);
    waiting = waiting.filter((one) => !started.includes(one));
  }
  return order;
}

/** The instructions in C. */
const forms: Readonly<Record<InstructionKind, (from: readonly string[], by: number | string) => string>> = {
  add: ([a, b]) => `${a} + ${b}`,
  xor: ([a, b]) => `${a} ^ ${b}`,
  turn16: ([a]) => `(${a} >> 16) | (${a} << 16)`,
  turn8: ([a]) => `(${a} >> 8) | (${a} << 24)`,
  left: ([a], by) => `${a} << ${by}`,
  insert: ([a, b], by) => `${a} | (${b} >> ${by})`,
};

/** Compilers keep volatile instructions in their order. */
function preludeOf({ instructions, results }: InstructionList): string {
  const asm = (text: string, from: string) => `blake3_quad t; __asm__ volatile(${text} : "=w"(t) : ${from})`;
  const macros: Readonly<Record<InstructionKind, readonly [names: string, body: string]>> = {
    add: ['t, a, b', asm('"add %0.4s, %1.4s, %2.4s"', '"w"(a), "w"(b)')],
    xor: ['t, a, b', asm('"eor %0.16b, %1.16b, %2.16b"', '"w"(a), "w"(b)')],
    turn16: ['t, a', asm('"rev32 %0.8h, %1.8h"', '"w"(a)')],
    turn8: ['t, a', asm('"tbl %0.16b, {%1.16b}, %2.16b"', '"w"(a), "w"(bytes)')],
    left: ['t, a, by', asm('"shl %0.4s, %1.4s, #" #by', '"w"(a)')],
    insert: ['t, a, b, by', 'blake3_quad t = a; __asm__ volatile("sri %0.4s, %1.4s, #" #by : "+w"(t) : "w"(b))'],
  };
  const kinds = Object.entries(macros) as [InstructionKind, readonly [string, string]][];
  const define = (kind: InstructionKind, names: string, body: string) => `#define blake3_${kind}(${names}) ${body}`;
  const call = ({ kind, name, from, by }: Instruction) =>
    `blake3_${kind}(${[name, ...from, ...(by === undefined ? [] : [by])].join(', ')});`;
  const all = (name: string) => Array.from({ length: 16 }, (_, i) => `${name}${i} = ${name}[${i}]`).join(', ');
  return [
    'typedef u32 blake3_quad __attribute__((vector_size(16)));',
    '#ifdef __aarch64__',
    ...kinds.map(([kind, [names, body]]) => define(kind, names, body)),
    '#else',
    ...kinds.map(([kind, [names]]) => define(kind, names, `const blake3_quad t = ${forms[kind](['a', 'b'], 'by')}`)),
    '#endif',
    'static void blake3_rounds(blake3_quad v[16], const blake3_quad m[16]) {',
    // Each word's next three bytes and its first, four times.
    '  const blake3_quad bytes = {0x00030201, 0x04070605, 0x080b0a09, 0x0c0f0e0d};',
    `  const blake3_quad ${all('v')}, ${all('m')};`,
    ...scheduleForTwoPipes(instructions).map((step) => `  ${call(step)}`),
    `  ${results.map((name, i) => `v[${i}] = ${name};`).join(' ')}`,
    '}',
  ].join('\n');
}

function byFours({ lanes, args, results }: NativeShape): string {
  const lines: string[] = [];
  for (let part = 0; part < lanes / 4; part++) {
    const quad = (name: string) => (lanes === 4 ? `*(blake3_quad *)&${name}` : `((blake3_quad *)&${name})[${part}]`);
    lines.push(
      `{ blake3_quad v[16] = {${args.slice(0, 16).map(quad).join(', ')}}, m[16] = {${args.slice(16).map(quad).join(', ')}};`,
      'blake3_rounds(v, m);',
      `${results.map((name, i) => `${quad(name)} = v[${i}];`).join(' ')} }`,
    );
  }
  return lines.join('\n');
}

/** Prints one or two lanes in the compiler's own order. */
function plain({ lanes, args, results }: NativeShape, { instructions, results: last }: InstructionList): string {
  const type = lanes === 1 ? 'u32' : 'u32v';
  const inputs = args.map((name, i) => `${i < 16 ? `v${i}` : `m${i - 16}`}_in = ${name}`);
  const input = (name: string) => (name.startsWith('t') ? name : `${name}_in`);
  return [
    `{ const ${type} ${inputs.join(', ')};`,
    ...instructions.map(
      ({ kind, name, from, by = 0 }) => `const ${type} ${name} = ${forms[kind](from.map(input), by)};`,
    ),
    `${results.map((name, i) => `${name} = ${last[i]};`).join(' ')} }`,
  ].join('\n');
}
