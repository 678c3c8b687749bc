/* kernel uhash-fill, 16 lanes */
#include <stdint.h>
typedef uint32_t u32; typedef int32_t i32; typedef unsigned long long u64; typedef float f32; typedef double f64; typedef int bool;
enum { LANES = 16 };
typedef u32 u32v __attribute__((vector_size(64)));
typedef i32 i32v __attribute__((vector_size(64)));
typedef u64 u64v __attribute__((vector_size(128)));
typedef f32 f32v __attribute__((vector_size(64)));
typedef f64 f64v __attribute__((vector_size(128)));
typedef long long i64v __attribute__((vector_size(128)));
static const u32v lane_numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static inline i32v splat_bool(bool a) { return (i32v){-(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a, -(i32)a}; }
static inline f32v splat_f32(f32 a) { return (f32v){a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a}; }
static inline f64v splat_f64(f64 a) { return (f64v){a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a}; }
static inline i32v splat_i32(i32 a) { return (i32v){a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a}; }
static inline u32v splat_u32(u32 a) { return (u32v){a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a}; }
static inline u64v splat_u64(u64 a) { return (u64v){a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a}; }
#ifdef __AVX512F__
#include <immintrin.h>
static inline __attribute__((always_inline)) u32v quads_row(const u32 *p, const u32 *q, const u32 *r, const u32 *s) { return (u32v)_mm512_inserti32x4(_mm512_inserti32x4(_mm512_inserti32x4(_mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p)), _mm_loadu_si128((const __m128i *)q), 1), _mm_loadu_si128((const __m128i *)r), 2), _mm_loadu_si128((const __m128i *)s), 3); }
static inline __attribute__((always_inline)) void quads_put(u32v row, u32 *p, u32 *q, u32 *r, u32 *s) { _mm_storeu_si128((__m128i *)p, _mm512_extracti32x4_epi32((__m512i)row, 0)); _mm_storeu_si128((__m128i *)q, _mm512_extracti32x4_epi32((__m512i)row, 1)); _mm_storeu_si128((__m128i *)r, _mm512_extracti32x4_epi32((__m512i)row, 2)); _mm_storeu_si128((__m128i *)s, _mm512_extracti32x4_epi32((__m512i)row, 3)); }
#else
static inline __attribute__((always_inline)) u32v quads_row(const u32 *p, const u32 *q, const u32 *r, const u32 *s) { u32v row; __builtin_memcpy((char *)&row + 0, p, 16); __builtin_memcpy((char *)&row + 16, q, 16); __builtin_memcpy((char *)&row + 32, r, 16); __builtin_memcpy((char *)&row + 48, s, 16); return row; }
static inline __attribute__((always_inline)) void quads_put(u32v row, u32 *p, u32 *q, u32 *r, u32 *s) { __builtin_memcpy(p, (const char *)&row + 0, 16); __builtin_memcpy(q, (const char *)&row + 16, 16); __builtin_memcpy(r, (const char *)&row + 32, 16); __builtin_memcpy(s, (const char *)&row + 48, 16); }
#endif
#ifdef __clang__
#define QUADS_PERMUTE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define QUADS_PERMUTE(a, b, ...) __builtin_shuffle(a, b, (u32v){__VA_ARGS__})
#endif
static inline __attribute__((always_inline)) void quads_turn(u32v a, u32v b, u32v c, u32v d, u32v *w, u32v *x, u32v *y, u32v *z) {
  const u32v ab01 = QUADS_PERMUTE(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29), ab23 = QUADS_PERMUTE(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  const u32v cd01 = QUADS_PERMUTE(c, d, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29), cd23 = QUADS_PERMUTE(c, d, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  *w = QUADS_PERMUTE(ab01, cd01, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
  *x = QUADS_PERMUTE(ab01, cd01, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  *y = QUADS_PERMUTE(ab23, cd23, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
  *z = QUADS_PERMUTE(ab23, cd23, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}
static inline __attribute__((always_inline)) void quads_spots(u32v index, u32 at[LANES]) {
#ifdef __aarch64__
  typedef u64 quads_pairs __attribute__((vector_size(sizeof(u32v))));
  const quads_pairs pairs = (quads_pairs)index;
  { u64 two = pairs[0]; __asm__("" : "+r"(two)); at[0] = (u32)two; at[1] = (u32)(two >> 32); }
  { u64 two = pairs[1]; __asm__("" : "+r"(two)); at[2] = (u32)two; at[3] = (u32)(two >> 32); }
  { u64 two = pairs[2]; __asm__("" : "+r"(two)); at[4] = (u32)two; at[5] = (u32)(two >> 32); }
  { u64 two = pairs[3]; __asm__("" : "+r"(two)); at[6] = (u32)two; at[7] = (u32)(two >> 32); }
  { u64 two = pairs[4]; __asm__("" : "+r"(two)); at[8] = (u32)two; at[9] = (u32)(two >> 32); }
  { u64 two = pairs[5]; __asm__("" : "+r"(two)); at[10] = (u32)two; at[11] = (u32)(two >> 32); }
  { u64 two = pairs[6]; __asm__("" : "+r"(two)); at[12] = (u32)two; at[13] = (u32)(two >> 32); }
  { u64 two = pairs[7]; __asm__("" : "+r"(two)); at[14] = (u32)two; at[15] = (u32)(two >> 32); }
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
}
#include <immintrin.h>

uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const u32 *const params = (const u32 *)launch[0];
  u32 *const control = (u32 *)launch[1];
  const u32 epoch = (u32)launch[2];
  u32 *const b_state = (u32 *)launch[3];
  u32 *const b_pad0 = (u32 *)launch[5];
  u32 *const b_ring = (u32 *)launch[7];
  const bool p_chunk_0 = params[0] != 0;
  const u32 p_blocks = params[1];
  const u32 p_chunk_2 = params[2];
  const u32 p_from = params[3];
  for (u64 first = begin; first < end; first += LANES) {
    const u32v item = splat_u32((u32)first) + lane_numbers;
    const bool whole = end - first >= LANES;
    const i32v active = whole ? splat_bool(1) : (i32v)(lane_numbers < (u32)(end - first));
    if (((first - begin) & 1023) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
    const u32v v0 = item << 1;
    u32 at0[LANES]; quads_spots(v0, at0);
    u32v q1_0, q1_1, q1_2, q1_3;
    if (whole) { q1_0 = quads_row((const u32 *)(b_state) + (u64)at0[0] * 4, (const u32 *)(b_state) + (u64)at0[4] * 4, (const u32 *)(b_state) + (u64)at0[8] * 4, (const u32 *)(b_state) + (u64)at0[12] * 4); q1_1 = quads_row((const u32 *)(b_state) + (u64)at0[1] * 4, (const u32 *)(b_state) + (u64)at0[5] * 4, (const u32 *)(b_state) + (u64)at0[9] * 4, (const u32 *)(b_state) + (u64)at0[13] * 4); q1_2 = quads_row((const u32 *)(b_state) + (u64)at0[2] * 4, (const u32 *)(b_state) + (u64)at0[6] * 4, (const u32 *)(b_state) + (u64)at0[10] * 4, (const u32 *)(b_state) + (u64)at0[14] * 4); q1_3 = quads_row((const u32 *)(b_state) + (u64)at0[3] * 4, (const u32 *)(b_state) + (u64)at0[7] * 4, (const u32 *)(b_state) + (u64)at0[11] * 4, (const u32 *)(b_state) + (u64)at0[15] * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v0, active); q1_0 = some.row[0]; q1_1 = some.row[1]; q1_2 = some.row[2]; q1_3 = some.row[3]; }
    u32v v1, v2, v3, v4; quads_turn((u32v)(q1_0), (u32v)(q1_1), (u32v)(q1_2), (u32v)(q1_3), (u32v *)&v1, (u32v *)&v2, (u32v *)&v3, (u32v *)&v4);
    const u32v v5 = v0 + 1u;
    u32v q2_0, q2_1, q2_2, q2_3;
    if (whole) { q2_0 = quads_row((const u32 *)(b_state) + (u64)(at0[0] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[4] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[8] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[12] + 1u) * 4); q2_1 = quads_row((const u32 *)(b_state) + (u64)(at0[1] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[5] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[9] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[13] + 1u) * 4); q2_2 = quads_row((const u32 *)(b_state) + (u64)(at0[2] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[6] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[10] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[14] + 1u) * 4); q2_3 = quads_row((const u32 *)(b_state) + (u64)(at0[3] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[7] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[11] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[15] + 1u) * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v5, active); q2_0 = some.row[0]; q2_1 = some.row[1]; q2_2 = some.row[2]; q2_3 = some.row[3]; }
    u32v v6, v7, v8, v9; quads_turn((u32v)(q2_0), (u32v)(q2_1), (u32v)(q2_2), (u32v)(q2_3), (u32v *)&v6, (u32v *)&v7, (u32v *)&v8, (u32v *)&v9);
    u32v c0 = v6;
    u32v c1 = v7;
    u32v c2 = v8;
    u32v c3 = v9;
    const u32v v10 = item * 0x8004u;
    if (p_chunk_0) {
      u32v q3_0, q3_1, q3_2, q3_3;
      { __m128i s0 = ((__m128i *)&q2_0)[0], s1 = ((__m128i *)&q2_1)[0], s2 = ((__m128i *)&q2_2)[0], s3 = ((__m128i *)&q2_3)[0];
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[0]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[0]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[0]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[0]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[0]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[0]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[0]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[0]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[0]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[0]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[0]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[0]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[0]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[0]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[0]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[0]);
      ((__m128i *)&q3_0)[0] = s0; ((__m128i *)&q3_1)[0] = s1; ((__m128i *)&q3_2)[0] = s2; ((__m128i *)&q3_3)[0] = s3; }
      { __m128i s0 = ((__m128i *)&q2_0)[1], s1 = ((__m128i *)&q2_1)[1], s2 = ((__m128i *)&q2_2)[1], s3 = ((__m128i *)&q2_3)[1];
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[1]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[1]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[1]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[1]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[1]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[1]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[1]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[1]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[1]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[1]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[1]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[1]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[1]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[1]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[1]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[1]);
      ((__m128i *)&q3_0)[1] = s0; ((__m128i *)&q3_1)[1] = s1; ((__m128i *)&q3_2)[1] = s2; ((__m128i *)&q3_3)[1] = s3; }
      { __m128i s0 = ((__m128i *)&q2_0)[2], s1 = ((__m128i *)&q2_1)[2], s2 = ((__m128i *)&q2_2)[2], s3 = ((__m128i *)&q2_3)[2];
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[2]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[2]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[2]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[2]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[2]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[2]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[2]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[2]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[2]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[2]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[2]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[2]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[2]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[2]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[2]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[2]);
      ((__m128i *)&q3_0)[2] = s0; ((__m128i *)&q3_1)[2] = s1; ((__m128i *)&q3_2)[2] = s2; ((__m128i *)&q3_3)[2] = s3; }
      { __m128i s0 = ((__m128i *)&q2_0)[3], s1 = ((__m128i *)&q2_1)[3], s2 = ((__m128i *)&q2_2)[3], s3 = ((__m128i *)&q2_3)[3];
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[3]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[3]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[3]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[3]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[3]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[3]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[3]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[3]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[3]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[3]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[3]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[3]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[3]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[3]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[3]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[3]);
      ((__m128i *)&q3_0)[3] = s0; ((__m128i *)&q3_1)[3] = s1; ((__m128i *)&q3_2)[3] = s2; ((__m128i *)&q3_3)[3] = s3; }
      u32v v11, v12, v13, v14; quads_turn((u32v)(q3_0), (u32v)(q3_1), (u32v)(q3_2), (u32v)(q3_3), (u32v *)&v11, (u32v *)&v12, (u32v *)&v13, (u32v *)&v14);
      c0 = v11;
      c1 = v12;
      c2 = v13;
      c3 = v14;
    }
    else {
      const u32v v15 = (v10 + p_chunk_2) + 1u;
      u32 at4[LANES]; quads_spots(v15, at4);
      u32v q5_0, q5_1, q5_2, q5_3;
      if (whole) { q5_0 = quads_row((const u32 *)(b_pad0) + (u64)at4[0] * 4, (const u32 *)(b_pad0) + (u64)at4[4] * 4, (const u32 *)(b_pad0) + (u64)at4[8] * 4, (const u32 *)(b_pad0) + (u64)at4[12] * 4); q5_1 = quads_row((const u32 *)(b_pad0) + (u64)at4[1] * 4, (const u32 *)(b_pad0) + (u64)at4[5] * 4, (const u32 *)(b_pad0) + (u64)at4[9] * 4, (const u32 *)(b_pad0) + (u64)at4[13] * 4); q5_2 = quads_row((const u32 *)(b_pad0) + (u64)at4[2] * 4, (const u32 *)(b_pad0) + (u64)at4[6] * 4, (const u32 *)(b_pad0) + (u64)at4[10] * 4, (const u32 *)(b_pad0) + (u64)at4[14] * 4); q5_3 = quads_row((const u32 *)(b_pad0) + (u64)at4[3] * 4, (const u32 *)(b_pad0) + (u64)at4[7] * 4, (const u32 *)(b_pad0) + (u64)at4[11] * 4, (const u32 *)(b_pad0) + (u64)at4[15] * 4); }
      else { const quads_rows some = quads_some((const u32 *)(b_pad0), v15, active); q5_0 = some.row[0]; q5_1 = some.row[1]; q5_2 = some.row[2]; q5_3 = some.row[3]; }
      u32v v16, v17, v18, v19; quads_turn((u32v)(q5_0), (u32v)(q5_1), (u32v)(q5_2), (u32v)(q5_3), (u32v *)&v16, (u32v *)&v17, (u32v *)&v18, (u32v *)&v19);
      c0 = v16;
      c1 = v17;
      c2 = v18;
      c3 = v19;
    }
    for (u32 v20 = 0; v20 < p_blocks; v20++) {
      const u32v v21 = c0;
      const u32v v22 = c1;
      const u32v v23 = c2;
      const u32v v24 = c3;
      u32v q6_0, q6_1, q6_2, q6_3; quads_turn((u32v)(v21), (u32v)(v22), (u32v)(v23), (u32v)(v24), (u32v *)&q6_0, (u32v *)&q6_1, (u32v *)&q6_2, (u32v *)&q6_3);
      u32v q7_0, q7_1, q7_2, q7_3;
      { __m128i s0 = ((__m128i *)&q6_0)[0], s1 = ((__m128i *)&q6_1)[0], s2 = ((__m128i *)&q6_2)[0], s3 = ((__m128i *)&q6_3)[0];
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[0]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[0]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[0]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[0]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[0]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[0]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[0]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[0]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[0]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[0]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[0]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[0]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[0]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[0]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[0]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[0]);
      ((__m128i *)&q7_0)[0] = s0; ((__m128i *)&q7_1)[0] = s1; ((__m128i *)&q7_2)[0] = s2; ((__m128i *)&q7_3)[0] = s3; }
      { __m128i s0 = ((__m128i *)&q6_0)[1], s1 = ((__m128i *)&q6_1)[1], s2 = ((__m128i *)&q6_2)[1], s3 = ((__m128i *)&q6_3)[1];
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[1]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[1]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[1]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[1]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[1]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[1]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[1]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[1]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[1]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[1]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[1]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[1]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[1]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[1]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[1]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[1]);
      ((__m128i *)&q7_0)[1] = s0; ((__m128i *)&q7_1)[1] = s1; ((__m128i *)&q7_2)[1] = s2; ((__m128i *)&q7_3)[1] = s3; }
      { __m128i s0 = ((__m128i *)&q6_0)[2], s1 = ((__m128i *)&q6_1)[2], s2 = ((__m128i *)&q6_2)[2], s3 = ((__m128i *)&q6_3)[2];
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[2]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[2]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[2]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[2]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[2]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[2]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[2]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[2]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[2]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[2]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[2]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[2]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[2]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[2]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[2]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[2]);
      ((__m128i *)&q7_0)[2] = s0; ((__m128i *)&q7_1)[2] = s1; ((__m128i *)&q7_2)[2] = s2; ((__m128i *)&q7_3)[2] = s3; }
      { __m128i s0 = ((__m128i *)&q6_0)[3], s1 = ((__m128i *)&q6_1)[3], s2 = ((__m128i *)&q6_2)[3], s3 = ((__m128i *)&q6_3)[3];
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[3]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[3]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[3]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[3]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[3]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[3]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[3]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[3]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[3]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[3]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[3]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[3]);
      s0 = _mm_aesenc_si128(s0, ((__m128i *)&q1_0)[3]); s1 = _mm_aesenc_si128(s1, ((__m128i *)&q1_1)[3]); s2 = _mm_aesenc_si128(s2, ((__m128i *)&q1_2)[3]); s3 = _mm_aesenc_si128(s3, ((__m128i *)&q1_3)[3]);
      ((__m128i *)&q7_0)[3] = s0; ((__m128i *)&q7_1)[3] = s1; ((__m128i *)&q7_2)[3] = s2; ((__m128i *)&q7_3)[3] = s3; }
      u32v v25, v26, v27, v28; quads_turn((u32v)(q7_0), (u32v)(q7_1), (u32v)(q7_2), (u32v)(q7_3), (u32v *)&v25, (u32v *)&v26, (u32v *)&v27, (u32v *)&v28);
      const u32v v29 = v10 + ((v20 + p_from) << 2);
      u32 at8[LANES]; quads_spots(v29, at8);
      u32v q9_0, q9_1, q9_2, q9_3; quads_turn((u32v)(v21), (u32v)(v22), (u32v)(v23), (u32v)(v24), (u32v *)&q9_0, (u32v *)&q9_1, (u32v *)&q9_2, (u32v *)&q9_3);
      if (whole) { quads_put(q9_0, (u32 *)(b_pad0) + (u64)at8[0] * 4, (u32 *)(b_pad0) + (u64)at8[4] * 4, (u32 *)(b_pad0) + (u64)at8[8] * 4, (u32 *)(b_pad0) + (u64)at8[12] * 4); quads_put(q9_1, (u32 *)(b_pad0) + (u64)at8[1] * 4, (u32 *)(b_pad0) + (u64)at8[5] * 4, (u32 *)(b_pad0) + (u64)at8[9] * 4, (u32 *)(b_pad0) + (u64)at8[13] * 4); quads_put(q9_2, (u32 *)(b_pad0) + (u64)at8[2] * 4, (u32 *)(b_pad0) + (u64)at8[6] * 4, (u32 *)(b_pad0) + (u64)at8[10] * 4, (u32 *)(b_pad0) + (u64)at8[14] * 4); quads_put(q9_3, (u32 *)(b_pad0) + (u64)at8[3] * 4, (u32 *)(b_pad0) + (u64)at8[7] * 4, (u32 *)(b_pad0) + (u64)at8[11] * 4, (u32 *)(b_pad0) + (u64)at8[15] * 4); }
      else quads_put_some((u32 *)(b_pad0), v29, active, (quads_rows){{q9_0, q9_1, q9_2, q9_3}});
      const u32v v30 = v29 + 1u;
      if (whole) { quads_put(q7_0, (u32 *)(b_pad0) + (u64)(at8[0] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[4] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[8] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[12] + 1u) * 4); quads_put(q7_1, (u32 *)(b_pad0) + (u64)(at8[1] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[5] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[9] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[13] + 1u) * 4); quads_put(q7_2, (u32 *)(b_pad0) + (u64)(at8[2] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[6] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[10] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[14] + 1u) * 4); quads_put(q7_3, (u32 *)(b_pad0) + (u64)(at8[3] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[7] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[11] + 1u) * 4, (u32 *)(b_pad0) + (u64)(at8[15] + 1u) * 4); }
      else quads_put_some((u32 *)(b_pad0), v30, active, (quads_rows){{q7_0, q7_1, q7_2, q7_3}});
      const u32v v31 = v29 + 2u;
      u32v q10_0, q10_1, q10_2, q10_3; quads_turn((u32v)(v21), (u32v)(v22), (u32v)(v23), (u32v)(v24), (u32v *)&q10_0, (u32v *)&q10_1, (u32v *)&q10_2, (u32v *)&q10_3);
      if (whole) { quads_put(q10_0, (u32 *)(b_pad0) + (u64)(at8[0] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[4] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[8] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[12] + 2u) * 4); quads_put(q10_1, (u32 *)(b_pad0) + (u64)(at8[1] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[5] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[9] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[13] + 2u) * 4); quads_put(q10_2, (u32 *)(b_pad0) + (u64)(at8[2] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[6] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[10] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[14] + 2u) * 4); quads_put(q10_3, (u32 *)(b_pad0) + (u64)(at8[3] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[7] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[11] + 2u) * 4, (u32 *)(b_pad0) + (u64)(at8[15] + 2u) * 4); }
      else quads_put_some((u32 *)(b_pad0), v31, active, (quads_rows){{q10_0, q10_1, q10_2, q10_3}});
      const u32v v32 = v29 + 3u;
      if (whole) { quads_put(q7_0, (u32 *)(b_pad0) + (u64)(at8[0] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[4] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[8] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[12] + 3u) * 4); quads_put(q7_1, (u32 *)(b_pad0) + (u64)(at8[1] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[5] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[9] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[13] + 3u) * 4); quads_put(q7_2, (u32 *)(b_pad0) + (u64)(at8[2] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[6] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[10] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[14] + 3u) * 4); quads_put(q7_3, (u32 *)(b_pad0) + (u64)(at8[3] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[7] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[11] + 3u) * 4, (u32 *)(b_pad0) + (u64)(at8[15] + 3u) * 4); }
      else quads_put_some((u32 *)(b_pad0), v32, active, (quads_rows){{q7_0, q7_1, q7_2, q7_3}});
      c0 = v25;
      c1 = v26;
      c2 = v27;
      c3 = v28;
    }
  }
  return end - begin;
}
