/* kernel words, 1 lane */
#include <stdint.h>
typedef uint32_t u32; typedef int32_t i32; typedef unsigned long long u64; typedef float f32; typedef double f64; typedef int bool;
static inline u32 bitSelect_u32(u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }
static inline u32 mulHi_u32(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
static inline u32 select_u32(bool a, u32 b, u32 c) { return a ? b : c; }
static inline u32 shl_u32(u32 a, u32 b) { return ((u32)a << (b & 31)); }
static inline u32 shr_u32(u32 a, u32 b) { return a >> (b & 31); }
typedef u32 u32x4 __attribute__((vector_size(16), aligned(4), may_alias));

uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const u32 *const params = (const u32 *)launch[0];
  u32 *const control = (u32 *)launch[1];
  const u32 epoch = (u32)launch[2];
  const u32 *const b_near = (const u32 *)launch[3];
  const u32 *const b_middle = (const u32 *)launch[5];
  const u32 *const b_far = (const u32 *)launch[7];
  u32 *const b_out = (u32 *)launch[9];
  u32 *const b_ring = (u32 *)launch[11];
  const u32 p_block_1 = params[0];
  const u32 p_block_2 = params[1];
  const u32 p_block_0 = params[2];
  const u32 p_phases_1 = params[3];
  const u32 p_phases_2 = params[4];
  const u32 p_phases_0 = params[5];
  const u32 p_periods = params[6];
  const u32 p_period_1 = params[7];
  const u32 p_period_2 = params[8];
  const u32 p_rows_1 = params[9];
  const u32 p_rows_2 = params[10];
  const u32 p_rows_0 = params[11];
  const u32 p_rowQuads = params[12];
  const u32 p_period_0 = params[13];
  const u32 p_job_14 = params[14];
  const u32 p_nextQuad = params[15];
  const u32 p_nextPhase = params[16];
  const u32 p_quad = params[17];
  const u32 p_shift = params[18];
  const u32 p_row = params[19];
  const u32 p_block = params[20];
  for (u64 first = begin; first < end; first++) {
    const u32 item = (u32)first;
    if (((first - begin) & 1023) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
    const u32 v0 = item << 5;
    const u32 v1 = v0 + p_quad;
    const u32 v2 = shr_u32((mulHi_u32((v1 + v1), p_block_1)), p_block_2);
    const u32 v3 = v1 - (v2 * p_block_0);
    u32 c0 = v3;
    const u32 v4 = v3 - ((shr_u32((mulHi_u32((v3 + v3), p_phases_1)), p_phases_2)) * p_phases_0);
    u32 c1 = v4;
    const u32 v5 = (v3 << 4) + p_shift;
    const u32 v6 = shr_u32((mulHi_u32((v5 + v5), p_period_1)), p_period_2);
    const u32 v7 = ((v2 * p_periods) + v6) + p_row;
    const u32 v8 = shr_u32((mulHi_u32((v7 + v7), p_rows_1)), p_rows_2);
    u32 c2 = (v7 - (v8 * p_rows_0)) * p_rowQuads;
    u32 c3 = v8 * p_rowQuads;
    u32 c4 = ((v6 + 1u) * p_period_0) - v5;
    for (u32 v9 = 0; v9 < 8u; v9++) {
      const u32 v10 = c4;
      const u32 v11 = v0 + (v9 << 2);
      if (64u < v10) {
        const u32 v12 = c0;
        const u32 v13 = v12 + p_block;
        const u32 v14 = b_near[(u64)v13 * 4];
        const u32 v15 = b_near[(u64)v13 * 4 + 1];
        const u32 v16 = b_near[(u64)v13 * 4 + 2];
        const u32 v17 = b_near[(u64)v13 * 4 + 3];
        const u32 v18 = c2;
        const u32 v19 = c1;
        const u32 v20 = v18 + v19;
        const u32 v21 = b_middle[(u64)v20 * 4];
        const u32 v22 = b_middle[(u64)v20 * 4 + 1];
        const u32 v23 = b_middle[(u64)v20 * 4 + 2];
        const u32 v24 = b_middle[(u64)v20 * 4 + 3];
        const u32 v25 = c3;
        const u32 v26 = v25 + v19;
        const u32 v27 = b_far[(u64)v26 * 4];
        const u32 v28 = b_far[(u64)v26 * 4 + 1];
        const u32 v29 = b_far[(u64)v26 * 4 + 2];
        const u32 v30 = b_far[(u64)v26 * 4 + 3];
        const u32 v31 = b_near[(u64)(v13 + 1u) * 4];
        const u32 v32 = b_near[(u64)(v13 + 1u) * 4 + 1];
        const u32 v33 = b_near[(u64)(v13 + 1u) * 4 + 2];
        const u32 v34 = b_near[(u64)(v13 + 1u) * 4 + 3];
        const u32 v35 = b_middle[(u64)(v20 + 1u) * 4];
        const u32 v36 = b_middle[(u64)(v20 + 1u) * 4 + 1];
        const u32 v37 = b_middle[(u64)(v20 + 1u) * 4 + 2];
        const u32 v38 = b_middle[(u64)(v20 + 1u) * 4 + 3];
        const u32 v39 = b_far[(u64)(v26 + 1u) * 4];
        const u32 v40 = b_far[(u64)(v26 + 1u) * 4 + 1];
        const u32 v41 = b_far[(u64)(v26 + 1u) * 4 + 2];
        const u32 v42 = b_far[(u64)(v26 + 1u) * 4 + 3];
        const u32 v43 = b_near[(u64)(v13 + 2u) * 4];
        const u32 v44 = b_near[(u64)(v13 + 2u) * 4 + 1];
        const u32 v45 = b_near[(u64)(v13 + 2u) * 4 + 2];
        const u32 v46 = b_near[(u64)(v13 + 2u) * 4 + 3];
        const u32 v47 = b_middle[(u64)(v20 + 2u) * 4];
        const u32 v48 = b_middle[(u64)(v20 + 2u) * 4 + 1];
        const u32 v49 = b_middle[(u64)(v20 + 2u) * 4 + 2];
        const u32 v50 = b_middle[(u64)(v20 + 2u) * 4 + 3];
        const u32 v51 = b_far[(u64)(v26 + 2u) * 4];
        const u32 v52 = b_far[(u64)(v26 + 2u) * 4 + 1];
        const u32 v53 = b_far[(u64)(v26 + 2u) * 4 + 2];
        const u32 v54 = b_far[(u64)(v26 + 2u) * 4 + 3];
        const u32 v55 = b_near[(u64)(v13 + 3u) * 4];
        const u32 v56 = b_near[(u64)(v13 + 3u) * 4 + 1];
        const u32 v57 = b_near[(u64)(v13 + 3u) * 4 + 2];
        const u32 v58 = b_near[(u64)(v13 + 3u) * 4 + 3];
        const u32 v59 = b_middle[(u64)(v20 + 3u) * 4];
        const u32 v60 = b_middle[(u64)(v20 + 3u) * 4 + 1];
        const u32 v61 = b_middle[(u64)(v20 + 3u) * 4 + 2];
        const u32 v62 = b_middle[(u64)(v20 + 3u) * 4 + 3];
        const u32 v63 = b_far[(u64)(v26 + 3u) * 4];
        const u32 v64 = b_far[(u64)(v26 + 3u) * 4 + 1];
        const u32 v65 = b_far[(u64)(v26 + 3u) * 4 + 2];
        const u32 v66 = b_far[(u64)(v26 + 3u) * 4 + 3];
        *(u32x4 *)&b_out[(u64)v11 * 4] = (u32x4){(v14 | (v21 | v27)), (v15 | (v22 | v28)), (v16 | (v23 | v29)), (v17 | (v24 | v30))};
        *(u32x4 *)&b_out[(u64)(v11 + 1u) * 4] = (u32x4){(v31 | (v35 | v39)), (v32 | (v36 | v40)), (v33 | (v37 | v41)), (v34 | (v38 | v42))};
        *(u32x4 *)&b_out[(u64)(v11 + 2u) * 4] = (u32x4){(v43 | (v47 | v51)), (v44 | (v48 | v52)), (v45 | (v49 | v53)), (v46 | (v50 | v54))};
        *(u32x4 *)&b_out[(u64)(v11 + 3u) * 4] = (u32x4){(v55 | (v59 | v63)), (v56 | (v60 | v64)), (v57 | (v61 | v65)), (v58 | (v62 | v66))};
        c4 = v10 + 0xffffffc0u;
      }
      else {
        for (u32 v67 = 0; v67 < 4u; v67++) {
          const u32 v68 = c2;
          const u32 v69 = c1;
          const u32 v70 = b_middle[(u64)((v68 + v69) + v67) * 4];
          const u32 v71 = b_middle[(u64)((v68 + v69) + v67) * 4 + 1];
          const u32 v72 = b_middle[(u64)((v68 + v69) + v67) * 4 + 2];
          const u32 v73 = b_middle[(u64)((v68 + v69) + v67) * 4 + 3];
          const u32 v74 = c3;
          const u32 v75 = b_far[(u64)((v74 + v69) + v67) * 4];
          const u32 v76 = b_far[(u64)((v74 + v69) + v67) * 4 + 1];
          const u32 v77 = b_far[(u64)((v74 + v69) + v67) * 4 + 2];
          const u32 v78 = b_far[(u64)((v74 + v69) + v67) * 4 + 3];
          const u32 v79 = v70 | v75;
          u32 c5 = v79;
          const u32 v80 = v71 | v76;
          u32 c6 = v80;
          const u32 v81 = v72 | v77;
          u32 c7 = v81;
          const u32 v82 = v73 | v78;
          u32 c8 = v82;
          const u32 v83 = c4;
          if (v83 <= 16u) {
            const u32 v84 = v68 + p_rowQuads;
            const bool v85 = v84 == p_job_14;
            const u32 v86 = select_u32(v85, (v74 + p_rowQuads), v74);
            c3 = v86;
            const u32 v87 = select_u32(v85, 0u, v84);
            c2 = v87;
            const u32 v88 = b_middle[(u64)((v87 + v69) + v67) * 4];
            const u32 v89 = b_middle[(u64)((v87 + v69) + v67) * 4 + 1];
            const u32 v90 = b_middle[(u64)((v87 + v69) + v67) * 4 + 2];
            const u32 v91 = b_middle[(u64)((v87 + v69) + v67) * 4 + 3];
            const u32 v92 = b_far[(u64)((v86 + v69) + v67) * 4];
            const u32 v93 = b_far[(u64)((v86 + v69) + v67) * 4 + 1];
            const u32 v94 = b_far[(u64)((v86 + v69) + v67) * 4 + 2];
            const u32 v95 = b_far[(u64)((v86 + v69) + v67) * 4 + 3];
            const u32 v96 = (shl_u32(1u, ((v83 & 3u) << 3))) + 0xffffffffu;
            const u32 v97 = bitSelect_u32((select_u32((4u <= v83), 0xffffffffu, (select_u32((0u < v83), v96, 0u)))), v79, (v88 | v92));
            c5 = v97;
            const u32 v98 = bitSelect_u32((select_u32((8u <= v83), 0xffffffffu, (select_u32((4u < v83), v96, 0u)))), v80, (v89 | v93));
            c6 = v98;
            const u32 v99 = bitSelect_u32((select_u32((12u <= v83), 0xffffffffu, (select_u32((8u < v83), v96, 0u)))), v81, (v90 | v94));
            c7 = v99;
            const u32 v100 = bitSelect_u32((select_u32((16u <= v83), 0xffffffffu, (select_u32((12u < v83), v96, 0u)))), v82, (v91 | v95));
            c8 = v100;
            c4 = v83 + p_period_0;
          }
          const u32 v101 = c0;
          const u32 v102 = b_near[(u64)((v101 + v67) + p_block) * 4];
          const u32 v103 = b_near[(u64)((v101 + v67) + p_block) * 4 + 1];
          const u32 v104 = b_near[(u64)((v101 + v67) + p_block) * 4 + 2];
          const u32 v105 = b_near[(u64)((v101 + v67) + p_block) * 4 + 3];
          const u32 v106 = c5;
          const u32 v107 = c6;
          const u32 v108 = c7;
          const u32 v109 = c8;
          *(u32x4 *)&b_out[(u64)(v11 + v67) * 4] = (u32x4){(v102 | v106), (v103 | v107), (v104 | v108), (v105 | v109)};
          const u32 v110 = c4;
          c4 = v110 + 0xfffffff0u;
        }
      }
      const u32 v111 = c0;
      const u32 v112 = c1;
      const u32 v113 = v111 + p_nextQuad;
      c0 = select_u32((p_block_0 <= v113), (v113 - p_block_0), v113);
      const u32 v114 = v112 + p_nextPhase;
      c1 = select_u32((p_phases_0 <= v114), (v114 - p_phases_0), v114);
    }
  }
  return end - begin;
}
