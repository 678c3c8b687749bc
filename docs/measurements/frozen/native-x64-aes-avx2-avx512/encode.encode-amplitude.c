/* kernel encode-amplitude, 1 lane */
#include <stdint.h>
typedef uint32_t u32; typedef int32_t i32; typedef unsigned long long u64; typedef float f32; typedef double f64; typedef int bool;
static inline u64 cast_u32_u64(u32 a) { return (u64)a; }
static inline f64 sqrt_f64(f64 a) { return __builtin_sqrt(a); }

uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const u32 *const params = (const u32 *)launch[0];
  u32 *const control = (u32 *)launch[1];
  const u32 epoch = (u32)launch[2];
  const f64 *const b_x = (const f64 *)launch[3];
  f64 *const b_norms = (f64 *)launch[5];
  f64 *const b_states = (f64 *)launch[7];
  u32 *const b_ring = (u32 *)launch[9];
  for (u64 first = begin; first < end; first++) {
    const u32 item = (u32)first;
    if (((first - begin) & 0) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
    const u32 v0 = item << 12;
    const u64 v1 = cast_u32_u64((v0 >> 2));
    union { f64 one[256];  } partials0 = {0};
    for (u64 first0 = 0; first0 < 0x1000u; first0++) {
      const u32 v2 = (u32)first0;
      const f64 v3 = b_x[(u64)v1 * 4 + v2];
      partials0.one[first0 % 256] += (v3 * v3);
    }
    for (u32 half = 128; half > 0; half /= 2) for (u32 i = 0; i < half; i++) partials0.one[i] += partials0.one[i + half];
    const f64 v4 = partials0.one[0];
    const f64 v5 = v4 + 0.0;
    /* once */ {
      b_norms[item] = v5;
    }
    const u64 v6 = cast_u32_u64((v0 >> 1));
    const f64 v7 = 1.0 / (sqrt_f64(v5));
    for (u64 first1 = 0; first1 < 0x1000u; first1++) {
      const u32 v8 = (u32)first1;
      const f64 v9 = b_x[(u64)v1 * 4 + v8];
      const u32 v10 = v8 << 1;
      b_states[(u64)v6 * 4 + v10] = (v9 * v7);
      b_states[(u64)v6 * 4 + (v10 + 1u)] = 0.0;
    }
  }
  return end - begin;
}
