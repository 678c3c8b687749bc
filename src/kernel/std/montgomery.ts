import { breakWhen, type Cell, cell, cells, loop, when } from '../control.js';
import { MillraceError } from '../error.js';
import { type Expr, type In, lit, make, operand } from '../expr.js';
import { min, select, subChain, wmad } from '../operations.js';
import { std } from '../std-function.js';
import type { Scalar, Unsigned } from '../types.js';
import { int128Body } from './montgomery-int128.js';
import { ptxBody } from './montgomery-ptx.js';

/** A number as limbs, least significant first. */
export type Limbs<L extends Unsigned> = readonly Expr<L>[];

/** The exponent's first bits are counted as doublings of 1: at 5 bits that is 16 to 31 of them for five squarings. */
const FERMAT_HEAD_BITS = 5;

export { montgomeryConstants } from './montgomery-host.js';

/**
 * Arithmetic modulo odd numbers n of at most `bits` bits, 3 ≤ n, in Montgomery's form: x stands for x·R mod n, with R one
 * past the largest number of that many limbs.
 *
 * Values are reduced as far as the spare bits of the top limb ask for: below n with fewer than four, below 4n with four or
 * more ("loose": no subtraction after a step; 281 bits in nine limbs of 32, 301 bits in five of 64). `leave` gives a
 * value below n in either case. Limbs of 32 bits are for GPUs and wasm, of 64 bits for C, there with a gang of one: a
 * vector of 64×64-bit products does not exist, so lanes would be worked off one by one. A multiplication in generic
 * operations is about 8·limbs² statements: up to 24 limbs stay within the budget of 5,000.
 */
export class Montgomery<L extends Unsigned> {
  readonly limb: L;
  readonly width: 32 | 64;
  readonly bits: number;
  readonly limbs: number;
  readonly loose: boolean;
  readonly #multiply: (...args: Expr<Scalar>[]) => Expr<Scalar>[];
  readonly #square: (...args: Expr<Scalar>[]) => Expr<Scalar>[];

