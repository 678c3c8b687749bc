import { MillraceError } from '../../error.js';
import { type Cell, cell, cells, loop, when } from '../../language/control.js';
import { Expr, type ExprLike, lit, operand } from '../../language/expr.js';
import { min, select } from '../../language/operations.js';
import { encodedName, NARROW_KEY, type NativeText, type StdCall, std } from '../../language/std-function.js';
import { currentTrace } from '../../language/trace.js';
import type { Type, Unsigned } from '../../language/types.js';
import { hasDigits, passesByDigits } from './fermat-digits.js';
import { fermatText, MIN_PTX_LIMBS } from './fermat-ptx.js';
import { adxLadder, adxText } from './montgomery-adx.js';
import {
  genericDoubleIf,
  genericMultiply,
  genericSquare,
  hasLazyReduction,
  type LimbShape,
  type Limbs,
  subtractOnce,
  twice,
} from './montgomery-generic.js';
import { int128Text } from './montgomery-int128.js';
import { ptxText } from './montgomery-ptx.js';

/** The first bits of Fermat's exponent become doublings: with 5 bits, 16 to 31 doublings replace four squarings. */
const HEAD_BITS = 5;

/**
 * Arithmetic modulo odd numbers n ≥ 3 of at most `bits` bits in Montgomery form: x·R mod n represents x, where R is one more
 * than the largest number with that many limbs.
 *
 * Values between steps are below n, or, if the top limb has at least four spare bits, below 4n, which saves the subtractions
 * (281 bits in nine limbs of 32, 301 bits in five of 64); `fromMontgomery` returns a number below n in either case.
 *
 * Limbs of 32 bits suit GPUs and wasm, of 64 bits C, and there a gang of one: processors have no vectors of 64×64-bit
 * products, so that lanes would be processed one by one. One multiplication in generic operations takes about 8·limbs²
 * statements, so numbers of up to 24 limbs fit the budget of 5,000.
 */
export function montgomery<L extends Unsigned>(limb: L, bits: number): Montgomery<L> {
  if (!Number.isInteger(bits) || bits < 2)
    throw montgomeryError(`a modulus of ${bits} bits`, 'give a whole number from 2 on');
  return new Montgomery(limb, bits);
}

export class Montgomery<L extends Unsigned> {
  readonly limb: L;
  readonly limbs: number;
  readonly #width: 32 | 64;
  readonly #shape: LimbShape<L>;
  readonly #multiply: StdCall;
  readonly #square: StdCall;
  readonly #doubleIf: StdCall;
  readonly #ladder: StdCall;
  readonly #passes: StdCall;

