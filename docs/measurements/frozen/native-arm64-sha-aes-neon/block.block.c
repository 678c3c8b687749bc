/* kernel block, 4 lanes */
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
static inline u32 byteSwap_u32(u32 a) { return __builtin_bswap32(a); }
#ifdef __aarch64__
#include <arm_neon.h>
#define byteSwap_u32_v(a) ((u32v)vrev32q_u8((uint8x16_t)(a)))
#else
static inline u32v byteSwap_u32_v(u32v a) { return (((a >> 8) | (a << 24)) & 0xff00ff00u) | (((a >> 24) | (a << 8)) & 0x00ff00ffu); }
#endif
typedef u32 sha256_four __attribute__((vector_size(16)));
static const sha256_four sha256_lasts_table[] = {{0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5}, {0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5}, {0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3}, {0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174}, {0xe49b69c1, 0xefbe4786, 0xfc19dc6, 0x240ca1cc}, {0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da}, {0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7}, {0xc6e00bf3, 0xd5a79147, 0x6ca6351, 0x14292967}, {0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13}, {0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85}, {0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3}, {0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070}, {0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5}, {0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3}, {0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208}, {0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2}, {0xb956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5}, {0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3}, {0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf3f4}, {0x0, 0x0, 0x0, 0x280}, {0x80000000, 0x0, 0x0, 0x0}, {0x0, 0x0, 0x0, 0x0}, {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a}, {0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, {0x80000000, 0x0, 0x0, 0x0}, {0x0, 0x0, 0x0, 0x100}, {0x5807aa98, 0x12835b01, 0x243185be, 0x550c7dc3}, {0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf274}, {0x80000000, 0x0, 0x0, 0x0}};
/* shared: the state after four rounds and words 16 to 19, both without what the nonce adds; the state before. */
static __attribute__((noinline)) void sha256_lasts(const u32 *shared, const u32 *nonces, u32 *lasts, u64 groups) {
  sha256_four quads[36], part[5];
  __builtin_memcpy(part, shared, sizeof part);
  for (int lane = 0; lane < 4; lane++) {
    quads[0 + 3 * lane] = part[0];
    quads[0 + 3 * lane + 1] = part[1];
    quads[0 + 3 * lane + 2] = part[2];
  }
  quads[32] = (sha256_four){0x0, 0x0, 0xa00055, 0x280};
  quads[32][3] += (shared[8] >> 7 | shared[8] << 25) ^ (shared[8] >> 18 | shared[8] << 14) ^ shared[8] >> 3;
  quads[33] = part[3];
  quads[34] = part[4];
  quads[35] = part[3] + sha256_lasts_table[0];
  u64 step = 0;
  asm volatile(
    "ldr w8, [%[nonces], #0]\n"
    "add w9, w8, %w[a]\n"
    "str w9, [%[quads], #0]\n"
    "add w10, w8, %w[e]\n"
    "str w10, [%[quads], #16]\n"
    "ror w11, w8, #7\n"
    "eor w11, w11, w8, ror #18\n"
    "eor w11, w11, w8, lsr #3\n"
    "add w12, w8, %w[w19]\n"
    "add w11, w11, %w[w18]\n"
    "stp w11, w12, [%[quads], #40]\n"
    "ldr w8, [%[nonces], #4]\n"
    "add w9, w8, %w[a]\n"
    "str w9, [%[quads], #48]\n"
    "add w10, w8, %w[e]\n"
    "str w10, [%[quads], #64]\n"
    "ror w11, w8, #7\n"
    "eor w11, w11, w8, ror #18\n"
    "eor w11, w11, w8, lsr #3\n"
    "add w12, w8, %w[w19]\n"
    "add w11, w11, %w[w18]\n"
    "stp w11, w12, [%[quads], #88]\n"
    "ldr w8, [%[nonces], #8]\n"
    "add w9, w8, %w[a]\n"
    "str w9, [%[quads], #96]\n"
    "add w10, w8, %w[e]\n"
    "str w10, [%[quads], #112]\n"
    "ror w11, w8, #7\n"
    "eor w11, w11, w8, ror #18\n"
    "eor w11, w11, w8, lsr #3\n"
    "add w12, w8, %w[w19]\n"
    "add w11, w11, %w[w18]\n"
    "stp w11, w12, [%[quads], #136]\n"
    "ldr w8, [%[nonces], #12]\n"
    "add w9, w8, %w[a]\n"
    "str w9, [%[quads], #144]\n"
    "add w10, w8, %w[e]\n"
    "str w10, [%[quads], #160]\n"
    "ror w11, w8, #7\n"
    "eor w11, w11, w8, ror #18\n"
    "eor w11, w11, w8, lsr #3\n"
    "add w12, w8, %w[w19]\n"
    "add w11, w11, %w[w18]\n"
    "stp w11, w12, [%[quads], #184]\n"
    "1:\n"
    "subs %[groups], %[groups], #1\n"
    "add x8, %[nonces], #16\n"
    "csel %[nonces], x8, %[nonces], ne\n"
    "ldr q0, [%[quads], #0]\n"
    "ldr q24, [%[quads], #0]\n"
    "ldr q1, [%[quads], #16]\n"
    "ldr q25, [%[table], #256]\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "ldr q2, [%[quads], #32]\n"
    "ldr q6, [%[quads], #48]\n"
    "ldr q24, [%[quads], #48]\n"
    "ldr q7, [%[quads], #64]\n"
    "ldr q25, [%[table], #256]\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "ldr q8, [%[quads], #80]\n"
    "ldr q12, [%[quads], #96]\n"
    "ldr q24, [%[quads], #96]\n"
    "ldr q13, [%[quads], #112]\n"
    "ldr q25, [%[table], #256]\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "ldr q14, [%[quads], #128]\n"
    "ldr q18, [%[quads], #144]\n"
    "ldr q24, [%[quads], #144]\n"
    "ldr q19, [%[quads], #160]\n"
    "ldr q25, [%[table], #256]\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "ldr q20, [%[quads], #176]\n"
    "ldr q25, [%[table], #272]\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "ldr q3, [%[table], #320]\n"
    "sha256h2 q1, q24, v25.4s\n"
    "ldr q4, [%[table], #304]\n"
    "sha256su1 v3.4s, v4.4s, v2.4s\n"
    "ldr q25, [%[table], #272]\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "ldr q9, [%[table], #320]\n"
    "sha256h2 q7, q24, v25.4s\n"
    "ldr q10, [%[table], #304]\n"
    "sha256su1 v9.4s, v10.4s, v8.4s\n"
    "ldr q25, [%[table], #272]\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "ldr q15, [%[table], #320]\n"
    "sha256h2 q13, q24, v25.4s\n"
    "ldr q16, [%[table], #304]\n"
    "sha256su1 v15.4s, v16.4s, v14.4s\n"
    "ldr q25, [%[table], #272]\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "ldr q21, [%[table], #320]\n"
    "sha256h2 q19, q24, v25.4s\n"
    "ldr q22, [%[table], #304]\n"
    "sha256su1 v21.4s, v22.4s, v20.4s\n"
    "ldr q25, [%[table], #288]\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "ldr q4, [%[table], #336]\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su1 v4.4s, v2.4s, v3.4s\n"
    "add x16, %[quads], #192\n"
    "ldp w8, w9, [x16, #32]\n"
    "ldr q25, [%[table], #288]\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "ldr q10, [%[table], #336]\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su1 v10.4s, v8.4s, v9.4s\n"
    "ldr w10, [x16, #52]\n"
    "ldr w11, [x16, #72]\n"
    "ldr q25, [%[table], #288]\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "ldr q16, [%[table], #336]\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su1 v16.4s, v14.4s, v15.4s\n"
    "ror w12, w9, #7\n"
    "ldr q25, [%[table], #288]\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "ldr q22, [%[table], #336]\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su1 v22.4s, v20.4s, v21.4s\n"
    "eor w12, w12, w9, ror #18\n"
    "eor w12, w12, w9, lsr #3\n"
    "ldr q25, [%[table], #64]\n"
    "add v25.4s, v25.4s, v2.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "ldr q5, [%[quads], #512]\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su1 v5.4s, v3.4s, v4.4s\n"
    "sha256su0 v2.4s, v3.4s\n"
    "sha256su1 v2.4s, v4.4s, v5.4s\n"
    "add w8, w8, w12\n"
    "add w8, w8, w10\n"
    "ldr q25, [%[table], #64]\n"
    "add v25.4s, v25.4s, v8.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "ldr q11, [%[quads], #512]\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su1 v11.4s, v9.4s, v10.4s\n"
    "sha256su0 v8.4s, v9.4s\n"
    "sha256su1 v8.4s, v10.4s, v11.4s\n"
    "ldp w13, w14, [x16, #0]\n"
    "ldr q25, [%[table], #64]\n"
    "add v25.4s, v25.4s, v14.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "ldr q17, [%[quads], #512]\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su1 v17.4s, v15.4s, v16.4s\n"
    "sha256su0 v14.4s, v15.4s\n"
    "sha256su1 v14.4s, v16.4s, v17.4s\n"
    "ldp w15, w17, [x16, #8]\n"
    "ror w12, w11, #17\n"
    "ldr q25, [%[table], #64]\n"
    "add v25.4s, v25.4s, v20.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "ldr q23, [%[quads], #512]\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su1 v23.4s, v21.4s, v22.4s\n"
    "sha256su0 v20.4s, v21.4s\n"
    "sha256su1 v20.4s, v22.4s, v23.4s\n"
    "eor w12, w12, w11, ror #19\n"
    "ldr q25, [%[table], #80]\n"
    "add v25.4s, v25.4s, v3.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v3.4s, v4.4s\n"
    "sha256su1 v3.4s, v5.4s, v2.4s\n"
    "eor w12, w12, w11, lsr #10\n"
    "ldr w9, [x16, #28]\n"
    "ldr q25, [%[table], #80]\n"
    "add v25.4s, v25.4s, v9.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v9.4s, v10.4s\n"
    "sha256su1 v9.4s, v11.4s, v8.4s\n"
    "add w8, w8, w12\n"
    "ror w12, w13, #6\n"
    "ldr q25, [%[table], #80]\n"
    "add v25.4s, v25.4s, v15.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v15.4s, v16.4s\n"
    "sha256su1 v15.4s, v17.4s, v14.4s\n"
    "eor w12, w12, w13, ror #11\n"
    "ldr q25, [%[table], #80]\n"
    "add v25.4s, v25.4s, v21.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v21.4s, v22.4s\n"
    "sha256su1 v21.4s, v23.4s, v20.4s\n"
    "eor w12, w12, w13, ror #25\n"
    "add w9, w9, w17\n"
    "ldr q25, [%[table], #96]\n"
    "add v25.4s, v25.4s, v4.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v4.4s, v5.4s\n"
    "sha256su1 v4.4s, v2.4s, v3.4s\n"
    "eor w14, w14, w15\n"
    "ldr q25, [%[table], #96]\n"
    "add v25.4s, v25.4s, v10.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v10.4s, v11.4s\n"
    "sha256su1 v10.4s, v8.4s, v9.4s\n"
    "and w14, w14, w13\n"
    "eor w14, w14, w15\n"
    "ldr q25, [%[table], #96]\n"
    "add v25.4s, v25.4s, v16.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v16.4s, v17.4s\n"
    "sha256su1 v16.4s, v14.4s, v15.4s\n"
    "add w12, w12, w14\n"
    "add w9, w9, %w[bias]\n"
    "ldr q25, [%[table], #96]\n"
    "add v25.4s, v25.4s, v22.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v22.4s, v23.4s\n"
    "sha256su1 v22.4s, v20.4s, v21.4s\n"
    "add w8, w8, w12\n"
    "ldr q25, [%[table], #112]\n"
    "add v25.4s, v25.4s, v5.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v5.4s, v2.4s\n"
    "sha256su1 v5.4s, v3.4s, v4.4s\n"
    "add w8, w8, w9\n"
    "str w8, [%[lasts], #0]\n"
    "ldr q25, [%[table], #112]\n"
    "add v25.4s, v25.4s, v11.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v11.4s, v8.4s\n"
    "sha256su1 v11.4s, v9.4s, v10.4s\n"
    "add x16, %[quads], #272\n"
    "ldp w8, w9, [x16, #32]\n"
    "ldr q25, [%[table], #112]\n"
    "add v25.4s, v25.4s, v17.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v17.4s, v14.4s\n"
    "sha256su1 v17.4s, v15.4s, v16.4s\n"
    "ldr w10, [x16, #52]\n"
    "ldr q25, [%[table], #112]\n"
    "add v25.4s, v25.4s, v23.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v23.4s, v20.4s\n"
    "sha256su1 v23.4s, v21.4s, v22.4s\n"
    "ldr w11, [x16, #72]\n"
    "ror w12, w9, #7\n"
    "ldr q25, [%[table], #128]\n"
    "add v25.4s, v25.4s, v2.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v2.4s, v3.4s\n"
    "sha256su1 v2.4s, v4.4s, v5.4s\n"
    "eor w12, w12, w9, ror #18\n"
    "ldr q25, [%[table], #128]\n"
    "add v25.4s, v25.4s, v8.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v8.4s, v9.4s\n"
    "sha256su1 v8.4s, v10.4s, v11.4s\n"
    "eor w12, w12, w9, lsr #3\n"
    "add w8, w8, w12\n"
    "ldr q25, [%[table], #128]\n"
    "add v25.4s, v25.4s, v14.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v14.4s, v15.4s\n"
    "sha256su1 v14.4s, v16.4s, v17.4s\n"
    "add w8, w8, w10\n"
    "ldp w13, w14, [x16, #0]\n"
    "ldr q25, [%[table], #128]\n"
    "add v25.4s, v25.4s, v20.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v20.4s, v21.4s\n"
    "sha256su1 v20.4s, v22.4s, v23.4s\n"
    "ldp w15, w17, [x16, #8]\n"
    "ldr q25, [%[table], #144]\n"
    "add v25.4s, v25.4s, v3.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v3.4s, v4.4s\n"
    "sha256su1 v3.4s, v5.4s, v2.4s\n"
    "ror w12, w11, #17\n"
    "eor w12, w12, w11, ror #19\n"
    "ldr q25, [%[table], #144]\n"
    "add v25.4s, v25.4s, v9.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v9.4s, v10.4s\n"
    "sha256su1 v9.4s, v11.4s, v8.4s\n"
    "eor w12, w12, w11, lsr #10\n"
    "ldr q25, [%[table], #144]\n"
    "add v25.4s, v25.4s, v15.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v15.4s, v16.4s\n"
    "sha256su1 v15.4s, v17.4s, v14.4s\n"
    "ldr w9, [x16, #28]\n"
    "add w8, w8, w12\n"
    "ldr q25, [%[table], #144]\n"
    "add v25.4s, v25.4s, v21.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v21.4s, v22.4s\n"
    "sha256su1 v21.4s, v23.4s, v20.4s\n"
    "ror w12, w13, #6\n"
    "eor w12, w12, w13, ror #11\n"
    "ldr q25, [%[table], #160]\n"
    "add v25.4s, v25.4s, v4.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v4.4s, v5.4s\n"
    "sha256su1 v4.4s, v2.4s, v3.4s\n"
    "eor w12, w12, w13, ror #25\n"
    "ldr q25, [%[table], #160]\n"
    "add v25.4s, v25.4s, v10.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v10.4s, v11.4s\n"
    "sha256su1 v10.4s, v8.4s, v9.4s\n"
    "add w9, w9, w17\n"
    "eor w14, w14, w15\n"
    "ldr q25, [%[table], #160]\n"
    "add v25.4s, v25.4s, v16.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v16.4s, v17.4s\n"
    "sha256su1 v16.4s, v14.4s, v15.4s\n"
    "and w14, w14, w13\n"
    "eor w14, w14, w15\n"
    "ldr q25, [%[table], #160]\n"
    "add v25.4s, v25.4s, v22.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v22.4s, v23.4s\n"
    "sha256su1 v22.4s, v20.4s, v21.4s\n"
    "add w12, w12, w14\n"
    "ldr q25, [%[table], #176]\n"
    "add v25.4s, v25.4s, v5.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v5.4s, v2.4s\n"
    "sha256su1 v5.4s, v3.4s, v4.4s\n"
    "add w9, w9, %w[bias]\n"
    "add w8, w8, w12\n"
    "ldr q25, [%[table], #176]\n"
    "add v25.4s, v25.4s, v11.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v11.4s, v8.4s\n"
    "sha256su1 v11.4s, v9.4s, v10.4s\n"
    "add w8, w8, w9\n"
    "ldr q25, [%[table], #176]\n"
    "add v25.4s, v25.4s, v17.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v17.4s, v14.4s\n"
    "sha256su1 v17.4s, v15.4s, v16.4s\n"
    "str w8, [%[lasts], #4]\n"
    "add x16, %[quads], #352\n"
    "ldr q25, [%[table], #176]\n"
    "add v25.4s, v25.4s, v23.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v23.4s, v20.4s\n"
    "sha256su1 v23.4s, v21.4s, v22.4s\n"
    "ldp w8, w9, [x16, #32]\n"
    "ldr w10, [x16, #52]\n"
    "ldr q25, [%[table], #192]\n"
    "add v25.4s, v25.4s, v2.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "ldr w11, [x16, #72]\n"
    "ldr q25, [%[table], #192]\n"
    "add v25.4s, v25.4s, v8.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "ror w12, w9, #7\n"
    "eor w12, w12, w9, ror #18\n"
    "ldr q25, [%[table], #192]\n"
    "add v25.4s, v25.4s, v14.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "eor w12, w12, w9, lsr #3\n"
    "ldr q25, [%[table], #192]\n"
    "add v25.4s, v25.4s, v20.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "add w8, w8, w12\n"
    "add w8, w8, w10\n"
    "ldr q25, [%[table], #208]\n"
    "add v25.4s, v25.4s, v3.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "ldp w13, w14, [x16, #0]\n"
    "ldp w15, w17, [x16, #8]\n"
    "ldr q25, [%[table], #208]\n"
    "add v25.4s, v25.4s, v9.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "ror w12, w11, #17\n"
    "ldr q25, [%[table], #208]\n"
    "add v25.4s, v25.4s, v15.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "eor w12, w12, w11, ror #19\n"
    "eor w12, w12, w11, lsr #10\n"
    "ldr q25, [%[table], #208]\n"
    "add v25.4s, v25.4s, v21.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "ldr w9, [x16, #28]\n"
    "add w8, w8, w12\n"
    "ldr q25, [%[table], #224]\n"
    "add v25.4s, v25.4s, v4.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "ror w12, w13, #6\n"
    "ldr q25, [%[table], #224]\n"
    "add v25.4s, v25.4s, v10.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "eor w12, w12, w13, ror #11\n"
    "eor w12, w12, w13, ror #25\n"
    "ldr q25, [%[table], #224]\n"
    "add v25.4s, v25.4s, v16.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "add w9, w9, w17\n"
    "ldr q25, [%[table], #224]\n"
    "add v25.4s, v25.4s, v22.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "eor w14, w14, w15\n"
    "and w14, w14, w13\n"
    "ldr q25, [%[table], #240]\n"
    "add v25.4s, v25.4s, v5.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "eor w14, w14, w15\n"
    "add w12, w12, w14\n"
    "ldr q25, [%[table], #240]\n"
    "add v25.4s, v25.4s, v11.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "add w9, w9, %w[bias]\n"
    "ldr q25, [%[table], #240]\n"
    "add v25.4s, v25.4s, v17.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "add w8, w8, w12\n"
    "add w8, w8, w9\n"
    "ldr q25, [%[table], #240]\n"
    "add v25.4s, v25.4s, v23.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "str w8, [%[lasts], #8]\n"
    "ldr q25, [%[quads], #560]\n"
    "add v25.4s, v25.4s, v0.4s\n"
    "ldr q2, [%[quads], #528]\n"
    "add v2.4s, v2.4s, v0.4s\n"
    "ldr q5, [%[table], #368]\n"
    "ldr q24, [%[table], #352]\n"
    "ldr q3, [%[quads], #544]\n"
    "ldr q0, [%[table], #352]\n"
    "sha256h q0, q5, v25.4s\n"
    "add v3.4s, v3.4s, v1.4s\n"
    "ldr q1, [%[table], #368]\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v2.4s, v3.4s\n"
    "ldr q4, [%[table], #384]\n"
    "ldr q5, [%[table], #400]\n"
    "sha256su1 v2.4s, v4.4s, v5.4s\n"
    "add x16, %[quads], #432\n"
    "ldp w8, w9, [x16, #32]\n"
    "ldr q25, [%[quads], #560]\n"
    "add v25.4s, v25.4s, v6.4s\n"
    "ldr q8, [%[quads], #528]\n"
    "add v8.4s, v8.4s, v6.4s\n"
    "ldr q11, [%[table], #368]\n"
    "ldr q24, [%[table], #352]\n"
    "ldr q9, [%[quads], #544]\n"
    "ldr q6, [%[table], #352]\n"
    "sha256h q6, q11, v25.4s\n"
    "add v9.4s, v9.4s, v7.4s\n"
    "ldr q7, [%[table], #368]\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v8.4s, v9.4s\n"
    "ldr q10, [%[table], #384]\n"
    "ldr q11, [%[table], #400]\n"
    "sha256su1 v8.4s, v10.4s, v11.4s\n"
    "ldr w10, [x16, #52]\n"
    "ldr w11, [x16, #72]\n"
    "ldr q25, [%[quads], #560]\n"
    "add v25.4s, v25.4s, v12.4s\n"
    "ldr q14, [%[quads], #528]\n"
    "add v14.4s, v14.4s, v12.4s\n"
    "ldr q17, [%[table], #368]\n"
    "ldr q24, [%[table], #352]\n"
    "ldr q15, [%[quads], #544]\n"
    "ldr q12, [%[table], #352]\n"
    "sha256h q12, q17, v25.4s\n"
    "add v15.4s, v15.4s, v13.4s\n"
    "ldr q13, [%[table], #368]\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v14.4s, v15.4s\n"
    "ldr q16, [%[table], #384]\n"
    "ldr q17, [%[table], #400]\n"
    "sha256su1 v14.4s, v16.4s, v17.4s\n"
    "ror w12, w9, #7\n"
    "ldr q25, [%[quads], #560]\n"
    "add v25.4s, v25.4s, v18.4s\n"
    "ldr q20, [%[quads], #528]\n"
    "add v20.4s, v20.4s, v18.4s\n"
    "ldr q23, [%[table], #368]\n"
    "ldr q24, [%[table], #352]\n"
    "ldr q21, [%[quads], #544]\n"
    "ldr q18, [%[table], #352]\n"
    "sha256h q18, q23, v25.4s\n"
    "add v21.4s, v21.4s, v19.4s\n"
    "ldr q19, [%[table], #368]\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v20.4s, v21.4s\n"
    "ldr q22, [%[table], #384]\n"
    "ldr q23, [%[table], #400]\n"
    "sha256su1 v20.4s, v22.4s, v23.4s\n"
    "eor w12, w12, w9, ror #18\n"
    "eor w12, w12, w9, lsr #3\n"
    "ldr q25, [%[table], #16]\n"
    "add v25.4s, v25.4s, v3.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v3.4s, v4.4s\n"
    "sha256su1 v3.4s, v5.4s, v2.4s\n"
    "add w8, w8, w12\n"
    "ldr q25, [%[table], #16]\n"
    "add v25.4s, v25.4s, v9.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v9.4s, v10.4s\n"
    "sha256su1 v9.4s, v11.4s, v8.4s\n"
    "add w8, w8, w10\n"
    "ldp w13, w14, [x16, #0]\n"
    "ldr q25, [%[table], #16]\n"
    "add v25.4s, v25.4s, v15.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v15.4s, v16.4s\n"
    "sha256su1 v15.4s, v17.4s, v14.4s\n"
    "ldp w15, w17, [x16, #8]\n"
    "ror w12, w11, #17\n"
    "ldr q25, [%[table], #16]\n"
    "add v25.4s, v25.4s, v21.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v21.4s, v22.4s\n"
    "sha256su1 v21.4s, v23.4s, v20.4s\n"
    "eor w12, w12, w11, ror #19\n"
    "ldr q25, [%[table], #416]\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "ldr q4, [%[table], #448]\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su1 v4.4s, v2.4s, v3.4s\n"
    "eor w12, w12, w11, lsr #10\n"
    "ldr w9, [x16, #28]\n"
    "ldr q25, [%[table], #416]\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "ldr q10, [%[table], #448]\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su1 v10.4s, v8.4s, v9.4s\n"
    "add w8, w8, w12\n"
    "ror w12, w13, #6\n"
    "ldr q25, [%[table], #416]\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "ldr q16, [%[table], #448]\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su1 v16.4s, v14.4s, v15.4s\n"
    "eor w12, w12, w13, ror #11\n"
    "ldr q25, [%[table], #416]\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "ldr q22, [%[table], #448]\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su1 v22.4s, v20.4s, v21.4s\n"
    "eor w12, w12, w13, ror #25\n"
    "add w9, w9, w17\n"
    "ldr q25, [%[table], #432]\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v5.4s, v2.4s\n"
    "sha256su1 v5.4s, v3.4s, v4.4s\n"
    "eor w14, w14, w15\n"
    "ldr q25, [%[table], #432]\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v11.4s, v8.4s\n"
    "sha256su1 v11.4s, v9.4s, v10.4s\n"
    "and w14, w14, w13\n"
    "eor w14, w14, w15\n"
    "ldr q25, [%[table], #432]\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v17.4s, v14.4s\n"
    "sha256su1 v17.4s, v15.4s, v16.4s\n"
    "add w12, w12, w14\n"
    "add w9, w9, %w[bias]\n"
    "ldr q25, [%[table], #432]\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v23.4s, v20.4s\n"
    "sha256su1 v23.4s, v21.4s, v22.4s\n"
    "add w8, w8, w12\n"
    "ldr q25, [%[table], #64]\n"
    "add v25.4s, v25.4s, v2.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v2.4s, v3.4s\n"
    "sha256su1 v2.4s, v4.4s, v5.4s\n"
    "add w8, w8, w9\n"
    "str w8, [%[lasts], #12]\n"
    "ldr q25, [%[table], #64]\n"
    "add v25.4s, v25.4s, v8.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v8.4s, v9.4s\n"
    "sha256su1 v8.4s, v10.4s, v11.4s\n"
    "ldr w8, [%[nonces], #0]\n"
    "ldr q25, [%[table], #64]\n"
    "add v25.4s, v25.4s, v14.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v14.4s, v15.4s\n"
    "sha256su1 v14.4s, v16.4s, v17.4s\n"
    "add w9, w8, %w[a]\n"
    "str w9, [%[quads], #0]\n"
    "ldr q25, [%[table], #64]\n"
    "add v25.4s, v25.4s, v20.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v20.4s, v21.4s\n"
    "sha256su1 v20.4s, v22.4s, v23.4s\n"
    "add w10, w8, %w[e]\n"
    "str w10, [%[quads], #16]\n"
    "ldr q25, [%[table], #80]\n"
    "add v25.4s, v25.4s, v3.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v3.4s, v4.4s\n"
    "sha256su1 v3.4s, v5.4s, v2.4s\n"
    "ror w11, w8, #7\n"
    "ldr q25, [%[table], #80]\n"
    "add v25.4s, v25.4s, v9.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v9.4s, v10.4s\n"
    "sha256su1 v9.4s, v11.4s, v8.4s\n"
    "eor w11, w11, w8, ror #18\n"
    "eor w11, w11, w8, lsr #3\n"
    "ldr q25, [%[table], #80]\n"
    "add v25.4s, v25.4s, v15.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v15.4s, v16.4s\n"
    "sha256su1 v15.4s, v17.4s, v14.4s\n"
    "add w12, w8, %w[w19]\n"
    "add w11, w11, %w[w18]\n"
    "ldr q25, [%[table], #80]\n"
    "add v25.4s, v25.4s, v21.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v21.4s, v22.4s\n"
    "sha256su1 v21.4s, v23.4s, v20.4s\n"
    "stp w11, w12, [%[quads], #40]\n"
    "ldr q25, [%[table], #96]\n"
    "add v25.4s, v25.4s, v4.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v4.4s, v5.4s\n"
    "sha256su1 v4.4s, v2.4s, v3.4s\n"
    "ldr w8, [%[nonces], #4]\n"
    "add w9, w8, %w[a]\n"
    "ldr q25, [%[table], #96]\n"
    "add v25.4s, v25.4s, v10.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v10.4s, v11.4s\n"
    "sha256su1 v10.4s, v8.4s, v9.4s\n"
    "str w9, [%[quads], #48]\n"
    "ldr q25, [%[table], #96]\n"
    "add v25.4s, v25.4s, v16.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v16.4s, v17.4s\n"
    "sha256su1 v16.4s, v14.4s, v15.4s\n"
    "add w10, w8, %w[e]\n"
    "str w10, [%[quads], #64]\n"
    "ldr q25, [%[table], #96]\n"
    "add v25.4s, v25.4s, v22.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v22.4s, v23.4s\n"
    "sha256su1 v22.4s, v20.4s, v21.4s\n"
    "ror w11, w8, #7\n"
    "eor w11, w11, w8, ror #18\n"
    "ldr q25, [%[table], #112]\n"
    "add v25.4s, v25.4s, v5.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v5.4s, v2.4s\n"
    "sha256su1 v5.4s, v3.4s, v4.4s\n"
    "eor w11, w11, w8, lsr #3\n"
    "ldr q25, [%[table], #112]\n"
    "add v25.4s, v25.4s, v11.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v11.4s, v8.4s\n"
    "sha256su1 v11.4s, v9.4s, v10.4s\n"
    "add w12, w8, %w[w19]\n"
    "add w11, w11, %w[w18]\n"
    "ldr q25, [%[table], #112]\n"
    "add v25.4s, v25.4s, v17.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v17.4s, v14.4s\n"
    "sha256su1 v17.4s, v15.4s, v16.4s\n"
    "stp w11, w12, [%[quads], #88]\n"
    "ldr q25, [%[table], #112]\n"
    "add v25.4s, v25.4s, v23.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v23.4s, v20.4s\n"
    "sha256su1 v23.4s, v21.4s, v22.4s\n"
    "ldr w8, [%[nonces], #8]\n"
    "add w9, w8, %w[a]\n"
    "ldr q25, [%[table], #128]\n"
    "add v25.4s, v25.4s, v2.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v2.4s, v3.4s\n"
    "str q5, [%[quads], #224]\n"
    "sha256su1 v2.4s, v4.4s, v5.4s\n"
    "str w9, [%[quads], #96]\n"
    "add w10, w8, %w[e]\n"
    "ldr q25, [%[table], #128]\n"
    "add v25.4s, v25.4s, v8.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v8.4s, v9.4s\n"
    "str q11, [%[quads], #304]\n"
    "sha256su1 v8.4s, v10.4s, v11.4s\n"
    "str w10, [%[quads], #112]\n"
    "ldr q25, [%[table], #128]\n"
    "add v25.4s, v25.4s, v14.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v14.4s, v15.4s\n"
    "str q17, [%[quads], #384]\n"
    "sha256su1 v14.4s, v16.4s, v17.4s\n"
    "ror w11, w8, #7\n"
    "eor w11, w11, w8, ror #18\n"
    "ldr q25, [%[table], #128]\n"
    "add v25.4s, v25.4s, v20.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v20.4s, v21.4s\n"
    "str q23, [%[quads], #464]\n"
    "sha256su1 v20.4s, v22.4s, v23.4s\n"
    "eor w11, w11, w8, lsr #3\n"
    "add w12, w8, %w[w19]\n"
    "ldr q25, [%[table], #144]\n"
    "add v25.4s, v25.4s, v3.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v3.4s, v4.4s\n"
    "sha256su1 v3.4s, v5.4s, v2.4s\n"
    "add w11, w11, %w[w18]\n"
    "ldr q25, [%[table], #144]\n"
    "add v25.4s, v25.4s, v9.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v9.4s, v10.4s\n"
    "sha256su1 v9.4s, v11.4s, v8.4s\n"
    "stp w11, w12, [%[quads], #136]\n"
    "ldr w8, [%[nonces], #12]\n"
    "ldr q25, [%[table], #144]\n"
    "add v25.4s, v25.4s, v15.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v15.4s, v16.4s\n"
    "sha256su1 v15.4s, v17.4s, v14.4s\n"
    "add w9, w8, %w[a]\n"
    "ldr q25, [%[table], #144]\n"
    "add v25.4s, v25.4s, v21.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v21.4s, v22.4s\n"
    "sha256su1 v21.4s, v23.4s, v20.4s\n"
    "str w9, [%[quads], #144]\n"
    "add w10, w8, %w[e]\n"
    "ldr q25, [%[table], #160]\n"
    "add v25.4s, v25.4s, v4.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "sha256su0 v4.4s, v5.4s\n"
    "str q3, [%[quads], #240]\n"
    "sha256su1 v4.4s, v2.4s, v3.4s\n"
    "str w10, [%[quads], #160]\n"
    "ror w11, w8, #7\n"
    "ldr q25, [%[table], #160]\n"
    "add v25.4s, v25.4s, v10.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "sha256su0 v10.4s, v11.4s\n"
    "str q9, [%[quads], #320]\n"
    "sha256su1 v10.4s, v8.4s, v9.4s\n"
    "eor w11, w11, w8, ror #18\n"
    "ldr q25, [%[table], #160]\n"
    "add v25.4s, v25.4s, v16.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "sha256su0 v16.4s, v17.4s\n"
    "str q15, [%[quads], #400]\n"
    "sha256su1 v16.4s, v14.4s, v15.4s\n"
    "eor w11, w11, w8, lsr #3\n"
    "add w12, w8, %w[w19]\n"
    "ldr q25, [%[table], #160]\n"
    "add v25.4s, v25.4s, v22.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "sha256su0 v22.4s, v23.4s\n"
    "str q21, [%[quads], #480]\n"
    "sha256su1 v22.4s, v20.4s, v21.4s\n"
    "add w11, w11, %w[w18]\n"
    "ldr q25, [%[table], #176]\n"
    "add v25.4s, v25.4s, v5.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "str q4, [%[quads], #256]\n"
    "stp w11, w12, [%[quads], #184]\n"
    "ldr q25, [%[table], #176]\n"
    "add v25.4s, v25.4s, v11.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "str q10, [%[quads], #336]\n"
    "ldr q25, [%[table], #176]\n"
    "add v25.4s, v25.4s, v17.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "str q16, [%[quads], #416]\n"
    "ldr q25, [%[table], #176]\n"
    "add v25.4s, v25.4s, v23.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "str q22, [%[quads], #496]\n"
    "ldr q25, [%[table], #192]\n"
    "add v25.4s, v25.4s, v2.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "ldr q25, [%[table], #192]\n"
    "add v25.4s, v25.4s, v8.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "ldr q25, [%[table], #192]\n"
    "add v25.4s, v25.4s, v14.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "ldr q25, [%[table], #192]\n"
    "add v25.4s, v25.4s, v20.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "ldr q25, [%[table], #208]\n"
    "add v25.4s, v25.4s, v3.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "ldr q25, [%[table], #208]\n"
    "add v25.4s, v25.4s, v9.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "ldr q25, [%[table], #208]\n"
    "add v25.4s, v25.4s, v15.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "ldr q25, [%[table], #208]\n"
    "add v25.4s, v25.4s, v21.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "ldr q25, [%[table], #224]\n"
    "add v25.4s, v25.4s, v4.4s\n"
    "mov v24.16b, v0.16b\n"
    "sha256h q0, q1, v25.4s\n"
    "sha256h2 q1, q24, v25.4s\n"
    "ldr q25, [%[table], #224]\n"
    "add v25.4s, v25.4s, v10.4s\n"
    "mov v24.16b, v6.16b\n"
    "sha256h q6, q7, v25.4s\n"
    "sha256h2 q7, q24, v25.4s\n"
    "ldr q25, [%[table], #224]\n"
    "add v25.4s, v25.4s, v16.4s\n"
    "mov v24.16b, v12.16b\n"
    "sha256h q12, q13, v25.4s\n"
    "sha256h2 q13, q24, v25.4s\n"
    "ldr q25, [%[table], #224]\n"
    "add v25.4s, v25.4s, v22.4s\n"
    "mov v24.16b, v18.16b\n"
    "sha256h q18, q19, v25.4s\n"
    "sha256h2 q19, q24, v25.4s\n"
    "str q1, [%[quads], #192]\n"
    "str q0, [%[quads], #208]\n"
    "str q7, [%[quads], #272]\n"
    "str q6, [%[quads], #288]\n"
    "str q13, [%[quads], #352]\n"
    "str q12, [%[quads], #368]\n"
    "str q19, [%[quads], #432]\n"
    "str q18, [%[quads], #448]\n"
    "add %[lasts], %[lasts], %[step]\n"
    "mov %[step], #16\n"
    "b.ne 1b\n"
    "add x16, %[quads], #192\n"
    "ldp w8, w9, [x16, #32]\n"
    "ldr w10, [x16, #52]\n"
    "ldr w11, [x16, #72]\n"
    "ror w12, w9, #7\n"
    "eor w12, w12, w9, ror #18\n"
    "eor w12, w12, w9, lsr #3\n"
    "add w8, w8, w12\n"
    "add w8, w8, w10\n"
    "ldp w13, w14, [x16, #0]\n"
    "ldp w15, w17, [x16, #8]\n"
    "ror w12, w11, #17\n"
    "eor w12, w12, w11, ror #19\n"
    "eor w12, w12, w11, lsr #10\n"
    "ldr w9, [x16, #28]\n"
    "add w8, w8, w12\n"
    "ror w12, w13, #6\n"
    "eor w12, w12, w13, ror #11\n"
    "eor w12, w12, w13, ror #25\n"
    "add w9, w9, w17\n"
    "eor w14, w14, w15\n"
    "and w14, w14, w13\n"
    "eor w14, w14, w15\n"
    "add w12, w12, w14\n"
    "add w9, w9, %w[bias]\n"
    "add w8, w8, w12\n"
    "add w8, w8, w9\n"
    "str w8, [%[lasts], #0]\n"
    "add x16, %[quads], #272\n"
    "ldp w8, w9, [x16, #32]\n"
    "ldr w10, [x16, #52]\n"
    "ldr w11, [x16, #72]\n"
    "ror w12, w9, #7\n"
    "eor w12, w12, w9, ror #18\n"
    "eor w12, w12, w9, lsr #3\n"
    "add w8, w8, w12\n"
    "add w8, w8, w10\n"
    "ldp w13, w14, [x16, #0]\n"
    "ldp w15, w17, [x16, #8]\n"
    "ror w12, w11, #17\n"
    "eor w12, w12, w11, ror #19\n"
    "eor w12, w12, w11, lsr #10\n"
    "ldr w9, [x16, #28]\n"
    "add w8, w8, w12\n"
    "ror w12, w13, #6\n"
    "eor w12, w12, w13, ror #11\n"
    "eor w12, w12, w13, ror #25\n"
    "add w9, w9, w17\n"
    "eor w14, w14, w15\n"
    "and w14, w14, w13\n"
    "eor w14, w14, w15\n"
    "add w12, w12, w14\n"
    "add w9, w9, %w[bias]\n"
    "add w8, w8, w12\n"
    "add w8, w8, w9\n"
    "str w8, [%[lasts], #4]\n"
    "add x16, %[quads], #352\n"
    "ldp w8, w9, [x16, #32]\n"
    "ldr w10, [x16, #52]\n"
    "ldr w11, [x16, #72]\n"
    "ror w12, w9, #7\n"
    "eor w12, w12, w9, ror #18\n"
    "eor w12, w12, w9, lsr #3\n"
    "add w8, w8, w12\n"
    "add w8, w8, w10\n"
    "ldp w13, w14, [x16, #0]\n"
    "ldp w15, w17, [x16, #8]\n"
    "ror w12, w11, #17\n"
    "eor w12, w12, w11, ror #19\n"
    "eor w12, w12, w11, lsr #10\n"
    "ldr w9, [x16, #28]\n"
    "add w8, w8, w12\n"
    "ror w12, w13, #6\n"
    "eor w12, w12, w13, ror #11\n"
    "eor w12, w12, w13, ror #25\n"
    "add w9, w9, w17\n"
    "eor w14, w14, w15\n"
    "and w14, w14, w13\n"
    "eor w14, w14, w15\n"
    "add w12, w12, w14\n"
    "add w9, w9, %w[bias]\n"
    "add w8, w8, w12\n"
    "add w8, w8, w9\n"
    "str w8, [%[lasts], #8]\n"
    "add x16, %[quads], #432\n"
    "ldp w8, w9, [x16, #32]\n"
    "ldr w10, [x16, #52]\n"
    "ldr w11, [x16, #72]\n"
    "ror w12, w9, #7\n"
    "eor w12, w12, w9, ror #18\n"
    "eor w12, w12, w9, lsr #3\n"
    "add w8, w8, w12\n"
    "add w8, w8, w10\n"
    "ldp w13, w14, [x16, #0]\n"
    "ldp w15, w17, [x16, #8]\n"
    "ror w12, w11, #17\n"
    "eor w12, w12, w11, ror #19\n"
    "eor w12, w12, w11, lsr #10\n"
    "ldr w9, [x16, #28]\n"
    "add w8, w8, w12\n"
    "ror w12, w13, #6\n"
    "eor w12, w12, w13, ror #11\n"
    "eor w12, w12, w13, ror #25\n"
    "add w9, w9, w17\n"
    "eor w14, w14, w15\n"
    "and w14, w14, w13\n"
    "eor w14, w14, w15\n"
    "add w12, w12, w14\n"
    "add w9, w9, %w[bias]\n"
    "add w8, w8, w12\n"
    "add w8, w8, w9\n"
    "str w8, [%[lasts], #12]\n"
    : [nonces] "+r"(nonces), [lasts] "+r"(lasts), [groups] "+r"(groups), [step] "+r"(step)
    : [table] "r"(sha256_lasts_table), [quads] "r"(quads), [a] "r"(shared[0]), [e] "r"(shared[4]),
      [w18] "r"(shared[10]), [w19] "r"(shared[11]), [bias] "r"(0xec9fcd13u)
    : "memory", "cc", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25");
}
#include <arm_neon.h>
typedef u32 sha256_quad __attribute__((vector_size(16)));
#ifdef __clang__
#define SHA256_PERMUTE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHA256_PERMUTE(a, b, ...) __builtin_shuffle(a, b, (sha256_quad){__VA_ARGS__})
#endif
static inline __attribute__((always_inline)) void sha256_turn(sha256_quad a, sha256_quad b, sha256_quad c, sha256_quad d, sha256_quad *w, sha256_quad *x, sha256_quad *y, sha256_quad *z) {
  const sha256_quad ab01 = SHA256_PERMUTE(a, b, 0, 4, 1, 5), ab23 = SHA256_PERMUTE(a, b, 2, 6, 3, 7);
  const sha256_quad cd01 = SHA256_PERMUTE(c, d, 0, 4, 1, 5), cd23 = SHA256_PERMUTE(c, d, 2, 6, 3, 7);
  *w = SHA256_PERMUTE(ab01, cd01, 0, 1, 4, 5);
  *x = SHA256_PERMUTE(ab01, cd01, 2, 3, 6, 7);
  *y = SHA256_PERMUTE(ab23, cd23, 0, 1, 4, 5);
  *z = SHA256_PERMUTE(ab23, cd23, 2, 3, 6, 7);
}
static inline __attribute__((always_inline)) void sha256_rounds(sha256_quad s[2], sha256_quad kw) {
  const uint32x4_t abcd = (uint32x4_t)s[0], efgh = (uint32x4_t)s[1];
  s[0] = (sha256_quad)vsha256hq_u32(abcd, efgh, (uint32x4_t)kw);
  s[1] = (sha256_quad)vsha256h2q_u32(efgh, abcd, (uint32x4_t)kw);
}
static inline __attribute__((always_inline)) sha256_quad sha256_extend(sha256_quad a, sha256_quad b, sha256_quad c, sha256_quad d) {
  const uint32x4_t sum = vsha256su0q_u32((uint32x4_t)a, (uint32x4_t)b);
  return (sha256_quad)vsha256su1q_u32(sum, (uint32x4_t)c, (uint32x4_t)d);
}
static inline __attribute__((always_inline)) void sha256_blocks_1(sha256_quad s[1][2], sha256_quad w[1][4]) {
  sha256_quad k;
  k = (sha256_quad){0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5};
  sha256_rounds(s[0], w[0][0] + k);
  w[0][0] = sha256_extend(w[0][0], w[0][1], w[0][2], w[0][3]);
  k = (sha256_quad){0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5};
  sha256_rounds(s[0], w[0][1] + k);
  w[0][1] = sha256_extend(w[0][1], w[0][2], w[0][3], w[0][0]);
  k = (sha256_quad){0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3};
  sha256_rounds(s[0], w[0][2] + k);
  w[0][2] = sha256_extend(w[0][2], w[0][3], w[0][0], w[0][1]);
  k = (sha256_quad){0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174};
  sha256_rounds(s[0], w[0][3] + k);
  w[0][3] = sha256_extend(w[0][3], w[0][0], w[0][1], w[0][2]);
  k = (sha256_quad){0xe49b69c1, 0xefbe4786, 0xfc19dc6, 0x240ca1cc};
  sha256_rounds(s[0], w[0][0] + k);
  w[0][0] = sha256_extend(w[0][0], w[0][1], w[0][2], w[0][3]);
  k = (sha256_quad){0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da};
  sha256_rounds(s[0], w[0][1] + k);
  w[0][1] = sha256_extend(w[0][1], w[0][2], w[0][3], w[0][0]);
  k = (sha256_quad){0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7};
  sha256_rounds(s[0], w[0][2] + k);
  w[0][2] = sha256_extend(w[0][2], w[0][3], w[0][0], w[0][1]);
  k = (sha256_quad){0xc6e00bf3, 0xd5a79147, 0x6ca6351, 0x14292967};
  sha256_rounds(s[0], w[0][3] + k);
  w[0][3] = sha256_extend(w[0][3], w[0][0], w[0][1], w[0][2]);
  k = (sha256_quad){0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13};
  sha256_rounds(s[0], w[0][0] + k);
  w[0][0] = sha256_extend(w[0][0], w[0][1], w[0][2], w[0][3]);
  k = (sha256_quad){0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85};
  sha256_rounds(s[0], w[0][1] + k);
  w[0][1] = sha256_extend(w[0][1], w[0][2], w[0][3], w[0][0]);
  k = (sha256_quad){0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3};
  sha256_rounds(s[0], w[0][2] + k);
  w[0][2] = sha256_extend(w[0][2], w[0][3], w[0][0], w[0][1]);
  k = (sha256_quad){0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070};
  sha256_rounds(s[0], w[0][3] + k);
  w[0][3] = sha256_extend(w[0][3], w[0][0], w[0][1], w[0][2]);
  k = (sha256_quad){0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5};
  sha256_rounds(s[0], w[0][0] + k);
  k = (sha256_quad){0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3};
  sha256_rounds(s[0], w[0][1] + k);
  k = (sha256_quad){0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208};
  sha256_rounds(s[0], w[0][2] + k);
  k = (sha256_quad){0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  sha256_rounds(s[0], w[0][3] + k);
}
static inline __attribute__((always_inline)) void sha256_blocks_2(sha256_quad s[2][2], sha256_quad w[2][4]) {
  sha256_quad k;
  k = (sha256_quad){0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5};
  sha256_rounds(s[0], w[0][0] + k); sha256_rounds(s[1], w[1][0] + k);
  w[0][0] = sha256_extend(w[0][0], w[0][1], w[0][2], w[0][3]); w[1][0] = sha256_extend(w[1][0], w[1][1], w[1][2], w[1][3]);
  k = (sha256_quad){0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5};
  sha256_rounds(s[0], w[0][1] + k); sha256_rounds(s[1], w[1][1] + k);
  w[0][1] = sha256_extend(w[0][1], w[0][2], w[0][3], w[0][0]); w[1][1] = sha256_extend(w[1][1], w[1][2], w[1][3], w[1][0]);
  k = (sha256_quad){0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3};
  sha256_rounds(s[0], w[0][2] + k); sha256_rounds(s[1], w[1][2] + k);
  w[0][2] = sha256_extend(w[0][2], w[0][3], w[0][0], w[0][1]); w[1][2] = sha256_extend(w[1][2], w[1][3], w[1][0], w[1][1]);
  k = (sha256_quad){0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174};
  sha256_rounds(s[0], w[0][3] + k); sha256_rounds(s[1], w[1][3] + k);
  w[0][3] = sha256_extend(w[0][3], w[0][0], w[0][1], w[0][2]); w[1][3] = sha256_extend(w[1][3], w[1][0], w[1][1], w[1][2]);
  k = (sha256_quad){0xe49b69c1, 0xefbe4786, 0xfc19dc6, 0x240ca1cc};
  sha256_rounds(s[0], w[0][0] + k); sha256_rounds(s[1], w[1][0] + k);
  w[0][0] = sha256_extend(w[0][0], w[0][1], w[0][2], w[0][3]); w[1][0] = sha256_extend(w[1][0], w[1][1], w[1][2], w[1][3]);
  k = (sha256_quad){0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da};
  sha256_rounds(s[0], w[0][1] + k); sha256_rounds(s[1], w[1][1] + k);
  w[0][1] = sha256_extend(w[0][1], w[0][2], w[0][3], w[0][0]); w[1][1] = sha256_extend(w[1][1], w[1][2], w[1][3], w[1][0]);
  k = (sha256_quad){0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7};
  sha256_rounds(s[0], w[0][2] + k); sha256_rounds(s[1], w[1][2] + k);
  w[0][2] = sha256_extend(w[0][2], w[0][3], w[0][0], w[0][1]); w[1][2] = sha256_extend(w[1][2], w[1][3], w[1][0], w[1][1]);
  k = (sha256_quad){0xc6e00bf3, 0xd5a79147, 0x6ca6351, 0x14292967};
  sha256_rounds(s[0], w[0][3] + k); sha256_rounds(s[1], w[1][3] + k);
  w[0][3] = sha256_extend(w[0][3], w[0][0], w[0][1], w[0][2]); w[1][3] = sha256_extend(w[1][3], w[1][0], w[1][1], w[1][2]);
  k = (sha256_quad){0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13};
  sha256_rounds(s[0], w[0][0] + k); sha256_rounds(s[1], w[1][0] + k);
  w[0][0] = sha256_extend(w[0][0], w[0][1], w[0][2], w[0][3]); w[1][0] = sha256_extend(w[1][0], w[1][1], w[1][2], w[1][3]);
  k = (sha256_quad){0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85};
  sha256_rounds(s[0], w[0][1] + k); sha256_rounds(s[1], w[1][1] + k);
  w[0][1] = sha256_extend(w[0][1], w[0][2], w[0][3], w[0][0]); w[1][1] = sha256_extend(w[1][1], w[1][2], w[1][3], w[1][0]);
  k = (sha256_quad){0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3};
  sha256_rounds(s[0], w[0][2] + k); sha256_rounds(s[1], w[1][2] + k);
  w[0][2] = sha256_extend(w[0][2], w[0][3], w[0][0], w[0][1]); w[1][2] = sha256_extend(w[1][2], w[1][3], w[1][0], w[1][1]);
  k = (sha256_quad){0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070};
  sha256_rounds(s[0], w[0][3] + k); sha256_rounds(s[1], w[1][3] + k);
  w[0][3] = sha256_extend(w[0][3], w[0][0], w[0][1], w[0][2]); w[1][3] = sha256_extend(w[1][3], w[1][0], w[1][1], w[1][2]);
  k = (sha256_quad){0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5};
  sha256_rounds(s[0], w[0][0] + k); sha256_rounds(s[1], w[1][0] + k);
  k = (sha256_quad){0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3};
  sha256_rounds(s[0], w[0][1] + k); sha256_rounds(s[1], w[1][1] + k);
  k = (sha256_quad){0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208};
  sha256_rounds(s[0], w[0][2] + k); sha256_rounds(s[1], w[1][2] + k);
  k = (sha256_quad){0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  sha256_rounds(s[0], w[0][3] + k); sha256_rounds(s[1], w[1][3] + k);
}

uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const u32 *const params = (const u32 *)launch[0];
  u32 *const control = (u32 *)launch[1];
  const u32 epoch = (u32)launch[2];
  u32 *const b_ring = (u32 *)launch[3];
  const u32 p_job_0 = params[0];
  const u32 p_job_1 = params[1];
  const u32 p_job_2 = params[2];
  const u32 p_job_3 = params[3];
  const u32 p_job_4 = params[4];
  const u32 p_job_5 = params[5];
  const u32 p_job_6 = params[6];
  const u32 p_job_7 = params[7];
  const u32 p_job_8 = params[8];
  const u32 p_job_9 = params[9];
  const u32 p_job_10 = params[10];
  const u32 p_job_11 = params[11];
  const u32 p_job_12 = params[12];
  const u32 p_job_13 = params[13];
  const u32 p_job_14 = params[14];
  const u32 p_job_15 = params[15];
  const u32 p_job_16 = params[16];
  const u32 p_job_17 = params[17];
  const u32 p_job_18 = params[18];
  const u32 p_job_19 = params[19];
  const u32 p_header_16 = params[20];
  const u32 p_header_17 = params[21];
  const u32 p_header_18 = params[22];
  const u32 p_target_0 = params[23];
  const u32 p_target_1 = params[24];
  const u32 p_target_2 = params[25];
  const u32 p_target_3 = params[26];
  const u32 p_target_4 = params[27];
  const u32 p_target_5 = params[28];
  const u32 p_target_6 = params[29];
  const u32 p_target_7 = params[30];
  const u32 p_base_0 = params[31];
  const u32 p_ringCapacity = params[32];
  for (u64 first = begin; first < end; first += LANES) {
    const u32v item = splat_u32((u32)first) + lane_numbers;
    const bool whole = end - first >= LANES;
    const i32v active = whole ? splat_bool(1) : (i32v)(lane_numbers < (u32)(end - first));
    if (((first - begin) & 1023) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
    const u32v v0 = (item + p_base_0) << 5;
    const u32v v1 = byteSwap_u32_v(v0);
    const u32v v2 = byteSwap_u32_v((v0 + 1u));
    const u32v v3 = byteSwap_u32_v((v0 + 2u));
    const u32v v4 = byteSwap_u32_v((v0 + 3u));
    const u32v v5 = byteSwap_u32_v((v0 + 4u));
    const u32v v6 = byteSwap_u32_v((v0 + 5u));
    const u32v v7 = byteSwap_u32_v((v0 + 6u));
    const u32v v8 = byteSwap_u32_v((v0 + 7u));
    const u32v v9 = byteSwap_u32_v((v0 + 8u));
    const u32v v10 = byteSwap_u32_v((v0 + 9u));
    const u32v v11 = byteSwap_u32_v((v0 + 10u));
    const u32v v12 = byteSwap_u32_v((v0 + 11u));
    const u32v v13 = byteSwap_u32_v((v0 + 12u));
    const u32v v14 = byteSwap_u32_v((v0 + 13u));
    const u32v v15 = byteSwap_u32_v((v0 + 14u));
    const u32v v16 = byteSwap_u32_v((v0 + 15u));
    const u32v v17 = byteSwap_u32_v((v0 + 16u));
    const u32v v18 = byteSwap_u32_v((v0 + 17u));
    const u32v v19 = byteSwap_u32_v((v0 + 18u));
    const u32v v20 = byteSwap_u32_v((v0 + 19u));
    const u32v v21 = byteSwap_u32_v((v0 + 20u));
    const u32v v22 = byteSwap_u32_v((v0 + 21u));
    const u32v v23 = byteSwap_u32_v((v0 + 22u));
    const u32v v24 = byteSwap_u32_v((v0 + 23u));
    const u32v v25 = byteSwap_u32_v((v0 + 24u));
    const u32v v26 = byteSwap_u32_v((v0 + 25u));
    const u32v v27 = byteSwap_u32_v((v0 + 26u));
    const u32v v28 = byteSwap_u32_v((v0 + 27u));
    const u32v v29 = byteSwap_u32_v((v0 + 28u));
    const u32v v30 = byteSwap_u32_v((v0 + 29u));
    const u32v v31 = byteSwap_u32_v((v0 + 30u));
    const u32v v32 = byteSwap_u32_v((v0 + 31u));
    const u32v t0 = splat_u32(p_job_0);
    const u32v t1 = splat_u32(p_job_1);
    const u32v t2 = splat_u32(p_job_2);
    const u32v t3 = splat_u32(p_job_3);
    const u32v t4 = splat_u32(p_job_4);
    const u32v t5 = splat_u32(p_job_5);
    const u32v t6 = splat_u32(p_job_6);
    const u32v t7 = splat_u32(p_job_7);
    const u32v t8 = splat_u32(p_job_8);
    const u32v t9 = splat_u32(p_job_9);
    const u32v t10 = splat_u32(p_job_10);
    const u32v t11 = splat_u32(p_job_11);
    const u32v t12 = splat_u32(p_job_12);
    const u32v t13 = splat_u32(p_job_13);
    const u32v t14 = splat_u32(p_job_14);
    const u32v t15 = splat_u32(p_job_15);
    const u32v t16 = splat_u32(p_job_16);
    const u32v t17 = splat_u32(p_job_17);
    const u32v t18 = splat_u32(p_job_18);
    const u32v t19 = splat_u32(p_job_19);
    u32v v33;
    u32v v34;
    u32v v35;
    u32v v36;
    u32v v37;
    u32v v38;
    u32v v39;
    u32v v40;
    u32v v41;
    u32v v42;
    u32v v43;
    u32v v44;
    u32v v45;
    u32v v46;
    u32v v47;
    u32v v48;
    u32v v49;
    u32v v50;
    u32v v51;
    u32v v52;
    u32v v53;
    u32v v54;
    u32v v55;
    u32v v56;
    u32v v57;
    u32v v58;
    u32v v59;
    u32v v60;
    u32v v61;
    u32v v62;
    u32v v63;
    u32v v64;
    {
      const u32 shared[] = {t0[0], t1[0], t2[0], t3[0], t4[0], t5[0], t6[0], t7[0], t8[0], t9[0], t10[0], t11[0], t12[0], t13[0], t14[0], t15[0], t16[0], t17[0], t18[0], t19[0]};
      const u32v nonces[] = {v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18, v19, v20, v21, v22, v23, v24, v25, v26, v27, v28, v29, v30, v31, v32};
      u32v lasts[32];
      sha256_lasts(shared, (const u32 *)nonces, (u32 *)lasts, 32);
      v33 = lasts[0];
      v34 = lasts[1];
      v35 = lasts[2];
      v36 = lasts[3];
      v37 = lasts[4];
      v38 = lasts[5];
      v39 = lasts[6];
      v40 = lasts[7];
      v41 = lasts[8];
      v42 = lasts[9];
      v43 = lasts[10];
      v44 = lasts[11];
      v45 = lasts[12];
      v46 = lasts[13];
      v47 = lasts[14];
      v48 = lasts[15];
      v49 = lasts[16];
      v50 = lasts[17];
      v51 = lasts[18];
      v52 = lasts[19];
      v53 = lasts[20];
      v54 = lasts[21];
      v55 = lasts[22];
      v56 = lasts[23];
      v57 = lasts[24];
      v58 = lasts[25];
      v59 = lasts[26];
      v60 = lasts[27];
      v61 = lasts[28];
      v62 = lasts[29];
      v63 = lasts[30];
      v64 = lasts[31];
    }
    const i32v v65 = ((i32v)((byteSwap_u32_v(v33)) <= p_target_0)) | ((i32v)((byteSwap_u32_v(v34)) <= p_target_0));
    const i32v v66 = (v65 | ((i32v)((byteSwap_u32_v(v35)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v36)) <= p_target_0));
    const i32v v67 = (v66 | ((i32v)((byteSwap_u32_v(v37)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v38)) <= p_target_0));
    const i32v v68 = (v67 | ((i32v)((byteSwap_u32_v(v39)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v40)) <= p_target_0));
    const i32v v69 = (v68 | ((i32v)((byteSwap_u32_v(v41)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v42)) <= p_target_0));
    const i32v v70 = (v69 | ((i32v)((byteSwap_u32_v(v43)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v44)) <= p_target_0));
    const i32v v71 = (v70 | ((i32v)((byteSwap_u32_v(v45)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v46)) <= p_target_0));
    const i32v v72 = (v71 | ((i32v)((byteSwap_u32_v(v47)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v48)) <= p_target_0));
    const i32v v73 = (v72 | ((i32v)((byteSwap_u32_v(v49)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v50)) <= p_target_0));
    const i32v v74 = (v73 | ((i32v)((byteSwap_u32_v(v51)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v52)) <= p_target_0));
    const i32v v75 = (v74 | ((i32v)((byteSwap_u32_v(v53)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v54)) <= p_target_0));
    const i32v v76 = (v75 | ((i32v)((byteSwap_u32_v(v55)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v56)) <= p_target_0));
    const i32v v77 = (v76 | ((i32v)((byteSwap_u32_v(v57)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v58)) <= p_target_0));
    const i32v v78 = (v77 | ((i32v)((byteSwap_u32_v(v59)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v60)) <= p_target_0));
    const i32v v79 = (v78 | ((i32v)((byteSwap_u32_v(v61)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v62)) <= p_target_0));
    const i32v v80 = (v79 | ((i32v)((byteSwap_u32_v(v63)) <= p_target_0))) | ((i32v)((byteSwap_u32_v(v64)) <= p_target_0));
    const i32v v81 = active & v80;
    if (any(v81)) {
      for (u32 v82 = 0; v82 < 32u; v82++) {
        const u32v v83 = v0 + v82;
        const u32v v84 = byteSwap_u32_v(v83);
        const u32v t20 = splat_u32(p_job_12);
        const u32v t21 = splat_u32(p_job_13);
        const u32v t22 = splat_u32(p_job_14);
        const u32v t23 = splat_u32(p_job_15);
        const u32v t24 = splat_u32(p_job_16);
        const u32v t25 = splat_u32(p_job_17);
        const u32v t26 = splat_u32(p_job_18);
        const u32v t27 = splat_u32(p_job_19);
        const u32v t28 = splat_u32(p_header_16);
        const u32v t29 = splat_u32(p_header_17);
        const u32v t30 = splat_u32(p_header_18);
        const u32v t31 = splat_u32(0x80000000u);
        const u32v t32 = splat_u32(0u);
        const u32v t33 = splat_u32(0u);
        const u32v t34 = splat_u32(0u);
        const u32v t35 = splat_u32(0u);
        const u32v t36 = splat_u32(0u);
        const u32v t37 = splat_u32(0u);
        const u32v t38 = splat_u32(0u);
        const u32v t39 = splat_u32(0u);
        const u32v t40 = splat_u32(0u);
        const u32v t41 = splat_u32(0u);
        const u32v t42 = splat_u32(640u);
        u32v v85;
        u32v v86;
        u32v v87;
        u32v v88;
        u32v v89;
        u32v v90;
        u32v v91;
        u32v v92;
        {
          sha256_quad s[4][2], w[4][4];
          sha256_turn(((sha256_quad *)&t20)[0], ((sha256_quad *)&t21)[0], ((sha256_quad *)&t22)[0], ((sha256_quad *)&t23)[0], &s[0][0], &s[1][0], &s[2][0], &s[3][0]);
          sha256_turn(((sha256_quad *)&t24)[0], ((sha256_quad *)&t25)[0], ((sha256_quad *)&t26)[0], ((sha256_quad *)&t27)[0], &s[0][1], &s[1][1], &s[2][1], &s[3][1]);
          sha256_turn(((sha256_quad *)&t28)[0], ((sha256_quad *)&t29)[0], ((sha256_quad *)&t30)[0], ((sha256_quad *)&v84)[0], &w[0][0], &w[1][0], &w[2][0], &w[3][0]);
          sha256_turn(((sha256_quad *)&t31)[0], ((sha256_quad *)&t32)[0], ((sha256_quad *)&t33)[0], ((sha256_quad *)&t34)[0], &w[0][1], &w[1][1], &w[2][1], &w[3][1]);
          sha256_turn(((sha256_quad *)&t35)[0], ((sha256_quad *)&t36)[0], ((sha256_quad *)&t37)[0], ((sha256_quad *)&t38)[0], &w[0][2], &w[1][2], &w[2][2], &w[3][2]);
          sha256_turn(((sha256_quad *)&t39)[0], ((sha256_quad *)&t40)[0], ((sha256_quad *)&t41)[0], ((sha256_quad *)&t42)[0], &w[0][3], &w[1][3], &w[2][3], &w[3][3]);
          sha256_blocks_2(s + 0, w + 0);
          sha256_blocks_2(s + 2, w + 2);
          sha256_turn(s[0][0], s[1][0], s[2][0], s[3][0], &((sha256_quad *)&v85)[0], &((sha256_quad *)&v86)[0], &((sha256_quad *)&v87)[0], &((sha256_quad *)&v88)[0]);
          sha256_turn(s[0][1], s[1][1], s[2][1], s[3][1], &((sha256_quad *)&v89)[0], &((sha256_quad *)&v90)[0], &((sha256_quad *)&v91)[0], &((sha256_quad *)&v92)[0]);
        }
        v85 += t20;
        v86 += t21;
        v87 += t22;
        v88 += t23;
        v89 += t24;
        v90 += t25;
        v91 += t26;
        v92 += t27;
        const u32v t43 = splat_u32(0x6a09e667u);
        const u32v t44 = splat_u32(0xbb67ae85u);
        const u32v t45 = splat_u32(0x3c6ef372u);
        const u32v t46 = splat_u32(0xa54ff53au);
        const u32v t47 = splat_u32(0x510e527fu);
        const u32v t48 = splat_u32(0x9b05688cu);
        const u32v t49 = splat_u32(0x1f83d9abu);
        const u32v t50 = splat_u32(0x5be0cd19u);
        const u32v t51 = splat_u32(0x80000000u);
        const u32v t52 = splat_u32(0u);
        const u32v t53 = splat_u32(0u);
        const u32v t54 = splat_u32(0u);
        const u32v t55 = splat_u32(0u);
        const u32v t56 = splat_u32(0u);
        const u32v t57 = splat_u32(0u);
        const u32v t58 = splat_u32(256u);
        u32v v93;
        u32v v94;
        u32v v95;
        u32v v96;
        u32v v97;
        u32v v98;
        u32v v99;
        u32v v100;
        {
          sha256_quad s[4][2], w[4][4];
          sha256_turn(((sha256_quad *)&t43)[0], ((sha256_quad *)&t44)[0], ((sha256_quad *)&t45)[0], ((sha256_quad *)&t46)[0], &s[0][0], &s[1][0], &s[2][0], &s[3][0]);
          sha256_turn(((sha256_quad *)&t47)[0], ((sha256_quad *)&t48)[0], ((sha256_quad *)&t49)[0], ((sha256_quad *)&t50)[0], &s[0][1], &s[1][1], &s[2][1], &s[3][1]);
          sha256_turn(((sha256_quad *)&v85)[0], ((sha256_quad *)&v86)[0], ((sha256_quad *)&v87)[0], ((sha256_quad *)&v88)[0], &w[0][0], &w[1][0], &w[2][0], &w[3][0]);
          sha256_turn(((sha256_quad *)&v89)[0], ((sha256_quad *)&v90)[0], ((sha256_quad *)&v91)[0], ((sha256_quad *)&v92)[0], &w[0][1], &w[1][1], &w[2][1], &w[3][1]);
          sha256_turn(((sha256_quad *)&t51)[0], ((sha256_quad *)&t52)[0], ((sha256_quad *)&t53)[0], ((sha256_quad *)&t54)[0], &w[0][2], &w[1][2], &w[2][2], &w[3][2]);
          sha256_turn(((sha256_quad *)&t55)[0], ((sha256_quad *)&t56)[0], ((sha256_quad *)&t57)[0], ((sha256_quad *)&t58)[0], &w[0][3], &w[1][3], &w[2][3], &w[3][3]);
          sha256_blocks_2(s + 0, w + 0);
          sha256_blocks_2(s + 2, w + 2);
          sha256_turn(s[0][0], s[1][0], s[2][0], s[3][0], &((sha256_quad *)&v93)[0], &((sha256_quad *)&v94)[0], &((sha256_quad *)&v95)[0], &((sha256_quad *)&v96)[0]);
          sha256_turn(s[0][1], s[1][1], s[2][1], s[3][1], &((sha256_quad *)&v97)[0], &((sha256_quad *)&v98)[0], &((sha256_quad *)&v99)[0], &((sha256_quad *)&v100)[0]);
        }
        v93 += t43;
        v94 += t44;
        v95 += t45;
        v96 += t46;
        v97 += t47;
        v98 += t48;
        v99 += t49;
        v100 += t50;
        const u32v v101 = byteSwap_u32_v(v100);
        const i32v v102 = v81 & ((i32v)(v101 <= p_target_0));
        if (any(v102)) {
          const u32v v103 = byteSwap_u32_v(v99);
          const u32v v104 = byteSwap_u32_v(v98);
          const u32v v105 = byteSwap_u32_v(v97);
          const u32v v106 = byteSwap_u32_v(v96);
          const u32v v107 = byteSwap_u32_v(v95);
          const u32v v108 = byteSwap_u32_v(v94);
          const i32v v109 = ((i32v)(v108 < p_target_6)) | (((i32v)(v108 == p_target_6)) & ((i32v)((byteSwap_u32_v(v93)) < p_target_7)));
          const i32v v110 = ((i32v)(v106 == p_target_4)) & (((i32v)(v107 < p_target_5)) | (((i32v)(v107 == p_target_5)) & v109));
          const i32v v111 = ((i32v)(v105 < p_target_3)) | (((i32v)(v105 == p_target_3)) & (((i32v)(v106 < p_target_4)) | v110));
          const i32v v112 = ((i32v)(v103 == p_target_1)) & (((i32v)(v104 < p_target_2)) | (((i32v)(v104 == p_target_2)) & v111));
          const i32v v113 = ((i32v)(v101 < p_target_0)) | (((i32v)(v101 == p_target_0)) & (((i32v)(v103 < p_target_1)) | v112));
          const i32v v114 = v102 & v113;
          if (any(v114)) {
            u32v v115 = {0};
            for (int l = 0; l < LANES; l++) if (v114[l]) { v115[l] = __atomic_fetch_add(&b_ring[0u], 1u, __ATOMIC_RELAXED); }
            const i32v v116 = v114 & ((i32v)(v115 < p_ringCapacity));
            if (any(v116)) {
              const u32v v117 = v115 << 1;
              const u32v v118 = v117 + 4u;
              for (int l = 0; l < LANES; l++) if (v116[l]) { __atomic_store_n(&b_ring[v118[l]], item[l], __ATOMIC_RELAXED); }
              const u32v v119 = v117 + 5u;
              for (int l = 0; l < LANES; l++) if (v116[l]) { __atomic_store_n(&b_ring[v119[l]], v83[l], __ATOMIC_RELAXED); }
            }
          }
        }
      }
    }
  }
  return end - begin;
}
