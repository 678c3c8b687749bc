/* kernel uhash-judge, 16 lanes */
#include <stdint.h>
#include <immintrin.h>
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
static inline bool any(i32v m) { i32 r = 0; for (int l = 0; l < LANES; l++) r |= m[l]; return r != 0; }
static inline u32 byteSwap_u32(u32 a) { return __builtin_bswap32(a); }
static inline u32 clz_u32(u32 a) { return a == 0 ? 32u : (u32)__builtin_clz((u32)a); }
static inline u32 select_u32(bool a, u32 b, u32 c) { return a ? b : c; }
static inline u32v byteSwap_u32_v(u32v a) { return (((a >> 8) | (a << 24)) & 0xff00ff00u) | (((a >> 24) | (a << 8)) & 0x00ff00ffu); }
static inline u32v clz_u32_v(u32v a) { u32v r; for (int l = 0; l < LANES; l++) r[l] = clz_u32(a[l]); return r; }
static inline u32v rotr_u32_c(u32v a, int b) { return (((u32v)a >> b) | ((u32v)a << (32 - b))); }
static inline u32v select_u32_v(i32v a, u32v b, u32v c) { return (u32v)((a & (i32v)b) | (~a & (i32v)c)); }
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
static inline u32 atomic_min(u32 *cell, u32 value) {
  u32 seen = __atomic_load_n(cell, __ATOMIC_RELAXED);
  while (value < seen && !__atomic_compare_exchange_n(cell, &seen, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
  return seen;
}
static const u32 table_0[64] = {0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u, 0xfc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau, 0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x6ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u, 0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u, 0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const u32 *const params = (const u32 *)launch[0];
  u32 *const control = (u32 *)launch[1];
  const u32 epoch = (u32)launch[2];
  u32 *const b_state = (u32 *)launch[3];
  u32 *const b_best = (u32 *)launch[5];
  u32 *const b_ring = (u32 *)launch[7];
  const u32 p_difficulty = params[0];
  for (u64 first = begin; first < end; first += LANES) {
    const u32v item = splat_u32((u32)first) + lane_numbers;
    const bool whole = end - first >= LANES;
    const i32v active = whole ? splat_bool(1) : (i32v)(lane_numbers < (u32)(end - first));
    if (((first - begin) & 1023) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
    const u32v v0 = item << 2;
    const u32v v1 = v0 << 1;
    u32 at0[LANES]; quads_spots(v1, at0);
    u32v q1_0, q1_1, q1_2, q1_3;
    if (whole) { q1_0 = quads_row((const u32 *)(b_state) + (u64)at0[0] * 4, (const u32 *)(b_state) + (u64)at0[4] * 4, (const u32 *)(b_state) + (u64)at0[8] * 4, (const u32 *)(b_state) + (u64)at0[12] * 4); q1_1 = quads_row((const u32 *)(b_state) + (u64)at0[1] * 4, (const u32 *)(b_state) + (u64)at0[5] * 4, (const u32 *)(b_state) + (u64)at0[9] * 4, (const u32 *)(b_state) + (u64)at0[13] * 4); q1_2 = quads_row((const u32 *)(b_state) + (u64)at0[2] * 4, (const u32 *)(b_state) + (u64)at0[6] * 4, (const u32 *)(b_state) + (u64)at0[10] * 4, (const u32 *)(b_state) + (u64)at0[14] * 4); q1_3 = quads_row((const u32 *)(b_state) + (u64)at0[3] * 4, (const u32 *)(b_state) + (u64)at0[7] * 4, (const u32 *)(b_state) + (u64)at0[11] * 4, (const u32 *)(b_state) + (u64)at0[15] * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v1, active); q1_0 = some.row[0]; q1_1 = some.row[1]; q1_2 = some.row[2]; q1_3 = some.row[3]; }
    u32v v2, v3, v4, v5; quads_turn((u32v)(q1_0), (u32v)(q1_1), (u32v)(q1_2), (u32v)(q1_3), (u32v *)&v2, (u32v *)&v3, (u32v *)&v4, (u32v *)&v5);
    const u32v v6 = v1 + 1u;
    u32v q2_0, q2_1, q2_2, q2_3;
    if (whole) { q2_0 = quads_row((const u32 *)(b_state) + (u64)(at0[0] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[4] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[8] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[12] + 1u) * 4); q2_1 = quads_row((const u32 *)(b_state) + (u64)(at0[1] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[5] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[9] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[13] + 1u) * 4); q2_2 = quads_row((const u32 *)(b_state) + (u64)(at0[2] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[6] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[10] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[14] + 1u) * 4); q2_3 = quads_row((const u32 *)(b_state) + (u64)(at0[3] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[7] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[11] + 1u) * 4, (const u32 *)(b_state) + (u64)(at0[15] + 1u) * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v6, active); q2_0 = some.row[0]; q2_1 = some.row[1]; q2_2 = some.row[2]; q2_3 = some.row[3]; }
    u32v v7, v8, v9, v10; quads_turn((u32v)(q2_0), (u32v)(q2_1), (u32v)(q2_2), (u32v)(q2_3), (u32v *)&v7, (u32v *)&v8, (u32v *)&v9, (u32v *)&v10);
    const u32v v11 = (v0 + 1u) << 1;
    u32 at3[LANES]; quads_spots(v11, at3);
    u32v q4_0, q4_1, q4_2, q4_3;
    if (whole) { q4_0 = quads_row((const u32 *)(b_state) + (u64)at3[0] * 4, (const u32 *)(b_state) + (u64)at3[4] * 4, (const u32 *)(b_state) + (u64)at3[8] * 4, (const u32 *)(b_state) + (u64)at3[12] * 4); q4_1 = quads_row((const u32 *)(b_state) + (u64)at3[1] * 4, (const u32 *)(b_state) + (u64)at3[5] * 4, (const u32 *)(b_state) + (u64)at3[9] * 4, (const u32 *)(b_state) + (u64)at3[13] * 4); q4_2 = quads_row((const u32 *)(b_state) + (u64)at3[2] * 4, (const u32 *)(b_state) + (u64)at3[6] * 4, (const u32 *)(b_state) + (u64)at3[10] * 4, (const u32 *)(b_state) + (u64)at3[14] * 4); q4_3 = quads_row((const u32 *)(b_state) + (u64)at3[3] * 4, (const u32 *)(b_state) + (u64)at3[7] * 4, (const u32 *)(b_state) + (u64)at3[11] * 4, (const u32 *)(b_state) + (u64)at3[15] * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v11, active); q4_0 = some.row[0]; q4_1 = some.row[1]; q4_2 = some.row[2]; q4_3 = some.row[3]; }
    u32v v12, v13, v14, v15; quads_turn((u32v)(q4_0), (u32v)(q4_1), (u32v)(q4_2), (u32v)(q4_3), (u32v *)&v12, (u32v *)&v13, (u32v *)&v14, (u32v *)&v15);
    const u32v v16 = v11 + 1u;
    u32v q5_0, q5_1, q5_2, q5_3;
    if (whole) { q5_0 = quads_row((const u32 *)(b_state) + (u64)(at3[0] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[4] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[8] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[12] + 1u) * 4); q5_1 = quads_row((const u32 *)(b_state) + (u64)(at3[1] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[5] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[9] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[13] + 1u) * 4); q5_2 = quads_row((const u32 *)(b_state) + (u64)(at3[2] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[6] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[10] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[14] + 1u) * 4); q5_3 = quads_row((const u32 *)(b_state) + (u64)(at3[3] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[7] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[11] + 1u) * 4, (const u32 *)(b_state) + (u64)(at3[15] + 1u) * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v16, active); q5_0 = some.row[0]; q5_1 = some.row[1]; q5_2 = some.row[2]; q5_3 = some.row[3]; }
    u32v v17, v18, v19, v20; quads_turn((u32v)(q5_0), (u32v)(q5_1), (u32v)(q5_2), (u32v)(q5_3), (u32v *)&v17, (u32v *)&v18, (u32v *)&v19, (u32v *)&v20);
    const u32v v21 = (v0 + 2u) << 1;
    u32 at6[LANES]; quads_spots(v21, at6);
    u32v q7_0, q7_1, q7_2, q7_3;
    if (whole) { q7_0 = quads_row((const u32 *)(b_state) + (u64)at6[0] * 4, (const u32 *)(b_state) + (u64)at6[4] * 4, (const u32 *)(b_state) + (u64)at6[8] * 4, (const u32 *)(b_state) + (u64)at6[12] * 4); q7_1 = quads_row((const u32 *)(b_state) + (u64)at6[1] * 4, (const u32 *)(b_state) + (u64)at6[5] * 4, (const u32 *)(b_state) + (u64)at6[9] * 4, (const u32 *)(b_state) + (u64)at6[13] * 4); q7_2 = quads_row((const u32 *)(b_state) + (u64)at6[2] * 4, (const u32 *)(b_state) + (u64)at6[6] * 4, (const u32 *)(b_state) + (u64)at6[10] * 4, (const u32 *)(b_state) + (u64)at6[14] * 4); q7_3 = quads_row((const u32 *)(b_state) + (u64)at6[3] * 4, (const u32 *)(b_state) + (u64)at6[7] * 4, (const u32 *)(b_state) + (u64)at6[11] * 4, (const u32 *)(b_state) + (u64)at6[15] * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v21, active); q7_0 = some.row[0]; q7_1 = some.row[1]; q7_2 = some.row[2]; q7_3 = some.row[3]; }
    u32v v22, v23, v24, v25; quads_turn((u32v)(q7_0), (u32v)(q7_1), (u32v)(q7_2), (u32v)(q7_3), (u32v *)&v22, (u32v *)&v23, (u32v *)&v24, (u32v *)&v25);
    const u32v v26 = v21 + 1u;
    u32v q8_0, q8_1, q8_2, q8_3;
    if (whole) { q8_0 = quads_row((const u32 *)(b_state) + (u64)(at6[0] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[4] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[8] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[12] + 1u) * 4); q8_1 = quads_row((const u32 *)(b_state) + (u64)(at6[1] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[5] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[9] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[13] + 1u) * 4); q8_2 = quads_row((const u32 *)(b_state) + (u64)(at6[2] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[6] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[10] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[14] + 1u) * 4); q8_3 = quads_row((const u32 *)(b_state) + (u64)(at6[3] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[7] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[11] + 1u) * 4, (const u32 *)(b_state) + (u64)(at6[15] + 1u) * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v26, active); q8_0 = some.row[0]; q8_1 = some.row[1]; q8_2 = some.row[2]; q8_3 = some.row[3]; }
    u32v v27, v28, v29, v30; quads_turn((u32v)(q8_0), (u32v)(q8_1), (u32v)(q8_2), (u32v)(q8_3), (u32v *)&v27, (u32v *)&v28, (u32v *)&v29, (u32v *)&v30);
    const u32v v31 = (v0 + 3u) << 1;
    u32 at9[LANES]; quads_spots(v31, at9);
    u32v q10_0, q10_1, q10_2, q10_3;
    if (whole) { q10_0 = quads_row((const u32 *)(b_state) + (u64)at9[0] * 4, (const u32 *)(b_state) + (u64)at9[4] * 4, (const u32 *)(b_state) + (u64)at9[8] * 4, (const u32 *)(b_state) + (u64)at9[12] * 4); q10_1 = quads_row((const u32 *)(b_state) + (u64)at9[1] * 4, (const u32 *)(b_state) + (u64)at9[5] * 4, (const u32 *)(b_state) + (u64)at9[9] * 4, (const u32 *)(b_state) + (u64)at9[13] * 4); q10_2 = quads_row((const u32 *)(b_state) + (u64)at9[2] * 4, (const u32 *)(b_state) + (u64)at9[6] * 4, (const u32 *)(b_state) + (u64)at9[10] * 4, (const u32 *)(b_state) + (u64)at9[14] * 4); q10_3 = quads_row((const u32 *)(b_state) + (u64)at9[3] * 4, (const u32 *)(b_state) + (u64)at9[7] * 4, (const u32 *)(b_state) + (u64)at9[11] * 4, (const u32 *)(b_state) + (u64)at9[15] * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v31, active); q10_0 = some.row[0]; q10_1 = some.row[1]; q10_2 = some.row[2]; q10_3 = some.row[3]; }
    u32v v32, v33, v34, v35; quads_turn((u32v)(q10_0), (u32v)(q10_1), (u32v)(q10_2), (u32v)(q10_3), (u32v *)&v32, (u32v *)&v33, (u32v *)&v34, (u32v *)&v35);
    const u32v v36 = v31 + 1u;
    u32v q11_0, q11_1, q11_2, q11_3;
    if (whole) { q11_0 = quads_row((const u32 *)(b_state) + (u64)(at9[0] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[4] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[8] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[12] + 1u) * 4); q11_1 = quads_row((const u32 *)(b_state) + (u64)(at9[1] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[5] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[9] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[13] + 1u) * 4); q11_2 = quads_row((const u32 *)(b_state) + (u64)(at9[2] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[6] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[10] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[14] + 1u) * 4); q11_3 = quads_row((const u32 *)(b_state) + (u64)(at9[3] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[7] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[11] + 1u) * 4, (const u32 *)(b_state) + (u64)(at9[15] + 1u) * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v36, active); q11_0 = some.row[0]; q11_1 = some.row[1]; q11_2 = some.row[2]; q11_3 = some.row[3]; }
    u32v v37, v38, v39, v40; quads_turn((u32v)(q11_0), (u32v)(q11_1), (u32v)(q11_2), (u32v)(q11_3), (u32v *)&v37, (u32v *)&v38, (u32v *)&v39, (u32v *)&v40);
    u32v c0 = splat_u32(0x6a09e667u);
    u32v c1 = splat_u32(0xbb67ae85u);
    u32v c2 = splat_u32(0x3c6ef372u);
    u32v c3 = splat_u32(0xa54ff53au);
    u32v c4 = splat_u32(0x510e527fu);
    u32v c5 = splat_u32(0x9b05688cu);
    u32v c6 = splat_u32(0x1f83d9abu);
    u32v c7 = splat_u32(0x5be0cd19u);
    u32v c8 = byteSwap_u32_v(((u32v)_mm512_ternarylogic_epi32((__m512i)v32, (__m512i)(v2 ^ v12), (__m512i)v22, 0x96)));
    u32v c9 = byteSwap_u32_v(((u32v)_mm512_ternarylogic_epi32((__m512i)v33, (__m512i)(v3 ^ v13), (__m512i)v23, 0x96)));
    u32v c10 = byteSwap_u32_v(((u32v)_mm512_ternarylogic_epi32((__m512i)v34, (__m512i)(v4 ^ v14), (__m512i)v24, 0x96)));
    u32v c11 = byteSwap_u32_v(((u32v)_mm512_ternarylogic_epi32((__m512i)v35, (__m512i)(v5 ^ v15), (__m512i)v25, 0x96)));
    u32v c12 = byteSwap_u32_v(((u32v)_mm512_ternarylogic_epi32((__m512i)v37, (__m512i)(v7 ^ v17), (__m512i)v27, 0x96)));
    u32v c13 = byteSwap_u32_v(((u32v)_mm512_ternarylogic_epi32((__m512i)v38, (__m512i)(v8 ^ v18), (__m512i)v28, 0x96)));
    u32v c14 = byteSwap_u32_v(((u32v)_mm512_ternarylogic_epi32((__m512i)v39, (__m512i)(v9 ^ v19), (__m512i)v29, 0x96)));
    u32v c15 = byteSwap_u32_v(((u32v)_mm512_ternarylogic_epi32((__m512i)v40, (__m512i)(v10 ^ v20), (__m512i)v30, 0x96)));
    u32v c16 = splat_u32(0x80000000u);
    u32v c17 = splat_u32(0u);
    u32v c18 = splat_u32(0u);
    u32v c19 = splat_u32(0u);
    u32v c20 = splat_u32(0u);
    u32v c21 = splat_u32(0u);
    u32v c22 = splat_u32(0u);
    u32v c23 = splat_u32(256u);
    for (u32 v41 = 0; v41 < 4u; v41++) {
      const u32v v42 = c8;
      const u32v v43 = c9;
      const u32v v44 = c10;
      const u32v v45 = c11;
      const u32v v46 = c12;
      const u32v v47 = c13;
      const u32v v48 = c14;
      const u32v v49 = c15;
      const u32v v50 = c16;
      const u32v v51 = c17;
      const u32v v52 = c18;
      const u32v v53 = c19;
      const u32v v54 = c20;
      const u32v v55 = c21;
      const u32v v56 = c22;
      const u32v v57 = c23;
      const u32v v58 = c0;
      const u32v v59 = c1;
      const u32v v60 = c2;
      const u32v v61 = c3;
      const u32v v62 = c4;
      const u32v v63 = c5;
      const u32v v64 = c6;
      const u32v v65 = c7;
      const u32 v66 = v41 << 4;
      const u32v v67 = v65 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v62, 25)), (__m512i)(rotr_u32_c(v62, 6)), (__m512i)(rotr_u32_c(v62, 11)), 0x96));
      const u32v v68 = ((v67 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v62, (__m512i)v63, (__m512i)v64, 0xca))) + v42) + (table_0[v66]);
      const u32v v69 = v61 + v68;
      const u32v v70 = v64 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v69, 25)), (__m512i)(rotr_u32_c(v69, 6)), (__m512i)(rotr_u32_c(v69, 11)), 0x96));
      const u32v v71 = ((v70 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v69, (__m512i)v62, (__m512i)v63, 0xca))) + v43) + (table_0[(v66 + 1u)]);
      const u32v v72 = v60 + v71;
      const u32v v73 = v63 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v72, 25)), (__m512i)(rotr_u32_c(v72, 6)), (__m512i)(rotr_u32_c(v72, 11)), 0x96));
      const u32v v74 = ((v73 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v72, (__m512i)v69, (__m512i)v62, 0xca))) + v44) + (table_0[(v66 + 2u)]);
      const u32v v75 = v59 + v74;
      const u32v v76 = v62 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v75, 25)), (__m512i)(rotr_u32_c(v75, 6)), (__m512i)(rotr_u32_c(v75, 11)), 0x96));
      const u32v v77 = ((v76 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v75, (__m512i)v72, (__m512i)v69, 0xca))) + v45) + (table_0[(v66 + 3u)]);
      const u32v v78 = v58 + v77;
      const u32v v79 = v68 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v58, 22)), (__m512i)(rotr_u32_c(v58, 2)), (__m512i)(rotr_u32_c(v58, 13)), 0x96));
      const u32v v80 = v79 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v58, (__m512i)v59, (__m512i)v60, 0xe8));
      const u32v v81 = v71 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v80, 22)), (__m512i)(rotr_u32_c(v80, 2)), (__m512i)(rotr_u32_c(v80, 13)), 0x96));
      const u32v v82 = v81 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v80, (__m512i)v58, (__m512i)v59, 0xe8));
      const u32v v83 = v74 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v82, 22)), (__m512i)(rotr_u32_c(v82, 2)), (__m512i)(rotr_u32_c(v82, 13)), 0x96));
      const u32v v84 = v83 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v82, (__m512i)v80, (__m512i)v58, 0xe8));
      const u32v v85 = v69 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v78, 25)), (__m512i)(rotr_u32_c(v78, 6)), (__m512i)(rotr_u32_c(v78, 11)), 0x96));
      const u32v v86 = ((v85 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v78, (__m512i)v75, (__m512i)v72, 0xca))) + v46) + (table_0[(v66 + 4u)]);
      const u32v v87 = v80 + v86;
      const u32v v88 = v72 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v87, 25)), (__m512i)(rotr_u32_c(v87, 6)), (__m512i)(rotr_u32_c(v87, 11)), 0x96));
      const u32v v89 = ((v88 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v87, (__m512i)v78, (__m512i)v75, 0xca))) + v47) + (table_0[(v66 + 5u)]);
      const u32v v90 = v82 + v89;
      const u32v v91 = v75 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v90, 25)), (__m512i)(rotr_u32_c(v90, 6)), (__m512i)(rotr_u32_c(v90, 11)), 0x96));
      const u32v v92 = ((v91 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v90, (__m512i)v87, (__m512i)v78, 0xca))) + v48) + (table_0[(v66 + 6u)]);
      const u32v v93 = v84 + v92;
      const u32v v94 = v78 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v93, 25)), (__m512i)(rotr_u32_c(v93, 6)), (__m512i)(rotr_u32_c(v93, 11)), 0x96));
      const u32v v95 = ((v94 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v93, (__m512i)v90, (__m512i)v87, 0xca))) + v49) + (table_0[(v66 + 7u)]);
      const u32v v96 = v77 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v84, 22)), (__m512i)(rotr_u32_c(v84, 2)), (__m512i)(rotr_u32_c(v84, 13)), 0x96));
      const u32v v97 = v96 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v84, (__m512i)v82, (__m512i)v80, 0xe8));
      const u32v v98 = v86 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v97, 22)), (__m512i)(rotr_u32_c(v97, 2)), (__m512i)(rotr_u32_c(v97, 13)), 0x96));
      const u32v v99 = v98 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v97, (__m512i)v84, (__m512i)v82, 0xe8));
      const u32v v100 = v89 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v99, 22)), (__m512i)(rotr_u32_c(v99, 2)), (__m512i)(rotr_u32_c(v99, 13)), 0x96));
      const u32v v101 = v100 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v99, (__m512i)v97, (__m512i)v84, 0xe8));
      const u32v v102 = v92 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v101, 22)), (__m512i)(rotr_u32_c(v101, 2)), (__m512i)(rotr_u32_c(v101, 13)), 0x96));
      const u32v v103 = v102 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v101, (__m512i)v99, (__m512i)v97, 0xe8));
      const u32v v104 = v95 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v103, 22)), (__m512i)(rotr_u32_c(v103, 2)), (__m512i)(rotr_u32_c(v103, 13)), 0x96));
      const u32v v105 = v104 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v103, (__m512i)v101, (__m512i)v99, 0xe8));
      const u32v v106 = v97 + v95;
      const u32v v107 = v87 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v106, 25)), (__m512i)(rotr_u32_c(v106, 6)), (__m512i)(rotr_u32_c(v106, 11)), 0x96));
      const u32v v108 = ((v107 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v106, (__m512i)v93, (__m512i)v90, 0xca))) + v50) + (table_0[(v66 + 8u)]);
      const u32v v109 = v99 + v108;
      const u32v v110 = v90 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v109, 25)), (__m512i)(rotr_u32_c(v109, 6)), (__m512i)(rotr_u32_c(v109, 11)), 0x96));
      const u32v v111 = ((v110 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v109, (__m512i)v106, (__m512i)v93, 0xca))) + v51) + (table_0[(v66 + 9u)]);
      const u32v v112 = v101 + v111;
      const u32v v113 = v93 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v112, 25)), (__m512i)(rotr_u32_c(v112, 6)), (__m512i)(rotr_u32_c(v112, 11)), 0x96));
      const u32v v114 = ((v113 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v112, (__m512i)v109, (__m512i)v106, 0xca))) + v52) + (table_0[(v66 + 10u)]);
      const u32v v115 = v103 + v114;
      const u32v v116 = v106 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v115, 25)), (__m512i)(rotr_u32_c(v115, 6)), (__m512i)(rotr_u32_c(v115, 11)), 0x96));
      const u32v v117 = ((v116 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v115, (__m512i)v112, (__m512i)v109, 0xca))) + v53) + (table_0[(v66 + 11u)]);
      const u32v v118 = v105 + v117;
      const u32v v119 = v108 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v105, 22)), (__m512i)(rotr_u32_c(v105, 2)), (__m512i)(rotr_u32_c(v105, 13)), 0x96));
      const u32v v120 = v119 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v105, (__m512i)v103, (__m512i)v101, 0xe8));
      const u32v v121 = v111 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v120, 22)), (__m512i)(rotr_u32_c(v120, 2)), (__m512i)(rotr_u32_c(v120, 13)), 0x96));
      const u32v v122 = v121 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v120, (__m512i)v105, (__m512i)v103, 0xe8));
      const u32v v123 = v114 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v122, 22)), (__m512i)(rotr_u32_c(v122, 2)), (__m512i)(rotr_u32_c(v122, 13)), 0x96));
      const u32v v124 = v123 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v122, (__m512i)v120, (__m512i)v105, 0xe8));
      const u32v v125 = v109 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v118, 25)), (__m512i)(rotr_u32_c(v118, 6)), (__m512i)(rotr_u32_c(v118, 11)), 0x96));
      const u32v v126 = ((v125 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v118, (__m512i)v115, (__m512i)v112, 0xca))) + v54) + (table_0[(v66 + 12u)]);
      const u32v v127 = v120 + v126;
      const u32v v128 = v112 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v127, 25)), (__m512i)(rotr_u32_c(v127, 6)), (__m512i)(rotr_u32_c(v127, 11)), 0x96));
      const u32v v129 = ((v128 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v127, (__m512i)v118, (__m512i)v115, 0xca))) + v55) + (table_0[(v66 + 13u)]);
      const u32v v130 = v122 + v129;
      const u32v v131 = v115 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v130, 25)), (__m512i)(rotr_u32_c(v130, 6)), (__m512i)(rotr_u32_c(v130, 11)), 0x96));
      const u32v v132 = ((v131 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v130, (__m512i)v127, (__m512i)v118, 0xca))) + v56) + (table_0[(v66 + 14u)]);
      const u32v v133 = v124 + v132;
      const u32v v134 = v118 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v133, 25)), (__m512i)(rotr_u32_c(v133, 6)), (__m512i)(rotr_u32_c(v133, 11)), 0x96));
      const u32v v135 = ((v134 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v133, (__m512i)v130, (__m512i)v127, 0xca))) + v57) + (table_0[(v66 + 15u)]);
      const u32v v136 = v117 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v124, 22)), (__m512i)(rotr_u32_c(v124, 2)), (__m512i)(rotr_u32_c(v124, 13)), 0x96));
      const u32v v137 = v136 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v124, (__m512i)v122, (__m512i)v120, 0xe8));
      const u32v v138 = v126 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v137, 22)), (__m512i)(rotr_u32_c(v137, 2)), (__m512i)(rotr_u32_c(v137, 13)), 0x96));
      const u32v v139 = v138 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v137, (__m512i)v124, (__m512i)v122, 0xe8));
      const u32v v140 = v129 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v139, 22)), (__m512i)(rotr_u32_c(v139, 2)), (__m512i)(rotr_u32_c(v139, 13)), 0x96));
      const u32v v141 = v140 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v139, (__m512i)v137, (__m512i)v124, 0xe8));
      const u32v v142 = v132 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v141, 22)), (__m512i)(rotr_u32_c(v141, 2)), (__m512i)(rotr_u32_c(v141, 13)), 0x96));
      const u32v v143 = v142 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v141, (__m512i)v139, (__m512i)v137, 0xe8));
      const u32v v144 = v135 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(rotr_u32_c(v143, 22)), (__m512i)(rotr_u32_c(v143, 2)), (__m512i)(rotr_u32_c(v143, 13)), 0x96));
      c0 = v144 + ((u32v)_mm512_ternarylogic_epi32((__m512i)v143, (__m512i)v141, (__m512i)v139, 0xe8));
      c1 = v143;
      c2 = v141;
      c3 = v139;
      c4 = v137 + v135;
      c5 = v133;
      c6 = v130;
      c7 = v127;
      if (v41 < 3u) {
        const u32v v145 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v56 >> 10), (__m512i)(rotr_u32_c(v56, 17)), (__m512i)(rotr_u32_c(v56, 19)), 0x96)) + v51;
        const u32v v146 = v145 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v43 >> 3), (__m512i)(rotr_u32_c(v43, 7)), (__m512i)(rotr_u32_c(v43, 18)), 0x96));
        const u32v v147 = v146 + v42;
        c8 = v147;
        const u32v v148 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v57 >> 10), (__m512i)(rotr_u32_c(v57, 17)), (__m512i)(rotr_u32_c(v57, 19)), 0x96)) + v52;
        const u32v v149 = v148 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v44 >> 3), (__m512i)(rotr_u32_c(v44, 7)), (__m512i)(rotr_u32_c(v44, 18)), 0x96));
        const u32v v150 = v149 + v43;
        c9 = v150;
        const u32v v151 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v147 >> 10), (__m512i)(rotr_u32_c(v147, 17)), (__m512i)(rotr_u32_c(v147, 19)), 0x96)) + v53;
        const u32v v152 = v151 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v45 >> 3), (__m512i)(rotr_u32_c(v45, 7)), (__m512i)(rotr_u32_c(v45, 18)), 0x96));
        const u32v v153 = v152 + v44;
        c10 = v153;
        const u32v v154 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v150 >> 10), (__m512i)(rotr_u32_c(v150, 17)), (__m512i)(rotr_u32_c(v150, 19)), 0x96)) + v54;
        const u32v v155 = v154 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v46 >> 3), (__m512i)(rotr_u32_c(v46, 7)), (__m512i)(rotr_u32_c(v46, 18)), 0x96));
        const u32v v156 = v155 + v45;
        c11 = v156;
        const u32v v157 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v153 >> 10), (__m512i)(rotr_u32_c(v153, 17)), (__m512i)(rotr_u32_c(v153, 19)), 0x96)) + v55;
        const u32v v158 = v157 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v47 >> 3), (__m512i)(rotr_u32_c(v47, 7)), (__m512i)(rotr_u32_c(v47, 18)), 0x96));
        const u32v v159 = v158 + v46;
        c12 = v159;
        const u32v v160 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v156 >> 10), (__m512i)(rotr_u32_c(v156, 17)), (__m512i)(rotr_u32_c(v156, 19)), 0x96)) + v56;
        const u32v v161 = v160 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v48 >> 3), (__m512i)(rotr_u32_c(v48, 7)), (__m512i)(rotr_u32_c(v48, 18)), 0x96));
        const u32v v162 = v161 + v47;
        c13 = v162;
        const u32v v163 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v159 >> 10), (__m512i)(rotr_u32_c(v159, 17)), (__m512i)(rotr_u32_c(v159, 19)), 0x96)) + v57;
        const u32v v164 = v163 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v49 >> 3), (__m512i)(rotr_u32_c(v49, 7)), (__m512i)(rotr_u32_c(v49, 18)), 0x96));
        const u32v v165 = v164 + v48;
        c14 = v165;
        const u32v v166 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v162 >> 10), (__m512i)(rotr_u32_c(v162, 17)), (__m512i)(rotr_u32_c(v162, 19)), 0x96)) + v147;
        const u32v v167 = v166 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v50 >> 3), (__m512i)(rotr_u32_c(v50, 7)), (__m512i)(rotr_u32_c(v50, 18)), 0x96));
        const u32v v168 = v167 + v49;
        c15 = v168;
        const u32v v169 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v165 >> 10), (__m512i)(rotr_u32_c(v165, 17)), (__m512i)(rotr_u32_c(v165, 19)), 0x96)) + v150;
        const u32v v170 = v169 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v51 >> 3), (__m512i)(rotr_u32_c(v51, 7)), (__m512i)(rotr_u32_c(v51, 18)), 0x96));
        const u32v v171 = v170 + v50;
        c16 = v171;
        const u32v v172 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v168 >> 10), (__m512i)(rotr_u32_c(v168, 17)), (__m512i)(rotr_u32_c(v168, 19)), 0x96)) + v153;
        const u32v v173 = v172 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v52 >> 3), (__m512i)(rotr_u32_c(v52, 7)), (__m512i)(rotr_u32_c(v52, 18)), 0x96));
        const u32v v174 = v173 + v51;
        c17 = v174;
        const u32v v175 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v171 >> 10), (__m512i)(rotr_u32_c(v171, 17)), (__m512i)(rotr_u32_c(v171, 19)), 0x96)) + v156;
        const u32v v176 = v175 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v53 >> 3), (__m512i)(rotr_u32_c(v53, 7)), (__m512i)(rotr_u32_c(v53, 18)), 0x96));
        const u32v v177 = v176 + v52;
        c18 = v177;
        const u32v v178 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v174 >> 10), (__m512i)(rotr_u32_c(v174, 17)), (__m512i)(rotr_u32_c(v174, 19)), 0x96)) + v159;
        const u32v v179 = v178 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v54 >> 3), (__m512i)(rotr_u32_c(v54, 7)), (__m512i)(rotr_u32_c(v54, 18)), 0x96));
        const u32v v180 = v179 + v53;
        c19 = v180;
        const u32v v181 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v177 >> 10), (__m512i)(rotr_u32_c(v177, 17)), (__m512i)(rotr_u32_c(v177, 19)), 0x96)) + v162;
        const u32v v182 = v181 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v55 >> 3), (__m512i)(rotr_u32_c(v55, 7)), (__m512i)(rotr_u32_c(v55, 18)), 0x96));
        const u32v v183 = v182 + v54;
        c20 = v183;
        const u32v v184 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v180 >> 10), (__m512i)(rotr_u32_c(v180, 17)), (__m512i)(rotr_u32_c(v180, 19)), 0x96)) + v165;
        const u32v v185 = v184 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v56 >> 3), (__m512i)(rotr_u32_c(v56, 7)), (__m512i)(rotr_u32_c(v56, 18)), 0x96));
        const u32v v186 = v185 + v55;
        c21 = v186;
        const u32v v187 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v183 >> 10), (__m512i)(rotr_u32_c(v183, 17)), (__m512i)(rotr_u32_c(v183, 19)), 0x96)) + v168;
        const u32v v188 = v187 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v57 >> 3), (__m512i)(rotr_u32_c(v57, 7)), (__m512i)(rotr_u32_c(v57, 18)), 0x96));
        c22 = v188 + v56;
        const u32v v189 = ((u32v)_mm512_ternarylogic_epi32((__m512i)(v186 >> 10), (__m512i)(rotr_u32_c(v186, 17)), (__m512i)(rotr_u32_c(v186, 19)), 0x96)) + v171;
        const u32v v190 = v189 + ((u32v)_mm512_ternarylogic_epi32((__m512i)(v147 >> 3), (__m512i)(rotr_u32_c(v147, 7)), (__m512i)(rotr_u32_c(v147, 18)), 0x96));
        c23 = v190 + v57;
      }
    }
    const u32v v191 = c0;
    const u32v v192 = c1;
    const u32v v193 = c2;
    const u32v v194 = c3;
    const u32v v195 = c4;
    const u32v v196 = c5;
    const u32v v197 = c6;
    const u32v v198 = c7;
    u32v c24 = splat_u32(0x6a09e667u);
    u32v c25 = splat_u32(0xbb67ae85u);
    u32v c26 = splat_u32(0x3c6ef372u);
    u32v c27 = splat_u32(0xa54ff53au);
    u32v c28 = splat_u32(0x510e527fu);
    u32v c29 = splat_u32(0x9b05688cu);
    u32v c30 = splat_u32(0x1f83d9abu);
    u32v c31 = splat_u32(0x5be0cd19u);
    u32v c32 = splat_u32(0x6a09e667u);
    u32v c33 = splat_u32(0xbb67ae85u);
    u32v c34 = splat_u32(0x3c6ef372u);
    u32v c35 = splat_u32(0xa54ff53au);
    u32v c36 = splat_u32(0u);
    u32v c37 = splat_u32(0u);
    u32v c38 = splat_u32(32u);
    u32v c39 = splat_u32(11u);
    u32v c40 = byteSwap_u32_v((v191 + 0x6a09e667u));
    u32v c41 = byteSwap_u32_v((v192 + 0xbb67ae85u));
    u32v c42 = byteSwap_u32_v((v193 + 0x3c6ef372u));
    u32v c43 = byteSwap_u32_v((v194 + 0xa54ff53au));
    u32v c44 = byteSwap_u32_v((v195 + 0x510e527fu));
    u32v c45 = byteSwap_u32_v((v196 + 0x9b05688cu));
    u32v c46 = byteSwap_u32_v((v197 + 0x1f83d9abu));
    u32v c47 = byteSwap_u32_v((v198 + 0x5be0cd19u));
    u32v c48 = splat_u32(0u);
    u32v c49 = splat_u32(0u);
    u32v c50 = splat_u32(0u);
    u32v c51 = splat_u32(0u);
    u32v c52 = splat_u32(0u);
    u32v c53 = splat_u32(0u);
    u32v c54 = splat_u32(0u);
    u32v c55 = splat_u32(0u);
    for (u32 v199 = 0; v199 < 7u; v199++) {
      const u32v v200 = c24;
      const u32v v201 = c25;
      const u32v v202 = c26;
      const u32v v203 = c27;
      const u32v v204 = c28;
      const u32v v205 = c29;
      const u32v v206 = c30;
      const u32v v207 = c31;
      const u32v v208 = c32;
      const u32v v209 = c33;
      const u32v v210 = c34;
      const u32v v211 = c35;
      const u32v v212 = c36;
      const u32v v213 = c37;
      const u32v v214 = c38;
      const u32v v215 = c39;
      const u32v v216 = c40;
      const u32v v217 = c41;
      const u32v v218 = c42;
      const u32v v219 = c43;
      const u32v v220 = c44;
      const u32v v221 = c45;
      const u32v v222 = c46;
      const u32v v223 = c47;
      const u32v v224 = c48;
      const u32v v225 = c49;
      const u32v v226 = c50;
      const u32v v227 = c51;
      const u32v v228 = c52;
      const u32v v229 = c53;
      const u32v v230 = c54;
      const u32v v231 = c55;
      const u32v v232 = (v200 + v204) + v216;
      const u32v v233 = rotr_u32_c((v212 ^ v232), 16);
      const u32v v234 = v208 + v233;
      const u32v v235 = rotr_u32_c((v204 ^ v234), 12);
      const u32v v236 = (v232 + v235) + v217;
      const u32v v237 = (v201 + v205) + v218;
      const u32v v238 = rotr_u32_c((v213 ^ v237), 16);
      const u32v v239 = v209 + v238;
      const u32v v240 = rotr_u32_c((v205 ^ v239), 12);
      const u32v v241 = (v237 + v240) + v219;
      const u32v v242 = rotr_u32_c((v238 ^ v241), 8);
      const u32v v243 = v239 + v242;
      const u32v v244 = rotr_u32_c((v240 ^ v243), 7);
      const u32v v245 = (v236 + v244) + v224;
      const u32v v246 = (v202 + v206) + v220;
      const u32v v247 = rotr_u32_c((v214 ^ v246), 16);
      const u32v v248 = v210 + v247;
      const u32v v249 = rotr_u32_c((v206 ^ v248), 12);
      const u32v v250 = (v246 + v249) + v221;
      const u32v v251 = rotr_u32_c((v247 ^ v250), 8);
      const u32v v252 = v248 + v251;
      const u32v v253 = (v203 + v207) + v222;
      const u32v v254 = rotr_u32_c((v215 ^ v253), 16);
      const u32v v255 = v211 + v254;
      const u32v v256 = rotr_u32_c((v207 ^ v255), 12);
      const u32v v257 = (v253 + v256) + v223;
      const u32v v258 = rotr_u32_c((v254 ^ v257), 8);
      const u32v v259 = rotr_u32_c((v258 ^ v245), 16);
      const u32v v260 = v252 + v259;
      const u32v v261 = rotr_u32_c((v244 ^ v260), 12);
      const u32v v262 = (v245 + v261) + v225;
      c24 = v262;
      const u32v v263 = rotr_u32_c((v249 ^ v252), 7);
      const u32v v264 = (v241 + v263) + v226;
      const u32v v265 = v255 + v258;
      const u32v v266 = rotr_u32_c((v233 ^ v236), 8);
      const u32v v267 = rotr_u32_c((v266 ^ v264), 16);
      const u32v v268 = v265 + v267;
      const u32v v269 = rotr_u32_c((v263 ^ v268), 12);
      const u32v v270 = (v264 + v269) + v227;
      c25 = v270;
      const u32v v271 = rotr_u32_c((v256 ^ v265), 7);
      const u32v v272 = (v250 + v271) + v228;
      const u32v v273 = v234 + v266;
      const u32v v274 = rotr_u32_c((v242 ^ v272), 16);
      const u32v v275 = v273 + v274;
      const u32v v276 = rotr_u32_c((v271 ^ v275), 12);
      const u32v v277 = (v272 + v276) + v229;
      c26 = v277;
      const u32v v278 = rotr_u32_c((v235 ^ v273), 7);
      const u32v v279 = (v257 + v278) + v230;
      const u32v v280 = rotr_u32_c((v251 ^ v279), 16);
      const u32v v281 = v243 + v280;
      const u32v v282 = rotr_u32_c((v278 ^ v281), 12);
      const u32v v283 = (v279 + v282) + v231;
      c27 = v283;
      const u32v v284 = rotr_u32_c((v280 ^ v283), 8);
      const u32v v285 = v281 + v284;
      c28 = rotr_u32_c((v282 ^ v285), 7);
      const u32v v286 = rotr_u32_c((v259 ^ v262), 8);
      const u32v v287 = v260 + v286;
      c29 = rotr_u32_c((v261 ^ v287), 7);
      const u32v v288 = rotr_u32_c((v267 ^ v270), 8);
      const u32v v289 = v268 + v288;
      c30 = rotr_u32_c((v269 ^ v289), 7);
      const u32v v290 = rotr_u32_c((v274 ^ v277), 8);
      const u32v v291 = v275 + v290;
      c31 = rotr_u32_c((v276 ^ v291), 7);
      c32 = v291;
      c33 = v285;
      c34 = v287;
      c35 = v289;
      c36 = v288;
      c37 = v290;
      c38 = v284;
      c39 = v286;
      c40 = v218;
      c41 = v222;
      c42 = v219;
      c43 = v226;
      c44 = v223;
      c45 = v216;
      c46 = v220;
      c47 = v229;
      c48 = v217;
      c49 = v227;
      c50 = v228;
      c51 = v221;
      c52 = v225;
      c53 = v230;
      c54 = v231;
      c55 = v224;
    }
    const u32v v292 = c24;
    const u32v v293 = c25;
    const u32v v294 = c26;
    const u32v v295 = c27;
    const u32v v296 = c28;
    const u32v v297 = c29;
    const u32v v298 = c30;
    const u32v v299 = c31;
    const u32v v300 = c32;
    const u32v v301 = c33;
    const u32v v302 = c34;
    const u32v v303 = c35;
    const u32v v304 = c36;
    const u32v v305 = c37;
    const u32v v306 = c38;
    const u32v v307 = c39;
    const u32v v308 = clz_u32_v((byteSwap_u32_v((v292 ^ v300))));
    const u32v v309 = clz_u32_v((byteSwap_u32_v((v293 ^ v301))));
    const u32v v310 = clz_u32_v((byteSwap_u32_v((v294 ^ v302))));
    const u32v v311 = clz_u32_v((byteSwap_u32_v((v295 ^ v303))));
    const u32v v312 = clz_u32_v((byteSwap_u32_v((v296 ^ v304))));
    const u32v v313 = clz_u32_v((byteSwap_u32_v((v297 ^ v305))));
    const u32v v314 = clz_u32_v((byteSwap_u32_v((v298 ^ v306))));
    const u32v v315 = clz_u32_v((byteSwap_u32_v((v299 ^ v307))));
    const u32v v316 = select_u32_v(((i32v)(v314 == 32u)), ((select_u32_v(((i32v)(v315 == 32u)), splat_u32(32u), v315)) + 32u), v314);
    const u32v v317 = select_u32_v(((i32v)(v312 == 32u)), ((select_u32_v(((i32v)(v313 == 32u)), (v316 + 32u), v313)) + 32u), v312);
    const u32v v318 = select_u32_v(((i32v)(v310 == 32u)), ((select_u32_v(((i32v)(v311 == 32u)), (v317 + 32u), v311)) + 32u), v310);
    const u32v v319 = select_u32_v(((i32v)(v308 == 32u)), ((select_u32_v(((i32v)(v309 == 32u)), (v318 + 32u), v309)) + 32u), v308);
    const i32v v320 = active & ((i32v)(p_difficulty <= v319));
    if (any(v320)) {
      for (int l = 0; l < LANES; l++) if (v320[l]) { atomic_min(&b_best[0u], item[l]); }
    }
  }
  return end - begin;
}