  constructor(limb: L, bits: number) {
    this.limb = limb;
    this.#width = limb === 'u32' ? 32 : 64;
    this.limbs = Math.ceil(bits / this.#width);
    this.#shape = { limb, limbs: this.limbs, spare: this.limbs * this.#width - bits };
    const number = (args: readonly Expr<Type>[], i: number) =>
      args.slice(i * this.limbs, (i + 1) * this.limbs) as unknown as Limbs<L>;
    const last = (args: readonly Expr<Type>[]) => args[args.length - 1] as unknown as Expr<L>;
    const results = () => Array<Type>(this.limbs).fill(limb);
    const natives = (kind: 'multiply' | 'square'): Record<string, NativeText> =>
      limb === 'u64'
        ? { 'c-adx': adxText(kind, this.#shape), 'c-int128': int128Text(kind, this.#shape) }
        : { cuda: ptxText(kind, this.#shape) };
    const parameters = `${limb} ${bits}`;
    this.#multiply = std({
      name: 'montgomery.multiply',
      parameters,
      results,
      generic: (...args) =>
        genericMultiply(this.#shape, number(args, 0), number(args, 1), number(args, 2), last(args)) as Expr<Type>[],
      native: natives('multiply'),
    });
    this.#square = std({
      name: 'montgomery.square',
      parameters,
      results,
      generic: (...args) => genericSquare(this.#shape, number(args, 0), number(args, 1), last(args)) as Expr<Type>[],
      native: natives('square'),
    });
    this.#doubleIf = std({
      name: 'montgomery.doubleIf',
      parameters,
      results,
      generic: (...args) => genericDoubleIf(this.#shape, number(args, 0), last(args), number(args, 1)) as Expr<Type>[],
      native: limb === 'u64' && !hasLazyReduction(this.#shape) ? { 'c-adx': adxText('doubleIf', this.#shape) } : {},
    });
    this.#ladder = std({
      name: 'montgomery.ladder',
      parameters,
      results,
      generic: (...args) => {
        const [inverse, word, bits] = args.slice(2 * this.limbs) as unknown as [Expr<L>, Expr<L>, Expr<'u32'>];
        return this.#ladderSteps(number(args, 0), number(args, 1), inverse, word, bits) as Expr<Type>[];
      },
      native: limb === 'u64' && !hasLazyReduction(this.#shape) ? { 'c-adx': adxLadder(this.#shape) } : {},
    });
    this.#passes = std({
      name: 'montgomery.passes',
      parameters,
      results: () => ['bool'],
      generic: (...args) => [this.#passesFermat(number(args, 0), bits)],
      native:
        limb === 'u32' && this.limbs >= MIN_PTX_LIMBS
          ? { cuda: fermatText(this.#shape, 'cuda'), 'opencl-ptx': fermatText(this.#shape, 'opencl') }
          : {},
    });
  }

  /** The std functions of this size. */
  get functions(): readonly StdCall[] {
    return [this.#multiply, this.#square, this.#doubleIf, this.#ladder, this.#passes];
  }

  /** −1/n modulo one limb, from n's lowest limb: Newton's iteration from 3n xor 2, which is correct in 5 bits. */
  negInverse(lowest: Expr<L>): Expr<L> {
    let inverse = lowest.mul(3).xor(2);
    for (let right = 5; right < this.#width; right *= 2)
      inverse = lit(this.limb, 2).sub(lowest.mul(inverse)).mul(inverse);
    return inverse.neg();
  }

  /** Returns a·b/R mod n. */
  multiply(a: Limbs<L>, b: Limbs<L>, n: Limbs<L>, inverse: Expr<L>): Expr<L>[] {
    return this.#multiply(
      ...this.#checkedLimbs(a),
      ...this.#checkedLimbs(b),
      ...this.#checkedLimbs(n),
      inverse,
    ) as Expr<L>[];
  }

  /** Returns a·a/R mod n, with three quarters of the products. */
  square(a: Limbs<L>, n: Limbs<L>, inverse: Expr<L>): Expr<L>[] {
    return this.#square(...this.#checkedLimbs(a), ...this.#checkedLimbs(n), inverse) as Expr<L>[];
  }

  /** Returns 2a mod n if `bit` is 1, a if it is 0; for an a returned by `multiply` or `square`. */
  doubleIf(bit: Expr<L>, a: Limbs<L>, n: Limbs<L>): Expr<L>[] {
    return this.#doubleIf(...this.#checkedLimbs(a), ...this.#checkedLimbs(n), bit) as Expr<L>[];
  }

  /** Returns R mod n, which represents 1, by doubling the largest power of two in n. */
  one(n: Limbs<L>): Expr<L>[] {
    return snapshot(this.#one(this.#checkedLimbs(n)));
  }

  /** Converts a number below n to Montgomery form. `rSquared` is R² mod n; the host has it from `montgomeryConstants`. */
  toMontgomery(x: Limbs<L>, rSquared: Limbs<L>, n: Limbs<L>, inverse: Expr<L>): Expr<L>[] {
    return this.multiply(x, rSquared, n, inverse);
  }

  /** Returns the number below n that x represents. */
  fromMontgomery(x: Limbs<L>, n: Limbs<L>, inverse: Expr<L>): Expr<L>[] {
    const plain = this.multiply(
      x,
      x.map((_, i) => lit(this.limb, i === 0 ? 1 : 0)),
      n,
      inverse,
    );
    return hasLazyReduction(this.#shape) ? subtractOnce(plain, undefined, n) : plain;
  }

  /** base^exponent: `base` and the result in Montgomery form, the exponent plain, of any number of limbs. */
  power(base: Limbs<L>, exponent: readonly ExprLike<L>[], n: Limbs<L>, inverse: Expr<L>): Expr<L>[] {
    const factor = snapshot(base);
    const x = this.#one(n);
    this.#eachBitFromTop(exponent, 0, (bit) => {
      assign(x, this.square(x, n, inverse));
      when(bit.ne(0), () => assign(x, this.multiply(x, factor, n, inverse)));
    });
    return snapshot(x);
  }

  /** Returns 2^(n−1) mod n. It is 1 if n is prime, and for the few composites that pass Fermat's test to base 2. */
  fermat(modulus: Limbs<L>): Expr<L>[] {
    const n = snapshot(modulus);
    const inverse = this.negInverse(n[0] as Expr<L>);
    // n is odd: n − 1 differs in its last bit only.
    const exponent = n.map((limb, i) => (i === 0 ? limb.xor(1) : limb));
    const x = this.#one(n);
    const head = this.#leadingBits(exponent);
    loop(head.value, () => assign(x, this.#doubleReduced(x, n)));
    if (this.limb === 'u64' && !hasLazyReduction(this.#shape)) {
      this.#eachLimbFromTop(exponent, head.bits, (word, bits) => {
        const args = [...this.#checkedLimbs(x), ...n, inverse, word, bits] as unknown as Expr<Type>[];
        assign(x, this.#ladder(...args) as unknown as Expr<L>[]);
      });
    } else
      this.#eachBitFromTop(exponent, head.bits, (bit) => assign(x, this.doubleIf(bit, this.square(x, n, inverse), n)));
    return this.fromMontgomery(x, n, inverse);
  }

  /** True if n passes Fermat's test to base 2. */
  isProbablePrime(n: Limbs<L>): Expr<'bool'> {
    return this.#passes(...this.#checkedLimbs(n))[0] as Expr<'bool'>;
  }

  #passesFermat(n: Limbs<L>, bits: number): Expr<'bool'> {
    if (this.limb === 'u32' && hasDigits(bits) && currentTrace().natives.has(NARROW_KEY)) {
      const modulus = snapshot(n) as unknown as Expr<'u32'>[];
      const inverse = this.negInverse(n[0] as Expr<L>) as unknown as Expr<'u32'>;
      return passesByDigits(bits, modulus, inverse);
    }
    const [lowest, ...others] = this.fermat(n) as [Expr<L>, ...Expr<L>[]];
    return others.reduce((rest, limb) => rest.or(limb), lowest.xor(1)).eq(0);
  }

  #one(n: Limbs<L>): Cell<L>[] {
    const top = n[this.limbs - 1] as Expr<L>;
    const used = lit('u32', this.#width).sub(top.clz());
    // If n's top limb is 0, 1 is doubled all the way: rare, and also correct.
    const isShort = top.eq(0);
    const x = cells(
      this.limb,
      n.map((_, i) => {
        const high = i === this.limbs - 1 ? select(isShort, 0, lit(this.limb, 1).shl(used.sub(1))) : lit(this.limb, 0);
        return i === 0 ? select(isShort, 1, high) : high;
      }),
    );
    const doublings = select(isShort, this.limbs * this.#width, lit('u32', this.#width + 1).sub(used));
    loop(doublings, () => assign(x, this.#doubleReduced(x, n)));
    return x;
  }

  /** Returns 2a mod n for a below n. */
  #doubleReduced(a: Limbs<L>, n: Limbs<L>): Expr<L>[] {
    const value = snapshot(this.#checkedLimbs(a));
    const above = this.#shape.spare === 0 ? value[this.limbs - 1]?.shr(this.#width - 1) : undefined;
    return subtractOnce(twice(value), above, n);
  }

  /** Returns the first bits of a number, at most those of its top limb. */
  #leadingBits(number: Limbs<L>): { bits: Expr<'u32'>; value: Expr<'u32'> } {
    const top = number[this.limbs - 1] as Expr<L>;
    const bits = min(lit('u32', this.#width).sub(top.clz()), HEAD_BITS);
    const value = top.shl(top.clz()).shr(lit('u32', this.#width).sub(bits));
    return { bits, value: value.to('u32') }; // a top limb of 0 has none: 0 shifted by any count is 0
  }

  /** Does `bits` steps of Fermat's test, with the uppermost bits of a word. */
  #ladderSteps(from: Limbs<L>, n: Limbs<L>, inverse: Expr<L>, word: Expr<L>, bits: Expr<'u32'>): Expr<L>[] {
    const x = cells(this.limb, from);
    const rest = cell(this.limb, word);
    loop(bits, () => {
      const left = rest.get();
      rest.set(left.shl(1));
      assign(x, this.doubleIf(left.shr(this.#width - 1), this.square(x, n, inverse), n));
    });
    return snapshot(x);
  }

  /** Works like `#eachBitFromTop`, a limb at a time: its remaining bits are the uppermost. */
  #eachLimbFromTop(number: Limbs<L>, skip: ExprLike<'u32'>, body: (word: Expr<L>, bits: Expr<'u32'>) => void): void {
    const queue = cells(this.limb, number);
    const last = queue.length - 1;
    const top = queue[last] as Cell<L>;
    const first = top.get();
    const gone = first.clz().add(skip);
    const left = cell('u32', lit('u32', this.#width).sub(gone));
    top.set(select(gone.lt(this.#width), first.shl(gone), 0));
    loop(queue.length, () => {
      body(top.get(), left.get());
      for (let k = last; k > 0; k--) queue[k]?.set(queue[k - 1] as Cell<L>);
      left.set(this.#width);
    });
  }

  /**
   * Calls `body`, traced once, with each bit of a number from the top down, without the leading zeros of its top limb and
   * `skip` bits after them. Limbs move up as they are used, since values cannot be indexed at run time.
   */
  #eachBitFromTop(number: readonly ExprLike<L>[], skip: ExprLike<'u32'>, body: (bit: Expr<L>) => void): void {
    const queue = cells(this.limb, number);
    const last = queue.length - 1;
    const top = queue[last] as Cell<L>;
    const first = top.get();
    const gone = first.clz().add(skip);
    const left = cell('u32', lit('u32', this.#width).sub(gone));
    top.set(select(gone.lt(this.#width), first.shl(gone), 0));
    loop(queue.length, () => {
      loop(left, () => {
        const word = top.get();
        top.set(word.shl(1));
        body(word.shr(this.#width - 1));
      });
      for (let k = last; k > 0; k--) queue[k]?.set(queue[k - 1] as Cell<L>);
      left.set(this.#width);
    });
  }

  #checkedLimbs(number: Limbs<L>): Expr<L>[] {
    if (number.length !== this.limbs)
      throw montgomeryError(`a number of ${number.length} limbs`, `give ${this.limbs} limbs`);
    return number.map((limb) => operand(this.limb, limb));
  }
}

/** Returns a function by its name in encoded kernels: `montgomery.square u64 320`. */
export function montgomeryFunction(name: string): StdCall | undefined {
  const [, limb, bits] = /^montgomery\.\w+ (u32|u64) ([1-9]\d{0,3})$/.exec(name) ?? [];
  if (limb === undefined || Number(bits) < 2) return undefined;
  return montgomery(limb as Unsigned, Number(bits)).functions.find(
    ({ definition }) => encodedName(definition) === name,
  );
}

/** Returns the constants that a host needs for a known modulus. */
export function montgomeryConstants(limb: Unsigned, bits: number, n: bigint) {
  const width = limb === 'u32' ? 32n : 64n;
  const limbs = (BigInt(bits) + width - 1n) / width;
  const r = 1n << (width * limbs);
  const toLimbs = (x: bigint): bigint[] =>
    Array.from({ length: Number(limbs) }, (_, i) => BigInt.asUintN(Number(width), x >> (width * BigInt(i))));
  let inverse = 1n;
  for (let right = 1n; right < width; right *= 2n)
    inverse = BigInt.asUintN(Number(width), inverse * (2n - n * inverse));
  return {
    n: toLimbs(n),
    /** −1/n modulo one limb. */
    inverse: BigInt.asUintN(Number(width), -inverse),
    /** R mod n. */
    one: toLimbs(r % n),
    /** R² mod n. */
    rSquared: toLimbs((r * r) % n),
  };
}

/** Returns snapshots of the values, for cells among them. */
const snapshot = <L extends Unsigned>(list: Limbs<L>): Expr<L>[] => list.map((limb) => new Expr(limb.type, limb.node));

function assign<L extends Unsigned>(x: readonly Cell<L>[], values: Limbs<L>): void {
  x.forEach((limb, i) => {
    limb.set(values[i] as Expr<L>);
  });
}

function montgomeryError(what: string, advice: string): MillraceError {
  return new MillraceError({ code: 'kernel-value', message: `${what} in Montgomery arithmetic`, advice });
}
