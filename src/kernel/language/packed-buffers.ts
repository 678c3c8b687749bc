import { AtomicBuffer, ReadBuffer, View } from './buffers.js';
import { Expr, type ExprLike, lit, operand } from './expr.js';
import type { Packed } from './types.js';

/** Elements of 8 or 16 bits in words: element i is in word i / n, from its lowest bits on, if a word has n of them. */
export class PackedBuffer<P extends Packed> extends View {
  readonly #type: P;

  constructor(decl: ConstructorParameters<typeof View>[0], type: P, base?: Expr<'u64'>) {
    super(decl, base);
    this.#type = type;
  }

  get type(): P {
    return this.#type;
  }

  /** The number of elements of the buffer that is bound, in whole words, at most 2^32 − 1. */
  get length(): Expr<'u32'> {
    return this.elementCount(32 / PACKED_BITS[this.#type]);
  }

  at(index: ExprLike<'u32'>): Expr<'u32'> {
    const at = snapshot(index);
    return this.#load(this.wordOf(at)).shr(this.shiftOf(at)).and(this.mask);
  }

  /** Returns the buffer from a quad of words (16 bytes) on. */
  slice(firstQuad: ExprLike<'u32'> | ExprLike<'u64'>): PackedBuffer<P> {
    return new PackedBuffer(this.decl, this.#type, this.sliceBase(firstQuad));
  }

  #load(word: Expr<'u32'>): Expr<'u32'> {
    return this.decl.kind === 'atomic'
      ? new AtomicBuffer<'u32'>(this.decl, this.base).load(word)
      : new ReadBuffer<'u32'>(this.decl, this.base).at(word);
  }

  protected wordOf(at: Expr<'u32'>): Expr<'u32'> {
    return at.shr(Math.log2(32 / PACKED_BITS[this.#type]));
  }

  /** The place of an element's lowest bit in its word. */
  protected shiftOf(at: Expr<'u32'>): Expr<'u32'> {
    const bits = PACKED_BITS[this.#type];
    return at.and(32 / bits - 1).shl(Math.log2(bits));
  }

  protected get mask(): number {
    return 2 ** PACKED_BITS[this.#type] - 1;
  }
}

/** An index is read once, even if it is a cell. */
const snapshot = (index: ExprLike<'u32'>): Expr<'u32'> => new Expr('u32', operand('u32', index).node);

/** Elements that can be stored too. Items that store different values in one element at the same time leave a mixture. */
export class RwPackedBuffer<P extends Packed> extends PackedBuffer<P> {
  override slice(firstQuad: ExprLike<'u32'> | ExprLike<'u64'>): RwPackedBuffer<P> {
    return new RwPackedBuffer(this.decl, this.type, this.sliceBase(firstQuad));
  }

  /** Stores the low bits of an integer. */
  set(index: ExprLike<'u32'>, value: ExprLike<'u32'>): void {
    const bits = operand('u32', value);
    const at = snapshot(index);
    const [word, shift] = [this.wordOf(at), this.shiftOf(at)];
    // Other items may store in the same word at the same time.
    this.atomicUpdate<'u32'>('and', word, lit('u32', this.mask).shl(shift).not());
    this.atomicUpdate<'u32'>('or', word, bits.and(this.mask).shl(shift));
  }
}

const PACKED_BITS: Readonly<Record<Packed, 8 | 16>> = { u8: 8, u16: 16 };
