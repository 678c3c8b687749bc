import type { NativeShape } from '../../ir/program.js';
import type { NativeText } from '../../language/std-function.js';

/** Instructions for floats of 16 bits. All round to the nearest, ties to even. A NaN may have other bits. */
type Bodies = Readonly<Record<string, NativeText>>;

/** Returns the value of the low 16 bits of a word. */
export const nativeFloatOfHalf: Bodies = {
  cuda: {
    text: ({ args: [bits], results: [value] }) =>
      `asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(${value}) : "r"(${bits}));`,
  },
  'c-neon': neon(
    ({ args: [bits], results: [value] }) =>
      `${value} = (f32v)vcvt_f32_f16((float16x4_t)vmovn_u32((uint32x4_t)${bits}));`,
    ([bits], [value]) =>
      `const unsigned short bits = ${bits}; __fp16 half; __builtin_memcpy(&half, &bits, 2); ${value} = half;`,
  ),
  'c-f16c': f16c(
    ({ lanes, args: [bits], results: [value] }) => `${value} = (f32v)${registers(lanes).value(bits)};`,
    ([bits], [value]) => `${value} = _cvtsh_ss((unsigned short)${bits});`,
  ),
};

/** Returns the bits of the rounded f32, and its value. */
export const nativeHalfOfFloat: Bodies = {
  cuda: {
    text: ({ args: [x], results: [bits, value] }) =>
      'asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %2; cvt.u32.u16 %0, h; cvt.f32.f16 %1, h; }"' +
      ` : "=r"(${bits}), "=f"(${value}) : "f"(${x}));`,
  },
  'c-neon': neon(
    ({ args: [x], results: [bits, value] }) =>
      `{ const float16x4_t half = vcvt_f16_f32((float32x4_t)${x});
${bits} = (u32v)vmovl_u16((uint16x4_t)half); ${value} = (f32v)vcvt_f32_f16(half); }`,
    ([x], [bits, value]) =>
      `const __fp16 half = (__fp16)${x}; unsigned short raw; __builtin_memcpy(&raw, &half, 2); ${bits} = raw; ${value} = half;`,
  ),
  'c-f16c': f16c(
    ({ lanes, args: [x], results: [bits, value] }) => {
      const { narrow, type, widen, words } = registers(lanes);
      return `{ const ${type} half = ${narrow(x)};
${bits} = (u32v)${words('half')}; ${value} = (f32v)${widen('half')}; }`;
    },
    ([x], [bits, value]) =>
      `const unsigned short half = _cvtss_sh(${x}, 0); ${bits} = half; ${value} = _cvtsh_ss(half);`,
  ),
};

/** The text for one lane: names of arguments and results. */
type LaneText = (args: readonly string[], results: readonly string[]) => string;

/** Four lanes fill a register. */
function neon(four: NativeText['text'], lane: LaneText): NativeText {
  return {
    prelude: '#include <arm_neon.h>',
    lanes: 'widest',
    text: (shape) => (shape.lanes === 4 ? four(shape) : laneByLane(shape, lane)),
  };
}

/** Four, eight or sixteen lanes fill a register. */
function f16c(full: NativeText['text'], lane: LaneText): NativeText {
  return {
    prelude: '#include <immintrin.h>',
    lanes: 'widest',
    text: (shape) => (shape.lanes >= 4 ? full(shape) : laneByLane(shape, lane)),
  };
}

function laneByLane({ lanes, args, results }: NativeShape, lane: LaneText): string {
  if (lanes === 1) return `{ ${lane(args, results)} }`;
  const at = (name: string): string => `${name}[i]`;
  return `for (int i = 0; i < ${lanes}; i++) { ${lane(args.map(at), results.map(at))} }`;
}

/** The instructions of x86 for a gang's registers. */
function registers(lanes: number) {
  const bits = lanes * 32;
  const prefix = bits === 128 ? '_mm' : `_mm${bits}`;
  const floats = bits === 128 ? '__m128' : `__m${bits}`;
  const widen = (half: string): string => `${prefix}_cvtph_ps(${half})`;
  return {
    type: bits === 512 ? '__m256i' : '__m128i',
    widen,
    words: (half: string): string => `${prefix}_cvtepu16_epi32(${half})`,
    narrow: (x = ''): string => `${prefix}_cvtps_ph((${floats})${x}, _MM_FROUND_TO_NEAREST_INT)`,
    value: (words = ''): string => widen(lowHalves(bits, `(${floats}i)${words}`)),
  };
}

/** Narrows words below 2^16. */
function lowHalves(bits: number, words: string): string {
  if (bits === 512) return `_mm512_cvtepi32_epi16(${words})`;
  if (bits === 128) return `_mm_packus_epi32(${words}, ${words})`;
  return `_mm_packus_epi32(_mm256_castsi256_si128(${words}), _mm256_extracti128_si256(${words}, 1))`;
}
