/* kernel uhash-tell, 4 lanes */
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
static inline u32v bitSelect_u32_v(u32v a, u32v b, u32v c) { return (a & b) | (~a & c); }
#ifdef __aarch64__
#include <arm_neon.h>
#define byteSwap_u32_v(a) ((u32v)vrev32q_u8((uint8x16_t)(a)))
#else
static inline u32v byteSwap_u32_v(u32v a) { return (((a >> 8) | (a << 24)) & 0xff00ff00u) | (((a >> 24) | (a << 8)) & 0x00ff00ffu); }
#endif
#ifdef __aarch64__
#include <arm_neon.h>
#define rotr_u32_c(a, b) ((b) == 16 ? (u32v)vrev32q_u16((uint16x8_t)(a)) : (b) == 8 ? (u32v)vqtbl1q_u8((uint8x16_t)(a), (uint8x16_t){1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12}) : ({ const uint32x4_t rotated = (uint32x4_t)(a); (u32v)vsriq_n_u32(vshlq_n_u32(rotated, 32 - (b) & 31), rotated, (b) ? (b) : 32); }))
#else
static inline u32v rotr_u32_c(u32v a, int b) { return (((u32v)a >> b) | ((u32v)a << (32 - b))); }
#endif
static const u32 table_0[64] = {0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u, 0xfc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau, 0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x6ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u, 0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u, 0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const u32 *const params = (const u32 *)launch[0];
  u32 *const control = (u32 *)launch[1];
  const u32 epoch = (u32)launch[2];
  u32 *const b_state = (u32 *)launch[3];
  u32 *const b_best = (u32 *)launch[5];
  u32 *const b_ring = (u32 *)launch[7];
  const u32 p_ringCapacity = params[0];
  for (u64 first = begin; first < end; first += LANES) {
    const u32v item = splat_u32((u32)first) + lane_numbers;
    const bool whole = end - first >= LANES;
    const i32v active = whole ? splat_bool(1) : (i32v)(lane_numbers < (u32)(end - first));
    if (((first - begin) & 1023) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
    u32v v0 = {0};
    for (int l = 0; l < LANES; l++) if (active[l]) { v0[l] = __atomic_load_n(&b_best[0u], __ATOMIC_RELAXED); }
    const i32v v1 = active & ((i32v)(v0 != 0xffffffffu));
    if (any(v1)) {
      const u32v v2 = v0 << 2;
      const u32v v3 = v2 << 1;
      u32v v4 = {0};
      u32v v5 = {0};
      u32v v6 = {0};
      u32v v7 = {0};
      for (int l = 0; l < LANES; l++) if (v1[l]) { v4[l] = b_state[(u64)v3[l] * 4]; v5[l] = b_state[(u64)v3[l] * 4 + 1]; v6[l] = b_state[(u64)v3[l] * 4 + 2]; v7[l] = b_state[(u64)v3[l] * 4 + 3]; }
      const u32v v8 = v3 + 1u;
      u32v v9 = {0};
      u32v v10 = {0};
      u32v v11 = {0};
      u32v v12 = {0};
      for (int l = 0; l < LANES; l++) if (v1[l]) { v9[l] = b_state[(u64)v8[l] * 4]; v10[l] = b_state[(u64)v8[l] * 4 + 1]; v11[l] = b_state[(u64)v8[l] * 4 + 2]; v12[l] = b_state[(u64)v8[l] * 4 + 3]; }
      const u32v v13 = (v2 + 1u) << 1;
      u32v v14 = {0};
      u32v v15 = {0};
      u32v v16 = {0};
      u32v v17 = {0};
      for (int l = 0; l < LANES; l++) if (v1[l]) { v14[l] = b_state[(u64)v13[l] * 4]; v15[l] = b_state[(u64)v13[l] * 4 + 1]; v16[l] = b_state[(u64)v13[l] * 4 + 2]; v17[l] = b_state[(u64)v13[l] * 4 + 3]; }
      const u32v v18 = v13 + 1u;
      u32v v19 = {0};
      u32v v20 = {0};
      u32v v21 = {0};
      u32v v22 = {0};
      for (int l = 0; l < LANES; l++) if (v1[l]) { v19[l] = b_state[(u64)v18[l] * 4]; v20[l] = b_state[(u64)v18[l] * 4 + 1]; v21[l] = b_state[(u64)v18[l] * 4 + 2]; v22[l] = b_state[(u64)v18[l] * 4 + 3]; }
      const u32v v23 = (v2 + 2u) << 1;
      u32v v24 = {0};
      u32v v25 = {0};
      u32v v26 = {0};
      u32v v27 = {0};
      for (int l = 0; l < LANES; l++) if (v1[l]) { v24[l] = b_state[(u64)v23[l] * 4]; v25[l] = b_state[(u64)v23[l] * 4 + 1]; v26[l] = b_state[(u64)v23[l] * 4 + 2]; v27[l] = b_state[(u64)v23[l] * 4 + 3]; }
      const u32v v28 = v23 + 1u;
      u32v v29 = {0};
      u32v v30 = {0};
      u32v v31 = {0};
      u32v v32 = {0};
      for (int l = 0; l < LANES; l++) if (v1[l]) { v29[l] = b_state[(u64)v28[l] * 4]; v30[l] = b_state[(u64)v28[l] * 4 + 1]; v31[l] = b_state[(u64)v28[l] * 4 + 2]; v32[l] = b_state[(u64)v28[l] * 4 + 3]; }
      const u32v v33 = (v2 + 3u) << 1;
      u32v v34 = {0};
      u32v v35 = {0};
      u32v v36 = {0};
      u32v v37 = {0};
      for (int l = 0; l < LANES; l++) if (v1[l]) { v34[l] = b_state[(u64)v33[l] * 4]; v35[l] = b_state[(u64)v33[l] * 4 + 1]; v36[l] = b_state[(u64)v33[l] * 4 + 2]; v37[l] = b_state[(u64)v33[l] * 4 + 3]; }
      const u32v v38 = v33 + 1u;
      u32v v39 = {0};
      u32v v40 = {0};
      u32v v41 = {0};
      u32v v42 = {0};
      for (int l = 0; l < LANES; l++) if (v1[l]) { v39[l] = b_state[(u64)v38[l] * 4]; v40[l] = b_state[(u64)v38[l] * 4 + 1]; v41[l] = b_state[(u64)v38[l] * 4 + 2]; v42[l] = b_state[(u64)v38[l] * 4 + 3]; }
      u32v c0 = splat_u32(0x6a09e667u);
      u32v c1 = splat_u32(0xbb67ae85u);
      u32v c2 = splat_u32(0x3c6ef372u);
      u32v c3 = splat_u32(0xa54ff53au);
      u32v c4 = splat_u32(0x510e527fu);
      u32v c5 = splat_u32(0x9b05688cu);
      u32v c6 = splat_u32(0x1f83d9abu);
      u32v c7 = splat_u32(0x5be0cd19u);
      u32v c8 = byteSwap_u32_v((((v4 ^ v14) ^ v24) ^ v34));
      u32v c9 = byteSwap_u32_v((((v5 ^ v15) ^ v25) ^ v35));
      u32v c10 = byteSwap_u32_v((((v6 ^ v16) ^ v26) ^ v36));
      u32v c11 = byteSwap_u32_v((((v7 ^ v17) ^ v27) ^ v37));
      u32v c12 = byteSwap_u32_v((((v9 ^ v19) ^ v29) ^ v39));
      u32v c13 = byteSwap_u32_v((((v10 ^ v20) ^ v30) ^ v40));
      u32v c14 = byteSwap_u32_v((((v11 ^ v21) ^ v31) ^ v41));
      u32v c15 = byteSwap_u32_v((((v12 ^ v22) ^ v32) ^ v42));
      u32v c16 = splat_u32(0x80000000u);
      u32v c17 = splat_u32(0u);
      u32v c18 = splat_u32(0u);
      u32v c19 = splat_u32(0u);
      u32v c20 = splat_u32(0u);
      u32v c21 = splat_u32(0u);
      u32v c22 = splat_u32(0u);
      u32v c23 = splat_u32(256u);
      for (u32 v43 = 0; v43 < 4u; v43++) {
        const u32v v44 = c8;
        const u32v v45 = c9;
        const u32v v46 = c10;
        const u32v v47 = c11;
        const u32v v48 = c12;
        const u32v v49 = c13;
        const u32v v50 = c14;
        const u32v v51 = c15;
        const u32v v52 = c16;
        const u32v v53 = c17;
        const u32v v54 = c18;
        const u32v v55 = c19;
        const u32v v56 = c20;
        const u32v v57 = c21;
        const u32v v58 = c22;
        const u32v v59 = c23;
        const u32v v60 = c0;
        const u32v v61 = c1;
        const u32v v62 = c2;
        const u32v v63 = c3;
        const u32v v64 = c4;
        const u32v v65 = c5;
        const u32v v66 = c6;
        const u32v v67 = c7;
        const u32 v68 = v43 << 4;
        const u32v v69 = ((rotr_u32_c(v64, 6)) ^ (rotr_u32_c(v64, 11))) ^ (rotr_u32_c(v64, 25));
        const u32v v70 = (((v67 + v69) + (bitSelect_u32_v(v64, v65, v66))) + v44) + (table_0[v68]);
        const u32v v71 = v63 + v70;
        const u32v v72 = ((rotr_u32_c(v71, 6)) ^ (rotr_u32_c(v71, 11))) ^ (rotr_u32_c(v71, 25));
        const u32v v73 = (((v66 + v72) + (bitSelect_u32_v(v71, v64, v65))) + v45) + (table_0[(v68 + 1u)]);
        const u32v v74 = v62 + v73;
        const u32v v75 = ((rotr_u32_c(v74, 6)) ^ (rotr_u32_c(v74, 11))) ^ (rotr_u32_c(v74, 25));
        const u32v v76 = (((v65 + v75) + (bitSelect_u32_v(v74, v71, v64))) + v46) + (table_0[(v68 + 2u)]);
        const u32v v77 = v61 + v76;
        const u32v v78 = ((rotr_u32_c(v77, 6)) ^ (rotr_u32_c(v77, 11))) ^ (rotr_u32_c(v77, 25));
        const u32v v79 = (((v64 + v78) + (bitSelect_u32_v(v77, v74, v71))) + v47) + (table_0[(v68 + 3u)]);
        const u32v v80 = v60 + v79;
        const u32v v81 = ((rotr_u32_c(v60, 2)) ^ (rotr_u32_c(v60, 13))) ^ (rotr_u32_c(v60, 22));
        const u32v v82 = (v70 + v81) + ((v60 & v61) | (v62 & (v60 | v61)));
        const u32v v83 = ((rotr_u32_c(v82, 2)) ^ (rotr_u32_c(v82, 13))) ^ (rotr_u32_c(v82, 22));
        const u32v v84 = (v73 + v83) + ((v82 & v60) | (v61 & (v82 | v60)));
        const u32v v85 = ((rotr_u32_c(v84, 2)) ^ (rotr_u32_c(v84, 13))) ^ (rotr_u32_c(v84, 22));
        const u32v v86 = (v76 + v85) + ((v84 & v82) | (v60 & (v84 | v82)));
        const u32v v87 = ((rotr_u32_c(v80, 6)) ^ (rotr_u32_c(v80, 11))) ^ (rotr_u32_c(v80, 25));
        const u32v v88 = (((v71 + v87) + (bitSelect_u32_v(v80, v77, v74))) + v48) + (table_0[(v68 + 4u)]);
        const u32v v89 = v82 + v88;
        const u32v v90 = ((rotr_u32_c(v89, 6)) ^ (rotr_u32_c(v89, 11))) ^ (rotr_u32_c(v89, 25));
        const u32v v91 = (((v74 + v90) + (bitSelect_u32_v(v89, v80, v77))) + v49) + (table_0[(v68 + 5u)]);
        const u32v v92 = v84 + v91;
        const u32v v93 = ((rotr_u32_c(v92, 6)) ^ (rotr_u32_c(v92, 11))) ^ (rotr_u32_c(v92, 25));
        const u32v v94 = (((v77 + v93) + (bitSelect_u32_v(v92, v89, v80))) + v50) + (table_0[(v68 + 6u)]);
        const u32v v95 = v86 + v94;
        const u32v v96 = ((rotr_u32_c(v95, 6)) ^ (rotr_u32_c(v95, 11))) ^ (rotr_u32_c(v95, 25));
        const u32v v97 = (((v80 + v96) + (bitSelect_u32_v(v95, v92, v89))) + v51) + (table_0[(v68 + 7u)]);
        const u32v v98 = ((rotr_u32_c(v86, 2)) ^ (rotr_u32_c(v86, 13))) ^ (rotr_u32_c(v86, 22));
        const u32v v99 = (v79 + v98) + ((v86 & v84) | (v82 & (v86 | v84)));
        const u32v v100 = ((rotr_u32_c(v99, 2)) ^ (rotr_u32_c(v99, 13))) ^ (rotr_u32_c(v99, 22));
        const u32v v101 = (v88 + v100) + ((v99 & v86) | (v84 & (v99 | v86)));
        const u32v v102 = ((rotr_u32_c(v101, 2)) ^ (rotr_u32_c(v101, 13))) ^ (rotr_u32_c(v101, 22));
        const u32v v103 = (v91 + v102) + ((v101 & v99) | (v86 & (v101 | v99)));
        const u32v v104 = ((rotr_u32_c(v103, 2)) ^ (rotr_u32_c(v103, 13))) ^ (rotr_u32_c(v103, 22));
        const u32v v105 = (v94 + v104) + ((v103 & v101) | (v99 & (v103 | v101)));
        const u32v v106 = ((rotr_u32_c(v105, 2)) ^ (rotr_u32_c(v105, 13))) ^ (rotr_u32_c(v105, 22));
        const u32v v107 = (v97 + v106) + ((v105 & v103) | (v101 & (v105 | v103)));
        const u32v v108 = v99 + v97;
        const u32v v109 = ((rotr_u32_c(v108, 6)) ^ (rotr_u32_c(v108, 11))) ^ (rotr_u32_c(v108, 25));
        const u32v v110 = (((v89 + v109) + (bitSelect_u32_v(v108, v95, v92))) + v52) + (table_0[(v68 + 8u)]);
        const u32v v111 = v101 + v110;
        const u32v v112 = ((rotr_u32_c(v111, 6)) ^ (rotr_u32_c(v111, 11))) ^ (rotr_u32_c(v111, 25));
        const u32v v113 = (((v92 + v112) + (bitSelect_u32_v(v111, v108, v95))) + v53) + (table_0[(v68 + 9u)]);
        const u32v v114 = v103 + v113;
        const u32v v115 = ((rotr_u32_c(v114, 6)) ^ (rotr_u32_c(v114, 11))) ^ (rotr_u32_c(v114, 25));
        const u32v v116 = (((v95 + v115) + (bitSelect_u32_v(v114, v111, v108))) + v54) + (table_0[(v68 + 10u)]);
        const u32v v117 = v105 + v116;
        const u32v v118 = ((rotr_u32_c(v117, 6)) ^ (rotr_u32_c(v117, 11))) ^ (rotr_u32_c(v117, 25));
        const u32v v119 = (((v108 + v118) + (bitSelect_u32_v(v117, v114, v111))) + v55) + (table_0[(v68 + 11u)]);
        const u32v v120 = v107 + v119;
        const u32v v121 = ((rotr_u32_c(v107, 2)) ^ (rotr_u32_c(v107, 13))) ^ (rotr_u32_c(v107, 22));
        const u32v v122 = (v110 + v121) + ((v107 & v105) | (v103 & (v107 | v105)));
        const u32v v123 = ((rotr_u32_c(v122, 2)) ^ (rotr_u32_c(v122, 13))) ^ (rotr_u32_c(v122, 22));
        const u32v v124 = (v113 + v123) + ((v122 & v107) | (v105 & (v122 | v107)));
        const u32v v125 = ((rotr_u32_c(v124, 2)) ^ (rotr_u32_c(v124, 13))) ^ (rotr_u32_c(v124, 22));
        const u32v v126 = (v116 + v125) + ((v124 & v122) | (v107 & (v124 | v122)));
        const u32v v127 = ((rotr_u32_c(v120, 6)) ^ (rotr_u32_c(v120, 11))) ^ (rotr_u32_c(v120, 25));
        const u32v v128 = (((v111 + v127) + (bitSelect_u32_v(v120, v117, v114))) + v56) + (table_0[(v68 + 12u)]);
        const u32v v129 = v122 + v128;
        const u32v v130 = ((rotr_u32_c(v129, 6)) ^ (rotr_u32_c(v129, 11))) ^ (rotr_u32_c(v129, 25));
        const u32v v131 = (((v114 + v130) + (bitSelect_u32_v(v129, v120, v117))) + v57) + (table_0[(v68 + 13u)]);
        const u32v v132 = v124 + v131;
        const u32v v133 = ((rotr_u32_c(v132, 6)) ^ (rotr_u32_c(v132, 11))) ^ (rotr_u32_c(v132, 25));
        const u32v v134 = (((v117 + v133) + (bitSelect_u32_v(v132, v129, v120))) + v58) + (table_0[(v68 + 14u)]);
        const u32v v135 = v126 + v134;
        const u32v v136 = ((rotr_u32_c(v135, 6)) ^ (rotr_u32_c(v135, 11))) ^ (rotr_u32_c(v135, 25));
        const u32v v137 = (((v120 + v136) + (bitSelect_u32_v(v135, v132, v129))) + v59) + (table_0[(v68 + 15u)]);
        const u32v v138 = ((rotr_u32_c(v126, 2)) ^ (rotr_u32_c(v126, 13))) ^ (rotr_u32_c(v126, 22));
        const u32v v139 = (v119 + v138) + ((v126 & v124) | (v122 & (v126 | v124)));
        const u32v v140 = ((rotr_u32_c(v139, 2)) ^ (rotr_u32_c(v139, 13))) ^ (rotr_u32_c(v139, 22));
        const u32v v141 = (v128 + v140) + ((v139 & v126) | (v124 & (v139 | v126)));
        const u32v v142 = ((rotr_u32_c(v141, 2)) ^ (rotr_u32_c(v141, 13))) ^ (rotr_u32_c(v141, 22));
        const u32v v143 = (v131 + v142) + ((v141 & v139) | (v126 & (v141 | v139)));
        const u32v v144 = ((rotr_u32_c(v143, 2)) ^ (rotr_u32_c(v143, 13))) ^ (rotr_u32_c(v143, 22));
        const u32v v145 = (v134 + v144) + ((v143 & v141) | (v139 & (v143 | v141)));
        const u32v v146 = ((rotr_u32_c(v145, 2)) ^ (rotr_u32_c(v145, 13))) ^ (rotr_u32_c(v145, 22));
        const u32v v147 = (v137 + v146) + ((v145 & v143) | (v141 & (v145 | v143)));
        c0 = v147;
        c1 = v145;
        c2 = v143;
        c3 = v141;
        c4 = v139 + v137;
        c5 = v135;
        c6 = v132;
        c7 = v129;
        if (v43 < 3u) {
          const u32v v148 = ((rotr_u32_c(v58, 17)) ^ (rotr_u32_c(v58, 19))) ^ (v58 >> 10);
          const u32v v149 = ((rotr_u32_c(v45, 7)) ^ (rotr_u32_c(v45, 18))) ^ (v45 >> 3);
          const u32v v150 = ((v148 + v53) + v149) + v44;
          c8 = v150;
          const u32v v151 = ((rotr_u32_c(v59, 17)) ^ (rotr_u32_c(v59, 19))) ^ (v59 >> 10);
          const u32v v152 = ((rotr_u32_c(v46, 7)) ^ (rotr_u32_c(v46, 18))) ^ (v46 >> 3);
          const u32v v153 = ((v151 + v54) + v152) + v45;
          c9 = v153;
          const u32v v154 = ((rotr_u32_c(v150, 17)) ^ (rotr_u32_c(v150, 19))) ^ (v150 >> 10);
          const u32v v155 = ((rotr_u32_c(v47, 7)) ^ (rotr_u32_c(v47, 18))) ^ (v47 >> 3);
          const u32v v156 = ((v154 + v55) + v155) + v46;
          c10 = v156;
          const u32v v157 = ((rotr_u32_c(v153, 17)) ^ (rotr_u32_c(v153, 19))) ^ (v153 >> 10);
          const u32v v158 = ((rotr_u32_c(v48, 7)) ^ (rotr_u32_c(v48, 18))) ^ (v48 >> 3);
          const u32v v159 = ((v157 + v56) + v158) + v47;
          c11 = v159;
          const u32v v160 = ((rotr_u32_c(v156, 17)) ^ (rotr_u32_c(v156, 19))) ^ (v156 >> 10);
          const u32v v161 = ((rotr_u32_c(v49, 7)) ^ (rotr_u32_c(v49, 18))) ^ (v49 >> 3);
          const u32v v162 = ((v160 + v57) + v161) + v48;
          c12 = v162;
          const u32v v163 = ((rotr_u32_c(v159, 17)) ^ (rotr_u32_c(v159, 19))) ^ (v159 >> 10);
          const u32v v164 = ((rotr_u32_c(v50, 7)) ^ (rotr_u32_c(v50, 18))) ^ (v50 >> 3);
          const u32v v165 = ((v163 + v58) + v164) + v49;
          c13 = v165;
          const u32v v166 = ((rotr_u32_c(v162, 17)) ^ (rotr_u32_c(v162, 19))) ^ (v162 >> 10);
          const u32v v167 = ((rotr_u32_c(v51, 7)) ^ (rotr_u32_c(v51, 18))) ^ (v51 >> 3);
          const u32v v168 = ((v166 + v59) + v167) + v50;
          c14 = v168;
          const u32v v169 = ((rotr_u32_c(v165, 17)) ^ (rotr_u32_c(v165, 19))) ^ (v165 >> 10);
          const u32v v170 = ((rotr_u32_c(v52, 7)) ^ (rotr_u32_c(v52, 18))) ^ (v52 >> 3);
          const u32v v171 = ((v169 + v150) + v170) + v51;
          c15 = v171;
          const u32v v172 = ((rotr_u32_c(v168, 17)) ^ (rotr_u32_c(v168, 19))) ^ (v168 >> 10);
          const u32v v173 = ((rotr_u32_c(v53, 7)) ^ (rotr_u32_c(v53, 18))) ^ (v53 >> 3);
          const u32v v174 = ((v172 + v153) + v173) + v52;
          c16 = v174;
          const u32v v175 = ((rotr_u32_c(v171, 17)) ^ (rotr_u32_c(v171, 19))) ^ (v171 >> 10);
          const u32v v176 = ((rotr_u32_c(v54, 7)) ^ (rotr_u32_c(v54, 18))) ^ (v54 >> 3);
          const u32v v177 = ((v175 + v156) + v176) + v53;
          c17 = v177;
          const u32v v178 = ((rotr_u32_c(v174, 17)) ^ (rotr_u32_c(v174, 19))) ^ (v174 >> 10);
          const u32v v179 = ((rotr_u32_c(v55, 7)) ^ (rotr_u32_c(v55, 18))) ^ (v55 >> 3);
          const u32v v180 = ((v178 + v159) + v179) + v54;
          c18 = v180;
          const u32v v181 = ((rotr_u32_c(v177, 17)) ^ (rotr_u32_c(v177, 19))) ^ (v177 >> 10);
          const u32v v182 = ((rotr_u32_c(v56, 7)) ^ (rotr_u32_c(v56, 18))) ^ (v56 >> 3);
          const u32v v183 = ((v181 + v162) + v182) + v55;
          c19 = v183;
          const u32v v184 = ((rotr_u32_c(v180, 17)) ^ (rotr_u32_c(v180, 19))) ^ (v180 >> 10);
          const u32v v185 = ((rotr_u32_c(v57, 7)) ^ (rotr_u32_c(v57, 18))) ^ (v57 >> 3);
          const u32v v186 = ((v184 + v165) + v185) + v56;
          c20 = v186;
          const u32v v187 = ((rotr_u32_c(v183, 17)) ^ (rotr_u32_c(v183, 19))) ^ (v183 >> 10);
          const u32v v188 = ((rotr_u32_c(v58, 7)) ^ (rotr_u32_c(v58, 18))) ^ (v58 >> 3);
          const u32v v189 = ((v187 + v168) + v188) + v57;
          c21 = v189;
          const u32v v190 = ((rotr_u32_c(v186, 17)) ^ (rotr_u32_c(v186, 19))) ^ (v186 >> 10);
          const u32v v191 = ((rotr_u32_c(v59, 7)) ^ (rotr_u32_c(v59, 18))) ^ (v59 >> 3);
          c22 = ((v190 + v171) + v191) + v58;
          const u32v v192 = ((rotr_u32_c(v189, 17)) ^ (rotr_u32_c(v189, 19))) ^ (v189 >> 10);
          const u32v v193 = ((rotr_u32_c(v150, 7)) ^ (rotr_u32_c(v150, 18))) ^ (v150 >> 3);
          c23 = ((v192 + v174) + v193) + v59;
        }
      }
      const u32v v194 = c0;
      const u32v v195 = c1;
      const u32v v196 = c2;
      const u32v v197 = c3;
      const u32v v198 = c4;
      const u32v v199 = c5;
      const u32v v200 = c6;
      const u32v v201 = c7;
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
      u32v c40 = byteSwap_u32_v((v194 + 0x6a09e667u));
      u32v c41 = byteSwap_u32_v((v195 + 0xbb67ae85u));
      u32v c42 = byteSwap_u32_v((v196 + 0x3c6ef372u));
      u32v c43 = byteSwap_u32_v((v197 + 0xa54ff53au));
      u32v c44 = byteSwap_u32_v((v198 + 0x510e527fu));
      u32v c45 = byteSwap_u32_v((v199 + 0x9b05688cu));
      u32v c46 = byteSwap_u32_v((v200 + 0x1f83d9abu));
      u32v c47 = byteSwap_u32_v((v201 + 0x5be0cd19u));
      u32v c48 = splat_u32(0u);
      u32v c49 = splat_u32(0u);
      u32v c50 = splat_u32(0u);
      u32v c51 = splat_u32(0u);
      u32v c52 = splat_u32(0u);
      u32v c53 = splat_u32(0u);
      u32v c54 = splat_u32(0u);
      u32v c55 = splat_u32(0u);
      for (u32 v202 = 0; v202 < 7u; v202++) {
        const u32v v203 = c24;
        const u32v v204 = c25;
        const u32v v205 = c26;
        const u32v v206 = c27;
        const u32v v207 = c28;
        const u32v v208 = c29;
        const u32v v209 = c30;
        const u32v v210 = c31;
        const u32v v211 = c32;
        const u32v v212 = c33;
        const u32v v213 = c34;
        const u32v v214 = c35;
        const u32v v215 = c36;
        const u32v v216 = c37;
        const u32v v217 = c38;
        const u32v v218 = c39;
        const u32v v219 = c40;
        const u32v v220 = c41;
        const u32v v221 = c42;
        const u32v v222 = c43;
        const u32v v223 = c44;
        const u32v v224 = c45;
        const u32v v225 = c46;
        const u32v v226 = c47;
        const u32v v227 = c48;
        const u32v v228 = c49;
        const u32v v229 = c50;
        const u32v v230 = c51;
        const u32v v231 = c52;
        const u32v v232 = c53;
        const u32v v233 = c54;
        const u32v v234 = c55;
        const u32v v235 = (v203 + v207) + v219;
        const u32v v236 = rotr_u32_c((v215 ^ v235), 16);
        const u32v v237 = v211 + v236;
        const u32v v238 = rotr_u32_c((v207 ^ v237), 12);
        const u32v v239 = (v235 + v238) + v220;
        const u32v v240 = (v204 + v208) + v221;
        const u32v v241 = rotr_u32_c((v216 ^ v240), 16);
        const u32v v242 = v212 + v241;
        const u32v v243 = rotr_u32_c((v208 ^ v242), 12);
        const u32v v244 = (v240 + v243) + v222;
        const u32v v245 = rotr_u32_c((v241 ^ v244), 8);
        const u32v v246 = v242 + v245;
        const u32v v247 = rotr_u32_c((v243 ^ v246), 7);
        const u32v v248 = (v239 + v247) + v227;
        const u32v v249 = (v205 + v209) + v223;
        const u32v v250 = rotr_u32_c((v217 ^ v249), 16);
        const u32v v251 = v213 + v250;
        const u32v v252 = rotr_u32_c((v209 ^ v251), 12);
        const u32v v253 = (v249 + v252) + v224;
        const u32v v254 = rotr_u32_c((v250 ^ v253), 8);
        const u32v v255 = v251 + v254;
        const u32v v256 = (v206 + v210) + v225;
        const u32v v257 = rotr_u32_c((v218 ^ v256), 16);
        const u32v v258 = v214 + v257;
        const u32v v259 = rotr_u32_c((v210 ^ v258), 12);
        const u32v v260 = (v256 + v259) + v226;
        const u32v v261 = rotr_u32_c((v257 ^ v260), 8);
        const u32v v262 = rotr_u32_c((v261 ^ v248), 16);
        const u32v v263 = v255 + v262;
        const u32v v264 = rotr_u32_c((v247 ^ v263), 12);
        const u32v v265 = (v248 + v264) + v228;
        c24 = v265;
        const u32v v266 = rotr_u32_c((v252 ^ v255), 7);
        const u32v v267 = (v244 + v266) + v229;
        const u32v v268 = v258 + v261;
        const u32v v269 = rotr_u32_c((v236 ^ v239), 8);
        const u32v v270 = rotr_u32_c((v269 ^ v267), 16);
        const u32v v271 = v268 + v270;
        const u32v v272 = rotr_u32_c((v266 ^ v271), 12);
        const u32v v273 = (v267 + v272) + v230;
        c25 = v273;
        const u32v v274 = rotr_u32_c((v259 ^ v268), 7);
        const u32v v275 = (v253 + v274) + v231;
        const u32v v276 = v237 + v269;
        const u32v v277 = rotr_u32_c((v245 ^ v275), 16);
        const u32v v278 = v276 + v277;
        const u32v v279 = rotr_u32_c((v274 ^ v278), 12);
        const u32v v280 = (v275 + v279) + v232;
        c26 = v280;
        const u32v v281 = rotr_u32_c((v238 ^ v276), 7);
        const u32v v282 = (v260 + v281) + v233;
        const u32v v283 = rotr_u32_c((v254 ^ v282), 16);
        const u32v v284 = v246 + v283;
        const u32v v285 = rotr_u32_c((v281 ^ v284), 12);
        const u32v v286 = (v282 + v285) + v234;
        c27 = v286;
        const u32v v287 = rotr_u32_c((v283 ^ v286), 8);
        const u32v v288 = v284 + v287;
        c28 = rotr_u32_c((v285 ^ v288), 7);
        const u32v v289 = rotr_u32_c((v262 ^ v265), 8);
        const u32v v290 = v263 + v289;
        c29 = rotr_u32_c((v264 ^ v290), 7);
        const u32v v291 = rotr_u32_c((v270 ^ v273), 8);
        const u32v v292 = v271 + v291;
        c30 = rotr_u32_c((v272 ^ v292), 7);
        const u32v v293 = rotr_u32_c((v277 ^ v280), 8);
        const u32v v294 = v278 + v293;
        c31 = rotr_u32_c((v279 ^ v294), 7);
        c32 = v294;
        c33 = v288;
        c34 = v290;
        c35 = v292;
        c36 = v291;
        c37 = v293;
        c38 = v287;
        c39 = v289;
        c40 = v221;
        c41 = v225;
        c42 = v222;
        c43 = v229;
        c44 = v226;
        c45 = v219;
        c46 = v223;
        c47 = v232;
        c48 = v220;
        c49 = v230;
        c50 = v231;
        c51 = v224;
        c52 = v228;
        c53 = v233;
        c54 = v234;
        c55 = v227;
      }
      const u32v v295 = c24;
      const u32v v296 = c25;
      const u32v v297 = c26;
      const u32v v298 = c27;
      const u32v v299 = c28;
      const u32v v300 = c29;
      const u32v v301 = c30;
      const u32v v302 = c31;
      const u32v v303 = c32;
      const u32v v304 = c33;
      const u32v v305 = c34;
      const u32v v306 = c35;
      const u32v v307 = c36;
      const u32v v308 = c37;
      const u32v v309 = c38;
      const u32v v310 = c39;
      u32v v311 = {0};
      for (int l = 0; l < LANES; l++) if (v1[l]) { v311[l] = __atomic_fetch_add(&b_ring[0u], 1u, __ATOMIC_RELAXED); }
      const i32v v312 = v1 & ((i32v)(v311 < p_ringCapacity));
      if (any(v312)) {
        const u32v v313 = v311 * 10u;
        const u32v v314 = v313 + 4u;
        for (int l = 0; l < LANES; l++) if (v312[l]) { __atomic_store_n(&b_ring[v314[l]], item[l], __ATOMIC_RELAXED); }
        const u32v v315 = v313 + 5u;
        for (int l = 0; l < LANES; l++) if (v312[l]) { __atomic_store_n(&b_ring[v315[l]], v0[l], __ATOMIC_RELAXED); }
        const u32v v316 = v313 + 6u;
        const u32v v317 = v295 ^ v303;
        for (int l = 0; l < LANES; l++) if (v312[l]) { __atomic_store_n(&b_ring[v316[l]], v317[l], __ATOMIC_RELAXED); }
        const u32v v318 = v313 + 7u;
        const u32v v319 = v296 ^ v304;
        for (int l = 0; l < LANES; l++) if (v312[l]) { __atomic_store_n(&b_ring[v318[l]], v319[l], __ATOMIC_RELAXED); }
        const u32v v320 = v313 + 8u;
        const u32v v321 = v297 ^ v305;
        for (int l = 0; l < LANES; l++) if (v312[l]) { __atomic_store_n(&b_ring[v320[l]], v321[l], __ATOMIC_RELAXED); }
        const u32v v322 = v313 + 9u;
        const u32v v323 = v298 ^ v306;
        for (int l = 0; l < LANES; l++) if (v312[l]) { __atomic_store_n(&b_ring[v322[l]], v323[l], __ATOMIC_RELAXED); }
        const u32v v324 = v313 + 10u;
        const u32v v325 = v299 ^ v307;
        for (int l = 0; l < LANES; l++) if (v312[l]) { __atomic_store_n(&b_ring[v324[l]], v325[l], __ATOMIC_RELAXED); }
        const u32v v326 = v313 + 11u;
        const u32v v327 = v300 ^ v308;
        for (int l = 0; l < LANES; l++) if (v312[l]) { __atomic_store_n(&b_ring[v326[l]], v327[l], __ATOMIC_RELAXED); }
        const u32v v328 = v313 + 12u;
        const u32v v329 = v301 ^ v309;
        for (int l = 0; l < LANES; l++) if (v312[l]) { __atomic_store_n(&b_ring[v328[l]], v329[l], __ATOMIC_RELAXED); }
        const u32v v330 = v313 + 13u;
        const u32v v331 = v302 ^ v310;
        for (int l = 0; l < LANES; l++) if (v312[l]) { __atomic_store_n(&b_ring[v330[l]], v331[l], __ATOMIC_RELAXED); }
      }
    }
  }
  return end - begin;
}
