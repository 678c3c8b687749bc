import type { NativeShape } from '../../ir/program.js';
import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { type NativeText, std } from '../../language/std-function.js';
import type { Scalar } from '../../language/types.js';
import { roundConstants, sha256 } from './sha256.js';

type Word = Expr<'u32'>;

/**
 * SHA-256's compression over words in memory order: bytes are swapped on the way in and out. Callers whose state and blocks
 * are bytes then need not split them into words if instructions take four words at a time.
 */
export const compressBytes = (state: readonly ExprLike<'u32'>[], block: readonly ExprLike<'u32'>[]): Word[] =>
  compressBytesFunction(...[...state, ...block].map((word) => operand('u32', word))) as Word[];

const swapped = (words: readonly Word[]): Word[] => words.map((word) => word.byteSwap());

/** The number of lanes that are interleaved. */
const INTERLEAVED = 4;

/**
 * ARMv8's SHA-2 instructions. Neoverse-N1 starts one of them per cycle. Four rounds take two instructions, both of which
 * need the state from before them, 6 cycles after the previous four rounds: 96 cycles for a single block. Four interleaved
 * blocks fill the pipe: 56 of its instructions each.
 */
const armBody: NativeText = {
  prelude: prelude(),
  quads: true,
  text: (shape) => (shape.rows ? byRows(shape) : byLanes(shape)),
};

export const compressBytesFunction = std({
  name: 'sha256.compressBytes',
  results: () => Array<Scalar>(8).fill('u32'),
  generic: (...args) => {
    const words = swapped(args as Word[]);
    return swapped(sha256.compress(words.slice(0, 8), words.slice(8)));
  },
  native: { 'c-neon-sha': armBody },
});

/** Argument 4q + j is quad q of lane j: two of the state, four of the message. */
function byRows({ lanes, args, results }: NativeShape): string {
  const lines: string[] = [];
  for (let part = 0; part < lanes / INTERLEAVED; part++) {
    const partOf = (name = '') =>
      lanes === INTERLEAVED ? `*(uint8x16_t *)&${name}` : `((uint8x16_t *)&${name})[${part}]`;
    const quads = (quad: number) => Array.from({ length: INTERLEAVED }, (_, j) => partOf(args[4 * quad + j]));
    lines.push(
      `{ uint8x16_t s[2][${INTERLEAVED}] = {${[0, 1].map((quad) => `{${quads(quad).join(', ')}}`).join(', ')}};`,
      `const uint8x16_t w[4][${INTERLEAVED}] = {${[2, 3, 4, 5].map((quad) => `{${quads(quad).join(', ')}}`).join(', ')}};`,
      `sha256_bytes_${INTERLEAVED}(s, w);`,
      ...[0, 1].map((quad) =>
        Array.from({ length: INTERLEAVED }, (_, j) => `${partOf(results[4 * quad + j])} = s[${quad}][${j}];`).join(' '),
      ),
      '}',
    );
  }
  return lines.join('\n');
}

/** Processes lanes one after the other, with words from vectors or scalars. */
function byLanes({ lanes, args, results }: NativeShape): string {
  return Array.from({ length: lanes }, (_, lane) => {
    const laneOf = (name: string) => (lanes === 1 ? name : `${name}[${lane}]`);
    const quads = (from: number, count: number) =>
      Array.from({ length: count }, (_, q) => {
        const words = args.slice(from + 4 * q, from + 4 * q + 4).map(laneOf);
        return `{(uint8x16_t)(uint32x4_t){${words.join(', ')}}}`;
      }).join(', ');
    const out = results.map((name, i) => `${laneOf(name)} = ((uint32x4_t)s[${i >> 2}][0])[${i & 3}];`);
    return `{ uint8x16_t s[2][1] = {${quads(0, 2)}}; const uint8x16_t w[4][1] = {${quads(8, 4)}}; sha256_bytes_1(s, w); ${out.join(' ')} }`;
  }).join('\n');
}

function prelude(): string {
  return `#include <arm_neon.h>\n${[1, INTERLEAVED].map(blocks).join('\n')}`;
}

/** Interleaves `count` blocks, four rounds of each at a time. */
function blocks(count: number): string {
  const each = (one: (i: number) => string) => Array.from({ length: count }, (_, i) => one(i)).join(' ');
  const swap = (text: string) => `vreinterpretq_u32_u8(vrev32q_u8(${text}))`;
  const lines = [
    each((i) => `uint32x4_t a${i} = ${swap(`s[0][${i}]`)}, e${i} = ${swap(`s[1][${i}]`)};`),
    each((i) => `const uint32x4_t a${i}_then = a${i}, e${i}_then = e${i};`),
    ...[0, 1, 2, 3].map((q) => each((i) => `uint32x4_t w${i}_${q} = ${swap(`w[${q}][${i}]`)};`)),
    'uint32x4_t k;',
  ];
  for (let t = 0; t < 64; t += 4) {
    const w = (i: number, quad: number) => `w${i}_${(t / 4 + quad) % 4}`;
    const k = roundConstants.slice(t, t + 4).map((value) => `0x${value.toString(16)}`);
    lines.push(
      `k = (uint32x4_t){${k.join(', ')}};`,
      each((i) => `const uint32x4_t k${i}_${t} = vaddq_u32(${w(i, 0)}, k), a${i}_${t} = a${i};`),
      each((i) => `a${i} = vsha256hq_u32(a${i}, e${i}, k${i}_${t});`),
      each((i) => `e${i} = vsha256h2q_u32(e${i}, a${i}_${t}, k${i}_${t});`),
    );
    if (t < 48)
      lines.push(
        each((i) => `${w(i, 0)} = vsha256su0q_u32(${w(i, 0)}, ${w(i, 1)});`),
        each((i) => `${w(i, 0)} = vsha256su1q_u32(${w(i, 0)}, ${w(i, 2)}, ${w(i, 3)});`),
      );
  }
  const out = (name: string) => `vrev32q_u8(vreinterpretq_u8_u32(vaddq_u32(${name}, ${name}_then)))`;
  lines.push(each((i) => `s[0][${i}] = ${out(`a${i}`)}; s[1][${i}] = ${out(`e${i}`)};`));
  return `static inline __attribute__((always_inline)) void sha256_bytes_${count}(uint8x16_t s[2][${count}], const uint8x16_t w[4][${count}]) {\n  ${lines.join('\n  ')}\n}`;
}
