/* kernel uhash-seeds, 16 lanes */
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
static inline u64 cast_u32_u64(u32 a) { return (u64)a; }
static inline u32 cast_u64_u32(u64 a) { return (u32)a; }
static inline u32 hi_u64(u64 a) { return (u32)(a >> 32); }
static inline u64v cast_u32_u64_v(u32v a) { return __builtin_convertvector(a, u64v); }
static inline u32v cast_u64_u32_v(u64v a) { return __builtin_convertvector(a, u32v); }
static inline u32v hi_u64_v(u64v a) { return __builtin_convertvector(a >> 32, u32v); }
static inline u32v rotr_u32_c(u32v a, int b) { return (((u32v)a >> b) | ((u32v)a << (32 - b))); }
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

uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const u32 *const params = (const u32 *)launch[0];
  u32 *const control = (u32 *)launch[1];
  const u32 epoch = (u32)launch[2];
  u32 *const b_state = (u32 *)launch[3];
  u32 *const b_ring = (u32 *)launch[5];
  const u32 p_job_0 = params[0];
  const u32 p_job_1 = params[1];
  const u32 p_job_2 = params[2];
  const u32 p_job_3 = params[3];
  const u32 p_job_4 = params[4];
  const u32 p_job_5 = params[5];
  const u32 p_job_6 = params[6];
  const u32 p_job_7 = params[7];
  const u32 p_header_6 = params[8];
  const u32 p_job_9 = params[9];
  const u32 p_job_10 = params[10];
  const u32 p_job_11 = params[11];
  const u32 p_header_1 = params[12];
  const u32 p_job_13 = params[13];
  const u32 p_job_14 = params[14];
  const u32 p_job_15 = params[15];
  const u32 p_job_16 = params[16];
  const u32 p_job_17 = params[17];
  const u32 p_job_18 = params[18];
  const u32 p_header_3 = params[19];
  const u32 p_header_5 = params[20];
  const u32 p_header_4 = params[21];
  const u32 p_header_2 = params[22];
  const u32 p_header_7 = params[23];
  const u32 p_header_0 = params[24];
  const u32 p_nonce_0 = params[25];
  const u32 p_nonce_1 = params[26];
  for (u64 first = begin; first < end; first += LANES) {
    const u32v item = splat_u32((u32)first) + lane_numbers;
    const bool whole = end - first >= LANES;
    const i32v active = whole ? splat_bool(1) : (i32v)(lane_numbers < (u32)(end - first));
    if (((first - begin) & 1023) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
    const u32v v0 = item << 1;
    const u64v v1 = (cast_u32_u64_v((item & 3u))) * 0x9e3779b97f4a7c15ull;
    const u32v v2 = ((item >> 2) + p_nonce_0) ^ (cast_u64_u32_v(v1));
    const u32v v3 = v2 + p_job_0;
    const u32v v4 = rotr_u32_c((p_job_1 ^ v3), 16);
    const u32v v5 = v4 + p_job_2;
    const u32v v6 = rotr_u32_c((p_job_3 ^ v5), 12);
    const u32v v7 = p_nonce_1 ^ (hi_u64_v(v1));
    const u32v v8 = (v3 + v6) + v7;
    const u32v v9 = v8 + p_job_4;
    const u32v v10 = rotr_u32_c((p_job_5 ^ v9), 16);
    const u32v v11 = v10 + p_job_6;
    const u32v v12 = rotr_u32_c((p_job_7 ^ v11), 12);
    const u32v v13 = (v9 + v12) + p_header_6;
    const u32v v14 = rotr_u32_c((v4 ^ v8), 8);
    const u32v v15 = v5 + v14;
    const u32v v16 = rotr_u32_c((v6 ^ v15), 7);
    const u32v v17 = v16 + p_job_9;
    const u32v v18 = rotr_u32_c((p_job_10 ^ v17), 16);
    const u32v v19 = v18 + p_job_11;
    const u32v v20 = rotr_u32_c((v16 ^ v19), 12);
    const u32v v21 = v17 + v20;
    const u32v v22 = rotr_u32_c((v18 ^ v21), 8);
    const u32v v23 = v19 + v22;
    const u32v v24 = rotr_u32_c((v20 ^ v23), 7);
    const u32v v25 = (v13 + v24) + p_header_1;
    const u32v v26 = v15 + p_job_13;
    const u32v v27 = rotr_u32_c((p_job_14 ^ v26), 12);
    const u32v v28 = v27 + p_job_15;
    const u32v v29 = rotr_u32_c((p_job_13 ^ v28), 8);
    const u32v v30 = v26 + v29;
    const u32v v31 = rotr_u32_c((v14 ^ p_job_16), 16);
    const u32v v32 = v31 + p_job_17;
    const u32v v33 = rotr_u32_c((p_job_18 ^ v32), 12);
    const u32v v34 = v33 + p_job_16;
    const u32v v35 = rotr_u32_c((v31 ^ v34), 8);
    const u32v v36 = rotr_u32_c((v35 ^ v25), 16);
    const u32v v37 = v30 + v36;
    const u32v v38 = rotr_u32_c((v24 ^ v37), 12);
    const u32v v39 = v25 + v38;
    const u32v v40 = rotr_u32_c((v10 ^ v13), 8);
    const u32v v41 = v11 + v40;
    const u32v v42 = rotr_u32_c((v12 ^ v41), 7);
    const u32v v43 = v34 + v42;
    const u32v v44 = rotr_u32_c((v29 ^ v43), 16);
    const u32v v45 = v23 + v44;
    const u32v v46 = rotr_u32_c((v42 ^ v45), 12);
    const u32v v47 = (v43 + v46) + v2;
    const u32v v48 = rotr_u32_c((v44 ^ v47), 8);
    const u32v v49 = v45 + v48;
    const u32v v50 = rotr_u32_c((v46 ^ v49), 7);
    const u32v v51 = (v39 + v50) + p_header_3;
    const u32v v52 = v32 + v35;
    const u32v v53 = rotr_u32_c((v33 ^ v52), 7);
    const u32v v54 = (v28 + v53) + v7;
    const u32v v55 = rotr_u32_c((v22 ^ v54), 16);
    const u32v v56 = v41 + v55;
    const u32v v57 = rotr_u32_c((v53 ^ v56), 12);
    const u32v v58 = v54 + v57;
    const u32v v59 = rotr_u32_c((v55 ^ v58), 8);
    const u32v v60 = v56 + v59;
    const u32v v61 = rotr_u32_c((v27 ^ v30), 7);
    const u32v v62 = v21 + v61;
    const u32v v63 = rotr_u32_c((v40 ^ v62), 16);
    const u32v v64 = v52 + v63;
    const u32v v65 = rotr_u32_c((v61 ^ v64), 12);
    const u32v v66 = (v62 + v65) + p_header_5;
    const u32v v67 = rotr_u32_c((v63 ^ v66), 8);
    const u32v v68 = rotr_u32_c((v67 ^ v51), 16);
    const u32v v69 = v60 + v68;
    const u32v v70 = rotr_u32_c((v50 ^ v69), 12);
    const u32v v71 = (v51 + v70) + p_header_4;
    const u32v v72 = rotr_u32_c((v36 ^ v39), 8);
    const u32v v73 = v37 + v72;
    const u32v v74 = rotr_u32_c((v38 ^ v73), 7);
    const u32v v75 = v66 + v74;
    const u32v v76 = rotr_u32_c((v59 ^ v75), 16);
    const u32v v77 = v49 + v76;
    const u32v v78 = rotr_u32_c((v74 ^ v77), 12);
    const u32v v79 = v75 + v78;
    const u32v v80 = rotr_u32_c((v76 ^ v79), 8);
    const u32v v81 = v77 + v80;
    const u32v v82 = rotr_u32_c((v78 ^ v81), 7);
    const u32v v83 = (v71 + v82) + p_header_6;
    const u32v v84 = v64 + v67;
    const u32v v85 = rotr_u32_c((v65 ^ v84), 7);
    const u32v v86 = v58 + v85;
    const u32v v87 = rotr_u32_c((v48 ^ v86), 16);
    const u32v v88 = v73 + v87;
    const u32v v89 = rotr_u32_c((v85 ^ v88), 12);
    const u32v v90 = (v86 + v89) + p_header_2;
    const u32v v91 = rotr_u32_c((v87 ^ v90), 8);
    const u32v v92 = v88 + v91;
    const u32v v93 = rotr_u32_c((v57 ^ v60), 7);
    const u32v v94 = (v47 + v93) + p_header_7;
    const u32v v95 = rotr_u32_c((v72 ^ v94), 16);
    const u32v v96 = v84 + v95;
    const u32v v97 = rotr_u32_c((v93 ^ v96), 12);
    const u32v v98 = v94 + v97;
    const u32v v99 = rotr_u32_c((v95 ^ v98), 8);
    const u32v v100 = rotr_u32_c((v99 ^ v83), 16);
    const u32v v101 = v92 + v100;
    const u32v v102 = rotr_u32_c((v82 ^ v101), 12);
    const u32v v103 = (v83 + v102) + p_header_5;
    const u32v v104 = rotr_u32_c((v68 ^ v71), 8);
    const u32v v105 = v69 + v104;
    const u32v v106 = rotr_u32_c((v70 ^ v105), 7);
    const u32v v107 = (v98 + v106) + v2;
    const u32v v108 = rotr_u32_c((v91 ^ v107), 16);
    const u32v v109 = v81 + v108;
    const u32v v110 = rotr_u32_c((v106 ^ v109), 12);
    const u32v v111 = (v107 + v110) + p_header_1;
    const u32v v112 = rotr_u32_c((v108 ^ v111), 8);
    const u32v v113 = v109 + v112;
    const u32v v114 = rotr_u32_c((v110 ^ v113), 7);
    const u32v v115 = v103 + v114;
    const u32v v116 = v96 + v99;
    const u32v v117 = rotr_u32_c((v97 ^ v116), 7);
    const u32v v118 = v90 + v117;
    const u32v v119 = rotr_u32_c((v80 ^ v118), 16);
    const u32v v120 = v105 + v119;
    const u32v v121 = rotr_u32_c((v117 ^ v120), 12);
    const u32v v122 = v118 + v121;
    const u32v v123 = rotr_u32_c((v119 ^ v122), 8);
    const u32v v124 = v120 + v123;
    const u32v v125 = rotr_u32_c((v89 ^ v92), 7);
    const u32v v126 = (v79 + v125) + v7;
    const u32v v127 = rotr_u32_c((v104 ^ v126), 16);
    const u32v v128 = v116 + v127;
    const u32v v129 = rotr_u32_c((v125 ^ v128), 12);
    const u32v v130 = (v126 + v129) + p_header_0;
    const u32v v131 = rotr_u32_c((v127 ^ v130), 8);
    const u32v v132 = rotr_u32_c((v131 ^ v115), 16);
    const u32v v133 = v124 + v132;
    const u32v v134 = rotr_u32_c((v114 ^ v133), 12);
    const u32v v135 = (v115 + v134) + p_header_7;
    const u32v v136 = rotr_u32_c((v100 ^ v103), 8);
    const u32v v137 = v101 + v136;
    const u32v v138 = rotr_u32_c((v102 ^ v137), 7);
    const u32v v139 = v130 + v138;
    const u32v v140 = rotr_u32_c((v123 ^ v139), 16);
    const u32v v141 = v113 + v140;
    const u32v v142 = rotr_u32_c((v138 ^ v141), 12);
    const u32v v143 = (v139 + v142) + v7;
    const u32v v144 = rotr_u32_c((v140 ^ v143), 8);
    const u32v v145 = v141 + v144;
    const u32v v146 = rotr_u32_c((v142 ^ v145), 7);
    const u32v v147 = (v135 + v146) + p_header_4;
    const u32v v148 = v128 + v131;
    const u32v v149 = rotr_u32_c((v129 ^ v148), 7);
    const u32v v150 = v122 + v149;
    const u32v v151 = rotr_u32_c((v112 ^ v150), 16);
    const u32v v152 = v137 + v151;
    const u32v v153 = rotr_u32_c((v149 ^ v152), 12);
    const u32v v154 = (v150 + v153) + p_header_3;
    const u32v v155 = rotr_u32_c((v151 ^ v154), 8);
    const u32v v156 = v152 + v155;
    const u32v v157 = rotr_u32_c((v121 ^ v124), 7);
    const u32v v158 = v111 + v157;
    const u32v v159 = rotr_u32_c((v136 ^ v158), 16);
    const u32v v160 = v148 + v159;
    const u32v v161 = rotr_u32_c((v157 ^ v160), 12);
    const u32v v162 = v158 + v161;
    const u32v v163 = rotr_u32_c((v159 ^ v162), 8);
    const u32v v164 = rotr_u32_c((v163 ^ v147), 16);
    const u32v v165 = v156 + v164;
    const u32v v166 = rotr_u32_c((v146 ^ v165), 12);
    const u32v v167 = (v147 + v166) + p_header_0;
    const u32v v168 = rotr_u32_c((v132 ^ v135), 8);
    const u32v v169 = v133 + v168;
    const u32v v170 = rotr_u32_c((v134 ^ v169), 7);
    const u32v v171 = (v162 + v170) + p_header_1;
    const u32v v172 = rotr_u32_c((v155 ^ v171), 16);
    const u32v v173 = v145 + v172;
    const u32v v174 = rotr_u32_c((v170 ^ v173), 12);
    const u32v v175 = (v171 + v174) + p_header_6;
    const u32v v176 = rotr_u32_c((v172 ^ v175), 8);
    const u32v v177 = v173 + v176;
    const u32v v178 = rotr_u32_c((v174 ^ v177), 7);
    const u32v v179 = v167 + v178;
    const u32v v180 = v160 + v163;
    const u32v v181 = rotr_u32_c((v161 ^ v180), 7);
    const u32v v182 = (v154 + v181) + p_header_5;
    const u32v v183 = rotr_u32_c((v144 ^ v182), 16);
    const u32v v184 = v169 + v183;
    const u32v v185 = rotr_u32_c((v181 ^ v184), 12);
    const u32v v186 = (v182 + v185) + v2;
    const u32v v187 = rotr_u32_c((v183 ^ v186), 8);
    const u32v v188 = v184 + v187;
    const u32v v189 = rotr_u32_c((v153 ^ v156), 7);
    const u32v v190 = v143 + v189;
    const u32v v191 = rotr_u32_c((v168 ^ v190), 16);
    const u32v v192 = v180 + v191;
    const u32v v193 = rotr_u32_c((v189 ^ v192), 12);
    const u32v v194 = (v190 + v193) + p_header_2;
    const u32v v195 = rotr_u32_c((v191 ^ v194), 8);
    const u32v v196 = rotr_u32_c((v195 ^ v179), 16);
    const u32v v197 = v188 + v196;
    const u32v v198 = rotr_u32_c((v178 ^ v197), 12);
    const u32v v199 = v179 + v198;
    const u32v v200 = rotr_u32_c((v164 ^ v167), 8);
    const u32v v201 = v165 + v200;
    const u32v v202 = rotr_u32_c((v166 ^ v201), 7);
    const u32v v203 = (v194 + v202) + v7;
    const u32v v204 = rotr_u32_c((v187 ^ v203), 16);
    const u32v v205 = v177 + v204;
    const u32v v206 = rotr_u32_c((v202 ^ v205), 12);
    const u32v v207 = v203 + v206;
    const u32v v208 = rotr_u32_c((v204 ^ v207), 8);
    const u32v v209 = v205 + v208;
    const u32v v210 = rotr_u32_c((v206 ^ v209), 7);
    const u32v v211 = (v199 + v210) + p_header_7;
    const u32v v212 = v192 + v195;
    const u32v v213 = rotr_u32_c((v193 ^ v212), 7);
    const u32v v214 = v186 + v213;
    const u32v v215 = rotr_u32_c((v176 ^ v214), 16);
    const u32v v216 = v201 + v215;
    const u32v v217 = rotr_u32_c((v213 ^ v216), 12);
    const u32v v218 = v214 + v217;
    const u32v v219 = rotr_u32_c((v215 ^ v218), 8);
    const u32v v220 = v216 + v219;
    const u32v v221 = rotr_u32_c((v185 ^ v188), 7);
    const u32v v222 = v175 + v221;
    const u32v v223 = rotr_u32_c((v200 ^ v222), 16);
    const u32v v224 = v212 + v223;
    const u32v v225 = rotr_u32_c((v221 ^ v224), 12);
    const u32v v226 = (v222 + v225) + v2;
    const u32v v227 = rotr_u32_c((v223 ^ v226), 8);
    const u32v v228 = rotr_u32_c((v227 ^ v211), 16);
    const u32v v229 = v220 + v228;
    const u32v v230 = rotr_u32_c((v210 ^ v229), 12);
    const u32v v231 = (v211 + v230) + p_header_2;
    const u32v v232 = rotr_u32_c((v196 ^ v199), 8);
    const u32v v233 = v197 + v232;
    const u32v v234 = rotr_u32_c((v198 ^ v233), 7);
    const u32v v235 = (v226 + v234) + p_header_6;
    const u32v v236 = rotr_u32_c((v219 ^ v235), 16);
    const u32v v237 = v209 + v236;
    const u32v v238 = rotr_u32_c((v234 ^ v237), 12);
    const u32v v239 = (v235 + v238) + p_header_4;
    const u32v v240 = rotr_u32_c((v236 ^ v239), 8);
    const u32v v241 = v237 + v240;
    const u32v v242 = rotr_u32_c((v238 ^ v241), 7);
    const u32v v243 = (v231 + v242) + v7;
    const u32v v244 = v224 + v227;
    const u32v v245 = rotr_u32_c((v225 ^ v244), 7);
    const u32v v246 = (v218 + v245) + p_header_0;
    const u32v v247 = rotr_u32_c((v208 ^ v246), 16);
    const u32v v248 = v233 + v247;
    const u32v v249 = rotr_u32_c((v245 ^ v248), 12);
    const u32v v250 = (v246 + v249) + p_header_1;
    const u32v v251 = rotr_u32_c((v247 ^ v250), 8);
    const u32v v252 = v248 + v251;
    const u32v v253 = rotr_u32_c((v217 ^ v220), 7);
    const u32v v254 = (v207 + v253) + p_header_5;
    const u32v v255 = rotr_u32_c((v232 ^ v254), 16);
    const u32v v256 = v244 + v255;
    const u32v v257 = rotr_u32_c((v253 ^ v256), 12);
    const u32v v258 = (v254 + v257) + p_header_3;
    const u32v v259 = rotr_u32_c((v255 ^ v258), 8);
    const u32v v260 = rotr_u32_c((v259 ^ v243), 16);
    const u32v v261 = v252 + v260;
    const u32v v262 = rotr_u32_c((v242 ^ v261), 12);
    const u32v v263 = v243 + v262;
    const u32v v264 = rotr_u32_c((v228 ^ v231), 8);
    const u32v v265 = v229 + v264;
    const u32v v266 = rotr_u32_c((v230 ^ v265), 7);
    const u32v v267 = v258 + v266;
    const u32v v268 = rotr_u32_c((v251 ^ v267), 16);
    const u32v v269 = v241 + v268;
    const u32v v270 = rotr_u32_c((v266 ^ v269), 12);
    const u32v v271 = (v267 + v270) + p_header_5;
    const u32v v272 = rotr_u32_c((v268 ^ v271), 8);
    const u32v v273 = v269 + v272;
    const u32v v274 = rotr_u32_c((v270 ^ v273), 7);
    const u32v v275 = v263 + v274;
    const u32v v276 = v256 + v259;
    const u32v v277 = rotr_u32_c((v257 ^ v276), 7);
    const u32v v278 = (v250 + v277) + v2;
    const u32v v279 = rotr_u32_c((v240 ^ v278), 16);
    const u32v v280 = v265 + v279;
    const u32v v281 = rotr_u32_c((v277 ^ v280), 12);
    const u32v v282 = v278 + v281;
    const u32v v283 = rotr_u32_c((v279 ^ v282), 8);
    const u32v v284 = v280 + v283;
    const u32v v285 = rotr_u32_c((v249 ^ v252), 7);
    const u32v v286 = v239 + v285;
    const u32v v287 = rotr_u32_c((v264 ^ v286), 16);
    const u32v v288 = v276 + v287;
    const u32v v289 = rotr_u32_c((v285 ^ v288), 12);
    const u32v v290 = (v286 + v289) + p_header_1;
    const u32v v291 = rotr_u32_c((v287 ^ v290), 8);
    const u32v v292 = rotr_u32_c((v291 ^ v275), 16);
    const u32v v293 = v284 + v292;
    const u32v v294 = rotr_u32_c((v274 ^ v293), 12);
    const u32v v295 = (v275 + v294) + p_header_3;
    const u32v v296 = rotr_u32_c((v260 ^ v263), 8);
    const u32v v297 = v261 + v296;
    const u32v v298 = rotr_u32_c((v262 ^ v297), 7);
    const u32v v299 = (v290 + v298) + p_header_4;
    const u32v v300 = rotr_u32_c((v283 ^ v299), 16);
    const u32v v301 = v273 + v300;
    const u32v v302 = rotr_u32_c((v298 ^ v301), 12);
    const u32v v303 = (v299 + v302) + p_header_7;
    const u32v v304 = rotr_u32_c((v300 ^ v303), 8);
    const u32v v305 = v301 + v304;
    const u32v v306 = rotr_u32_c((v302 ^ v305), 7);
    const u32v v307 = v295 + v306;
    const u32v v308 = v288 + v291;
    const u32v v309 = rotr_u32_c((v289 ^ v308), 7);
    const u32v v310 = (v282 + v309) + p_header_2;
    const u32v v311 = rotr_u32_c((v272 ^ v310), 16);
    const u32v v312 = v297 + v311;
    const u32v v313 = rotr_u32_c((v309 ^ v312), 12);
    const u32v v314 = (v310 + v313) + p_header_6;
    const u32v v315 = rotr_u32_c((v311 ^ v314), 8);
    const u32v v316 = v312 + v315;
    const u32v v317 = rotr_u32_c((v281 ^ v284), 7);
    const u32v v318 = (v271 + v317) + p_header_0;
    const u32v v319 = rotr_u32_c((v296 ^ v318), 16);
    const u32v v320 = v308 + v319;
    const u32v v321 = rotr_u32_c((v317 ^ v320), 12);
    const u32v v322 = v318 + v321;
    const u32v v323 = rotr_u32_c((v319 ^ v322), 8);
    const u32v v324 = rotr_u32_c((v323 ^ v307), 16);
    const u32v v325 = v316 + v324;
    const u32v v326 = rotr_u32_c((v306 ^ v325), 12);
    const u32v v327 = v307 + v326;
    const u32v v328 = rotr_u32_c((v292 ^ v295), 8);
    const u32v v329 = v293 + v328;
    const u32v v330 = rotr_u32_c((v294 ^ v329), 7);
    const u32v v331 = (v322 + v330) + p_header_5;
    const u32v v332 = rotr_u32_c((v315 ^ v331), 16);
    const u32v v333 = v305 + v332;
    const u32v v334 = rotr_u32_c((v330 ^ v333), 12);
    const u32v v335 = (v331 + v334) + p_header_0;
    const u32v v336 = rotr_u32_c((v332 ^ v335), 8);
    const u32v v337 = v333 + v336;
    const u32v v338 = rotr_u32_c((v334 ^ v337), 7);
    const u32v v339 = v327 + v338;
    const u32v v340 = v320 + v323;
    const u32v v341 = rotr_u32_c((v321 ^ v340), 7);
    const u32v v342 = (v314 + v341) + p_header_1;
    const u32v v343 = rotr_u32_c((v304 ^ v342), 16);
    const u32v v344 = v329 + v343;
    const u32v v345 = rotr_u32_c((v341 ^ v344), 12);
    const u32v v346 = (v342 + v345) + v7;
    const u32v v347 = rotr_u32_c((v343 ^ v346), 8);
    const u32v v348 = v344 + v347;
    const u32v v349 = rotr_u32_c((v313 ^ v316), 7);
    const u32v v350 = (v303 + v349) + v2;
    const u32v v351 = rotr_u32_c((v328 ^ v350), 16);
    const u32v v352 = v340 + v351;
    const u32v v353 = rotr_u32_c((v349 ^ v352), 12);
    const u32v v354 = (v350 + v353) + p_header_6;
    const u32v v355 = rotr_u32_c((v351 ^ v354), 8);
    const u32v v356 = rotr_u32_c((v355 ^ v339), 16);
    const u32v v357 = v348 + v356;
    const u32v v358 = rotr_u32_c((v338 ^ v357), 12);
    const u32v v359 = v339 + v358;
    const u32v v360 = rotr_u32_c((v324 ^ v327), 8);
    const u32v v361 = v325 + v360;
    const u32v v362 = v352 + v355;
    const u32v v363 = rotr_u32_c((v353 ^ v362), 7);
    const u32v v364 = (v346 + v363) + p_header_3;
    const u32v v365 = rotr_u32_c((v336 ^ v364), 16);
    const u32v v366 = v361 + v365;
    const u32v v367 = rotr_u32_c((v363 ^ v366), 12);
    const u32v v368 = (v364 + v367) + p_header_4;
    const u32v v369 = rotr_u32_c((v365 ^ v368), 8);
    const u32v v370 = v366 + v369;
    const u32v v371 = rotr_u32_c((v345 ^ v348), 7);
    const u32v v372 = (v335 + v371) + p_header_2;
    const u32v v373 = rotr_u32_c((v360 ^ v372), 16);
    const u32v v374 = v362 + v373;
    const u32v v375 = rotr_u32_c((v371 ^ v374), 12);
    const u32v v376 = v372 + v375;
    const u32v v377 = rotr_u32_c((v326 ^ v361), 7);
    const u32v v378 = (v354 + v377) + p_header_7;
    const u32v v379 = rotr_u32_c((v347 ^ v378), 16);
    const u32v v380 = v337 + v379;
    const u32v v381 = rotr_u32_c((v377 ^ v380), 12);
    const u32v v382 = v378 + v381;
    const u32v v383 = rotr_u32_c((v379 ^ v382), 8);
    const u32v v384 = v380 + v383;
    const u32v v385 = rotr_u32_c((v356 ^ v359), 8);
    const u32v v386 = v357 + v385;
    const u32v v387 = rotr_u32_c((v373 ^ v376), 8);
    const u32v v388 = v374 + v387;
    const u32v v389 = v359 ^ v370;
    const u32v v390 = v376 ^ v384;
    const u32v v391 = v368 ^ v386;
    const u32v v392 = v382 ^ v388;
    u32 at0[LANES]; quads_spots(v0, at0);
    u32v q1_0, q1_1, q1_2, q1_3; quads_turn((u32v)(v389), (u32v)(v390), (u32v)(v391), (u32v)(v392), (u32v *)&q1_0, (u32v *)&q1_1, (u32v *)&q1_2, (u32v *)&q1_3);
    if (whole) { quads_put(q1_0, (u32 *)(b_state) + (u64)at0[0] * 4, (u32 *)(b_state) + (u64)at0[4] * 4, (u32 *)(b_state) + (u64)at0[8] * 4, (u32 *)(b_state) + (u64)at0[12] * 4); quads_put(q1_1, (u32 *)(b_state) + (u64)at0[1] * 4, (u32 *)(b_state) + (u64)at0[5] * 4, (u32 *)(b_state) + (u64)at0[9] * 4, (u32 *)(b_state) + (u64)at0[13] * 4); quads_put(q1_2, (u32 *)(b_state) + (u64)at0[2] * 4, (u32 *)(b_state) + (u64)at0[6] * 4, (u32 *)(b_state) + (u64)at0[10] * 4, (u32 *)(b_state) + (u64)at0[14] * 4); quads_put(q1_3, (u32 *)(b_state) + (u64)at0[3] * 4, (u32 *)(b_state) + (u64)at0[7] * 4, (u32 *)(b_state) + (u64)at0[11] * 4, (u32 *)(b_state) + (u64)at0[15] * 4); }
    else quads_put_some((u32 *)(b_state), v0, active, (quads_rows){{q1_0, q1_1, q1_2, q1_3}});
    const u32v v393 = v0 + 1u;
    const u32v v394 = (rotr_u32_c((v381 ^ v384), 7)) ^ v387;
    const u32v v395 = (rotr_u32_c((v358 ^ v386), 7)) ^ v369;
    const u32v v396 = (rotr_u32_c((v375 ^ v388), 7)) ^ v383;
    const u32v v397 = (rotr_u32_c((v367 ^ v370), 7)) ^ v385;
    u32v q2_0, q2_1, q2_2, q2_3; quads_turn((u32v)(v394), (u32v)(v395), (u32v)(v396), (u32v)(v397), (u32v *)&q2_0, (u32v *)&q2_1, (u32v *)&q2_2, (u32v *)&q2_3);
    if (whole) { quads_put(q2_0, (u32 *)(b_state) + (u64)(at0[0] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[4] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[8] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[12] + 1u) * 4); quads_put(q2_1, (u32 *)(b_state) + (u64)(at0[1] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[5] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[9] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[13] + 1u) * 4); quads_put(q2_2, (u32 *)(b_state) + (u64)(at0[2] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[6] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[10] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[14] + 1u) * 4); quads_put(q2_3, (u32 *)(b_state) + (u64)(at0[3] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[7] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[11] + 1u) * 4, (u32 *)(b_state) + (u64)(at0[15] + 1u) * 4); }
    else quads_put_some((u32 *)(b_state), v393, active, (quads_rows){{q2_0, q2_1, q2_2, q2_3}});
  }
  return end - begin;
}
