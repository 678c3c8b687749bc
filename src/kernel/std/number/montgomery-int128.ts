import type { NativeText } from '../../language/std-function.js';
import { hasLazyReduction, type LimbShape } from './montgomery-generic.js';

/**
 * C for 64-bit limbs with the compilers' 128-bit integers. Generic nodes compute the two halves of a product separately, and
 * GCC multiplies twice for them; here each product is one `mul` or `mulx`.
 */
export function int128Text(kind: 'multiply' | 'square', shape: Omit<LimbShape, 'limb'>): NativeText {
  const body = kind === 'multiply' ? multiply(shape) : square(shape);
  return limbFunction('int128', kind, shape, ['unsigned __int128 t; u64 c, q;', ...body]);
}

/** GCC 12 takes 10 s or more for a large kernel with inlined assembly of this many operands, and 0.3 s with a call. */
const NOINLINE = '__attribute__((noinline)) ';

/** A C function over arrays of limbs `r` (the result) and `a`, `b`, `n`, with `k` last; called once per lane. */
export function limbFunction(
  by: string,
  kind: 'multiply' | 'square' | 'doubleIf',
  { limbs, spare }: Omit<LimbShape, 'limb'>,
  body: readonly string[],
): NativeText {
  const name = `montgomery_${kind}_${by}_${limbs}_${Math.min(4, spare)}`;
  const numbers = kind === 'multiply' ? ['a', 'b', 'n'] : ['a', 'n'];
  return {
    lanes: 1,
    prelude: [
      `static ${by === 'adx' && spare < 4 ? NOINLINE : 'inline '}void ${name}(u64 *r, ${numbers.map((p) => `const u64 *${p}`).join(', ')}, u64 k) {`,
      ...body.map((line) => `  ${line}`),
      '}',
    ].join('\n'),
    text: ({ lanes, args, results }) =>
      Array.from({ length: lanes }, (_, lane) => {
        const laneOf = (value: string | undefined) => (lanes === 1 ? value : `${value}[${lane}]`);
        const arrays = numbers.map(
          (p, i) =>
            `${p}[] = {${args
              .slice(i * limbs, (i + 1) * limbs)
              .map(laneOf)
              .join(', ')}}`,
        );
        return [
          `{ const u64 ${arrays.join(', ')}; u64 r[${limbs}];`,
          `${name}(r, ${numbers.join(', ')}, ${laneOf(args[args.length - 1])});`,
          `${results.map((result, i) => `${laneOf(result)} = r[${i}];`).join(' ')} }`,
        ].join('\n');
      }).join('\n'),
  };
}

/** Prints one product plus its addend: low half into `to`, high half into the carry. */
const step = (x: string, y: string, addend: string, to?: string, carry = true) =>
  `t = (unsigned __int128)${x} * ${y} + ${addend}${carry ? ' + c' : ''}; ${to ? `${to} = (u64)t; ` : ''}c = (u64)(t >> 64);`;

function multiply(shape: Omit<LimbShape, 'limb'>): string[] {
  const { limbs, spare } = shape;
  const indices = [...Array(limbs).keys()];
  const lines = [`u64 ${indices.map((j) => `r${j} = 0`).join(', ')}, top = 0, above = 0;`];
  for (const i of indices) {
    lines.push(...indices.map((j) => step(`a[${j}]`, `b[${i}]`, `r${j}`, `r${j}`, j > 0)));
    // Without a spare bit the sum of a row may exceed its top limb.
    lines.push(spare === 0 ? 't = (unsigned __int128)above + c; top = (u64)t; above = (u64)(t >> 64);' : 'top = c;');
    lines.push('q = r0 * k;');
    lines.push(...indices.map((j) => step(`n[${j}]`, 'q', `r${j}`, j === 0 ? undefined : `r${j - 1}`, j > 0)));
    const last = `r${limbs - 1}`;
    lines.push(
      spare === 0 ? `t = (unsigned __int128)top + c; ${last} = (u64)t; above += (u64)(t >> 64);` : `${last} = top + c;`,
    );
  }
  return [...lines, ...result(shape, (j) => `r${j}`, 'above')];
}

function square(shape: Omit<LimbShape, 'limb'>): string[] {
  const { limbs } = shape;
  const indices = [...Array(limbs).keys()];
  const lines = [`u64 ${[...Array(2 * limbs).keys()].map((j) => `w${j} = 0`).join(', ')}, above = 0;`];
  for (const i of indices.slice(0, -1)) {
    const others = indices.slice(i + 1);
    lines.push(
      ...others.map((j) => step(`a[${j}]`, `a[${i}]`, `w${i + j}`, `w${i + j}`, j > i + 1)),
      `w${i + limbs} = c;`,
    );
  }
  for (let j = 2 * limbs - 1; j > 0; j--) lines.push(`w${j} = w${j} << 1 | w${j - 1} >> 63;`);
  lines.push('c = 0;');
  for (const i of indices) {
    const next = `w${2 * i + 1}`;
    lines.push(step(`a[${i}]`, `a[${i}]`, `w${2 * i}`, `w${2 * i}`));
    lines.push(`t = (unsigned __int128)${next} + c; ${next} = (u64)t; c = (u64)(t >> 64);`);
  }
  for (const i of indices) {
    const top = `w${i + limbs}`;
    lines.push(`q = w${i} * k;`);
    lines.push(...indices.map((j) => step(`n[${j}]`, 'q', `w${i + j}`, j === 0 ? undefined : `w${i + j}`, j > 0)));
    lines.push(`t = (unsigned __int128)${top} + c + above; ${top} = (u64)t; above = (u64)(t >> 64);`);
  }
  return [...lines, ...result(shape, (j) => `w${limbs + j}`, 'above')];
}

/** Prints the assignment to r, minus n if the value is too large. */
function result(shape: Omit<LimbShape, 'limb'>, limb: (j: number) => string, above: string): string[] {
  const indices = [...Array(shape.limbs).keys()];
  if (hasLazyReduction(shape)) return [indices.map((j) => `r[${j}] = ${limb(j)};`).join(' ')];
  return [
    'u64 borrow = 0;',
    ...indices.map(
      (j) =>
        `t = (unsigned __int128)${limb(j)} - n[${j}] - borrow; const u64 s${j} = (u64)t; borrow = (u64)(t >> 64) & 1;`,
    ),
    `const u64 keep = -(u64)(${shape.spare === 0 ? above : '0'} < borrow);`,
    ...indices.map((j) => `r[${j}] = (${limb(j)} & keep) | (s${j} & ~keep);`),
  ];
}
