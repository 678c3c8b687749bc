import type { NativeShape } from '../../ir/program.js';
import type { NativeText } from '../../language/std-function.js';

/** The differences between processors with SHA-256 instructions. All of them take four words at a time. */
export interface ShaInstructions {
  /** Lines before everything else: the header that declares the instructions. */
  readonly head: string;
  /** The state words in each of the two registers, lowest element first. */
  readonly state: readonly (readonly [number, number, number, number])[];
  /** Body of `sha256_rounds(s, kw)`: four rounds on the state s[0], s[1]; kw is message words plus round constants. */
  readonly rounds: string;
  /** Body of `sha256_extend(a, b, c, d)`: the four message words that follow these sixteen. */
  readonly extend: string;
  /** Attribute of the function that does the rounds. If inlined, values that are the same for all items leave the loop. */
  readonly attribute: string;
  /** A statement before the first round and after the last, if they need one. */
  readonly fence?: string;
  /** Blocks that are interleaved, so that one executes while another waits for a result. */
  readonly interleaved: 1 | 2 | 4;
}

/**
 * Compresses one block per lane. The instructions take four words of one block in a register, but a gang has one word of
 * each lane there, so words are transposed on the way in and out: eight permutes for four words of four lanes. The permutes
 * are the compilers' generic ones because those fold: words that all lanes share, their sums with round constants and values
 * computed from them alone leave the loop (4 of the block kernel's 112 SHA instructions per nonce on ARM).
 */
export function shaBody(instructions: ShaInstructions, constants: readonly number[]): NativeText {
  return { prelude: prelude(instructions, constants), lanes: GROUP, text: (shape) => text(instructions, shape) };
}

/** Lanes transposed at once, and the fastest gang size: wider vectors are taken apart through memory. */
const GROUP = 4;

function text({ state, interleaved }: ShaInstructions, { lanes, args, results }: NativeShape): string {
  const group = Math.min(lanes, GROUP);
  const pass = Math.min(group, interleaved);
  const lines: string[] = [];
  for (let first = 0; first < lanes; first += group) {
    lines.push('{', `  sha256_quad s[${group}][2], w[${group}][4];`);
    state.forEach((words, r) => void lines.push(`  ${gather(pick(args, words), column('s', r, group), first)}`));
    for (let q = 0; q < 4; q++)
      lines.push(`  ${gather(args.slice(8 + 4 * q, 12 + 4 * q), column('w', q, group), first)}`);
    for (let at = 0; at < group; at += pass) lines.push(`  sha256_blocks_${pass}(s + ${at}, w + ${at});`);
    state.forEach((words, r) => void lines.push(`  ${scatter(column('s', r, group), pick(results, words), first)}`));
    lines.push('}');
  }
  lines.push(...results.map((name, i) => `${name} += ${args[i]};`));
  return lines.join('\n');
}

/** Returns one entry of each lane's row. */
const column = (table: string, at: number, lanes: number): string[] =>
  Array.from({ length: lanes }, (_, lane) => `${table}[${lane}][${at}]`);
const pick = (names: readonly string[], indices: readonly number[]): string[] =>
  indices.map((index) => names[index] as string);

/** Transposes four words of a group's lanes, the first of which is `first`, to a register per lane. */
function gather(words: readonly string[], registers: readonly string[], first: number): string {
  if (registers.length === GROUP)
    return turn(
      words.map((name) => part(name, first)),
      registers,
    );
  const lane = (l: number) => words.map((name) => (registers.length === 1 ? name : `${name}[${l}]`));
  return registers.map((register, l) => `${register} = (sha256_quad){${lane(l).join(', ')}};`).join(' ');
}

/** Transposes a register per lane to four words of the group's lanes. */
function scatter(registers: readonly string[], words: readonly string[], first: number): string {
  if (registers.length === GROUP)
    return turn(
      registers,
      words.map((name) => part(name, first)),
    );
  const [only] = registers;
  if (registers.length === 1) return words.map((name, i) => `${name} = ${only}[${i}];`).join(' ');
  return words
    .map((name, i) => `${name} = (u32v){${registers.map((register) => `${register}[${i}]`).join(', ')}};`)
    .join(' ');
}

