import type { NativeText } from '../../language/std-function.js';
import { shaBody } from './sha256-native.js';

/**
 * ARMv8's SHA-2 instructions: four rounds in two, four message words in two. In a gang of 4 a double hash takes 255
 * instructions a lane (GCC 12; clang 19: 215), 108 of them these, and 126 cycles of a Neoverse-N1, which starts one of these
 * a cycle. GCC interleaves the lanes by itself: blocks one, two and four abreast give the same code. Searches that depend on
 * the last word alone use the faster sha256-arm-last-words.ts.
 */
export const armBody = (constants: readonly number[]): NativeText =>
  shaBody(
    {
      head: '#include <arm_neon.h>',
      attribute: 'always_inline',
      state: [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
      ],
      rounds: `
const uint32x4_t abcd = (uint32x4_t)s[0], efgh = (uint32x4_t)s[1];
s[0] = (sha256_quad)vsha256hq_u32(abcd, efgh, (uint32x4_t)kw);
s[1] = (sha256_quad)vsha256h2q_u32(efgh, abcd, (uint32x4_t)kw);`,
      extend: `
const uint32x4_t sum = vsha256su0q_u32((uint32x4_t)a, (uint32x4_t)b);
return (sha256_quad)vsha256su1q_u32(sum, (uint32x4_t)c, (uint32x4_t)d);`,
      interleaved: 2,
    },
    constants,
  );
