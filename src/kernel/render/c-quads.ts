/**
 * Quads of a gang in C: each lane reaches 16 bytes somewhere, and the gang wants the first words of all lanes in one
 * vector, the second words in another. Word by word, that is 64 scalar accesses for 16 lanes; here it is 16 of 16 bytes
 * and a 4 by 4 transposition in each 16-byte block of the vectors. UniversalHash, one Emerald Rapids core, GCC 12, 16
 * lanes, CPU time: 666 H/s word by word, 868 so.
 */

/** Gangs that the functions below are for. */
export const hasQuads = (lanes: number): boolean => lanes === 4 || lanes === 8 || lanes === 16;

/** A gang's quads at `index` from `base` on, element by element into four vectors. */
export const loadQuads = (base: string, index: string, into: readonly string[]): string =>
  `quads_load((const u32 *)(${base}), ${index}, ${into.map((name) => `(u32v *)&${name}`).join(', ')});`;

export const storeQuads = (base: string, index: string, values: readonly string[]): string =>
  `quads_store((u32 *)(${base}), ${index}, ${values.map((value) => `(u32v)(${value})`).join(', ')});`;

/**
 * Row j has the quads of lanes j, 4 + j, 8 + j …, one to a block: then what is turned within blocks comes out in the order
 * of lanes. Indices go through memory, from where scalar loads fetch them: taken out of a vector they would need the one
 * port that also turns.
 */
export function quadsPrelude(lanes: number): string {
  const blocks = lanes / 4;
  const row = (j: number) => Array.from({ length: blocks }, (_, block) => 4 * block + j);
  const at = (lane: number) => `&base[(u64)at[${lane}] * 4]`;
  const each = (one: (j: number) => string) => [0, 1, 2, 3].map(one).join('\n  ');
  const arguments4 = (type: string, names: string) => [...names].map((name) => `${type}${name}`).join(', ');
  const spots = 'u32 at[LANES];\n  __builtin_memcpy(at, &index, sizeof at);\n  __asm__("" : "+m"(at));';
  return `${rows(blocks)}
#ifdef __clang__
#define QUADS_PERMUTE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define QUADS_PERMUTE(a, b, ...) __builtin_shuffle(a, b, (u32v){__VA_ARGS__})
#endif
static inline __attribute__((always_inline)) void quads_turn(${arguments4('u32v ', 'abcd')}, ${arguments4('u32v *', 'wxyz')}) {
  const u32v ab01 = QUADS_PERMUTE(a, b, ${inBlocks(lanes, [0, 4, 1, 5])}), ab23 = QUADS_PERMUTE(a, b, ${inBlocks(lanes, [2, 6, 3, 7])});
  const u32v cd01 = QUADS_PERMUTE(c, d, ${inBlocks(lanes, [0, 4, 1, 5])}), cd23 = QUADS_PERMUTE(c, d, ${inBlocks(lanes, [2, 6, 3, 7])});
  *w = QUADS_PERMUTE(ab01, cd01, ${inBlocks(lanes, [0, 1, 4, 5])});
  *x = QUADS_PERMUTE(ab01, cd01, ${inBlocks(lanes, [2, 3, 6, 7])});
  *y = QUADS_PERMUTE(ab23, cd23, ${inBlocks(lanes, [0, 1, 4, 5])});
  *z = QUADS_PERMUTE(ab23, cd23, ${inBlocks(lanes, [2, 3, 6, 7])});
}
static inline __attribute__((always_inline)) void quads_load(const u32 *base, u32v index, ${arguments4('u32v *', 'wxyz')}) {
  ${spots}
  ${each((j) => `const u32v row${j} = quads_row(${row(j).map(at).join(', ')});`)}
  quads_turn(row0, row1, row2, row3, w, x, y, z);
}
static inline __attribute__((always_inline)) void quads_store(u32 *base, u32v index, ${arguments4('u32v ', 'abcd')}) {
  ${spots}
  u32v row0, row1, row2, row3;
  quads_turn(a, b, c, d, &row0, &row1, &row2, &row3);
  ${each((j) => `quads_put(row${j}, ${row(j).map(at).join(', ')});`)}
}`;
}

/** Element numbers of a permute that does the same in each block of four; above 3 they are the second operand's. */
function inBlocks(lanes: number, picks: readonly number[]): string {
  const block = (first: number) => picks.map((pick) => (pick < 4 ? first + pick : lanes + first + pick - 4));
  return Array.from({ length: lanes / 4 }, (_, i) => block(4 * i).join(', ')).join(', ');
}

/** `quads_row` joins 16 bytes from each of `blocks` places, `quads_put` takes them apart again. */
function rows(blocks: number): string {
  const places = [...'pqrs'].slice(0, blocks);
  const from = places.map((name) => `const u32 *${name}`).join(', ');
  const to = places.map((name) => `u32 *${name}`).join(', ');
  const head = 'static inline __attribute__((always_inline))';
  const plain = `${head} u32v quads_row(${from}) { u32v row; ${places
    .map((name, i) => `__builtin_memcpy((char *)&row + ${16 * i}, ${name}, 16);`)
    .join(' ')} return row; }
${head} void quads_put(u32v row, ${to}) { ${places
    .map((name, i) => `__builtin_memcpy(${name}, (const char *)&row + ${16 * i}, 16);`)
    .join(' ')} }`;
  const form = intrinsics[blocks];
  if (!form) return plain;
  const load = (name: string) => `_mm_loadu_si128((const __m128i *)${name})`;
  const joined = places.slice(1).reduce((row, name, i) => form.insert(row, load(name), i + 1), form.first(load('p')));
  const puts = places.map((name, i) => `_mm_storeu_si128((__m128i *)${name}, ${form.extract('row', i)});`);
  return `#ifdef ${form.feature}
#include <immintrin.h>
${head} u32v quads_row(${from}) { return (u32v)${joined}; }
${head} void quads_put(u32v row, ${to}) { ${puts.join(' ')} }
#else
${plain}
#endif`;
}

/** Left to themselves, compilers join the parts of a vector in memory, from where it cannot be read before they are. */
const intrinsics: Readonly<
  Record<
    number,
    {
      readonly feature: string;
      first(quad: string): string;
      insert(row: string, quad: string, at: number): string;
      extract(row: string, at: number): string;
    }
  >
> = {
  2: {
    feature: '__AVX2__',
    first: (quad) => `_mm256_castsi128_si256(${quad})`,
    insert: (row, quad, at) => `_mm256_inserti128_si256(${row}, ${quad}, ${at})`,
    extract: (row, at) => `_mm256_extracti128_si256((__m256i)${row}, ${at})`,
  },
  4: {
    feature: '__AVX512F__',
    first: (quad) => `_mm512_castsi128_si512(${quad})`,
    insert: (row, quad, at) => `_mm512_inserti32x4(${row}, ${quad}, ${at})`,
    extract: (row, at) => `_mm512_extracti32x4_epi32((__m512i)${row}, ${at})`,
  },
};
