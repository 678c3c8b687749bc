import type { NativeText } from '../../language/std-function.js';
import { shaBody } from './sha256-native.js';

/**
 * x86's SHA extensions: two rounds in one instruction, on registers that hold ABEF and CDGH. Sapphire Rapids starts one
 * every three cycles, so 62 per nonce take 186 cycles, 15 MH/s at 2.8 GHz. The block kernel there, one core, GCC 12: 12.0 /
 * 14.8 / 15.4 / 14.5 MH/s in gangs of 1 / 2 / 4 / 8 (14.2 in 4 with blocks one after the other, 15.1 with four interleaved).
 */
export const shaNiBody = (constants: readonly number[]): NativeText =>
  shaBody(
    {
      head: HEAD,
      attribute: 'SHA256_ATTRIBUTE',
      state: [
        [5, 4, 1, 0],
        [7, 6, 3, 2],
      ],
      rounds: `
const __m128i upper = _mm_shuffle_epi32((__m128i)kw, 0x0e);
s[1] = (sha256_quad)_mm_sha256rnds2_epu32((__m128i)s[1], (__m128i)s[0], (__m128i)kw);
s[0] = (sha256_quad)_mm_sha256rnds2_epu32((__m128i)s[0], (__m128i)s[1], upper);`,
      extend: `
const sha256_quad sigma0 = (sha256_quad)_mm_sha256msg1_epu32((__m128i)a, (__m128i)b);
const sha256_quad back7 = (sha256_quad)_mm_alignr_epi8((__m128i)d, (__m128i)c, 4);
return (sha256_quad)_mm_sha256msg2_epu32((__m128i)(sigma0 + back7), (__m128i)d);`,
      fence: '#ifdef __AVX__\n_mm256_zeroupper();\n#endif',
      interleaved: 2,
    },
    constants,
  );

/**
 * While the upper half of any AVX register is in use, these instructions take 200 times as long (Sapphire Rapids). The fence
 * clears the halves, and GCC moves no wider code across it. clang does, so the rounds are a separate function with clang,
 * which costs a quarter of the speed.
 */
const HEAD = `#include <immintrin.h>
#if defined(__clang__) && defined(__AVX__)
#define SHA256_ATTRIBUTE noinline
#else
#define SHA256_ATTRIBUTE always_inline
#endif`;