  constructor(limb: L, bits: number) {
    if (!Number.isInteger(bits) || bits < 2) throw invalid(`a modulus of ${bits} bits`, 'at least 2 bits are needed');
    this.limb = limb;
    this.width = limb === 'u32' ? 32 : 64;
    this.bits = bits;
    this.limbs = Math.ceil(bits / this.width);
    const spare = this.limbs * this.width - bits;
    this.loose = spare >= 4;
    const shape = { limb, limbs: this.limbs, spare };
    this.#multiply = std({
      name: `montgomery.multiply${this.limbs}`,
      results: () => Array<Scalar>(this.limbs).fill(limb),
      generic: (...args) => this.#genericMultiply(args as Expr<L>[]),
      native: limb === 'u64' ? { 'c-int128': int128Body('multiply', shape) } : { cuda: ptxBody('multiply', shape) },
    });
    this.#square = std({
      name: `montgomery.square${this.limbs}`,
      results: () => Array<Scalar>(this.limbs).fill(limb),
      generic: (...args) => this.#genericSquare(args as Expr<L>[]),
      native: limb === 'u64' ? { 'c-int128': int128Body('square', shape) } : { cuda: ptxBody('square', shape) },
    });
  }

  /** −1/n modulo the limb, of n's lowest limb: Newton's iteration, from 3n xor 2, which is right in 5 bits. */
  negInverse(lowest: Expr<L>): Expr<L> {
    let inverse = lowest.mul(3).xor(2);
    for (let right = 5; right < this.width; right *= 2) inverse = inverse.mul(lit(this.limb, 2).sub(lowest.mul(inverse)));
    return inverse.neg();
  }

  /** a·b/R mod n. */
  multiply(a: Limbs<L>, b: Limbs<L>, n: Limbs<L>, inverse: Expr<L>): Expr<L>[] {
    return this.#multiply(...this.#given(a), ...this.#given(b), ...this.#given(n), inverse) as Expr<L>[];
  }

  /** a·a/R mod n: three quarters of the work. */
  square(a: Limbs<L>, n: Limbs<L>, inverse: Expr<L>): Expr<L>[] {
    return this.#square(...this.#given(a), ...this.#given(n), inverse) as Expr<L>[];
  }

  /** 2a mod n, for a below n (below 2n, and giving below 4n, where values are loose). */
  double(a: Limbs<L>, n: Limbs<L>): Expr<L>[] {
    const twice = this.#twice(a);
    if (this.loose) return twice;
    return this.#reducedOnce(twice, a[this.limbs - 1]?.shr(this.width - 1), n);
  }

  /** R mod n, which stands for 1: by doublings, from the largest power of two below n. */
  one(n: Limbs<L>): Expr<L>[] {
    return this.#powersOfTwo(n).one.map((limb) => limb.get());
  }

  /** Montgomery's form of a plain number below n, with R² mod n as `montgomeryConstants` gives it. */
  enter(x: Limbs<L>, rSquared: Limbs<L>, n: Limbs<L>, inverse: Expr<L>): Expr<L>[] {
    return this.multiply(x, rSquared, n, inverse);
  }

  /** The plain number, below n, that a value stands for. */
  leave(x: Limbs<L>, n: Limbs<L>, inverse: Expr<L>): Expr<L>[] {
    const one = this.#given([]).map((_, i) => lit(this.limb, i === 0 ? 1 : 0));
    const plain = this.multiply(x, one, n, inverse);
    return this.loose ? this.#reducedOnce(plain, undefined, n) : plain;
  }

  /** base^exponent, all in Montgomery's form but the exponent, of any number of limbs. Squares from the top bit down. */
  power(base: Limbs<L>, exponent: readonly In<L>[], n: Limbs<L>, inverse: Expr<L>): Expr<L>[] {
    const x = cells(this.limb, this.one(n));
    const fixed = base.map((limb) => operand(this.limb, limb)).map((limb) => cell(this.limb, limb).get());
    this.#fromTop(exponent, 0, (bit) => {
      assign(x, this.square(x, n, inverse));
      when(bit, () => assign(x, this.multiply(x, fixed, n, inverse)));
    });
    return x.map((limb) => limb.get());
  }

  /** 2^(n−1) mod n, a plain number: 1 where n is prime, and for the few composites that pass Fermat's test to base 2. */
  fermat(n: Limbs<L>): Expr<L>[] {
    const inverse = this.negInverse(n[0] as Expr<L>);
    const { one: x, more } = this.#powersOfTwo(n);
    const { count } = this.#headOf(n[this.limbs - 1] as Expr<L>);
    loop(more, () => assign(x, this.#reducedDouble(x, n)));
    // n is odd: n − 1 ends in 0.
    const exponent = n.map((limb, i) => (i === 0 ? limb.xor(1) : limb));
    this.#fromTop(exponent, count, (bit) => {
      const y = this.square(x, n, inverse);
      const doubled = this.double(y, n);
      assign(
        x,
        y.map((limb, i) => select(bit, doubled[i] as Expr<L>, limb)),
      );
    });
    return this.leave(x, n, inverse);
  }

  /** Does n pass Fermat's test to base 2? */
  isProbablePrime(n: Limbs<L>): Expr<'bool'> {
    const [lowest, ...others] = this.fermat(n) as [Expr<L>, ...Expr<L>[]];
    return others.reduce((rest, limb) => rest.or(limb), lowest.xor(1)).eq(0);
  }

  /** Cells that hold R mod n, and how many doublings more stand for the head of the exponent n − 1. */
  #powersOfTwo(n: Limbs<L>): { one: Cell<L>[]; more: Expr<'u32'> } {
    const top = n[this.limbs - 1] as Expr<L>;
    const used = lit('u32', this.width).sub(top.clz());
    // The largest power of two in n, where the top limb is not 0; else 1, which takes longer but is as right.
    const isShort = top.eq(0);
    const power = lit(this.limb, 1).shl(used.sub(1));
    const all = this.limbs * this.width;
    const x = cells(
      this.limb,
      n.map((_, i) => {
        const high = i === this.limbs - 1 ? select(isShort, 0, power) : lit(this.limb, 0);
        return i === 0 ? select(isShort, 1, high) : high;
      }),
    );
    loop(select(isShort, all, lit('u32', this.width + 1).sub(used)), () => assign(x, this.#reducedDouble(x, n)));
    return { one: x, more: this.#headOf(top).value };
  }

  /** The first bits of a number, out of its top limb. */
  #headOf(top: Expr<L>): { count: Expr<'u32'>; value: Expr<'u32'> } {
    const zeros = top.clz();
    const count = min(lit('u32', this.width).sub(zeros), FERMAT_HEAD_BITS);
    const value = top.shl(zeros).shr(lit('u32', this.width).sub(count));
    return { count, value: select(count.eq(0), 0, value.to('u32')) };
  }

  /**
   * Calls `body`, traced once, for each bit of a number from the top down, leading zeros of the top limb and `skip` bits
   * after them left out. The limbs move up as they are used: the language has no arrays of varying index.
   */
  #fromTop(exponent: readonly In<L>[], skip: In<'u32'>, body: (bit: Expr<'bool'>) => void): void {
    const queue = cells(this.limb, exponent);
    const top = queue[queue.length - 1] as Cell<L>;
    const gone = top.clz().add(skip);
    const left = cell('u32', lit('u32', this.width).sub(gone));
    top.set(select(gone.ge(this.width), 0, top.shl(gone)));
    loop(queue.length, () => {
      loop(left, () => {
        const word = top.get();
        body(word.shr(this.width - 1).ne(0));
        top.set(word.shl(1));
      });
      for (let k = queue.length - 1; k > 0; k--) queue[k]?.set(queue[k - 1] as Cell<L>);
      left.set(this.width);
    });
  }

  #given(list: Limbs<L>): Expr<L>[] {
    if (list.length > 0 && list.length !== this.limbs)
      throw invalid(`${list.length} limbs`, `numbers of ${this.bits} bits have ${this.limbs} limbs here`);
    return Array.from({ length: this.limbs }, (_, i) => operand(this.limb, list[i] ?? 0));
  }

  #twice(a: Limbs<L>): Expr<L>[] {
    return a.map((limb, i) => (i === 0 ? limb.shl(1) : limb.shl(1).or((a[i - 1] as Expr<L>).shr(this.width - 1))));
  }

  #reducedDouble(a: Limbs<L>, n: Limbs<L>): Expr<L>[] {
    const now = a.map((limb) => new (limb.constructor as never as typeof Object)() && limb);
    return this.#reducedOnce(this.#twice(now), this.loose ? undefined : a[this.limbs - 1]?.shr(this.width - 1), n);
  }
}
