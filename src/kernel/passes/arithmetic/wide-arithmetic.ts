import type { Node, Op } from '../../ir/program.js';
import type { Scalar } from '../../language/types.js';

/** A u64 as its two words. */
export interface Pair {
  readonly lo: Node;
  readonly hi: Node;
}

/** Makes simplified nodes. `op` infers types from the operation. */
export interface Maker {
  op(op: Op, type: Scalar, ...args: Node[]): Node;
  word(value: number): Node;
  literal(type: Scalar, value: number): Node;
}

/**
 * 64-bit arithmetic in 32-bit words, exact for every input. It uses selects instead of branches, so that it can float like
 * any other value.
 */
export class WideArithmetic {
  readonly #make: Maker;

  constructor(make: Maker) {
    this.#make = make;
  }

  #u = (op: Op, ...args: Node[]): Node => this.#make.op(op, 'u32', ...args);
  #b = (op: Op, ...args: Node[]): Node => this.#make.op(op, 'bool', ...args);
  #n = (value: number): Node => this.#make.word(value);
  #bit = (condition: Node): Node => this.#u('cast', condition);

  zero(): Pair {
    return { lo: this.#n(0), hi: this.#n(0) };
  }

  add(a: Pair, b: Pair): Pair {
    const lo = this.#u('add', a.lo, b.lo);
    const carry = this.#bit(this.#b('lt', lo, a.lo));
    return { lo, hi: this.#u('add', this.#u('add', a.hi, b.hi), carry) };
  }

  sub(a: Pair, b: Pair): Pair {
    const borrow = this.#bit(this.#b('lt', a.lo, b.lo));
    return { lo: this.#u('sub', a.lo, b.lo), hi: this.#u('sub', this.#u('sub', a.hi, b.hi), borrow) };
  }

  mul(a: Pair, b: Pair): Pair {
    const cross = this.#u('add', this.#u('mul', a.lo, b.hi), this.#u('mul', a.hi, b.lo));
    return { lo: this.#u('mul', a.lo, b.lo), hi: this.#u('add', this.#u('mulHi', a.lo, b.lo), cross) };
  }

  /** Returns the upper half of a·b + c + d, limb by limb: no step can overflow. */
  wmadHi(a: Pair, b: Pair, c: Pair, d: Pair): Pair {
    const high = (x: Node, y: Node, z: Node, w: Node) => this.#u('wmadHi', x, y, z, w);
    const low = (x: Node, y: Node, z: Node, w: Node) => this.#u('add', this.#u('add', this.#u('mul', x, y), z), w);
    const k0 = high(a.lo, b.lo, c.lo, d.lo);
    const l1 = low(a.hi, b.lo, c.hi, k0);
    const k1 = high(a.hi, b.lo, c.hi, k0);
    const k2 = high(a.lo, b.hi, l1, d.hi);
    return { lo: low(a.hi, b.hi, k1, k2), hi: high(a.hi, b.hi, k1, k2) };
  }

  lt(a: Pair, b: Pair): Node {
    return this.#ordered('lt', a, b);
  }
  le(a: Pair, b: Pair): Node {
    return this.#ordered('le', a, b);
  }
  eq(a: Pair, b: Pair): Node {
    return this.#b('and', this.#b('eq', a.lo, b.lo), this.#b('eq', a.hi, b.hi));
  }

  /** Returns the carry, 0 or 1, out of a + b + c, with c 0 or 1. */
  carry(a: Pair, b: Pair, c: Pair): Pair {
    const first = this.add(a, b);
    const second = this.add(first, c);
    return { lo: this.#bit(this.#b('or', this.lt(first, a), this.lt(second, first))), hi: this.#n(0) };
  }

  borrow(a: Pair, b: Pair, c: Pair): Pair {
    const first = this.sub(a, b);
    return { lo: this.#bit(this.#b('or', this.lt(a, b), this.lt(first, c))), hi: this.#n(0) };
  }

  select(condition: Node, yes: Pair, no: Pair): Pair {
    return { lo: this.#u('select', condition, yes.lo, no.lo), hi: this.#u('select', condition, yes.hi, no.hi) };
  }

  /** Shifts by a count modulo 64. Shifts of words take the count modulo 32. */
  shl(a: Pair, count: Node): Pair {
    const far = this.#far(count);
    const near = { lo: this.#u('shl', a.lo, count), hi: this.#joined('shl', a.hi, a.lo, count) };
    return this.select(far, { lo: this.#n(0), hi: near.lo }, near);
  }
  shr(a: Pair, count: Node): Pair {
    const far = this.#far(count);
    const near = { lo: this.#joined('shr', a.lo, a.hi, count), hi: this.#u('shr', a.hi, count) };
    return this.select(far, { lo: near.hi, hi: this.#n(0) }, near);
  }
  rotl(a: Pair, count: Node): Pair {
    const from = this.select(this.#far(count), { lo: a.hi, hi: a.lo }, a);
    return { lo: this.#joined('shl', from.lo, from.hi, count), hi: this.#joined('shl', from.hi, from.lo, count) };
  }
  rotr(a: Pair, count: Node): Pair {
    const from = this.select(this.#far(count), { lo: a.hi, hi: a.lo }, a);
    return { lo: this.#joined('shr', from.lo, from.hi, count), hi: this.#joined('shr', from.hi, from.lo, count) };
  }

  clz(a: Pair): Node {
    const below = this.#u('add', this.#u('clz', a.lo), this.#n(32));
    return this.#u('select', this.#b('eq', a.hi, this.#n(0)), below, this.#u('clz', a.hi));
  }

  /** Returns quotient and remainder; x / 0 is x and x % 0 is 0, as for a division by 1. */
  divide(a: Pair, divisor: Pair): { quotient: Pair; remainder: Pair } {
    const b = this.select(this.eq(divisor, this.zero()), { lo: this.#n(1), hi: this.#n(0) }, divisor);
    const small = this.#byWord(a, b.lo);
    const large = this.#byPair(a, b);
    const quotient = this.select(this.#b('eq', b.hi, this.#n(0)), small, { lo: large, hi: this.#n(0) });
    return { quotient, remainder: this.sub(a, this.mul(quotient, b)) };
  }

  /** Divides by a divisor below 2^32 (for others the result is not used), in two steps of long division. */
  #byWord(a: Pair, given: Node): Pair {
    const divisor = this.#u('select', this.#b('eq', given, this.#n(0)), this.#n(1), given);
    const hi = this.#u('div', a.hi, divisor);
    const rest = this.#u('rem', a.hi, divisor);
    return { lo: this.#twoByOne(rest, a.lo, divisor), hi };
  }

  /**
   * Divides by a divisor of 2^32 or more; the quotient is one word. The halved dividend divided by the divisor's upper 32
   * bits is at most one too large. One less is then at most one too small, which a final comparison corrects.
   */
  #byPair(a: Pair, b: Pair): Node {
    const s = this.#u('clz', b.hi); // below 32 for divisors of 2^32 or more
    const top = this.shl(b, s).hi;
    const half = this.shr(a, this.#n(1));
    const upper = this.#u('select', this.#b('eq', b.hi, this.#n(0)), this.#n(0), half.hi);
    const estimate = this.#twoByOne(upper, half.lo, this.#u('or', top, this.#n(0x8000_0000)));
    const scaled = this.shr({ lo: estimate, hi: this.#n(0) }, this.#u('sub', this.#n(31), s)).lo;
    const low = this.#u('select', this.#b('eq', scaled, this.#n(0)), scaled, this.#u('sub', scaled, this.#n(1)));
    const rest = this.sub(a, this.mul({ lo: low, hi: this.#n(0) }, b));
    return this.#u('add', low, this.#bit(this.le(b, rest)));
  }

  /** Returns (high:low) / divisor for high < divisor, in two steps with 16-bit digits. */
  #twoByOne(high: Node, low: Node, divisor: Node): Node {
    const s = this.#u('clz', divisor);
    const v = this.#u('shl', divisor, s);
    const [vHigh, vLow] = [this.#u('shr', v, this.#n(16)), this.#u('and', v, this.#n(0xffff))];
    const u = this.shl({ lo: low, hi: high }, s);
    const step = (top: Node, digit: Node): { q: Node; rest: Node } => {
      let q = this.#u('div', top, vHigh);
      let r = this.#u('sub', top, this.#u('mul', q, vHigh));
      for (let i = 0; i < 2; i++) {
        // q is at most two too large: lower it while q·vLow > r·2^16 + digit, unless r has left 16 bits.
        const tooLarge = this.#b(
          'or',
          this.#b('lt', this.#n(0xffff), q),
          this.#b('lt', this.#u('or', this.#u('shl', r, this.#n(16)), digit), this.#u('mul', q, vLow)),
        );
        const lower = this.#b('and', tooLarge, this.#b('le', r, this.#n(0xffff)));
        q = this.#u('sub', q, this.#bit(lower));
        r = this.#u('add', r, this.#u('select', lower, vHigh, this.#n(0)));
      }
      const shifted = this.#u('add', this.#u('shl', top, this.#n(16)), digit);
      return { q, rest: this.#u('sub', shifted, this.#u('mul', q, v)) };
    };
    const first = step(u.hi, this.#u('shr', u.lo, this.#n(16)));
    const second = step(first.rest, this.#u('and', u.lo, this.#n(0xffff)));
    return this.#u('add', this.#u('shl', first.q, this.#n(16)), second.q);
  }

  toFloat(type: 'f32' | 'f64', a: Pair): Node {
    const f = (op: Op, ...args: Node[]) => this.#make.op(op, type, ...args);
    if (type === 'f64') {
      return f('add', f('mul', f('cast', a.hi), this.#make.literal('f64', 2 ** 32)), f('cast', a.lo));
    }
    // The leading 32 bits, with one more bit that is set if any lower bit is, round as all 64 would.
    const s = this.clz(a);
    const m = this.shl(a, s);
    const leading = this.#u('or', m.hi, this.#bit(this.#b('ne', m.lo, this.#n(0))));
    const exponent = this.#u('shl', this.#u('sub', this.#n(127 + 32), s), this.#n(23));
    return f('mul', f('cast', leading), this.#make.op('bits', 'f32', exponent));
  }

  fromFloat(type: 'f32' | 'f64', x: Node): Pair {
    const f = (op: Op, ...args: Node[]) => this.#make.op(op, type, ...args);
    const number = (value: number) => this.#make.literal(type, value);
    const hi = this.#u('cast', f('mul', x, number(2 ** -32)));
    const lo = this.#u('cast', f('sub', x, f('mul', f('cast', hi), number(2 ** 32))));
    const full = this.#b('le', number(2 ** 64), x);
    return this.select(full, { lo: this.#n(0xffff_ffff), hi: this.#n(0xffff_ffff) }, { lo, hi });
  }

  #ordered(op: 'lt' | 'le', a: Pair, b: Pair): Node {
    const same = this.#b('and', this.#b('eq', a.hi, b.hi), this.#b(op, a.lo, b.lo));
    return this.#b('or', this.#b('lt', a.hi, b.hi), same);
  }

  #far(count: Node): Node {
    return this.#b('ne', this.#u('and', count, this.#n(32)), this.#n(0));
  }

  /**
   * Returns `main` shifted, with the bits that enter from `other`: `other` shifted by 32 − count, in two steps so that a
   * count of 0 brings none.
   */
  #joined(direction: 'shl' | 'shr', main: Node, other: Node, count: Node): Node {
    const back = direction === 'shl' ? 'shr' : 'shl';
    const rest = this.#u(
      back,
      this.#u(back, other, this.#n(1)),
      this.#u('xor', this.#u('and', count, this.#n(31)), this.#n(31)),
    );
    return this.#u('or', this.#u(direction, main, count), rest);
  }
}
