import { type Cell, cell, cells, loop, when } from '../../language/control.js';
import { Expr, lit } from '../../language/expr.js';
import { min, select } from '../../language/operations.js';

/**
 * Fermat's test to base 2 in signed digits of 14 bits, for targets whose products of 32 bits have no upper half (WGSL): a
 * column of digits' products is summed in a word, without a carry between products.
 *
 * |digit| ≤ 2^13, so that 31 products fit. A number has D digits, R = 2^(14D). The modulus is M = n·c with c = −1/n modulo
 * 2^14: M ≡ −1, so that a column's lowest digit q is itself the multiple of M that clears it, by −q in this column and by
 * q·(M + 1)/2^14 above.
 *
 * The exponent is −(n − 1), so that the test begins with a single bit, 2^(14D − f). A square divided by R doubles f. After
 * every two squarings the number is multiplied by 2^s and divided by 2^14, one step of the reduction, which adds 14 − s, from
 * 1 to 4, to f. So f grows by the digits of the exponent in base 4.
 */
export function passesByDigits(bits: number, n: readonly Expr<'u32'>[], negInverse: Expr<'u32'>): Expr<'bool'> {
  const size = sizeOf(bits);
  const own = slices(n, Math.ceil(bits / BITS));
  const modulus = modulusDigits(own, negInverse, Math.ceil((bits + 1) / BITS));
  const passes = cell('bool', lit('bool', false));
  const top = topBit(n);
  when(top.lt(SMALL_BITS), () => passes.set(passesAsWord(n[0] as Expr<'u32'>))).otherwise(() => {
    // f grows to n − 1 + 14D: the number is then 1 if n passes.
    const at = top.sub(3).shr(1).shl(1);
    const exponent = new Exponent(n, BITS * size, at);
    const first = lit('u32', BITS * size).sub(exponent.first);
    const x = cells(
      'i32',
      Array.from({ length: size }, (_, i) => {
        const place = first.sub(BITS * i);
        return select(place.lt(BITS), lit('i32', 1).shl(place), 0);
      }),
    );
    const assign = (values: readonly Expr<'i32'>[]): void => {
      x.forEach((digit, i) => {
        digit.set(values[i] as Expr<'i32'>);
      });
    };
    exponent.eachDigit((digit) => {
      loop(2, () => assign(squared(snapshot(x), modulus)));
      assign(shifted(snapshot(x), digit.add(BITS - 4), modulus));
    });
    passes.set(isOne(snapshot(x), own, negInverse));
  });
  return passes.get();
}

/** True if the columns of numbers of this size fit words: up to 418 bits. */
export const hasDigits = (bits: number): boolean => sizeOf(bits) <= MAX_PRODUCTS;

/** |x| stays below M: half of M, and x²/R or x/2. Two bits more make x²/R small. */
const sizeOf = (bits: number): number => Math.ceil((bits + BITS + 2) / BITS);

const BITS = 14;
const HALF = 1 << (BITS - 1);
/** The most products, of up to 2^26 each, that a word holds with a carry. */
const MAX_PRODUCTS = 31;
/** Numbers of fewer bits are tested in words. With more, there are enough squarings to make any first number small. */
const SMALL_BITS = 15;

type Digits = readonly Expr<'i32'>[];

const snapshot = (list: Digits): Expr<'i32'>[] => list.map((digit) => new Expr(digit.type, digit.node));

/** Splits a column into its digit and the carry to the next column. */
function split(column: Expr<'i32'>): { digit: Expr<'i32'>; carry: Expr<'i32'> } {
  const raised = column.add(HALF);
  return { digit: raised.and(2 * HALF - 1).sub(HALF), carry: raised.shr(BITS) };
}

/** Returns x²/R. */
function squared(x: Digits, modulus: Digits): Expr<'i32'>[] {
  const size = x.length;
  const squares = squareColumns(x);
  const cleared: Expr<'i32'>[] = [];
  const result: Expr<'i32'>[] = [];
  let carry = lit('i32', 0);
  for (let c = 0; c < 2 * size - 1; c++) {
    const multiples: Product[] = [];
    for (let i = Math.max(0, c - modulus.length); i < Math.min(c, size); i++)
      multiples.push([cleared[i], modulus[c - 1 - i]]);
    let column = (squares[c] as Expr<'i32'>).add(carry);
    let early: Expr<'i32'> | undefined;
    const products = Math.min(c, 2 * size - 2 - c) + 1 + multiples.length;
    if (products > MAX_PRODUCTS) ({ digit: column, carry: early } = split(column));
    const { digit, carry: up } = split(sum(multiples, column));
    (c < size ? cleared : result).push(digit);
    carry = early ? up.add(early) : up;
  }
  return [...result, carry];
}

