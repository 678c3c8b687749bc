import { type Expr, lit, make } from '../../language/expr.js';
import { addChain, select, subChain, wmad } from '../../language/operations.js';
import type { Unsigned } from '../../language/types.js';

/** Numbers of `limbs` limbs, least significant first. Moduli have `spare` uppermost bits of 0. */
export interface LimbShape<L extends Unsigned = Unsigned> {
  readonly limb: L;
  readonly limbs: number;
  readonly spare: number;
}

export type Limbs<L extends Unsigned> = readonly Expr<L>[];

/** Four spare bits let values stay below 4n between steps: 4n·4n/R + n is below 2n, and its double below 4n again. */
export const hasLazyReduction = ({ spare }: Pick<LimbShape, 'spare'>): boolean => spare >= 4;

/** Returns a·b/R mod n, one limb of b at a time: a row of products, then the multiple of n that clears the lowest limb. */
export function genericMultiply<L extends Unsigned>(
  shape: LimbShape<L>,
  a: Limbs<L>,
  b: Limbs<L>,
  n: Limbs<L>,
  inverse: Expr<L>,
): Expr<L>[] {
  const zero = lit(shape.limb, 0);
  const isTight = shape.spare === 0; // a row may then pass the top limb by one bit
  let sum: Expr<L>[] = a.map(() => zero);
  let above = zero;
  for (const factor of b) {
    const row = addRow(a, factor, sum);
    const top = above.add(row.carry);
    const over = isTight ? carryOf(above, row.carry) : zero;
    const reduced = addRow(n, row.limbs[0]?.mul(inverse) ?? zero, row.limbs);
    sum = [...reduced.limbs.slice(1), top.add(reduced.carry)];
    above = isTight ? over.add(carryOf(top, reduced.carry)) : zero;
  }
  return hasLazyReduction(shape) ? sum : subtractOnce(sum, isTight ? above : undefined, n);
}

/** Returns a·a/R mod n: products of different limbs once, doubled, then the squares; then the multiples of n. */
export function genericSquare<L extends Unsigned>(
  shape: LimbShape<L>,
  a: Limbs<L>,
  n: Limbs<L>,
  inverse: Expr<L>,
): Expr<L>[] {
  const { limbs } = shape;
  const zero = lit(shape.limb, 0);
  let w: Expr<L>[] = Array.from({ length: 2 * limbs }, () => zero);
  for (let i = 0; i + 1 < limbs; i++) {
    const row = addRow(a.slice(i + 1), a[i] as Expr<L>, w.slice(2 * i + 1));
    w.splice(2 * i + 1, limbs - i, ...row.limbs, row.carry);
  }
  w = twice(w);
  let carry = zero;
  for (let i = 0; i < limbs; i++) {
    const limb = a[i] as Expr<L>;
    const { lo, hi } = wmad(limb, limb, w[2 * i] as Expr<L>, carry);
    const next = w[2 * i + 1] as Expr<L>;
    w.splice(2 * i, 2, lo, next.add(hi));
    carry = carryOf(next, hi);
  }
  // A row's carry is above all words that determine later multiples of n: all carries are added together at the end.
  const carries = a.map((_, i) => {
    const row = addRow(n, (w[i] as Expr<L>).mul(inverse), w.slice(i));
    w.splice(i, limbs, ...row.limbs);
    return row.carry;
  });
  const sum = addChain(w.slice(limbs), carries);
  return hasLazyReduction(shape) ? sum.limbs : subtractOnce(sum.limbs, shape.spare === 0 ? sum.out : undefined, n);
}

/** Returns 2a mod n if `bit` is 1, else a: a is added to itself under a mask, and n is subtracted if the sum reaches it. */
export function genericDoubleIf<L extends Unsigned>(
  shape: LimbShape<L>,
  a: Limbs<L>,
  bit: Expr<L>,
  n: Limbs<L>,
): Expr<L>[] {
  if (hasLazyReduction(shape)) {
    const doubled = twice(a);
    return a.map((limb, i) => select(bit.ne(0), doubled[i] as Expr<L>, limb));
  }
  const mask = bit.neg();
  const sum = addChain(
    a,
    a.map((limb) => limb.and(mask)),
  );
  return subtractOnce(sum.limbs, shape.spare === 0 ? sum.out : undefined, n);
}

export function twice<L extends Unsigned>(a: Limbs<L>): Expr<L>[] {
  const last = a[0]?.type === 'u64' ? 63 : 31;
  return a.map((limb, i) => (i === 0 ? limb.shl(1) : limb.shl(1).or((a[i - 1] as Expr<L>).shr(last))));
}

/** Returns `value`, which is below 2n, minus n unless it is smaller than n. `above` is its bit past the top limb. */
export function subtractOnce<L extends Unsigned>(value: Limbs<L>, above: Expr<L> | undefined, n: Limbs<L>): Expr<L>[] {
  const { limbs, out } = subChain(value, n);
  const isSmaller = above ? above.lt(out) : out.ne(0);
  return value.map((limb, i) => select(isSmaller, limb, limbs[i] as Expr<L>));
}

/** Returns sum + a·factor over the limbs of a. */
function addRow<L extends Unsigned>(a: Limbs<L>, factor: Expr<L>, sum: Limbs<L>) {
  let carry: Expr<L> = lit(factor.type, 0);
  const limbs = a.map((limb, j) => {
    const { lo, hi } = wmad(limb, factor, sum[j] as Expr<L>, carry);
    carry = hi;
    return lo;
  });
  return { limbs, carry };
}

const carryOf = <L extends Unsigned>(a: Expr<L>, b: Expr<L>): Expr<L> =>
  make(a.type, 'carry', [a, b, lit(a.type, 0)]) as Expr<L>;
