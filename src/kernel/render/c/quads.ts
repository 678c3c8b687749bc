/**
 * Quads of a gang in C. Each lane accesses 16 bytes at its own address, and the gang needs the first words of all lanes in
 * one vector, the second words in another. Word by word, that is 64 scalar accesses for 16 lanes. Here it is 16 accesses of
 * 16 bytes into four rows, and a 4 by 4 transposition in each 16-byte block of them. UniversalHash, one Emerald Rapids core,
 * GCC 12, 16 lanes, CPU time: 666 H/s word by word, 868 with rows. Native bodies that work on quads take and return rows
 * directly; compilers drop the transposition of rows whose words are unused.
 */

/** True if the functions below support gangs of this size. */
export const hasQuads = (lanes: number): boolean => lanes === 4 || lanes === 8 || lanes === 16;

/** Declares an array `name` with the lanes' elements of `index` as scalars. */
export const declareLaneIndices = (name: string, index: string): string =>
  `u32 ${name}[LANES]; quads_spots(${index}, ${name});`;

/** The addresses of a gang's quads: from `base` on, by the index vector of all lanes and by the scalar of each. */
export interface QuadAddresses {
  readonly base: string;
  readonly index: string;
  spot(lane: number): string;
}

/** Loads the quads of all lanes into four rows. */
export function loadRows(lanes: number, { base, index, spot }: QuadAddresses, rows: readonly string[]): string[] {
  const at = (lane: number) => `(const u32 *)(${base}) + (u64)${spot(lane)} * 4`;
  const whole = rows.map((row, j) => `${row} = quads_row(${lanesOfRow(lanes, j).map(at).join(', ')});`);
  const some = rows.map((row, j) => `${row} = some.row[${j}];`);
  return [
    `u32v ${rows.join(', ')};`,
    `if (whole) { ${whole.join(' ')} }`,
    `else { const quads_rows some = quads_some((const u32 *)(${base}), ${index}, active); ${some.join(' ')} }`,
  ];
}

/** Stores four rows to the quads of all lanes. */
export function storeRows(lanes: number, { base, index, spot }: QuadAddresses, rows: readonly string[]): string[] {
  const at = (lane: number) => `(u32 *)(${base}) + (u64)${spot(lane)} * 4`;
  const whole = rows.map((row, j) => `quads_put(${row}, ${lanesOfRow(lanes, j).map(at).join(', ')});`);
  return [
    `if (whole) { ${whole.join(' ')} }`,
    `else quads_put_some((u32 *)(${base}), ${index}, active, (quads_rows){{${rows.join(', ')}}});`,
  ];
}

/** Transposes rows to words, or words to rows: the steps are the same. */
export const transposeCall = (from: readonly string[], to: readonly string[]): string =>
  `quads_turn(${[...from.map((name) => `(u32v)(${name})`), ...to.map((name) => `(u32v *)&${name}`)].join(', ')});`;

/**
 * Returns the lanes whose quads are in row `j`, one per block. A transposition within blocks then keeps the order of lanes.
 */
const lanesOfRow = (lanes: number, j: number): number[] =>
  Array.from({ length: lanes / 4 }, (_, block) => 4 * block + j);

/**
 * Index vectors become scalars through memory on x86, where extracting elements needs the only port that also permutes. On
 * ARM two elements at a time are extracted: a loaded word that is not the first of the stored vector takes 16 cycles
 * (Neoverse-N1; the whole vector 7). A gang with inactive lanes calls a function, so that this case uses no registers of the
 * common one.
 */
export function quadsPrelude(lanes: number): string {
  const arguments4 = (type: string, names: string) => [...names].map((name) => `${type}${name}`).join(', ');
  const pairs = Array.from(
    { length: lanes / 2 },
    (_, i) =>
      `{ u64 two = pairs[${i}]; __asm__("" : "+r"(two)); at[${2 * i}] = (u32)two; at[${2 * i + 1}] = (u32)(two >> 32); }`,
  );
  return `${rowFunctions(lanes / 4)}
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
static inline __attribute__((always_inline)) void quads_spots(u32v index, u32 at[LANES]) {
#ifdef __aarch64__
  typedef u64 quads_pairs __attribute__((vector_size(sizeof(u32v))));
  const quads_pairs pairs = (quads_pairs)index;
  ${pairs.join('\n  ')}
#else
  __builtin_memcpy(at, &index, sizeof index);
  __asm__("" : "+m"(*(u32v *)at));
#endif
}
typedef struct { u32v row[4]; } quads_rows;
static __attribute__((noinline, cold)) quads_rows quads_some(const u32 *base, u32v index, i32v active) {
  quads_rows all = {{{0}}};
  for (int l = 0; l < LANES; l++)
    if (active[l]) __builtin_memcpy((u32 *)&all.row[l % 4] + l / 4 * 4, &base[(u64)index[l] * 4], 16);
  return all;
}
static __attribute__((noinline, cold)) void quads_put_some(u32 *base, u32v index, i32v active, quads_rows all) {
  for (int l = 0; l < LANES; l++)
    if (active[l]) __builtin_memcpy(&base[(u64)index[l] * 4], (u32 *)&all.row[l % 4] + l / 4 * 4, 16);
}`;
}

/**
 * Returns the element numbers of a permute that is the same in each block of four; numbers above 3 refer to the second
 * operand.
 */
function inBlocks(lanes: number, picks: readonly number[]): string {
  const block = (first: number) => picks.map((pick) => (pick < 4 ? first + pick : lanes + first + pick - 4));
  return Array.from({ length: lanes / 4 }, (_, i) => block(4 * i).join(', ')).join(', ');
}

/** Prints `quads_row`, which joins 16 bytes from each of `blocks` addresses, and `quads_put`, which does the reverse. */
function rowFunctions(blocks: number): string {
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

/** Without these, compilers join the parts of a vector in memory, and reading it back stalls until the stores are done. */
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