/**
 * Returns the columns of x², which fit a word each. By Karatsuba's 2·x0·x1 = (x0 + x1)² − x0² − x1², a fifth fewer products;
 * sums on the right may wrap, since the left does not.
 */
function squareColumns(x: Digits): Expr<'i32'>[] {
  const half = Math.ceil(x.length / 2);
  const [low, high] = [x.slice(0, half), x.slice(half)];
  const [lows, highs] = [plainSquare(low), plainSquare(high)];
  const both = plainSquare(low.map((digit, i) => (high[i] ? digit.add(high[i]) : digit)));
  return Array.from({ length: 2 * x.length - 1 }, (_, c) => {
    const middle = both[c - half];
    const added = [lows[c], highs[c - 2 * half], middle].filter((part) => part !== undefined);
    const taken = [middle && lows[c - half], middle && highs[c - half]].filter((part) => part !== undefined);
    return taken.reduce(
      (total, part) => total.sub(part),
      added.reduce((total, part) => total.add(part)),
    );
  });
}

function plainSquare(x: Digits): Expr<'i32'>[] {
  const twice = x.map((digit) => digit.shl(1));
  return Array.from({ length: 2 * x.length - 1 }, (_, c) => {
    const products: Product[] = [];
    for (let i = Math.max(0, c - x.length + 1); 2 * i <= c; i++)
      products.push([x[i], 2 * i === c ? x[i] : twice[c - i]]);
    return sum(products);
  });
}

/** Returns x·2^s/2^14 for s up to 13. */
function shifted(x: Digits, s: Expr<'u32'>, modulus: Digits): Expr<'i32'>[] {
  const { digit: cleared, carry: first } = split((x[0] as Expr<'i32'>).shl(s));
  let carry = first;
  const result = x.slice(1).map((own, i) => {
    const column = own.shl(s).add(carry);
    const { digit, carry: up } = split(i < modulus.length ? sum([[cleared, modulus[i]]], column) : column);
    carry = up;
    return digit;
  });
  return [...result, carry];
}

type Product = readonly [Expr<'i32'> | undefined, Expr<'i32'> | undefined];

function sum(products: readonly Product[], first?: Expr<'i32'>): Expr<'i32'> {
  const terms = products.map(([a, b]) => (a as Expr<'i32'>).mul(b as Expr<'i32'>));
  return first ? terms.reduce((total, term) => total.add(term), first) : terms.reduce((total, term) => total.add(term));
}

/** Returns the digits of a number in words, all from 0 on. */
function slices(n: readonly Expr<'u32'>[], count: number): Expr<'i32'>[] {
  return Array.from({ length: count }, (_, i) => {
    const [word, shift] = [(BITS * i) >> 5, (BITS * i) & 31];
    const low = (n[word] as Expr<'u32'>).shr(shift);
    const above = shift + BITS > 32 ? n[word + 1] : undefined;
    return (above ? low.or(above.shl(32 - shift)) : low).and(2 * HALF - 1).bits('i32');
  });
}

/** Returns the digits of (n·c + 1)/2^14. */
function modulusDigits(own: Digits, negInverse: Expr<'u32'>, count: number): Expr<'i32'>[] {
  const factor = negInverse.and(2 * HALF - 1).bits('i32');
  let carry = lit('i32', 1);
  const digits = Array.from({ length: count + 1 }, (_, i) => {
    const part = own[i];
    const { digit, carry: up } = split(part ? part.mul(factor).add(carry) : carry);
    carry = up;
    return digit;
  });
  return digits.slice(1);
}

/** Returns the number of the highest bit that is set. */
function topBit(n: readonly Expr<'u32'>[]): Expr<'u32'> {
  return n.reduce(
    (top, word, j) => (j === 0 ? top : select(word.eq(0), top, lit('u32', 32 * j + 31).sub(word.clz()))),
    lit('u32', 31).sub((n[0] as Expr<'u32'>).clz()),
  );
}

