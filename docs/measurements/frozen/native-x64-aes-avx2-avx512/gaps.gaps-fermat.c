/* kernel gaps-fermat, 1 lane */
#include <stdint.h>
typedef uint32_t u32; typedef int32_t i32; typedef unsigned long long u64; typedef float f32; typedef double f64; typedef int bool;
static inline u64 borrow_u64(u64 a, u64 b, u64 c) { return (unsigned __int128)a < (unsigned __int128)b + c; }
static inline u64 carry_u64(u64 a, u64 b, u64 c) { return (u64)(((unsigned __int128)a + b + c) >> 64); }
static inline u32 cast_bool_u32(bool a) { return (u32)a; }
static inline u64 cast_u32_u64(u32 a) { return (u64)a; }
static inline u32 cast_u64_u32(u64 a) { return (u32)a; }
static inline u32 clz_u64(u64 a) { return a == 0 ? 64u : (u32)__builtin_clzll((u64)a); }
static inline u32 select_u32(bool a, u32 b, u32 c) { return a ? b : c; }
static inline u64 select_u64(bool a, u64 b, u64 c) { return a ? b : c; }
static inline u64 shl_u64(u64 a, u32 b) { return ((u64)a << (b & 63)); }
static inline u64 shr_u64(u64 a, u32 b) { return a >> (b & 63); }
static inline __attribute__((always_inline)) void montgomery_ladder_adx_5_0_square(u64 *r, const u64 *a, const u64 *n, u64 k) {
  u64 w0 = 0, w1 = 0, w2 = 0, w3 = 0, w4 = 0, w5 = 0, w6 = 0, w7 = 0, w8 = 0, w9 = 0, w10 = 0, q, above = 0, d[6], f[6];
  f[1] = a[1] << 1; d[1] = a[1] << 1 | a[0] >> 63;
  f[2] = a[2] << 1; d[2] = a[2] << 1 | a[1] >> 63;
  f[3] = a[3] << 1; d[3] = a[3] << 1 | a[2] >> 63;
  f[4] = a[4] << 1; d[4] = a[4] << 1 | a[3] >> 63;
  f[5] = 0; d[5] = 0 | a[4] >> 63;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmulx %[x5], %[t], %[h1]\n\tadox %[h0], %[w5]\n\tadcx %[t], %[w5]\n\tmovl $0, %k[t]\n\tmovq %[h1], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w0), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3), [w4] "+r"(w4), [w5] "+r"(w5), [c] "+r"(w6), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(a[0]), [x0] "m"(a[0]), [x1] "m"(f[1]), [x2] "m"(d[2]), [x3] "m"(d[3]), [x4] "m"(d[4]), [x5] "m"(d[5]) : "cc"); }
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w2), [w1] "+r"(w3), [w2] "+r"(w4), [w3] "+r"(w5), [w4] "+r"(w6), [c] "+r"(w7), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(a[1]), [x0] "m"(a[1]), [x1] "m"(f[2]), [x2] "m"(d[3]), [x3] "m"(d[4]), [x4] "m"(d[5]) : "cc"); }
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmovl $0, %k[t]\n\tmovq %[h1], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w4), [w1] "+r"(w5), [w2] "+r"(w6), [w3] "+r"(w7), [c] "+r"(w8), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(a[2]), [x0] "m"(a[2]), [x1] "m"(f[3]), [x2] "m"(d[4]), [x3] "m"(d[5]) : "cc"); }
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w6), [w1] "+r"(w7), [w2] "+r"(w8), [c] "+r"(w9), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(a[3]), [x0] "m"(a[3]), [x1] "m"(f[4]), [x2] "m"(d[5]) : "cc"); }
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmovl $0, %k[t]\n\tmovq %[h1], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w8), [w1] "+r"(w9), [c] "+r"(w10), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(a[4]), [x0] "m"(a[4]), [x1] "m"(f[5]) : "cc"); }
  q = w0 * k; u64 c0 = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w0), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3), [w4] "+r"(w4), [c] "+r"(c0), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(q), [x0] "m"(n[0]), [x1] "m"(n[1]), [x2] "m"(n[2]), [x3] "m"(n[3]), [x4] "m"(n[4]) : "cc"); }
  q = w1 * k; u64 c1 = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w1), [w1] "+r"(w2), [w2] "+r"(w3), [w3] "+r"(w4), [w4] "+r"(w5), [c] "+r"(c1), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(q), [x0] "m"(n[0]), [x1] "m"(n[1]), [x2] "m"(n[2]), [x3] "m"(n[3]), [x4] "m"(n[4]) : "cc"); }
  q = w2 * k; u64 c2 = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w2), [w1] "+r"(w3), [w2] "+r"(w4), [w3] "+r"(w5), [w4] "+r"(w6), [c] "+r"(c2), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(q), [x0] "m"(n[0]), [x1] "m"(n[1]), [x2] "m"(n[2]), [x3] "m"(n[3]), [x4] "m"(n[4]) : "cc"); }
  q = w3 * k; u64 c3 = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w3), [w1] "+r"(w4), [w2] "+r"(w5), [w3] "+r"(w6), [w4] "+r"(w7), [c] "+r"(c3), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(q), [x0] "m"(n[0]), [x1] "m"(n[1]), [x2] "m"(n[2]), [x3] "m"(n[3]), [x4] "m"(n[4]) : "cc"); }
  q = w4 * k; u64 c4 = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w4), [w1] "+r"(w5), [w2] "+r"(w6), [w3] "+r"(w7), [w4] "+r"(w8), [c] "+r"(c4), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(q), [x0] "m"(n[0]), [x1] "m"(n[1]), [x2] "m"(n[2]), [x3] "m"(n[3]), [x4] "m"(n[4]) : "cc"); }
  asm("addq $-1, %[c]\n\tadcq %[x0], %[w0]\n\tadcq %[x1], %[w1]\n\tadcq %[x2], %[w2]\n\tadcq %[x3], %[w3]\n\tadcq %[x4], %[w4]\n\tsetc %b[c]\n\tmovzbl %b[c], %k[c]" : [w0] "+r"(w5), [w1] "+r"(w6), [w2] "+r"(w7), [w3] "+r"(w8), [w4] "+r"(w9), [c] "+q"(above) : [x0] "rm"(c0), [x1] "rm"(c1), [x2] "rm"(c2), [x3] "rm"(c3), [x4] "rm"(c4) : "cc");
  u64 less = 0, s0 = w5, s1 = w6, s2 = w7, s3 = w8, s4 = w9;
  asm("addq $-1, %[c]\n\tsbbq %[x0], %[w0]\n\tsbbq %[x1], %[w1]\n\tsbbq %[x2], %[w2]\n\tsbbq %[x3], %[w3]\n\tsbbq %[x4], %[w4]\n\tsetc %b[c]\n\tmovzbl %b[c], %k[c]" : [w0] "+r"(s0), [w1] "+r"(s1), [w2] "+r"(s2), [w3] "+r"(s3), [w4] "+r"(s4), [c] "+q"(less) : [x0] "rm"(n[0]), [x1] "rm"(n[1]), [x2] "rm"(n[2]), [x3] "rm"(n[3]), [x4] "rm"(n[4]) : "cc");
  const u64 keep = -(u64)(above < less);
  r[0] = (w5 & keep) | (s0 & ~keep);
  r[1] = (w6 & keep) | (s1 & ~keep);
  r[2] = (w7 & keep) | (s2 & ~keep);
  r[3] = (w8 & keep) | (s3 & ~keep);
  r[4] = (w9 & keep) | (s4 & ~keep);
}
static inline __attribute__((always_inline)) void montgomery_ladder_adx_5_0_double(u64 *r, const u64 *a, const u64 *n, u64 k) {
  const u64 mask = -k; u64 above = 0, w5 = a[0], w6 = a[1], w7 = a[2], w8 = a[3], w9 = a[4];
  const u64 e[] = {a[0] & mask, a[1] & mask, a[2] & mask, a[3] & mask, a[4] & mask};
  asm("addq $-1, %[c]\n\tadcq %[x0], %[w0]\n\tadcq %[x1], %[w1]\n\tadcq %[x2], %[w2]\n\tadcq %[x3], %[w3]\n\tadcq %[x4], %[w4]\n\tsetc %b[c]\n\tmovzbl %b[c], %k[c]" : [w0] "+r"(w5), [w1] "+r"(w6), [w2] "+r"(w7), [w3] "+r"(w8), [w4] "+r"(w9), [c] "+q"(above) : [x0] "rm"(e[0]), [x1] "rm"(e[1]), [x2] "rm"(e[2]), [x3] "rm"(e[3]), [x4] "rm"(e[4]) : "cc");
  u64 less = 0, s0 = w5, s1 = w6, s2 = w7, s3 = w8, s4 = w9;
  asm("addq $-1, %[c]\n\tsbbq %[x0], %[w0]\n\tsbbq %[x1], %[w1]\n\tsbbq %[x2], %[w2]\n\tsbbq %[x3], %[w3]\n\tsbbq %[x4], %[w4]\n\tsetc %b[c]\n\tmovzbl %b[c], %k[c]" : [w0] "+r"(s0), [w1] "+r"(s1), [w2] "+r"(s2), [w3] "+r"(s3), [w4] "+r"(s4), [c] "+q"(less) : [x0] "rm"(n[0]), [x1] "rm"(n[1]), [x2] "rm"(n[2]), [x3] "rm"(n[3]), [x4] "rm"(n[4]) : "cc");
  const u64 keep = -(u64)(above < less);
  r[0] = (w5 & keep) | (s0 & ~keep);
  r[1] = (w6 & keep) | (s1 & ~keep);
  r[2] = (w7 & keep) | (s2 & ~keep);
  r[3] = (w8 & keep) | (s3 & ~keep);
  r[4] = (w9 & keep) | (s4 & ~keep);
}
static __attribute__((noinline)) void montgomery_ladder_adx_5_0(u64 *r, const u64 *n, u64 k, u64 w, u32 c) {
  u64 s[5];
  for (; c > 0; c--, w <<= 1) { montgomery_ladder_adx_5_0_square(s, r, n, k); montgomery_ladder_adx_5_0_double(r, s, n, w >> 63); }
}
static __attribute__((noinline)) void montgomery_multiply_adx_5_0(u64 *r, const u64 *a, const u64 *b, const u64 *n, u64 k) {
  u64 w0 = 0, w1 = 0, w2 = 0, w3 = 0, w4 = 0, w5 = 0, w6 = 0, w7 = 0, w8 = 0, w9 = 0, q, above = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w0), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3), [w4] "+r"(w4), [c] "+r"(w5), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(b[0]), [x0] "m"(a[0]), [x1] "m"(a[1]), [x2] "m"(a[2]), [x3] "m"(a[3]), [x4] "m"(a[4]) : "cc"); }
  q = w0 * k; u64 c0 = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w0), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3), [w4] "+r"(w4), [c] "+r"(c0), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(q), [x0] "m"(n[0]), [x1] "m"(n[1]), [x2] "m"(n[2]), [x3] "m"(n[3]), [x4] "m"(n[4]) : "cc"); }
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w1), [w1] "+r"(w2), [w2] "+r"(w3), [w3] "+r"(w4), [w4] "+r"(w5), [c] "+r"(w6), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(b[1]), [x0] "m"(a[0]), [x1] "m"(a[1]), [x2] "m"(a[2]), [x3] "m"(a[3]), [x4] "m"(a[4]) : "cc"); }
  q = w1 * k; u64 c1 = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w1), [w1] "+r"(w2), [w2] "+r"(w3), [w3] "+r"(w4), [w4] "+r"(w5), [c] "+r"(c1), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(q), [x0] "m"(n[0]), [x1] "m"(n[1]), [x2] "m"(n[2]), [x3] "m"(n[3]), [x4] "m"(n[4]) : "cc"); }
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w2), [w1] "+r"(w3), [w2] "+r"(w4), [w3] "+r"(w5), [w4] "+r"(w6), [c] "+r"(w7), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(b[2]), [x0] "m"(a[0]), [x1] "m"(a[1]), [x2] "m"(a[2]), [x3] "m"(a[3]), [x4] "m"(a[4]) : "cc"); }
  q = w2 * k; u64 c2 = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w2), [w1] "+r"(w3), [w2] "+r"(w4), [w3] "+r"(w5), [w4] "+r"(w6), [c] "+r"(c2), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(q), [x0] "m"(n[0]), [x1] "m"(n[1]), [x2] "m"(n[2]), [x3] "m"(n[3]), [x4] "m"(n[4]) : "cc"); }
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w3), [w1] "+r"(w4), [w2] "+r"(w5), [w3] "+r"(w6), [w4] "+r"(w7), [c] "+r"(w8), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(b[3]), [x0] "m"(a[0]), [x1] "m"(a[1]), [x2] "m"(a[2]), [x3] "m"(a[3]), [x4] "m"(a[4]) : "cc"); }
  q = w3 * k; u64 c3 = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w3), [w1] "+r"(w4), [w2] "+r"(w5), [w3] "+r"(w6), [w4] "+r"(w7), [c] "+r"(c3), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(q), [x0] "m"(n[0]), [x1] "m"(n[1]), [x2] "m"(n[2]), [x3] "m"(n[3]), [x4] "m"(n[4]) : "cc"); }
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w4), [w1] "+r"(w5), [w2] "+r"(w6), [w3] "+r"(w7), [w4] "+r"(w8), [c] "+r"(w9), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(b[4]), [x0] "m"(a[0]), [x1] "m"(a[1]), [x2] "m"(a[2]), [x3] "m"(a[3]), [x4] "m"(a[4]) : "cc"); }
  q = w4 * k; u64 c4 = 0;
  { u64 t, h0, h1; asm("xorl %k[t], %k[t]\n\tmulx %[x0], %[t], %[h0]\n\tadox %[c], %[w0]\n\tadcx %[t], %[w0]\n\tmulx %[x1], %[t], %[h1]\n\tadox %[h0], %[w1]\n\tadcx %[t], %[w1]\n\tmulx %[x2], %[t], %[h0]\n\tadox %[h1], %[w2]\n\tadcx %[t], %[w2]\n\tmulx %[x3], %[t], %[h1]\n\tadox %[h0], %[w3]\n\tadcx %[t], %[w3]\n\tmulx %[x4], %[t], %[h0]\n\tadox %[h1], %[w4]\n\tadcx %[t], %[w4]\n\tmovl $0, %k[t]\n\tmovq %[h0], %[c]\n\tadox %[t], %[c]\n\tadcx %[t], %[c]" : [w0] "+r"(w4), [w1] "+r"(w5), [w2] "+r"(w6), [w3] "+r"(w7), [w4] "+r"(w8), [c] "+r"(c4), [t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1) : "d"(q), [x0] "m"(n[0]), [x1] "m"(n[1]), [x2] "m"(n[2]), [x3] "m"(n[3]), [x4] "m"(n[4]) : "cc"); }
  asm("addq $-1, %[c]\n\tadcq %[x0], %[w0]\n\tadcq %[x1], %[w1]\n\tadcq %[x2], %[w2]\n\tadcq %[x3], %[w3]\n\tadcq %[x4], %[w4]\n\tsetc %b[c]\n\tmovzbl %b[c], %k[c]" : [w0] "+r"(w5), [w1] "+r"(w6), [w2] "+r"(w7), [w3] "+r"(w8), [w4] "+r"(w9), [c] "+q"(above) : [x0] "rm"(c0), [x1] "rm"(c1), [x2] "rm"(c2), [x3] "rm"(c3), [x4] "rm"(c4) : "cc");
  u64 less = 0, s0 = w5, s1 = w6, s2 = w7, s3 = w8, s4 = w9;
  asm("addq $-1, %[c]\n\tsbbq %[x0], %[w0]\n\tsbbq %[x1], %[w1]\n\tsbbq %[x2], %[w2]\n\tsbbq %[x3], %[w3]\n\tsbbq %[x4], %[w4]\n\tsetc %b[c]\n\tmovzbl %b[c], %k[c]" : [w0] "+r"(s0), [w1] "+r"(s1), [w2] "+r"(s2), [w3] "+r"(s3), [w4] "+r"(s4), [c] "+q"(less) : [x0] "rm"(n[0]), [x1] "rm"(n[1]), [x2] "rm"(n[2]), [x3] "rm"(n[3]), [x4] "rm"(n[4]) : "cc");
  const u64 keep = -(u64)(above < less);
  r[0] = (w5 & keep) | (s0 & ~keep);
  r[1] = (w6 & keep) | (s1 & ~keep);
  r[2] = (w7 & keep) | (s2 & ~keep);
  r[3] = (w8 & keep) | (s3 & ~keep);
  r[4] = (w9 & keep) | (s4 & ~keep);
}

uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  const u32 *const params = (const u32 *)launch[0];
  u32 *const control = (u32 *)launch[1];
  const u32 epoch = (u32)launch[2];
  const u32 *const b_candidate = (const u32 *)launch[3];
  u32 *const b_prime = (u32 *)launch[5];
  u32 *const b_ring = (u32 *)launch[7];
  const u64 p_base_0 = ((u64)params[1] << 32 | params[0]);
  const u64 p_base_1 = ((u64)params[3] << 32 | params[2]);
  const u64 p_base_2 = ((u64)params[5] << 32 | params[4]);
  const u64 p_base_3 = ((u64)params[7] << 32 | params[6]);
  const u64 p_base_4 = ((u64)params[9] << 32 | params[8]);
  for (u64 first = begin; first < end; first++) {
    const u32 item = (u32)first;
    if (((first - begin) & 1023) == 0 && __atomic_load_n(control, __ATOMIC_RELAXED) != epoch) return first - begin;
    const u32 v0 = b_candidate[item];
    const u64 v1 = cast_u32_u64(((v0 << 1) + 1u));
    const u64 v2 = carry_u64(p_base_0, v1, 0ull);
    const u64 v3 = carry_u64(p_base_1, 0ull, v2);
    const u64 v4 = carry_u64(p_base_2, 0ull, v3);
    const u64 v5 = (carry_u64(p_base_3, 0ull, v4)) + p_base_4;
    const bool v6 = v5 == 0ull;
    u64 c0 = select_u64(v6, 1ull, 0ull);
    u64 c1 = 0ull;
    u64 c2 = 0ull;
    u64 c3 = 0ull;
    const u32 v7 = clz_u64(v5);
    const u32 v8 = 64u - v7;
    u64 c4 = select_u64(v6, 0ull, (shl_u64(1ull, (v8 + 0xffffffffu))));
    const u64 v9 = v4 + p_base_3;
    const u64 v10 = v3 + p_base_2;
    const u64 v11 = v2 + p_base_1;
    const u64 v12 = v1 + p_base_0;
    for (u32 v13 = 0; v13 < (select_u32(v6, 320u, (65u - v8))); v13++) {
      const u64 v14 = c0;
      const u64 v15 = c1;
      const u64 v16 = c2;
      const u64 v17 = c3;
      const u64 v18 = c4;
      const u64 v19 = (v18 << 1) | (v17 >> 63);
      const u64 v20 = (v17 << 1) | (v16 >> 63);
      const u64 v21 = (v16 << 1) | (v15 >> 63);
      const u64 v22 = (v15 << 1) | (v14 >> 63);
      const u64 v23 = v14 << 1;
      const u64 v24 = borrow_u64(v23, v12, 0ull);
      const u64 v25 = borrow_u64(v22, v11, v24);
      const u64 v26 = borrow_u64(v21, v10, v25);
      const u64 v27 = borrow_u64(v20, v9, v26);
      const bool v28 = (v18 >> 63) < (borrow_u64(v19, v5, v27));
      c0 = select_u64(v28, v23, (v23 - v12));
      c1 = select_u64(v28, v22, ((v22 - v11) - v24));
      c2 = select_u64(v28, v21, ((v21 - v10) - v25));
      c3 = select_u64(v28, v20, ((v20 - v9) - v26));
      c4 = select_u64(v28, v19, ((v19 - v5) - v27));
    }
    const u32 v29 = select_u32((5u < v8), 5u, v8);
    for (u32 v30 = 0; v30 < (cast_u64_u32((shr_u64((shl_u64(v5, v7)), (64u - v29))))); v30++) {
      const u64 v31 = c0;
      const u64 v32 = c1;
      const u64 v33 = c2;
      const u64 v34 = c3;
      const u64 v35 = c4;
      const u64 v36 = (v35 << 1) | (v34 >> 63);
      const u64 v37 = (v34 << 1) | (v33 >> 63);
      const u64 v38 = (v33 << 1) | (v32 >> 63);
      const u64 v39 = (v32 << 1) | (v31 >> 63);
      const u64 v40 = v31 << 1;
      const u64 v41 = borrow_u64(v40, v12, 0ull);
      const u64 v42 = borrow_u64(v39, v11, v41);
      const u64 v43 = borrow_u64(v38, v10, v42);
      const u64 v44 = borrow_u64(v37, v9, v43);
      const bool v45 = (v35 >> 63) < (borrow_u64(v36, v5, v44));
      c0 = select_u64(v45, v40, (v40 - v12));
      c1 = select_u64(v45, v39, ((v39 - v11) - v41));
      c2 = select_u64(v45, v38, ((v38 - v10) - v42));
      c3 = select_u64(v45, v37, ((v37 - v9) - v43));
      c4 = select_u64(v45, v36, ((v36 - v5) - v44));
    }
    u64 c5 = v11;
    u64 c6 = v10;
    u64 c7 = v9;
    u64 c8 = v5;
    const u32 v46 = v7 + v29;
    u32 c9 = 64u - v46;
    c8 = select_u64((v46 < 64u), (shl_u64(v5, v46)), 0ull);
    const u64 v47 = (v12 * 3ull) ^ 2ull;
    const u64 v48 = (2ull - (v12 * v47)) * v47;
    const u64 v49 = (2ull - (v12 * v48)) * v48;
    const u64 v50 = (2ull - (v12 * v49)) * v49;
    const u64 v51 = -((2ull - (v12 * v50)) * v50);
    const u64 v52 = v12 ^ 1ull;
    for (u32 v53 = 0; v53 < 5u; v53++) {
      const u64 v54 = c8;
      const u32 v55 = c9;
      const u64 v56 = c0;
      const u64 v57 = c1;
      const u64 v58 = c2;
      const u64 v59 = c3;
      const u64 v60 = c4;
      u64 v61;
      u64 v62;
      u64 v63;
      u64 v64;
      u64 v65;
      { u64 r[] = {v56, v57, v58, v59, v60}; const u64 n[] = {v12, v11, v10, v9, v5};
      montgomery_ladder_adx_5_0(r, n, v51, v54, v55);
      v61 = r[0]; v62 = r[1]; v63 = r[2]; v64 = r[3]; v65 = r[4]; }
      c0 = v61;
      c1 = v62;
      c2 = v63;
      c3 = v64;
      c4 = v65;
      const u64 v66 = c7;
      c8 = v66;
      const u64 v67 = c6;
      c7 = v67;
      const u64 v68 = c5;
      c6 = v68;
      c5 = v52;
      c9 = 64u;
    }
    const u64 v69 = c0;
    const u64 v70 = c1;
    const u64 v71 = c2;
    const u64 v72 = c3;
    const u64 v73 = c4;
    u64 v74;
    u64 v75;
    u64 v76;
    u64 v77;
    u64 v78;
    { const u64 a[] = {v69, v70, v71, v72, v73}, b[] = {1ull, 0ull, 0ull, 0ull, 0ull}, n[] = {v12, v11, v10, v9, v5}; u64 r[5];
    montgomery_multiply_adx_5_0(r, a, b, n, v51);
    v74 = r[0]; v75 = r[1]; v76 = r[2]; v77 = r[3]; v78 = r[4]; }
    const u64 v79 = ((((v74 ^ 1ull) | v75) | v76) | v77) | v78;
    b_prime[item] = (cast_bool_u32((v79 == 0ull)));
  }
  return end - begin;
}
