import type { BufferDecl } from '../../ir/program.js';
import { AtomicBuffer, ReadBuffer, RwBuffer, View } from '../buffers.js';
import { Expr, type ExprLike, lit, operand } from '../expr.js';
import { f16Bits, f16Of } from './f16.js';

/** Elements of f16: two in a word, the first in its low half. */
class Halves extends View {
  /** The first quad (four elements, two words). */
  readonly #start: Expr<'u64'> | undefined;
  /** Words before the first element, 0 or 2: the view itself begins at four words. */
  readonly #skipped: Expr<'u32'> | undefined;

  constructor(decl: BufferDecl, start?: Expr<'u64'>) {
    super(decl, start?.shr(1));
    this.#start = start;
    this.#skipped = start?.lo.and(1).shl(1);
  }

  get length(): Expr<'u32'> {
    return this.elementCount(2, this.#start);
  }

  from(quad: ExprLike<'u32'> | ExprLike<'u64'>): Halves {
    return new Halves(this.decl, this.sliceBase(quad, this.#start));
  }

  at(index: Expr<'u32'>): Expr<'f16'> {
    return f16Of(this.#load(this.#word(index.shr(1))).shr(shiftOf(index)));
  }

  at4(quad: Expr<'u32'>): Expr<'f16'>[] {
    const first = this.#word(quad.shl(1));
    return [first, first.add(1)].flatMap((word) => {
      const both = this.#load(word);
      return [f16Of(both), f16Of(both.shr(16))];
    });
  }

  /** Other items may store in the same word at the same time. */
  set(index: Expr<'u32'>, value: Expr<'f16'>): void {
    const [word, shift] = [this.#word(index.shr(1)), shiftOf(index)];
    const bits = f16Bits(value);
    this.#atomic.and(word, lit('u32', 0xffff).shl(shift).not());
    this.#atomic.or(word, bits.shl(shift));
  }

  set4(quad: Expr<'u32'>, values: readonly Expr<'f16'>[]): void {
    const first = this.#word(quad.shl(1));
    const [a, b, c, d] = values.map(f16Bits) as [Expr<'u32'>, Expr<'u32'>, Expr<'u32'>, Expr<'u32'>];
    this.#atomic.store(first, a.or(b.shl(16)));
    this.#atomic.store(first.add(1), c.or(d.shl(16)));
  }

  /** Atomic words cannot be prefetched. */
  prefetch4(quad: Expr<'u32'>): void {
    if (this.decl.kind === 'atomic') return;
    this.#plain.prefetch4(this.#word(quad.shl(1)).shr(2));
  }

  #word(fromStart: Expr<'u32'>): Expr<'u32'> {
    return this.#skipped ? fromStart.add(this.#skipped) : fromStart;
  }

  #load(word: Expr<'u32'>): Expr<'u32'> {
    return this.decl.kind === 'atomic' ? this.#atomic.load(word) : this.#plain.at(word);
  }

  get #atomic(): AtomicBuffer<'u32'> {
    return new AtomicBuffer(this.decl, this.base);
  }

  get #plain(): ReadBuffer<'u32'> {
    return new ReadBuffer(this.decl, this.base);
  }
}

const shiftOf = (index: Expr<'u32'>): Expr<'u32'> => index.and(1).shl(4);

/** An index is read once, even if it is a cell. */
const snapshot = (index: ExprLike<'u32'>): Expr<'u32'> => new Expr('u32', operand('u32', index).node);

/** A buffer of f16 that is read. */
export class HalfBuffer extends ReadBuffer<'f16'> {
  readonly #halves: Halves;

  constructor(decl: BufferDecl, halves = new Halves(decl)) {
    super(decl, halves.base, 'f16');
    this.#halves = halves;
  }

  override get length(): Expr<'u32'> {
    return this.#halves.length;
  }
  override slice(firstQuad: ExprLike<'u32'> | ExprLike<'u64'>): HalfBuffer {
    return new HalfBuffer(this.decl, this.#halves.from(firstQuad));
  }
  override prefetch4(quad: ExprLike<'u32'>): void {
    this.#halves.prefetch4(snapshot(quad));
  }
  protected override load(index: ExprLike<'u32'>, count: 1 | 4): Expr<'f16'>[] {
    return count === 1 ? [this.#halves.at(snapshot(index))] : this.#halves.at4(snapshot(index));
  }
}

/** A buffer of f16. A store takes two atomic operations, one of a quad takes two for four elements. */
export class RwHalfBuffer extends RwBuffer<'f16'> {
  readonly #halves: Halves;

  constructor(decl: BufferDecl, halves = new Halves(decl)) {
    super(decl, halves.base, 'f16');
    this.#halves = halves;
  }

  override get length(): Expr<'u32'> {
    return this.#halves.length;
  }
  override slice(firstQuad: ExprLike<'u32'> | ExprLike<'u64'>): RwHalfBuffer {
    return new RwHalfBuffer(this.decl, this.#halves.from(firstQuad));
  }
  override prefetch4(quad: ExprLike<'u32'>): void {
    this.#halves.prefetch4(snapshot(quad));
  }
  protected override load(index: ExprLike<'u32'>, count: 1 | 4): Expr<'f16'>[] {
    return count === 1 ? [this.#halves.at(snapshot(index))] : this.#halves.at4(snapshot(index));
  }
  protected override store(index: ExprLike<'u32'>, values: readonly ExprLike<'f16'>[]): void {
    const operands = values.map((value) => operand('f16', value));
    const [first] = operands;
    if (operands.length === 1 && first) this.#halves.set(snapshot(index), first);
    else this.#halves.set4(snapshot(index), operands);
  }
}
