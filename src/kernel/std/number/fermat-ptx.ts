import type { NativeText } from '../../language/std-function.js';
import type { LimbShape } from './montgomery-generic.js';
import { limbBlock, type PtxKind, ptxInstructions } from './montgomery-ptx.js';

/**
 * Fermat's test to base 2 as one function for NVIDIA's processors, by CUDA or OpenCL. The multiply-add pipe, where nearly
 * everything is a product of a squaring, is nine tenths busy.
 *
 * Numbers are below R = 2^B, not below n: a square divided by R then needs a subtraction only if it has a carry, and none
 * with two spare bits. The exponent is −(n − 1), so that the test begins with a single bit, 2^(B − f). A square divided by R
 * doubles f. After every five squarings the number is multiplied by 2^s and divided by 2^32, one step of the reduction, which
 * adds 32 − s, from 1 to 32, to f. So f grows to n − 1 by its digits in base 32. (R/2, with which a test may begin, has no
 * products of two limbs: it is the one number of its size that may be squared with two spare bits.)
 */
export function fermatText({ limbs, spare }: Omit<LimbShape, 'limb'>, language: PtxLanguage): NativeText {
  const name = `passes_fermat_${32 * limbs - spare}`;
  return {
    prelude: fermatFunction(name, { limbs, spare }, language).join('\n'),
    text: ({ args, results }) => `${results[0]} = ${name}(${args.join(', ')});`,
  };
}

/** A language with inline PTX. */
export type PtxLanguage = 'cuda' | 'opencl';

/** The first f has up to 6 bits: with fewer limbs it might exceed B. */
export const MIN_PTX_LIMBS = 2;

const WINDOW = 5;

/**
 * Five squarings in a row need no moves between them: 1.40e8 tests of 320 bits a second instead of 1.38e8 on an H200. OpenCL's
 * compiler then uses more than 64 registers, so that fewer threads run: 1.22e8 instead of 1.41e8.
 */
const unrolled: Readonly<Record<PtxLanguage, string>> = { cuda: '#pragma unroll', opencl: '#pragma unroll 1' };

function fermatFunction(name: string, { limbs, spare }: Omit<LimbShape, 'limb'>, language: PtxLanguage): string[] {
  const [n, x, y] = [numbered('n', limbs), numbered('x', limbs), numbered('y', limbs + 1)];
  const own = y.slice(0, limbs);
  const block = (kind: PtxKind, args: readonly string[], results: readonly string[]) => {
    const inputs = [...numbered('a', args.length), ...n, 'k'];
    return limbBlock(ptxInstructions(kind, limbs, spare), { inputs, args: [...args, ...n, 'k'], results });
  };
  const qualifier = language === 'cuda' ? '__device__ __forceinline__ ' : '';
  return [
    `${qualifier}bool ${name}(${n.map((limb) => `u32 ${limb}`).join(', ')}) {`,
    ...exponentLines(n),
    'u32 k = n0 * 3u ^ 2u; k *= 2u - n0 * k; k *= 2u - n0 * k; k *= 2u - n0 * k; k = 0u - k;',
    // What is above the digits, minus the ones above them, counts down from f.
    `u32 at = (bits - 2u) / ${WINDOW}u * ${WINDOW}u;`,
    `const u32 first = ${32 * limbs}u - ((32u - ${exponentBits}) & 127u);`,
    `u32 ${x.map((limb, j) => `${limb} = first >> 5 == ${j}u ? 1u << (first & 31u) : 0u`).join(', ')};`,
    `u32 ${y.join(', ')};`,
    'while (at != 0u) {',
    `at -= ${WINDOW}u;`,
    unrolled[language],
    `for (u32 i = 0u; i < ${WINDOW}u; i++) {`,
    block('loose', x, own),
    x.map((limb, j) => `${limb} = y${j};`).join(' '),
    '}',
    `const u32 s = ${exponentBits} & 31u;`,
    ...y.map((limb, j) => {
      const [below, same] = [j === 0 ? '0u' : x[j - 1], j === limbs ? '0u' : x[j]];
      return `asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(${limb}) : "r"(${below}), "r"(${same}), "r"(s));`;
    }),
    block('fold', y, x),
    '}',
    block('leave', x, own),
    `return ((y0 ^ 1u) | ${own.slice(1).join(' | ')}) == 0u;`,
    '}',
  ];
}

const numbered = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, j) => `${prefix}${j}`);

/**
 * Declares `bits`, the length of n, and e, whose digits in base 32 are s: all ones minus n. A digit of n − 1, minus the one
 * that every digit has at least, is from 0 to 31, and s is 31 minus that.
 */
function exponentLines(n: readonly string[]): string[] {
  let ones = 0n;
  for (let at = 0; at < 32 * (n.length + 1); at += WINDOW) ones |= 1n << BigInt(at);
  return [
    `u32 e[${n.length + 1}]; u64 t = 0;`,
    ...[...n, '0u'].map((limb, j) => {
      const word = BigInt.asUintN(32, ones >> BigInt(32 * j));
      return `t = (u64)0x${word.toString(16)}u - ${limb} - (t >> 63); e[${j}] = (u32)t;`;
    }),
    'u32 bits = 1u, word = n0;',
    ...n.slice(1).map((limb, j) => `if (${limb} != 0u) { bits = ${32 * j + 33}u; word = ${limb}; }`),
    '{ u32 high; asm("bfind.u32 %0, %1;" : "=r"(high) : "r"(word)); bits += high; }',
  ];
}

/** The 32 bits of the exponent from `at` on. */
const exponentBits = '(u32)(((u64)e[(at >> 5) + 1u] << 32 | e[at >> 5]) >> (at & 31u))';