/** True if x, whose digits are signed, is 1 modulo n: x − 1 is then z·n, and z is small and known from the lowest words. */
function isOne(x: Digits, own: Digits, negInverse: Expr<'u32'>): Expr<'bool'> {
  const low = x.slice(0, 3).reduce((word, digit, i) => word.add(digit.shl(BITS * i)), lit('i32', -1));
  const z = low.mul(negInverse.neg().bits('i32'));
  let carry = lit('i32', -1);
  let rest = lit('i32', 0);
  x.forEach((digit, i) => {
    const part = own[i];
    const column = digit.add(carry).sub(part ? z.mul(part) : 0);
    rest = rest.or(column.and(2 * HALF - 1));
    carry = column.shr(BITS);
  });
  const isSmall = z
    .add(1 << 15)
    .bits('u32')
    .lt(1 << 16);
  return isSmall.and(rest.or(carry).eq(0));
}

/** Fermat's test of an odd number from 3 on, of fewer than 16 bits. */
function passesAsWord(n: Expr<'u32'>): Expr<'bool'> {
  const x = cell('u32', 1);
  const rest = cell('u32', n.sub(1).shl(32 - SMALL_BITS - 1));
  loop(SMALL_BITS + 1, () => {
    const left = rest.get();
    rest.set(left.shl(1));
    x.set(x.get().mul(x.get()).rem(n).shl(left.shr(31)).rem(n));
  });
  return x.get().eq(1);
}

/** The exponent's digits in base 4, from the top down: how far each is from 4. */
class Exponent {
  /** f at the beginning: what is above the digits. */
  readonly first: Expr<'u32'>;
  readonly #queue: Cell<'u32'>[];
  readonly #count: Expr<'u32'>;

  /** The digits of n − 1 + `more` below the bit `at`. Each is at least 1: with ones subtracted it is from 0 to 3. */
  constructor(n: readonly Expr<'u32'>[], more: number, at: Expr<'u32'>) {
    const ONES = 0x5555_5555;
    let borrow: Expr<'u32'> | undefined;
    const words = [...n, lit('u32', 0)].map((word, j) => {
      const ones = lit('u32', j === 0 ? ONES - more : ONES);
      const left = ones.sub(word);
      const result = borrow ? left.sub(borrow) : left;
      const isBelow = borrow ? ones.lt(word).or(left.lt(borrow)) : ones.lt(word);
      borrow = select(isBelow, lit('u32', 1), 0);
      return result;
    });
    this.#queue = cells('u32', words);
    this.#count = at.shr(1);
    const last = n.length;
    const top = this.#queue[last] as Cell<'u32'>;
    // The word of bit `at` moves to the top; then its bits below `at`.
    const above = cell('u32', 0);
    loop(lit('u32', last).sub(at.shr(5)), () => {
      above.set(top.get());
      this.#moveUp();
    });
    const within = at.and(31);
    const upper = top
      .get()
      .shr(within)
      .or(above.get().shl(1).shl(lit('u32', 31).sub(within)));
    this.first = lit('u32', (ONES & 0xff) - 1)
      .sub(upper)
      .and(0xff);
    for (let k = last; k >= 0; k--) {
      const own = (this.#queue[k] as Cell<'u32'>).get().shl(1).shl(lit('u32', 31).sub(within));
      const below = this.#queue[k - 1];
      this.#queue[k]?.set(below ? own.or(below.get().shr(within)) : own);
    }
  }

  eachDigit(body: (digit: Expr<'u32'>) => void): void {
    const top = this.#queue[this.#queue.length - 1] as Cell<'u32'>;
    const left = cell('u32', this.#count);
    loop(this.#count.add(15).shr(4), () => {
      loop(min(left.get(), 16), () => {
        const word = top.get();
        top.set(word.shl(2));
        body(word.shr(30));
      });
      left.set(left.sub(min(left.get(), 16)));
      this.#moveUp();
    });
  }

  #moveUp(): void {
    for (let k = this.#queue.length - 1; k > 0; k--) this.#queue[k]?.set(this.#queue[k - 1] as Cell<'u32'>);
  }
}
