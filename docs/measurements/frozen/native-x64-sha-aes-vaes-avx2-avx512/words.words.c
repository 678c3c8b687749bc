/* kernel words, 1 lane */
#include <stdint.h>
typedef uint32_t u32; typedef int32_t i32; typedef unsigned long long u64; typedef float f32; typedef double f64; typedef int bool;
static inline u32 bitSelect_u32(u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }
static inline u32 mulHi_u32(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
static inline u32 select_u32(bool a, u32 b, u32 c) { return a ? b : c; }
static inline u32 shl_u32(u32 a, u32 b) { return ((u32)a << (b & 31)); }
static inline u32 shr_u32(u32 a, u32 b) { return a >> (b & 31); }

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
  const u32 p_step = params[3];
  const u32 p_phases_1 = params[4];
  const u32 p_phases_2 = params[5];
  const u32 p_phases_0 = params[6];
  const u32 p_periods = params[7];
  const u32 p_period_1 = params[8];
  const u32 p_period_2 = params[9];
  const u32 p_rows_1 = params[10];
  const u32 p_rows_2 = params[11];
  const u32 p_rows_0 = params[12];
  const u32 p_period_0 = params[13];
  const u32 p_job_14 = params[14];
  const u32 p_quad = params[15];
  const u32 p_shift = params[16];
  const u32 p_row = params[17];
  const u32 p_block = params[18];
  for (u64 first = begin; first < end; first++) {
    const u32 item = (u32)first;
    if (((first - begin) & 1023) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
    const u32 v0 = item << 5;
    const u32 v1 = v0 + p_quad;
    const u32 v2 = shr_u32((mulHi_u32((v1 + v1), p_block_1)), p_block_2);
    const u32 v3 = v1 - (v2 * p_block_0);
    u32 c0 = v3;
    const u32 v4 = v3 * p_step;
    const u32 v5 = v4 - ((shr_u32((mulHi_u32((v4 + v4), p_phases_1)), p_phases_2)) * p_phases_0);
    u32 c1 = v5;
    const u32 v6 = (v3 << 4) + p_shift;
    const u32 v7 = shr_u32((mulHi_u32((v6 + v6), p_period_1)), p_period_2);
    const u32 v8 = ((v2 * p_periods) + v7) + p_row;
    const u32 v9 = shr_u32((mulHi_u32((v8 + v8), p_rows_1)), p_rows_2);
    u32 c2 = (v8 - (v9 * p_rows_0)) * p_phases_0;
    u32 c3 = v9 * p_phases_0;
    u32 c4 = ((v7 + 1u) * p_period_0) - v6;
    for (u32 v10 = 0; v10 < 32u; v10++) {
      const u32 v11 = c0;
      const u32 v12 = b_near[(u64)(v11 + p_block) * 4];
      const u32 v13 = b_near[(u64)(v11 + p_block) * 4 + 1];
      const u32 v14 = b_near[(u64)(v11 + p_block) * 4 + 2];
      const u32 v15 = b_near[(u64)(v11 + p_block) * 4 + 3];
      const u32 v16 = c3;
      const u32 v17 = c1;
      const u32 v18 = b_far[(u64)(v16 + v17) * 4];
      const u32 v19 = b_far[(u64)(v16 + v17) * 4 + 1];
      const u32 v20 = b_far[(u64)(v16 + v17) * 4 + 2];
      const u32 v21 = b_far[(u64)(v16 + v17) * 4 + 3];
      const u32 v22 = c2;
      const u32 v23 = b_middle[(u64)(v22 + v17) * 4];
      const u32 v24 = b_middle[(u64)(v22 + v17) * 4 + 1];
      const u32 v25 = b_middle[(u64)(v22 + v17) * 4 + 2];
      const u32 v26 = b_middle[(u64)(v22 + v17) * 4 + 3];
      const u32 v27 = v23 | v18;
      u32 c5 = v27;
      const u32 v28 = v24 | v19;
      u32 c6 = v28;
      const u32 v29 = v25 | v20;
      u32 c7 = v29;
      const u32 v30 = v26 | v21;
      u32 c8 = v30;
      const u32 v31 = c4;
      if (v31 <= 16u) {
        const u32 v32 = v22 + p_phases_0;
        const bool v33 = v32 == p_job_14;
        const u32 v34 = select_u32(v33, (v16 + p_phases_0), v16);
        c3 = v34;
        const u32 v35 = select_u32(v33, 0u, v32);
        c2 = v35;
        const u32 v36 = b_far[(u64)(v34 + v17) * 4];
        const u32 v37 = b_far[(u64)(v34 + v17) * 4 + 1];
        const u32 v38 = b_far[(u64)(v34 + v17) * 4 + 2];
        const u32 v39 = b_far[(u64)(v34 + v17) * 4 + 3];
        const u32 v40 = b_middle[(u64)(v35 + v17) * 4];
        const u32 v41 = b_middle[(u64)(v35 + v17) * 4 + 1];
        const u32 v42 = b_middle[(u64)(v35 + v17) * 4 + 2];
        const u32 v43 = b_middle[(u64)(v35 + v17) * 4 + 3];
        const u32 v44 = (shl_u32(1u, ((v31 & 3u) << 3))) + 0xffffffffu;
        const u32 v45 = bitSelect_u32((select_u32((4u <= v31), 0xffffffffu, (select_u32((0u < v31), v44, 0u)))), v27, (v40 | v36));
        c5 = v45;
        const u32 v46 = bitSelect_u32((select_u32((8u <= v31), 0xffffffffu, (select_u32((4u < v31), v44, 0u)))), v28, (v41 | v37));
        c6 = v46;
        const u32 v47 = bitSelect_u32((select_u32((12u <= v31), 0xffffffffu, (select_u32((8u < v31), v44, 0u)))), v29, (v42 | v38));
        c7 = v47;
        const u32 v48 = bitSelect_u32((select_u32((16u <= v31), 0xffffffffu, (select_u32((12u < v31), v44, 0u)))), v30, (v43 | v39));
        c8 = v48;
        c4 = v31 + p_period_0;
      }
      const u32 v49 = c5;
      const u32 v50 = c6;
      const u32 v51 = c7;
      const u32 v52 = c8;
      b_out[(u64)(v0 + v10) * 4] = (v12 | v49); b_out[(u64)(v0 + v10) * 4 + 1] = (v13 | v50); b_out[(u64)(v0 + v10) * 4 + 2] = (v14 | v51); b_out[(u64)(v0 + v10) * 4 + 3] = (v15 | v52);
      const u32 v53 = c4;
      c4 = v53 + 0xfffffff0u;
      const u32 v54 = v11 + 1u;
      c0 = select_u32((v54 == p_block_0), 0u, v54);
      const u32 v55 = v17 + p_step;
      c1 = select_u32((p_phases_0 <= v55), (v55 - p_phases_0), v55);
    }
  }
  return end - begin;
}
