import type { Node, Op } from '../../ir/program.js';
import type { Scalar } from '../../language/types.js';

/** A u64 as its two words. */
export interface WordPair {
  readonly lo: Node;
  readonly hi: Node;
}

/** Makes simplified nodes. */
export interface NodeMaker {
  op(op: Op, type: Scalar, ...args: Node[]): Node;
  word(value: number): Node;
  literal(type: Scalar, value: number): Node;
}

/**
 * 64-bit arithmetic in 32-bit words, exact for every input. It uses selects instead of branches, so that it can float like
 * any other value.
 */
export class U64Arithmetic {
  readonly #make: NodeMaker;

  constructor(make: NodeMaker) {
    this.#make = make;
  }

  #u32Op = (op: Op, ...args: Node[]): Node => this.#make.op(op, 'u32', ...args);
  #boolOp = (op: Op, ...args: Node[]): Node => this.#make.op(op, 'bool', ...args);
  #word = (value: number): Node => this.#make.word(value);
  #bit = (condition: Node): Node => this.#u32Op('cast', condition);

  zero(): WordPair {
    return { lo: this.#word(0), hi: this.#word(0) };
  }

  add(a: WordPair, b: WordPair): WordPair {
    const lo = this.#u32Op('add', a.lo, b.lo);
    const carry = this.#bit(this.#boolOp('lt', lo, a.lo));
    return { lo, hi: this.#u32Op('add', this.#u32Op('add', a.hi, b.hi), carry) };
  }

  sub(a: WordPair, b: WordPair): WordPair {
    const borrow = this.#bit(this.#boolOp('lt', a.lo, b.lo));
    return { lo: this.#u32Op('sub', a.lo, b.lo), hi: this.#u32Op('sub', this.#u32Op('sub', a.hi, b.hi), borrow) };
  }

  mul(a: WordPair, b: WordPair): WordPair {
    const cross = this.#u32Op('add', this.#u32Op('mul', a.lo, b.hi), this.#u32Op('mul', a.hi, b.lo));
    return { lo: this.#u32Op('mul', a.lo, b.lo), hi: this.#u32Op('add', this.#u32Op('mulHi', a.lo, b.lo), cross) };
  }

  /** Returns the upper half of a·b + c + d, limb by limb: no step can overflow. */
  wmadHi(a: WordPair, b: WordPair, c: WordPair, d: WordPair): WordPair {
    const high = (x: Node, y: Node, z: Node, w: Node) => this.#u32Op('wmadHi', x, y, z, w);
    const low = (x: Node, y: Node, z: Node, w: Node) =>
      this.#u32Op('add', this.#u32Op('add', this.#u32Op('mul', x, y), z), w);
    const k0 = high(a.lo, b.lo, c.lo, d.lo);
    const l1 = low(a.hi, b.lo, c.hi, k0);
    const k1 = high(a.hi, b.lo, c.hi, k0);
    const k2 = high(a.lo, b.hi, l1, d.hi);
    return { lo: low(a.hi, b.hi, k1, k2), hi: high(a.hi, b.hi, k1, k2) };
  }

  lt(a: WordPair, b: WordPair): Node {
    return this.#compare('lt', a, b);
  }
  le(a: WordPair, b: WordPair): Node {
    return this.#compare('le', a, b);
  }
  eq(a: WordPair, b: WordPair): Node {
    return this.#boolOp('and', this.#boolOp('eq', a.lo, b.lo), this.#boolOp('eq', a.hi, b.hi));
  }

  /** Returns the carry, 0 or 1, out of a + b + c, with c 0 or 1. */
  carry(a: WordPair, b: WordPair, c: WordPair): WordPair {
    const first = this.add(a, b);
    const second = this.add(first, c);
    return { lo: this.#bit(this.#boolOp('or', this.lt(first, a), this.lt(second, first))), hi: this.#word(0) };
  }

  borrow(a: WordPair, b: WordPair, c: WordPair): WordPair {
    const first = this.sub(a, b);
    return { lo: this.#bit(this.#boolOp('or', this.lt(a, b), this.lt(first, c))), hi: this.#word(0) };
  }

  select(condition: Node, yes: WordPair, no: WordPair): WordPair {
    return { lo: this.#u32Op('select', condition, yes.lo, no.lo), hi: this.#u32Op('select', condition, yes.hi, no.hi) };
  }

  /** Shifts by a count modulo 64. Shifts of words take the count modulo 32. */
  shl(a: WordPair, count: Node): WordPair {
    const far = this.#isWordShift(count);
    const near = { lo: this.#u32Op('shl', a.lo, count), hi: this.#funnelShift('shl', a.hi, a.lo, count) };
    return this.select(far, { lo: this.#word(0), hi: near.lo }, near);
  }
  shr(a: WordPair, count: Node): WordPair {
    const far = this.#isWordShift(count);
    const near = { lo: this.#funnelShift('shr', a.lo, a.hi, count), hi: this.#u32Op('shr', a.hi, count) };
    return this.select(far, { lo: near.hi, hi: this.#word(0) }, near);
  }
  rotl(a: WordPair, count: Node): WordPair {
    const from = this.select(this.#isWordShift(count), { lo: a.hi, hi: a.lo }, a);
    return {
      lo: this.#funnelShift('shl', from.lo, from.hi, count),
      hi: this.#funnelShift('shl', from.hi, from.lo, count),
    };
  }
  rotr(a: WordPair, count: Node): WordPair {
    const from = this.select(this.#isWordShift(count), { lo: a.hi, hi: a.lo }, a);
    return {
      lo: this.#funnelShift('shr', from.lo, from.hi, count),
      hi: this.#funnelShift('shr', from.hi, from.lo, count),
    };
  }

  clz(a: WordPair): Node {
    const below = this.#u32Op('add', this.#u32Op('clz', a.lo), this.#word(32));
    return this.#u32Op('select', this.#boolOp('eq', a.hi, this.#word(0)), below, this.#u32Op('clz', a.hi));
  }

  ctz(a: WordPair): Node {
    const above = this.#u32Op('add', this.#u32Op('ctz', a.hi), this.#word(32));
    return this.#u32Op('select', this.#boolOp('eq', a.lo, this.#word(0)), above, this.#u32Op('ctz', a.lo));
  }

  /** Returns quotient and remainder; x / 0 is x and x % 0 is 0, as for a division by 1. */
  divide(a: WordPair, divisor: WordPair): { quotient: WordPair; remainder: WordPair } {
    const b = this.select(this.eq(divisor, this.zero()), { lo: this.#word(1), hi: this.#word(0) }, divisor);
    const small = this.#divideByWord(a, b.lo);
    const large = this.#divideByPair(a, b);
    const quotient = this.select(this.#boolOp('eq', b.hi, this.#word(0)), small, { lo: large, hi: this.#word(0) });
    return { quotient, remainder: this.sub(a, this.mul(quotient, b)) };
  }

  /** Divides by a divisor below 2^32 (for others the result is not used), in two steps of long division. */
  #divideByWord(a: WordPair, rawDivisor: Node): WordPair {
    const divisor = this.#u32Op('select', this.#boolOp('eq', rawDivisor, this.#word(0)), this.#word(1), rawDivisor);
    const hi = this.#u32Op('div', a.hi, divisor);
    const rest = this.#u32Op('rem', a.hi, divisor);
    return { lo: this.#divideTwoByOne(rest, a.lo, divisor), hi };
  }

  /**
   * Divides by a divisor of 2^32 or more; the quotient is one word. The halved dividend divided by the divisor's upper 32
   * bits is at most one too large. One less is then at most one too small, which a final comparison corrects.
   */
  #divideByPair(a: WordPair, b: WordPair): Node {
    const s = this.#u32Op('clz', b.hi); // below 32 for divisors of 2^32 or more
    const top = this.shl(b, s).hi;
    const half = this.shr(a, this.#word(1));
    const upper = this.#u32Op('select', this.#boolOp('eq', b.hi, this.#word(0)), this.#word(0), half.hi);
    const estimate = this.#divideTwoByOne(upper, half.lo, this.#u32Op('or', top, this.#word(0x8000_0000)));
    const scaled = this.shr({ lo: estimate, hi: this.#word(0) }, this.#u32Op('sub', this.#word(31), s)).lo;
    const low = this.#u32Op(
      'select',
      this.#boolOp('eq', scaled, this.#word(0)),
      scaled,
      this.#u32Op('sub', scaled, this.#word(1)),
    );
    const rest = this.sub(a, this.mul({ lo: low, hi: this.#word(0) }, b));
    return this.#u32Op('add', low, this.#bit(this.le(b, rest)));
  }

  /** Returns (high:low) / divisor for high < divisor, in two steps with 16-bit digits. */
  #divideTwoByOne(high: Node, low: Node, divisor: Node): Node {
    const s = this.#u32Op('clz', divisor);
    const v = this.#u32Op('shl', divisor, s);
    const [vHigh, vLow] = [this.#u32Op('shr', v, this.#word(16)), this.#u32Op('and', v, this.#word(0xffff))];
    const u = this.shl({ lo: low, hi: high }, s);
    const step = (top: Node, digit: Node): { q: Node; rest: Node } => {
      let q = this.#u32Op('div', top, vHigh);
      let r = this.#u32Op('sub', top, this.#u32Op('mul', q, vHigh));
      for (let i = 0; i < 2; i++) {
        // q is at most two too large: lower it while q·vLow > r·2^16 + digit, unless r has left 16 bits.
        const tooLarge = this.#boolOp(
          'or',
          this.#boolOp('lt', this.#word(0xffff), q),
          this.#boolOp(
            'lt',
            this.#u32Op('or', this.#u32Op('shl', r, this.#word(16)), digit),
            this.#u32Op('mul', q, vLow),
          ),
        );
        const lower = this.#boolOp('and', tooLarge, this.#boolOp('le', r, this.#word(0xffff)));
        q = this.#u32Op('sub', q, this.#bit(lower));
        r = this.#u32Op('add', r, this.#u32Op('select', lower, vHigh, this.#word(0)));
      }
      const shifted = this.#u32Op('add', this.#u32Op('shl', top, this.#word(16)), digit);
      return { q, rest: this.#u32Op('sub', shifted, this.#u32Op('mul', q, v)) };
    };
    const first = step(u.hi, this.#u32Op('shr', u.lo, this.#word(16)));
    const second = step(first.rest, this.#u32Op('and', u.lo, this.#word(0xffff)));
    return this.#u32Op('add', this.#u32Op('shl', first.q, this.#word(16)), second.q);
  }

  toFloat(type: 'f32' | 'f64', a: WordPair): Node {
    const f = (op: Op, ...args: Node[]) => this.#make.op(op, type, ...args);
    if (type === 'f64') {
      return f('add', f('mul', f('cast', a.hi), this.#make.literal('f64', 2 ** 32)), f('cast', a.lo));
    }
    // The leading 32 bits, with one more bit that is set if any lower bit is, round as all 64 would.
    const s = this.clz(a);
    const m = this.shl(a, s);
    const leading = this.#u32Op('or', m.hi, this.#bit(this.#boolOp('ne', m.lo, this.#word(0))));
    const exponent = this.#u32Op('shl', this.#u32Op('sub', this.#word(127 + 32), s), this.#word(23));
    return f('mul', f('cast', leading), this.#make.op('bits', 'f32', exponent));
  }

  fromFloat(type: 'f32' | 'f64', x: Node): WordPair {
    const f = (op: Op, ...args: Node[]) => this.#make.op(op, type, ...args);
    const number = (value: number) => this.#make.literal(type, value);
    const hi = this.#u32Op('cast', f('mul', x, number(2 ** -32)));
    const lo = this.#u32Op('cast', f('sub', x, f('mul', f('cast', hi), number(2 ** 32))));
    const full = this.#boolOp('le', number(2 ** 64), x);
    return this.select(full, { lo: this.#word(0xffff_ffff), hi: this.#word(0xffff_ffff) }, { lo, hi });
  }

  #compare(op: 'lt' | 'le', a: WordPair, b: WordPair): Node {
    const same = this.#boolOp('and', this.#boolOp('eq', a.hi, b.hi), this.#boolOp(op, a.lo, b.lo));
    return this.#boolOp('or', this.#boolOp('lt', a.hi, b.hi), same);
  }

  #isWordShift(count: Node): Node {
    return this.#boolOp('ne', this.#u32Op('and', count, this.#word(32)), this.#word(0));
  }

  /**
   * Returns `main` shifted, with the bits that enter from `other`: `other` shifted by 32 − count, in two steps so that a
   * count of 0 brings none.
   */
  #funnelShift(direction: 'shl' | 'shr', main: Node, other: Node, count: Node): Node {
    const back = direction === 'shl' ? 'shr' : 'shl';
    const rest = this.#u32Op(
      back,
      this.#u32Op(back, other, this.#word(1)),
      this.#u32Op('xor', this.#u32Op('and', count, this.#word(31)), this.#word(31)),
    );
    return this.#u32Op('or', this.#u32Op(direction, main, count), rest);
  }
}
