import type { NativeText } from '../../language/std-function.js';
import { hasLazyReduction, type LimbShape } from './montgomery-generic.js';
import { limbFunction } from './montgomery-int128.js';

/**
 * x86 with BMI2 and ADX: `mulx` does not change the flags, and `adcx` and `adox` use separate carries, so a product costs
 * three instructions. GCC 12 makes five or more of the same code with 128-bit integers, and the number varies from text to
 * text.
 */
export function adxText(kind: 'multiply' | 'square' | 'doubleIf', shape: Omit<LimbShape, 'limb'>): NativeText {
  const body = { multiply, square, doubleIf }[kind](shape);
  return limbFunction('adx', kind, shape, body);
}

/**
 * A run of Fermat's steps for shapes that need subtractions: squares `c` times, and doubles if the next bit of `w` is 1. It
 * is called once per limb of the exponent; with a call for each step a test of 320 bits took 1.15 times as long.
 */
export function adxLadder(shape: Omit<LimbShape, 'limb'>): NativeText {
  const { limbs, spare } = shape;
  const name = `montgomery_ladder_adx_${limbs}_${Math.min(4, spare)}`;
  const part = (kind: 'square' | 'double', body: readonly string[]): string[] => [
    `static ${limbs <= INLINED ? 'inline __attribute__((always_inline))' : '__attribute__((noinline))'} void ${name}_${kind}(u64 *r, const u64 *a, const u64 *n, u64 k) {`,
    ...body.map((line) => `  ${line}`),
    '}',
  ];
  return {
    lanes: 1,
    prelude: [
      ...part('square', square(shape)),
      ...part('double', doubleIf(shape)),
      `static __attribute__((noinline)) void ${name}(u64 *r, const u64 *n, u64 k, u64 w, u32 c) {`,
      `  u64 s[${limbs}];`,
      `  for (; c > 0; c--, w <<= 1) { ${name}_square(s, r, n, k); ${name}_double(r, s, n, w >> 63); }`,
      '}',
    ].join('\n'),
    text: ({ lanes, args, results }) =>
      range(0, lanes)
        .map((lane) => {
          const laneOf = (value: string | undefined) => (lanes === 1 ? value : `${value}[${lane}]`);
          const listed = (from: number) =>
            args
              .slice(from, from + limbs)
              .map(laneOf)
              .join(', ');
          const rest = args
            .slice(2 * limbs)
            .map(laneOf)
            .join(', ');
          return [
            `{ u64 r[] = {${listed(0)}}; const u64 n[] = {${listed(limbs)}};`,
            `${name}(r, n, ${rest});`,
            `${results.map((result, i) => `${laneOf(result)} = r[${i}];`).join(' ')} }`,
          ].join('\n');
        })
        .join('\n'),
  };
}

/** With more limbs GCC runs out of registers in the loop for an inlined assembly statement. */
const INLINED = 5;

/** Words of one assembly statement: with the factors' address and five other registers, 13 of 15 are used. */
const SEGMENT = 7;

const range = (from: number, to: number) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);

function multiply(shape: Omit<LimbShape, 'limb'>): string[] {
  const { limbs } = shape;
  const words = (i: number) => range(i, i + limbs).map((p) => `w${p}`);
  const lines = [
    `u64 ${range(0, 2 * limbs)
      .map((p) => `w${p} = 0`)
      .join(', ')}, q, above = 0;`,
  ];
  for (const i of range(0, limbs)) {
    lines.push(...row(words(i), named('a', limbs), `b[${i}]`, `w${i + limbs}`));
    lines.push(...reduction(i, limbs));
  }
  return [...lines, ...result(shape)];
}

/** Row i: the square of limb i, then its products with the doubled limbs above. */
function square(shape: Omit<LimbShape, 'limb'>): string[] {
  const { limbs, spare } = shape;
  // Without a spare bit, doubling moves a bit past the top limb: one word more per row.
  const end = spare === 0 ? limbs + 1 : limbs;
  const lines = [
    `u64 ${range(0, 2 * limbs + 1)
      .map((p) => `w${p} = 0`)
      .join(', ')}, q, above = 0, d[${limbs + 1}], f[${limbs + 1}];`,
  ];
  for (const j of range(1, end)) {
    const own = j < limbs ? `a[${j}] << 1` : '0';
    lines.push(`f[${j}] = ${own}; d[${j}] = ${own} | a[${j - 1}] >> 63;`);
  }
  for (const i of range(0, limbs)) {
    const factors = [`a[${i}]`, ...range(i + 1, end).map((j) => (j === i + 1 ? `f[${j}]` : `d[${j}]`))];
    const to = range(2 * i, 2 * i + factors.length).map((p) => `w${p}`);
    const top = `w${2 * i + factors.length}`;
    lines.push(...row(to, factors, `a[${i}]`, top));
  }
  lines.push(...range(0, limbs).flatMap((i) => reduction(i, limbs)));
  return [...lines, ...result(shape)];
}