const turn = (from: readonly string[], to: readonly string[]): string =>
  `sha256_turn(${[...from, ...to.map((place) => `&${place}`)].join(', ')});`;
/** Returns four lanes of a gang's vector. */
const part = (name: string, first: number): string => `((sha256_quad *)&${name})[${first / GROUP}]`;

function prelude(
  { head, rounds, extend, attribute, fence = '', interleaved }: ShaInstructions,
  constants: readonly number[],
): string {
  const define = (name: string, body: string, attributes = 'always_inline') =>
    `static inline __attribute__((${attributes})) ${name} {\n${body.trim().replaceAll(/^/gm, '  ')}\n}`;
  return [
    head,
    'typedef u32 sha256_quad __attribute__((vector_size(16)));',
    PERMUTE,
    define(
      'void sha256_turn(sha256_quad a, sha256_quad b, sha256_quad c, sha256_quad d, sha256_quad *w, sha256_quad *x, sha256_quad *y, sha256_quad *z)',
      TURN,
    ),
    define('void sha256_rounds(sha256_quad s[2], sha256_quad kw)', rounds),
    define('sha256_quad sha256_extend(sha256_quad a, sha256_quad b, sha256_quad c, sha256_quad d)', extend),
    ...[1, 2, 4]
      .filter((count) => count <= interleaved)
      .map((count) =>
        define(
          `void sha256_blocks_${count}(sha256_quad s[${count}][2], sha256_quad w[${count}][4])`,
          `${fence}\n${blocks(count, constants)}\n${fence}`,
          attribute,
        ),
      ),
  ].join('\n');
}

/** Prints the 64 rounds of `count` interleaved blocks, four rounds each. */
function blocks(count: number, constants: readonly number[]): string {
  const each = (one: (block: number) => string) => Array.from({ length: count }, (_, block) => one(block)).join(' ');
  const lines = ['sha256_quad k;'];
  for (let t = 0; t < 64; t += 4) {
    const word = (block: number, quad: number) => `w[${block}][${(t / 4 + quad) % 4}]`;
    const k = constants.slice(t, t + 4).map((value) => `0x${value.toString(16)}`);
    lines.push(
      `k = (sha256_quad){${k.join(', ')}};`,
      each((l) => `sha256_rounds(s[${l}], ${word(l, 0)} + k);`),
    );
    if (t < 48)
      lines.push(
        each((l) => `${word(l, 0)} = sha256_extend(${word(l, 0)}, ${word(l, 1)}, ${word(l, 2)}, ${word(l, 3)});`),
      );
  }
  return lines.join('\n');
}

/** Permutes two registers by constants: GCC has clang's name for it only from version 12 on. */
const PERMUTE = `#ifdef __clang__
#define SHA256_PERMUTE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHA256_PERMUTE(a, b, ...) __builtin_shuffle(a, b, (sha256_quad){__VA_ARGS__})
#endif`;

/** Transposes a 4 by 4 matrix. */
const TURN = `
const sha256_quad ab01 = SHA256_PERMUTE(a, b, 0, 4, 1, 5), ab23 = SHA256_PERMUTE(a, b, 2, 6, 3, 7);
const sha256_quad cd01 = SHA256_PERMUTE(c, d, 0, 4, 1, 5), cd23 = SHA256_PERMUTE(c, d, 2, 6, 3, 7);
*w = SHA256_PERMUTE(ab01, cd01, 0, 1, 4, 5);
*x = SHA256_PERMUTE(ab01, cd01, 2, 3, 6, 7);
*y = SHA256_PERMUTE(ab23, cd23, 0, 1, 4, 5);
*z = SHA256_PERMUTE(ab23, cd23, 2, 3, 6, 7);`;
