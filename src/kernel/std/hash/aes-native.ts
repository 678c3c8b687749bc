import type { NativeShape } from '../../ir/program.js';
import type { NativeText } from '../../language/std-function.js';

/**
 * AES instructions over a gang. They take one lane's four words in a register, which are a gang's rows. Blocks of four lanes
 * are independent, so that other blocks fill the latency of a round (2 to 5 cycles).
 */

/** 128-bit registers, any number of lanes: x86 with AES-NI. */
export const aesNiBody: NativeText = {
  prelude: '#include <immintrin.h>',
  lanes: 'widest',
  quads: true,
  text: (shape) => (shape.rows ? x86(shape, 128) : laneByLane(shape, x86Lane)),
};

/** Eight or sixteen lanes in four 256- or 512-bit registers: x86 with VAES. A narrower gang uses AES-NI. */
export const vaesBody: NativeText = {
  ...aesNiBody,
  text: (shape) => (shape.rows && shape.lanes > 4 ? x86(shape, shape.lanes === 16 ? 512 : 256) : aesNiBody.text(shape)),
};

export const neonBody: NativeText = {
  prelude: '#include <arm_neon.h>',
  quads: true,
  text: (shape) => (shape.rows ? neon(shape) : laneByLane(shape, neonLane)),
};

function x86(shape: NativeShape, bits: 128 | 256 | 512): string {
  const type = bits === 128 ? '__m128i' : `__m${bits}i`;
  const round = bits === 128 ? '_mm_aesenc_si128' : `_mm${bits}_aesenc_epi128`;
  return printParts(shape, (shape.lanes * 32) / bits, type, (keys) =>
    keys.map((key) => (state) => `${round}(${state}, ${key})`),
  );
}

/**
 * AESE adds its key before the S-box, not after MixColumns: the first round gets zero, each later one the key of the round
 * before it, and the last key is added at the end. The additions are then outside the chain of rounds.
 */
function neon(shape: NativeShape): string {
  return printParts(shape, shape.lanes / 4, 'uint8x16_t', (keys) => [
    ...['vdupq_n_u8(0)', ...keys.slice(0, -1)].map(
      (key) => (state: string) => `vaesmcq_u8(vaeseq_u8(${state}, ${key}))`,
    ),
    (state) => `${state} ^ ${keys.at(-1)}`,
  ]);
}

/** Returns the steps applied to a state, given its keys. */
type RoundSteps = (keys: readonly string[]) => readonly ((state: string) => string)[];

/** Prints the steps for each register of each row: four states do a step before the next one begins. */
function printParts({ args, results }: NativeShape, parts: number, type: string, steps: RoundSteps): string {
  const keys = chunksOf4(args.slice(4));
  const lines: string[] = [];
  for (let part = 0; part < parts; part++) {
    const partOf = (name = '') => (parts === 1 ? `*(${type} *)&${name}` : `((${type} *)&${name})[${part}]`);
    const rows = [0, 1, 2, 3].map((j) => steps(keys.map((key) => partOf(key[j]))));
    lines.push(`{ ${type} ${rows.map((_, j) => `s${j} = ${partOf(args[j])}`).join(', ')};`);
    for (let step = 0; step < (rows[0]?.length ?? 0); step++)
      lines.push(rows.map((row, j) => `s${j} = ${row[step]?.(`s${j}`)};`).join(' '));
    lines.push(`${rows.map((_, j) => `${partOf(results[j])} = s${j};`).join(' ')} }`);
  }
  return lines.join('\n');
}

/** Prints a single lane, or a number of lanes that does not fill a register. */
function laneByLane(
  { lanes, args, results }: NativeShape,
  body: (args: string[], results: string[]) => string,
): string {
  return Array.from({ length: lanes }, (_, lane) => {
    const laneOf = (name: string) => (lanes === 1 ? name : `${name}[${lane}]`);
    return body(args.map(laneOf), results.map(laneOf));
  }).join('\n');
}

function x86Lane(args: string[], results: string[]): string {
  const load = (words: readonly string[]) => `_mm_set_epi32(${[...words].reverse().join(', ')})`;
  const keys = chunksOf4(args.slice(4));
  return [
    `{ __m128i s = ${load(args.slice(0, 4))};`,
    ...keys.map((key) => `s = _mm_aesenc_si128(s, ${load(key)});`),
    `${results.map((result, i) => `${result} = _mm_extract_epi32(s, ${i});`).join(' ')} }`,
  ].join('\n');
}

function neonLane(args: string[], results: string[]): string {
  const load = (words: readonly string[]) => `(uint8x16_t)(uint32x4_t){${words.join(', ')}}`;
  const keys = chunksOf4(args.slice(4));
  return [
    `{ uint8x16_t s = ${load(args.slice(0, 4))};`,
    ...keys.map((_, k) => `s = vaesmcq_u8(vaeseq_u8(s, ${k === 0 ? 'vdupq_n_u8(0)' : load(keys[k - 1] ?? [])}));`),
    `const uint32x4_t r = (uint32x4_t)(s ^ ${load(keys[keys.length - 1] ?? [])});`,
    `${results.map((result, i) => `${result} = r[${i}];`).join(' ')} }`,
  ].join('\n');
}

function chunksOf4<T>(list: readonly T[]): T[][] {
  return Array.from({ length: list.length / 4 }, (_, i) => list.slice(4 * i, 4 * i + 4));
}
