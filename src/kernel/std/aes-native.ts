import type { NativeShape } from '../ir.js';
import type { NativeText } from '../std-function.js';

/**
 * AES instructions over a gang. They take one lane's four words in a register, a gang holds one word of all lanes: both
 * ways is a 4×4 transposition of 32-bit words, per four lanes. Groups of four lanes are independent, so the latency of a
 * round (3 to 5 cycles) is filled by the others.
 */

/** 128-bit registers, any number of lanes: x86 with AES-NI. */
export const aesNiBody: NativeText = {
  prelude: '#include <immintrin.h>',
  lanes: 'widest',
  text: (shape) => (shape.lanes % 4 === 0 ? x86(shape, 128) : laneByLane(shape, x86Lane)),
};

/** Eight or sixteen lanes in four 256- or 512-bit registers: x86 with VAES. A narrower gang takes the way above. */
export const vaesBody: NativeText = {
  prelude: '#include <immintrin.h>',
  lanes: 'widest',
  text: (shape) => (shape.lanes === 16 ? x86(shape, 512) : shape.lanes === 8 ? x86(shape, 256) : aesNiBody.text(shape)),
};

export const neonBody: NativeText = {
  prelude: '#include <arm_neon.h>',
  text: (shape) => (shape.lanes % 4 === 0 ? neon(shape) : laneByLane(shape, neonLane)),
};

function x86(shape: NativeShape, bits: 128 | 256 | 512): string {
  const type = bits === 128 ? '__m128i' : `__m${bits}i`;
  const p = bits === 128 ? '_mm' : `_mm${bits}`;
  const suffix = bits === 128 ? 'si128' : 'epi128';
  // Four registers of columns from four of words, and back: the same steps.
  const transpose = (from: readonly string[], to: string) => [
    `const ${type} ${to}a = ${p}_unpacklo_epi32(${from[0]}, ${from[1]}), ${to}b = ${p}_unpacklo_epi32(${from[2]}, ${from[3]});`,
    `const ${type} ${to}c = ${p}_unpackhi_epi32(${from[0]}, ${from[1]}), ${to}d = ${p}_unpackhi_epi32(${from[2]}, ${from[3]});`,
    `${type} ${to}0 = ${p}_unpacklo_epi64(${to}a, ${to}b), ${to}1 = ${p}_unpackhi_epi64(${to}a, ${to}b);`,
    `${type} ${to}2 = ${p}_unpacklo_epi64(${to}c, ${to}d), ${to}3 = ${p}_unpackhi_epi64(${to}c, ${to}d);`,
  ];
  const groups = (shape.lanes * 32) / bits;
  return eachGroup(shape, groups, type, (args, results) => [
    ...transpose(args.slice(0, 4), 's'),
    ...chunksOf4(args.slice(4)).flatMap((key, k) => [
      ...transpose(key, `k${k}`),
      [0, 1, 2, 3].map((i) => `s${i} = ${p}_aesenc_${suffix}(s${i}, k${k}${i});`).join(' '),
    ]),
    ...transpose(['s0', 's1', 's2', 's3'], 'r'),
    ...results.map((result, i) => `${result} = r${i};`),
  ]);
}

/**
 * AESE adds its key before the S-box, not after MixColumns: the first round is given zero, each later one the key of the
 * round before it, and the last key is added at the end. That takes the additions out of the chain of rounds.
 */
function neon(shape: NativeShape): string {
  const type = 'uint32x4_t';
  const transpose = (from: readonly string[], to: string) => [
    `const uint32x4x2_t ${to}a = vzipq_u32(${from[0]}, ${from[2]}), ${to}b = vzipq_u32(${from[1]}, ${from[3]});`,
    `const uint32x4x2_t ${to}c = vzipq_u32(${to}a.val[0], ${to}b.val[0]), ${to}d = vzipq_u32(${to}a.val[1], ${to}b.val[1]);`,
  ];
  const column = (name: string, i: number) => `${name}${i < 2 ? 'c' : 'd'}.val[${i % 2}]`;
  const bytes = (text: string) => `vreinterpretq_u8_u32(${text})`;
  return eachGroup(shape, shape.lanes / 4, type, (args, results) => {
    const keys = chunksOf4(args.slice(4));
    const last = keys.length - 1;
    const round = (k: number) =>
      [0, 1, 2, 3].map((i) => {
        const key = k === 0 ? 'vdupq_n_u8(0)' : bytes(column(`k${k - 1}`, i));
        return `x${i} = vaesmcq_u8(vaeseq_u8(x${i}, ${key}));`;
      });
    return [
      ...transpose(args.slice(0, 4), 's'),
      ...[0, 1, 2, 3].map((i) => `uint8x16_t x${i} = ${bytes(column('s', i))};`),
      ...keys.flatMap((key, k) => [...transpose(key, `k${k}`), round(k).join(' ')]),
      ...[0, 1, 2, 3].map(
        (i) => `const uint32x4_t y${i} = veorq_u32(vreinterpretq_u32_u8(x${i}), ${column(`k${last}`, i)});`,
      ),
      ...transpose(['y0', 'y1', 'y2', 'y3'], 'r'),
      ...results.map((result, i) => `${result} = ${column('r', i)};`),
    ];
  });
}

/** `body` in a block of its own per register's worth of lanes, with the texts of that part of each value. */
function eachGroup(
  { args, results }: NativeShape,
  groups: number,
  type: string,
  body: (args: string[], results: string[]) => string[],
): string {
  const part = (name: string, group: number) =>
    groups === 1 ? `*(${type} *)&${name}` : `((${type} *)&${name})[${group}]`;
  return Array.from({ length: groups }, (_, group) =>
    [
      '{',
      ...body(
        args.map((name) => part(name, group)),
        results.map((name) => part(name, group)),
      ),
      '}',
    ].join('\n'),
  ).join('\n');
}

/** A single lane, or a number of lanes that fills no register. */
function laneByLane(
  { lanes, args, results }: NativeShape,
  body: (args: string[], results: string[]) => string,
): string {
  return Array.from({ length: lanes }, (_, lane) => {
    const of = (name: string) => (lanes === 1 ? name : `${name}[${lane}]`);
    return body(args.map(of), results.map(of));
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
