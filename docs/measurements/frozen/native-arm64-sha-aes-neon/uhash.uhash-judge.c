/* kernel uhash-judge, 4 lanes */
#include <stdint.h>
typedef uint32_t u32; typedef int32_t i32; typedef unsigned long long u64; typedef float f32; typedef double f64; typedef int bool;
enum { LANES = 4 };
typedef u32 u32v __attribute__((vector_size(16)));
typedef i32 i32v __attribute__((vector_size(16)));
typedef u64 u64v __attribute__((vector_size(32)));
typedef f32 f32v __attribute__((vector_size(16)));
typedef f64 f64v __attribute__((vector_size(32)));
typedef long long i64v __attribute__((vector_size(32)));
static const u32v lane_numbers = {0, 1, 2, 3};
static inline i32v splat_bool(bool a) { return (i32v){-(i32)a, -(i32)a, -(i32)a, -(i32)a}; }
static inline f32v splat_f32(f32 a) { return (f32v){a, a, a, a}; }
static inline f64v splat_f64(f64 a) { return (f64v){a, a, a, a}; }
static inline i32v splat_i32(i32 a) { return (i32v){a, a, a, a}; }
static inline u32v splat_u32(u32 a) { return (u32v){a, a, a, a}; }
static inline u64v splat_u64(u64 a) { return (u64v){a, a, a, a}; }
static inline bool any(i32v m) { i32 r = 0; for (int l = 0; l < LANES; l++) r |= m[l]; return r != 0; }
static inline u32 bitSelect_u32(u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }
static inline u32 byteSwap_u32(u32 a) { return __builtin_bswap32(a); }
static inline u32 clz_u32(u32 a) { return a == 0 ? 32u : (u32)__builtin_clz((u32)a); }
static inline u32 select_u32(bool a, u32 b, u32 c) { return a ? b : c; }
static inline u32v bitSelect_u32_v(u32v a, u32v b, u32v c) { return (a & b) | (~a & c); }
#ifdef __aarch64__
#include <arm_neon.h>
#define byteSwap_u32_v(a) ((u32v)vrev32q_u8((uint8x16_t)(a)))
#else
static inline u32v byteSwap_u32_v(u32v a) { return (((a >> 8) | (a << 24)) & 0xff00ff00u) | (((a >> 24) | (a << 8)) & 0x00ff00ffu); }
#endif
static inline u32v clz_u32_v(u32v a) { u32v r; for (int l = 0; l < LANES; l++) r[l] = clz_u32(a[l]); return r; }
#ifdef __aarch64__
#include <arm_neon.h>
#define rotr_u32_c(a, b) ((b) == 16 ? (u32v)vrev32q_u16((uint16x8_t)(a)) : (b) == 8 ? (u32v)vqtbl1q_u8((uint8x16_t)(a), (uint8x16_t){1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12}) : ({ const uint32x4_t rotated = (uint32x4_t)(a); (u32v)vsriq_n_u32(vshlq_n_u32(rotated, 32 - (b) & 31), rotated, (b) ? (b) : 32); }))
#else
static inline u32v rotr_u32_c(u32v a, int b) { return (((u32v)a >> b) | ((u32v)a << (32 - b))); }
#endif
static inline u32v select_u32_v(i32v a, u32v b, u32v c) { return (u32v)((a & (i32v)b) | (~a & (i32v)c)); }
static inline __attribute__((always_inline)) u32v quads_row(const u32 *p) { u32v row; __builtin_memcpy((char *)&row + 0, p, 16); return row; }
static inline __attribute__((always_inline)) void quads_put(u32v row, u32 *p) { __builtin_memcpy(p, (const char *)&row + 0, 16); }
#ifdef __clang__
#define QUADS_PERMUTE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define QUADS_PERMUTE(a, b, ...) __builtin_shuffle(a, b, (u32v){__VA_ARGS__})
#endif
static inline __attribute__((always_inline)) void quads_turn(u32v a, u32v b, u32v c, u32v d, u32v *w, u32v *x, u32v *y, u32v *z) {
  const u32v ab01 = QUADS_PERMUTE(a, b, 0, 4, 1, 5), ab23 = QUADS_PERMUTE(a, b, 2, 6, 3, 7);
  const u32v cd01 = QUADS_PERMUTE(c, d, 0, 4, 1, 5), cd23 = QUADS_PERMUTE(c, d, 2, 6, 3, 7);
  *w = QUADS_PERMUTE(ab01, cd01, 0, 1, 4, 5);
  *x = QUADS_PERMUTE(ab01, cd01, 2, 3, 6, 7);
  *y = QUADS_PERMUTE(ab23, cd23, 0, 1, 4, 5);
  *z = QUADS_PERMUTE(ab23, cd23, 2, 3, 6, 7);
}
static inline __attribute__((always_inline)) void quads_spots(u32v index, u32 at[LANES]) {
#ifdef __aarch64__
  typedef u64 quads_pairs __attribute__((vector_size(sizeof(u32v))));
  const quads_pairs pairs = (quads_pairs)index;
  { u64 two = pairs[0]; __asm__("" : "+r"(two)); at[0] = (u32)two; at[1] = (u32)(two >> 32); }
  { u64 two = pairs[1]; __asm__("" : "+r"(two)); at[2] = (u32)two; at[3] = (u32)(two >> 32); }
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
    if (whole) { q1_0 = quads_row((const u32 *)(b_state) + (u64)at0[0] * 4); q1_1 = quads_row((const u32 *)(b_state) + (u64)at0[1] * 4); q1_2 = quads_row((const u32 *)(b_state) + (u64)at0[2] * 4); q1_3 = quads_row((const u32 *)(b_state) + (u64)at0[3] * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v1, active); q1_0 = some.row[0]; q1_1 = some.row[1]; q1_2 = some.row[2]; q1_3 = some.row[3]; }
    u32v v2, v3, v4, v5; quads_turn((u32v)(q1_0), (u32v)(q1_1), (u32v)(q1_2), (u32v)(q1_3), (u32v *)&v2, (u32v *)&v3, (u32v *)&v4, (u32v *)&v5);
    const u32v v6 = v1 + 1u;
    u32v q2_0, q2_1, q2_2, q2_3;
    if (whole) { q2_0 = quads_row((const u32 *)(b_state) + (u64)(at0[0] + 1u) * 4); q2_1 = quads_row((const u32 *)(b_state) + (u64)(at0[1] + 1u) * 4); q2_2 = quads_row((const u32 *)(b_state) + (u64)(at0[2] + 1u) * 4); q2_3 = quads_row((const u32 *)(b_state) + (u64)(at0[3] + 1u) * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v6, active); q2_0 = some.row[0]; q2_1 = some.row[1]; q2_2 = some.row[2]; q2_3 = some.row[3]; }
    u32v v7, v8, v9, v10; quads_turn((u32v)(q2_0), (u32v)(q2_1), (u32v)(q2_2), (u32v)(q2_3), (u32v *)&v7, (u32v *)&v8, (u32v *)&v9, (u32v *)&v10);
    const u32v v11 = (v0 + 1u) << 1;
    u32 at3[LANES]; quads_spots(v11, at3);
    u32v q4_0, q4_1, q4_2, q4_3;
    if (whole) { q4_0 = quads_row((const u32 *)(b_state) + (u64)at3[0] * 4); q4_1 = quads_row((const u32 *)(b_state) + (u64)at3[1] * 4); q4_2 = quads_row((const u32 *)(b_state) + (u64)at3[2] * 4); q4_3 = quads_row((const u32 *)(b_state) + (u64)at3[3] * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v11, active); q4_0 = some.row[0]; q4_1 = some.row[1]; q4_2 = some.row[2]; q4_3 = some.row[3]; }
    u32v v12, v13, v14, v15; quads_turn((u32v)(q4_0), (u32v)(q4_1), (u32v)(q4_2), (u32v)(q4_3), (u32v *)&v12, (u32v *)&v13, (u32v *)&v14, (u32v *)&v15);
    const u32v v16 = v11 + 1u;
    u32v q5_0, q5_1, q5_2, q5_3;
    if (whole) { q5_0 = quads_row((const u32 *)(b_state) + (u64)(at3[0] + 1u) * 4); q5_1 = quads_row((const u32 *)(b_state) + (u64)(at3[1] + 1u) * 4); q5_2 = quads_row((const u32 *)(b_state) + (u64)(at3[2] + 1u) * 4); q5_3 = quads_row((const u32 *)(b_state) + (u64)(at3[3] + 1u) * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v16, active); q5_0 = some.row[0]; q5_1 = some.row[1]; q5_2 = some.row[2]; q5_3 = some.row[3]; }
    u32v v17, v18, v19, v20; quads_turn((u32v)(q5_0), (u32v)(q5_1), (u32v)(q5_2), (u32v)(q5_3), (u32v *)&v17, (u32v *)&v18, (u32v *)&v19, (u32v *)&v20);
    const u32v v21 = (v0 + 2u) << 1;
    u32 at6[LANES]; quads_spots(v21, at6);
    u32v q7_0, q7_1, q7_2, q7_3;
    if (whole) { q7_0 = quads_row((const u32 *)(b_state) + (u64)at6[0] * 4); q7_1 = quads_row((const u32 *)(b_state) + (u64)at6[1] * 4); q7_2 = quads_row((const u32 *)(b_state) + (u64)at6[2] * 4); q7_3 = quads_row((const u32 *)(b_state) + (u64)at6[3] * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v21, active); q7_0 = some.row[0]; q7_1 = some.row[1]; q7_2 = some.row[2]; q7_3 = some.row[3]; }
    u32v v22, v23, v24, v25; quads_turn((u32v)(q7_0), (u32v)(q7_1), (u32v)(q7_2), (u32v)(q7_3), (u32v *)&v22, (u32v *)&v23, (u32v *)&v24, (u32v *)&v25);
    const u32v v26 = v21 + 1u;
    u32v q8_0, q8_1, q8_2, q8_3;
    if (whole) { q8_0 = quads_row((const u32 *)(b_state) + (u64)(at6[0] + 1u) * 4); q8_1 = quads_row((const u32 *)(b_state) + (u64)(at6[1] + 1u) * 4); q8_2 = quads_row((const u32 *)(b_state) + (u64)(at6[2] + 1u) * 4); q8_3 = quads_row((const u32 *)(b_state) + (u64)(at6[3] + 1u) * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v26, active); q8_0 = some.row[0]; q8_1 = some.row[1]; q8_2 = some.row[2]; q8_3 = some.row[3]; }
    u32v v27, v28, v29, v30; quads_turn((u32v)(q8_0), (u32v)(q8_1), (u32v)(q8_2), (u32v)(q8_3), (u32v *)&v27, (u32v *)&v28, (u32v *)&v29, (u32v *)&v30);
    const u32v v31 = (v0 + 3u) << 1;
    u32 at9[LANES]; quads_spots(v31, at9);
    u32v q10_0, q10_1, q10_2, q10_3;
    if (whole) { q10_0 = quads_row((const u32 *)(b_state) + (u64)at9[0] * 4); q10_1 = quads_row((const u32 *)(b_state) + (u64)at9[1] * 4); q10_2 = quads_row((const u32 *)(b_state) + (u64)at9[2] * 4); q10_3 = quads_row((const u32 *)(b_state) + (u64)at9[3] * 4); }
    else { const quads_rows some = quads_some((const u32 *)(b_state), v31, active); q10_0 = some.row[0]; q10_1 = some.row[1]; q10_2 = some.row[2]; q10_3 = some.row[3]; }
    u32v v32, v33, v34, v35; quads_turn((u32v)(q10_0), (u32v)(q10_1), (u32v)(q10_2), (u32v)(q10_3), (u32v *)&v32, (u32v *)&v33, (u32v *)&v34, (u32v *)&v35);
    const u32v v36 = v31 + 1u;
    u32v q11_0, q11_1, q11_2, q11_3;
    if (whole) { q11_0 = quads_row((const u32 *)(b_state) + (u64)(at9[0] + 1u) * 4); q11_1 = quads_row((const u32 *)(b_state) + (u64)(at9[1] + 1u) * 4); q11_2 = quads_row((const u32 *)(b_state) + (u64)(at9[2] + 1u) * 4); q11_3 = quads_row((const u32 *)(b_state) + (u64)(at9[3] + 1u) * 4); }
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
    u32v c8 = byteSwap_u32_v((((v2 ^ v12) ^ v22) ^ v32));
    u32v c9 = byteSwap_u32_v((((v3 ^ v13) ^ v23) ^ v33));
    u32v c10 = byteSwap_u32_v((((v4 ^ v14) ^ v24) ^ v34));
    u32v c11 = byteSwap_u32_v((((v5 ^ v15) ^ v25) ^ v35));
    u32v c12 = byteSwap_u32_v((((v7 ^ v17) ^ v27) ^ v37));
    u32v c13 = byteSwap_u32_v((((v8 ^ v18) ^ v28) ^ v38));
    u32v c14 = byteSwap_u32_v((((v9 ^ v19) ^ v29) ^ v39));
    u32v c15 = byteSwap_u32_v((((v10 ^ v20) ^ v30) ^ v40));
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
      const u32v v67 = ((rotr_u32_c(v62, 6)) ^ (rotr_u32_c(v62, 11))) ^ (rotr_u32_c(v62, 25));
      const u32v v68 = (((v65 + v67) + (bitSelect_u32_v(v62, v63, v64))) + v42) + (table_0[v66]);
      const u32v v69 = v61 + v68;
      const u32v v70 = ((rotr_u32_c(v69, 6)) ^ (rotr_u32_c(v69, 11))) ^ (rotr_u32_c(v69, 25));
      const u32v v71 = (((v64 + v70) + (bitSelect_u32_v(v69, v62, v63))) + v43) + (table_0[(v66 + 1u)]);
      const u32v v72 = v60 + v71;
      const u32v v73 = ((rotr_u32_c(v72, 6)) ^ (rotr_u32_c(v72, 11))) ^ (rotr_u32_c(v72, 25));
      const u32v v74 = (((v63 + v73) + (bitSelect_u32_v(v72, v69, v62))) + v44) + (table_0[(v66 + 2u)]);
      const u32v v75 = v59 + v74;
      const u32v v76 = ((rotr_u32_c(v75, 6)) ^ (rotr_u32_c(v75, 11))) ^ (rotr_u32_c(v75, 25));
      const u32v v77 = (((v62 + v76) + (bitSelect_u32_v(v75, v72, v69))) + v45) + (table_0[(v66 + 3u)]);
      const u32v v78 = v58 + v77;
      const u32v v79 = ((rotr_u32_c(v58, 2)) ^ (rotr_u32_c(v58, 13))) ^ (rotr_u32_c(v58, 22));
      const u32v v80 = (v68 + v79) + ((v58 & v59) | (v60 & (v58 | v59)));
      const u32v v81 = ((rotr_u32_c(v80, 2)) ^ (rotr_u32_c(v80, 13))) ^ (rotr_u32_c(v80, 22));
      const u32v v82 = (v71 + v81) + ((v80 & v58) | (v59 & (v80 | v58)));
      const u32v v83 = ((rotr_u32_c(v82, 2)) ^ (rotr_u32_c(v82, 13))) ^ (rotr_u32_c(v82, 22));
      const u32v v84 = (v74 + v83) + ((v82 & v80) | (v58 & (v82 | v80)));
      const u32v v85 = ((rotr_u32_c(v78, 6)) ^ (rotr_u32_c(v78, 11))) ^ (rotr_u32_c(v78, 25));
      const u32v v86 = (((v69 + v85) + (bitSelect_u32_v(v78, v75, v72))) + v46) + (table_0[(v66 + 4u)]);
      const u32v v87 = v80 + v86;
      const u32v v88 = ((rotr_u32_c(v87, 6)) ^ (rotr_u32_c(v87, 11))) ^ (rotr_u32_c(v87, 25));
      const u32v v89 = (((v72 + v88) + (bitSelect_u32_v(v87, v78, v75))) + v47) + (table_0[(v66 + 5u)]);
      const u32v v90 = v82 + v89;
      const u32v v91 = ((rotr_u32_c(v90, 6)) ^ (rotr_u32_c(v90, 11))) ^ (rotr_u32_c(v90, 25));
      const u32v v92 = (((v75 + v91) + (bitSelect_u32_v(v90, v87, v78))) + v48) + (table_0[(v66 + 6u)]);
      const u32v v93 = v84 + v92;
      const u32v v94 = ((rotr_u32_c(v93, 6)) ^ (rotr_u32_c(v93, 11))) ^ (rotr_u32_c(v93, 25));
      const u32v v95 = (((v78 + v94) + (bitSelect_u32_v(v93, v90, v87))) + v49) + (table_0[(v66 + 7u)]);
      const u32v v96 = ((rotr_u32_c(v84, 2)) ^ (rotr_u32_c(v84, 13))) ^ (rotr_u32_c(v84, 22));
      const u32v v97 = (v77 + v96) + ((v84 & v82) | (v80 & (v84 | v82)));
      const u32v v98 = ((rotr_u32_c(v97, 2)) ^ (rotr_u32_c(v97, 13))) ^ (rotr_u32_c(v97, 22));
      const u32v v99 = (v86 + v98) + ((v97 & v84) | (v82 & (v97 | v84)));
      const u32v v100 = ((rotr_u32_c(v99, 2)) ^ (rotr_u32_c(v99, 13))) ^ (rotr_u32_c(v99, 22));
      const u32v v101 = (v89 + v100) + ((v99 & v97) | (v84 & (v99 | v97)));
      const u32v v102 = ((rotr_u32_c(v101, 2)) ^ (rotr_u32_c(v101, 13))) ^ (rotr_u32_c(v101, 22));
      const u32v v103 = (v92 + v102) + ((v101 & v99) | (v97 & (v101 | v99)));
      const u32v v104 = ((rotr_u32_c(v103, 2)) ^ (rotr_u32_c(v103, 13))) ^ (rotr_u32_c(v103, 22));
      const u32v v105 = (v95 + v104) + ((v103 & v101) | (v99 & (v103 | v101)));
      const u32v v106 = v97 + v95;
      const u32v v107 = ((rotr_u32_c(v106, 6)) ^ (rotr_u32_c(v106, 11))) ^ (rotr_u32_c(v106, 25));
      const u32v v108 = (((v87 + v107) + (bitSelect_u32_v(v106, v93, v90))) + v50) + (table_0[(v66 + 8u)]);
      const u32v v109 = v99 + v108;
      const u32v v110 = ((rotr_u32_c(v109, 6)) ^ (rotr_u32_c(v109, 11))) ^ (rotr_u32_c(v109, 25));
      const u32v v111 = (((v90 + v110) + (bitSelect_u32_v(v109, v106, v93))) + v51) + (table_0[(v66 + 9u)]);
      const u32v v112 = v101 + v111;
      const u32v v113 = ((rotr_u32_c(v112, 6)) ^ (rotr_u32_c(v112, 11))) ^ (rotr_u32_c(v112, 25));
      const u32v v114 = (((v93 + v113) + (bitSelect_u32_v(v112, v109, v106))) + v52) + (table_0[(v66 + 10u)]);
      const u32v v115 = v103 + v114;
      const u32v v116 = ((rotr_u32_c(v115, 6)) ^ (rotr_u32_c(v115, 11))) ^ (rotr_u32_c(v115, 25));
      const u32v v117 = (((v106 + v116) + (bitSelect_u32_v(v115, v112, v109))) + v53) + (table_0[(v66 + 11u)]);
      const u32v v118 = v105 + v117;
      const u32v v119 = ((rotr_u32_c(v105, 2)) ^ (rotr_u32_c(v105, 13))) ^ (rotr_u32_c(v105, 22));
      const u32v v120 = (v108 + v119) + ((v105 & v103) | (v101 & (v105 | v103)));
      const u32v v121 = ((rotr_u32_c(v120, 2)) ^ (rotr_u32_c(v120, 13))) ^ (rotr_u32_c(v120, 22));
      const u32v v122 = (v111 + v121) + ((v120 & v105) | (v103 & (v120 | v105)));
      const u32v v123 = ((rotr_u32_c(v122, 2)) ^ (rotr_u32_c(v122, 13))) ^ (rotr_u32_c(v122, 22));
      const u32v v124 = (v114 + v123) + ((v122 & v120) | (v105 & (v122 | v120)));
      const u32v v125 = ((rotr_u32_c(v118, 6)) ^ (rotr_u32_c(v118, 11))) ^ (rotr_u32_c(v118, 25));
      const u32v v126 = (((v109 + v125) + (bitSelect_u32_v(v118, v115, v112))) + v54) + (table_0[(v66 + 12u)]);
      const u32v v127 = v120 + v126;
      const u32v v128 = ((rotr_u32_c(v127, 6)) ^ (rotr_u32_c(v127, 11))) ^ (rotr_u32_c(v127, 25));
      const u32v v129 = (((v112 + v128) + (bitSelect_u32_v(v127, v118, v115))) + v55) + (table_0[(v66 + 13u)]);
      const u32v v130 = v122 + v129;
      const u32v v131 = ((rotr_u32_c(v130, 6)) ^ (rotr_u32_c(v130, 11))) ^ (rotr_u32_c(v130, 25));
      const u32v v132 = (((v115 + v131) + (bitSelect_u32_v(v130, v127, v118))) + v56) + (table_0[(v66 + 14u)]);
      const u32v v133 = v124 + v132;
      const u32v v134 = ((rotr_u32_c(v133, 6)) ^ (rotr_u32_c(v133, 11))) ^ (rotr_u32_c(v133, 25));
      const u32v v135 = (((v118 + v134) + (bitSelect_u32_v(v133, v130, v127))) + v57) + (table_0[(v66 + 15u)]);
      const u32v v136 = ((rotr_u32_c(v124, 2)) ^ (rotr_u32_c(v124, 13))) ^ (rotr_u32_c(v124, 22));
      const u32v v137 = (v117 + v136) + ((v124 & v122) | (v120 & (v124 | v122)));
      const u32v v138 = ((rotr_u32_c(v137, 2)) ^ (rotr_u32_c(v137, 13))) ^ (rotr_u32_c(v137, 22));
      const u32v v139 = (v126 + v138) + ((v137 & v124) | (v122 & (v137 | v124)));
      const u32v v140 = ((rotr_u32_c(v139, 2)) ^ (rotr_u32_c(v139, 13))) ^ (rotr_u32_c(v139, 22));
      const u32v v141 = (v129 + v140) + ((v139 & v137) | (v124 & (v139 | v137)));
      const u32v v142 = ((rotr_u32_c(v141, 2)) ^ (rotr_u32_c(v141, 13))) ^ (rotr_u32_c(v141, 22));
      const u32v v143 = (v132 + v142) + ((v141 & v139) | (v137 & (v141 | v139)));
      const u32v v144 = ((rotr_u32_c(v143, 2)) ^ (rotr_u32_c(v143, 13))) ^ (rotr_u32_c(v143, 22));
      const u32v v145 = (v135 + v144) + ((v143 & v141) | (v139 & (v143 | v141)));
      c0 = v145;
      c1 = v143;
      c2 = v141;
      c3 = v139;
      c4 = v137 + v135;
      c5 = v133;
      c6 = v130;
      c7 = v127;
      if (v41 < 3u) {
        const u32v v146 = ((rotr_u32_c(v56, 17)) ^ (rotr_u32_c(v56, 19))) ^ (v56 >> 10);
        const u32v v147 = ((rotr_u32_c(v43, 7)) ^ (rotr_u32_c(v43, 18))) ^ (v43 >> 3);
        const u32v v148 = ((v146 + v51) + v147) + v42;
        c8 = v148;
        const u32v v149 = ((rotr_u32_c(v57, 17)) ^ (rotr_u32_c(v57, 19))) ^ (v57 >> 10);
        const u32v v150 = ((rotr_u32_c(v44, 7)) ^ (rotr_u32_c(v44, 18))) ^ (v44 >> 3);
        const u32v v151 = ((v149 + v52) + v150) + v43;
        c9 = v151;
        const u32v v152 = ((rotr_u32_c(v148, 17)) ^ (rotr_u32_c(v148, 19))) ^ (v148 >> 10);
        const u32v v153 = ((rotr_u32_c(v45, 7)) ^ (rotr_u32_c(v45, 18))) ^ (v45 >> 3);
        const u32v v154 = ((v152 + v53) + v153) + v44;
        c10 = v154;
        const u32v v155 = ((rotr_u32_c(v151, 17)) ^ (rotr_u32_c(v151, 19))) ^ (v151 >> 10);
        const u32v v156 = ((rotr_u32_c(v46, 7)) ^ (rotr_u32_c(v46, 18))) ^ (v46 >> 3);
        const u32v v157 = ((v155 + v54) + v156) + v45;
        c11 = v157;
        const u32v v158 = ((rotr_u32_c(v154, 17)) ^ (rotr_u32_c(v154, 19))) ^ (v154 >> 10);
        const u32v v159 = ((rotr_u32_c(v47, 7)) ^ (rotr_u32_c(v47, 18))) ^ (v47 >> 3);
        const u32v v160 = ((v158 + v55) + v159) + v46;
        c12 = v160;
        const u32v v161 = ((rotr_u32_c(v157, 17)) ^ (rotr_u32_c(v157, 19))) ^ (v157 >> 10);
        const u32v v162 = ((rotr_u32_c(v48, 7)) ^ (rotr_u32_c(v48, 18))) ^ (v48 >> 3);
        const u32v v163 = ((v161 + v56) + v162) + v47;
        c13 = v163;
        const u32v v164 = ((rotr_u32_c(v160, 17)) ^ (rotr_u32_c(v160, 19))) ^ (v160 >> 10);
        const u32v v165 = ((rotr_u32_c(v49, 7)) ^ (rotr_u32_c(v49, 18))) ^ (v49 >> 3);
        const u32v v166 = ((v164 + v57) + v165) + v48;
        c14 = v166;
        const u32v v167 = ((rotr_u32_c(v163, 17)) ^ (rotr_u32_c(v163, 19))) ^ (v163 >> 10);
        const u32v v168 = ((rotr_u32_c(v50, 7)) ^ (rotr_u32_c(v50, 18))) ^ (v50 >> 3);
        const u32v v169 = ((v167 + v148) + v168) + v49;
        c15 = v169;
        const u32v v170 = ((rotr_u32_c(v166, 17)) ^ (rotr_u32_c(v166, 19))) ^ (v166 >> 10);
        const u32v v171 = ((rotr_u32_c(v51, 7)) ^ (rotr_u32_c(v51, 18))) ^ (v51 >> 3);
        const u32v v172 = ((v170 + v151) + v171) + v50;
        c16 = v172;
        const u32v v173 = ((rotr_u32_c(v169, 17)) ^ (rotr_u32_c(v169, 19))) ^ (v169 >> 10);
        const u32v v174 = ((rotr_u32_c(v52, 7)) ^ (rotr_u32_c(v52, 18))) ^ (v52 >> 3);
        const u32v v175 = ((v173 + v154) + v174) + v51;
        c17 = v175;
        const u32v v176 = ((rotr_u32_c(v172, 17)) ^ (rotr_u32_c(v172, 19))) ^ (v172 >> 10);
        const u32v v177 = ((rotr_u32_c(v53, 7)) ^ (rotr_u32_c(v53, 18))) ^ (v53 >> 3);
        const u32v v178 = ((v176 + v157) + v177) + v52;
        c18 = v178;
        const u32v v179 = ((rotr_u32_c(v175, 17)) ^ (rotr_u32_c(v175, 19))) ^ (v175 >> 10);
        const u32v v180 = ((rotr_u32_c(v54, 7)) ^ (rotr_u32_c(v54, 18))) ^ (v54 >> 3);
        const u32v v181 = ((v179 + v160) + v180) + v53;
        c19 = v181;
        const u32v v182 = ((rotr_u32_c(v178, 17)) ^ (rotr_u32_c(v178, 19))) ^ (v178 >> 10);
        const u32v v183 = ((rotr_u32_c(v55, 7)) ^ (rotr_u32_c(v55, 18))) ^ (v55 >> 3);
        const u32v v184 = ((v182 + v163) + v183) + v54;
        c20 = v184;
        const u32v v185 = ((rotr_u32_c(v181, 17)) ^ (rotr_u32_c(v181, 19))) ^ (v181 >> 10);
        const u32v v186 = ((rotr_u32_c(v56, 7)) ^ (rotr_u32_c(v56, 18))) ^ (v56 >> 3);
        const u32v v187 = ((v185 + v166) + v186) + v55;
        c21 = v187;
        const u32v v188 = ((rotr_u32_c(v184, 17)) ^ (rotr_u32_c(v184, 19))) ^ (v184 >> 10);
        const u32v v189 = ((rotr_u32_c(v57, 7)) ^ (rotr_u32_c(v57, 18))) ^ (v57 >> 3);
        c22 = ((v188 + v169) + v189) + v56;
        const u32v v190 = ((rotr_u32_c(v187, 17)) ^ (rotr_u32_c(v187, 19))) ^ (v187 >> 10);
        const u32v v191 = ((rotr_u32_c(v148, 7)) ^ (rotr_u32_c(v148, 18))) ^ (v148 >> 3);
        c23 = ((v190 + v172) + v191) + v57;
      }
    }
    const u32v v192 = c0;
    const u32v v193 = c1;
    const u32v v194 = c2;
    const u32v v195 = c3;
    const u32v v196 = c4;
    const u32v v197 = c5;
    const u32v v198 = c6;
    const u32v v199 = c7;
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
    u32v c40 = byteSwap_u32_v((v192 + 0x6a09e667u));
    u32v c41 = byteSwap_u32_v((v193 + 0xbb67ae85u));
    u32v c42 = byteSwap_u32_v((v194 + 0x3c6ef372u));
    u32v c43 = byteSwap_u32_v((v195 + 0xa54ff53au));
    u32v c44 = byteSwap_u32_v((v196 + 0x510e527fu));
    u32v c45 = byteSwap_u32_v((v197 + 0x9b05688cu));
    u32v c46 = byteSwap_u32_v((v198 + 0x1f83d9abu));
    u32v c47 = byteSwap_u32_v((v199 + 0x5be0cd19u));
    u32v c48 = splat_u32(0u);
    u32v c49 = splat_u32(0u);
    u32v c50 = splat_u32(0u);
    u32v c51 = splat_u32(0u);
    u32v c52 = splat_u32(0u);
    u32v c53 = splat_u32(0u);
    u32v c54 = splat_u32(0u);
    u32v c55 = splat_u32(0u);
    for (u32 v200 = 0; v200 < 7u; v200++) {
      const u32v v201 = c24;
      const u32v v202 = c25;
      const u32v v203 = c26;
      const u32v v204 = c27;
      const u32v v205 = c28;
      const u32v v206 = c29;
      const u32v v207 = c30;
      const u32v v208 = c31;
      const u32v v209 = c32;
      const u32v v210 = c33;
      const u32v v211 = c34;
      const u32v v212 = c35;
      const u32v v213 = c36;
      const u32v v214 = c37;
      const u32v v215 = c38;
      const u32v v216 = c39;
      const u32v v217 = c40;
      const u32v v218 = c41;
      const u32v v219 = c42;
      const u32v v220 = c43;
      const u32v v221 = c44;
      const u32v v222 = c45;
      const u32v v223 = c46;
      const u32v v224 = c47;
      const u32v v225 = c48;
      const u32v v226 = c49;
      const u32v v227 = c50;
      const u32v v228 = c51;
      const u32v v229 = c52;
      const u32v v230 = c53;
      const u32v v231 = c54;
      const u32v v232 = c55;
      const u32v v233 = (v201 + v205) + v217;
      const u32v v234 = rotr_u32_c((v213 ^ v233), 16);
      const u32v v235 = v209 + v234;
      const u32v v236 = rotr_u32_c((v205 ^ v235), 12);
      const u32v v237 = (v233 + v236) + v218;
      const u32v v238 = (v202 + v206) + v219;
      const u32v v239 = rotr_u32_c((v214 ^ v238), 16);
      const u32v v240 = v210 + v239;
      const u32v v241 = rotr_u32_c((v206 ^ v240), 12);
      const u32v v242 = (v238 + v241) + v220;
      const u32v v243 = rotr_u32_c((v239 ^ v242), 8);
      const u32v v244 = v240 + v243;
      const u32v v245 = rotr_u32_c((v241 ^ v244), 7);
      const u32v v246 = (v237 + v245) + v225;
      const u32v v247 = (v203 + v207) + v221;
      const u32v v248 = rotr_u32_c((v215 ^ v247), 16);
      const u32v v249 = v211 + v248;
      const u32v v250 = rotr_u32_c((v207 ^ v249), 12);
      const u32v v251 = (v247 + v250) + v222;
      const u32v v252 = rotr_u32_c((v248 ^ v251), 8);
      const u32v v253 = v249 + v252;
      const u32v v254 = (v204 + v208) + v223;
      const u32v v255 = rotr_u32_c((v216 ^ v254), 16);
      const u32v v256 = v212 + v255;
      const u32v v257 = rotr_u32_c((v208 ^ v256), 12);
      const u32v v258 = (v254 + v257) + v224;
      const u32v v259 = rotr_u32_c((v255 ^ v258), 8);
      const u32v v260 = rotr_u32_c((v259 ^ v246), 16);
      const u32v v261 = v253 + v260;
      const u32v v262 = rotr_u32_c((v245 ^ v261), 12);
      const u32v v263 = (v246 + v262) + v226;
      c24 = v263;
      const u32v v264 = rotr_u32_c((v250 ^ v253), 7);
      const u32v v265 = (v242 + v264) + v227;
      const u32v v266 = v256 + v259;
      const u32v v267 = rotr_u32_c((v234 ^ v237), 8);
      const u32v v268 = rotr_u32_c((v267 ^ v265), 16);
      const u32v v269 = v266 + v268;
      const u32v v270 = rotr_u32_c((v264 ^ v269), 12);
      const u32v v271 = (v265 + v270) + v228;
      c25 = v271;
      const u32v v272 = rotr_u32_c((v257 ^ v266), 7);
      const u32v v273 = (v251 + v272) + v229;
      const u32v v274 = v235 + v267;
      const u32v v275 = rotr_u32_c((v243 ^ v273), 16);
      const u32v v276 = v274 + v275;
      const u32v v277 = rotr_u32_c((v272 ^ v276), 12);
      const u32v v278 = (v273 + v277) + v230;
      c26 = v278;
      const u32v v279 = rotr_u32_c((v236 ^ v274), 7);
      const u32v v280 = (v258 + v279) + v231;
      const u32v v281 = rotr_u32_c((v252 ^ v280), 16);
      const u32v v282 = v244 + v281;
      const u32v v283 = rotr_u32_c((v279 ^ v282), 12);
      const u32v v284 = (v280 + v283) + v232;
      c27 = v284;
      const u32v v285 = rotr_u32_c((v281 ^ v284), 8);
      const u32v v286 = v282 + v285;
      c28 = rotr_u32_c((v283 ^ v286), 7);
      const u32v v287 = rotr_u32_c((v260 ^ v263), 8);
      const u32v v288 = v261 + v287;
      c29 = rotr_u32_c((v262 ^ v288), 7);
      const u32v v289 = rotr_u32_c((v268 ^ v271), 8);
      const u32v v290 = v269 + v289;
      c30 = rotr_u32_c((v270 ^ v290), 7);
      const u32v v291 = rotr_u32_c((v275 ^ v278), 8);
      const u32v v292 = v276 + v291;
      c31 = rotr_u32_c((v277 ^ v292), 7);
      c32 = v292;
      c33 = v286;
      c34 = v288;
      c35 = v290;
      c36 = v289;
      c37 = v291;
      c38 = v285;
      c39 = v287;
      c40 = v219;
      c41 = v223;
      c42 = v220;
      c43 = v227;
      c44 = v224;
      c45 = v217;
      c46 = v221;
      c47 = v230;
      c48 = v218;
      c49 = v228;
      c50 = v229;
      c51 = v222;
      c52 = v226;
      c53 = v231;
      c54 = v232;
      c55 = v225;
    }
    const u32v v293 = c24;
    const u32v v294 = c25;
    const u32v v295 = c26;
    const u32v v296 = c27;
    const u32v v297 = c28;
    const u32v v298 = c29;
    const u32v v299 = c30;
    const u32v v300 = c31;
    const u32v v301 = c32;
    const u32v v302 = c33;
    const u32v v303 = c34;
    const u32v v304 = c35;
    const u32v v305 = c36;
    const u32v v306 = c37;
    const u32v v307 = c38;
    const u32v v308 = c39;
    const u32v v309 = clz_u32_v((byteSwap_u32_v((v293 ^ v301))));
    const u32v v310 = clz_u32_v((byteSwap_u32_v((v294 ^ v302))));
    const u32v v311 = clz_u32_v((byteSwap_u32_v((v295 ^ v303))));
    const u32v v312 = clz_u32_v((byteSwap_u32_v((v296 ^ v304))));
    const u32v v313 = clz_u32_v((byteSwap_u32_v((v297 ^ v305))));
    const u32v v314 = clz_u32_v((byteSwap_u32_v((v298 ^ v306))));
    const u32v v315 = clz_u32_v((byteSwap_u32_v((v299 ^ v307))));
    const u32v v316 = clz_u32_v((byteSwap_u32_v((v300 ^ v308))));
    const u32v v317 = select_u32_v(((i32v)(v315 == 32u)), ((select_u32_v(((i32v)(v316 == 32u)), splat_u32(32u), v316)) + 32u), v315);
    const u32v v318 = select_u32_v(((i32v)(v313 == 32u)), ((select_u32_v(((i32v)(v314 == 32u)), (v317 + 32u), v314)) + 32u), v313);
    const u32v v319 = select_u32_v(((i32v)(v311 == 32u)), ((select_u32_v(((i32v)(v312 == 32u)), (v318 + 32u), v312)) + 32u), v311);
    const u32v v320 = select_u32_v(((i32v)(v309 == 32u)), ((select_u32_v(((i32v)(v310 == 32u)), (v319 + 32u), v310)) + 32u), v309);
    const i32v v321 = active & ((i32v)(p_difficulty <= v320));
    if (any(v321)) {
      for (int l = 0; l < LANES; l++) if (v321[l]) { atomic_min(&b_best[0u], item[l]); }
    }
  }
  return end - begin;
}