/** Computes 2a mod n if k, else a: a is added to itself under a mask, so that the time does not depend on k. */
function doubleIf(shape: Omit<LimbShape, 'limb'>): string[] {
  const { limbs } = shape;
  const to = range(0, limbs).map((j) => `w${limbs + j}`);
  const lines = [`const u64 mask = -k; u64 above = 0, ${to.map((w, j) => `${w} = a[${j}]`).join(', ')};`];
  lines.push(
    `const u64 e[] = {${range(0, limbs)
      .map((j) => `a[${j}] & mask`)
      .join(', ')}};`,
  );
  return [...lines, ...chain('adc', to, named('e', limbs), 'above'), ...result(shape, false)];
}

const named = (array: string, limbs: number) => range(0, limbs).map((j) => `${array}[${j}]`);

/** Clears word i by adding a multiple of n. The carry out of the row is kept in c and added to all words at the end. */
function reduction(i: number, limbs: number): string[] {
  const to = range(i, i + limbs).map((p) => `w${p}`);
  return [`q = w${i} * k; u64 c${i} = 0;`, ...row(to, named('n', limbs), 'q', `c${i}`)];
}

/** words += factors · multiplier; `carry` is added to the lowest word, and then holds the carry out of the highest. */
function row(words: readonly string[], factors: readonly string[], multiplier: string, carry: string): string[] {
  const pieces = Math.ceil(words.length / SEGMENT);
  const size = Math.ceil(words.length / pieces);
  return range(0, pieces).map((piece) =>
    segment(
      words.slice(piece * size, (piece + 1) * size),
      factors.slice(piece * size, (piece + 1) * size),
      multiplier,
      carry,
    ),
  );
}

function segment(words: readonly string[], factors: readonly string[], multiplier: string, carry: string): string {
  const text = ['xorl %k[t], %k[t]']; // clears both flags
  words.forEach((_, i) => {
    const before = i === 0 ? 'c' : `h${(i - 1) % 2}`;
    text.push(`mulx %[x${i}], %[t], %[h${i % 2}]`, `adox %[${before}], %[w${i}]`, `adcx %[t], %[w${i}]`);
  });
  text.push('movl $0, %k[t]', `movq %[h${(words.length - 1) % 2}], %[c]`, 'adox %[t], %[c]', 'adcx %[t], %[c]');
  const inOut = [...words.map((word, i) => `[w${i}] "+r"(${word})`), `[c] "+r"(${carry})`];
  const scratch =
    words.length > 1
      ? ['u64 t, h0, h1;', '[t] "=&r"(t), [h0] "=&r"(h0), [h1] "=&r"(h1)']
      : ['u64 t, h0;', '[t] "=&r"(t), [h0] "=&r"(h0)'];
  const inputs = factors.map((factor, i) => `[x${i}] "m"(${factor})`);
  return `{ ${scratch[0]} asm("${text.join('\\n\\t')}" : ${inOut.join(', ')}, ${scratch[1]} : "d"(${multiplier}), ${inputs.join(', ')} : "cc"); }`;
}

/** words ± others, with `carry` (0 or 1) in and out. */
function chain(op: 'adc' | 'sbb', words: readonly string[], others: readonly string[], carry: string): string[] {
  const pieces = Math.ceil(words.length / SEGMENT);
  const size = Math.ceil(words.length / pieces);
  return range(0, pieces).map((piece) => {
    const part = words.slice(piece * size, (piece + 1) * size);
    const text = [
      'addq $-1, %[c]', // the carry becomes the flag
      ...part.map((_, i) => `${op}q %[x${i}], %[w${i}]`),
      'setc %b[c]',
      'movzbl %b[c], %k[c]',
    ];
    const inOut = [...part.map((word, i) => `[w${i}] "+r"(${word})`), `[c] "+q"(${carry})`];
    const inputs = part.map((_, i) => `[x${i}] "rm"(${others[piece * size + i]})`);
    return `asm("${text.join('\\n\\t')}" : ${inOut.join(', ')} : ${inputs.join(', ')} : "cc");`;
  });
}

/** Adds the upper words and the carries of all rows, and subtracts n if the sum is not below it. */
function result(shape: Omit<LimbShape, 'limb'>, withCarries = true): string[] {
  const { limbs } = shape;
  const upper = range(0, limbs).map((j) => `w${limbs + j}`);
  const lines = withCarries
    ? chain(
        'adc',
        upper,
        range(0, limbs).map((i) => `c${i}`),
        'above',
      )
    : [];
  if (hasLazyReduction(shape)) return [...lines, upper.map((w, j) => `r[${j}] = ${w};`).join(' ')];
  return [
    ...lines,
    `u64 less = 0, ${upper.map((w, j) => `s${j} = ${w}`).join(', ')};`,
    ...chain(
      'sbb',
      range(0, limbs).map((j) => `s${j}`),
      named('n', limbs),
      'less',
    ),
    'const u64 keep = -(u64)(above < less);',
    ...upper.map((w, j) => `r[${j}] = (${w} & keep) | (s${j} & ~keep);`),
  ];
}
