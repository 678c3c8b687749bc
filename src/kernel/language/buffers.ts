import type { AtomicOp, BufferDecl, Node, Place } from '../ir/program.js';
import { Expr, type ExprLike, operand } from './expr.js';
import { select } from './operations.js';
import type { PackedBuffer, RwPackedBuffer } from './packed-buffers.js';
import { currentTrace, Traced } from './trace.js';
import { bytesOf, type Numeric, type Packed, type Type, type Unsigned } from './types.js';

/** A buffer's declaration in a signature. */
export interface ReadSpec<T extends Numeric | Packed = Numeric | Packed> {
  readonly kind: 'read';
  readonly type: T;
}
export interface RwSpec<T extends Numeric | Packed = Numeric | Packed> {
  readonly kind: 'rw';
  readonly type: T;
}
export interface AtomicSpec<T extends Unsigned = Unsigned> {
  readonly kind: 'atomic';
  readonly type: T;
}
export type BufferSpec = ReadSpec | RwSpec | AtomicSpec;

export const read = <T extends Numeric | Packed>(type: T): ReadSpec<T> => ({ kind: 'read', type });
export const rw = <T extends Numeric | Packed>(type: T): RwSpec<T> => ({ kind: 'rw', type });
/** Declares elements of u32 or, on devices that have such atomics, u64, for atomic access only, relaxed. */
export function atomic<T extends Unsigned>(type: T): AtomicSpec<T>;
/** Declares words for atomic access only: u32, relaxed. `atomic(u64)` declares u64, on devices that have such atomics. */
export function atomic(): AtomicSpec<'u32'>;
export function atomic(type: Unsigned = 'u32'): AtomicSpec {
  return { kind: 'atomic', type };
}

export type BufferOf<D> =
  // Types of elements are inferred, never compared: a kernel's own type parameter must not leave the answer open.
  D extends ReadSpec<infer T extends Numeric>
    ? ReadBuffer<T>
    : D extends ReadSpec<infer P extends Packed>
      ? PackedBuffer<P>
      : D extends RwSpec<infer T extends Numeric>
        ? RwBuffer<T>
        : D extends RwSpec<infer P extends Packed>
          ? RwPackedBuffer<P>
          : D extends AtomicSpec<infer T>
            ? AtomicBuffer<T>
            : never;

/** A view of a buffer from a given quad (four elements) on. A view of the whole buffer has no base. */
export class View extends Traced {
  readonly decl: BufferDecl;
  readonly base: Expr<'u64'> | undefined;

  constructor(decl: BufferDecl, base?: Expr<'u64'>) {
    super();
    this.decl = decl;
    this.base = base;
  }

  protected override describe(): string {
    return this.decl.kind === 'near' ? `a near array of ${this.decl.type}` : `the buffer ${this.decl.name}`;
  }

  protected place(index: ExprLike<'u32'>): Place {
    const trace = currentTrace();
    const node = operand('u32', index).node;
    trace.checkUse(node);
    if (!this.base) return { buffer: this.decl, index: node };
    trace.checkUse(this.base.node);
    return { buffer: this.decl, base: this.base.node, index: node };
  }

  protected sliceBase(firstQuad: ExprLike<'u32'> | ExprLike<'u64'>, base = this.base): Expr<'u64'> {
    const quad =
      firstQuad instanceof Expr && firstQuad.type === 'u32'
        ? (firstQuad as Expr<'u32'>).to('u64')
        : operand('u64', firstQuad as ExprLike<'u64'>);
    // Takes a snapshot of a cell: the view does not move if the cell is set afterwards.
    return base ? base.add(quad) : new Expr('u64', quad.node);
  }

  /**
   * Returns the number of elements from the view's start on, at most 2^32 − 1. `parts` is the number of parts of each, which
   * are counted; the view may start at a quad of these instead.
   */
  protected elementCount(parts = 1, start?: Expr<'u64'>): Expr<'u32'> {
    const { slot, type } = this.decl;
    const whole = new Expr('u64', currentTrace().leaf('length', 'u64', { field: slot, element: bytesOf[type] }));
    const count = this.base && !start ? remaining(whole, this.base) : whole;
    const all = start ? remaining(count.mul(parts), start) : count.mul(parts);
    return select(all.hi.eq(0), all.lo, 0xffff_ffff);
  }

  /** Adds one atomic update; its result is the previous value. */
  protected atomicUpdate<T extends Unsigned>(
    op: AtomicOp,
    index: ExprLike<'u32'>,
    value: ExprLike<T>,
    expected?: ExprLike<T>,
  ): Expr<T> {
    const trace = currentTrace();
    const type = this.decl.type as T;
    const checked = (given: ExprLike<T>): Node => {
      const { node } = operand(type, given);
      trace.checkUse(node);
      return node;
    };
    const operands = {
      ...(expected === undefined ? {} : { expected: checked(expected) }),
      value: checked(value),
    };
    trace.checkEffect('an atomic update');
    const place = this.place(index);
    const result = trace.local(type);
    trace.add({ kind: 'atomic', op, place, ...operands, result });
    return new Expr(type, result);
  }
}

/** Returns the elements of a buffer from a quad on: none if the quad is past its end. */
function remaining(whole: Expr<'u64'>, quad: Expr<'u64'>): Expr<'u64'> {
  const start = select(quad.le(whole.shr(2)), quad.shl(2), whole); // a quad past the end could wrap
  return whole.sub(start);
}

class TypedView<T extends Numeric> extends View {
  readonly type: T;

  constructor(decl: BufferDecl, base?: Expr<'u64'>, type: Type = decl.type) {
    super(decl, base);
    this.type = type as T;
  }

  /** The number of elements of the buffer that is bound, at most 2^32 − 1. It is known when a launch is made. */
  get length(): Expr<'u32'> {
    return this.elementCount();
  }

  at(index: ExprLike<'u32'>): Expr<T> {
    return this.load(index, 1)[0] as Expr<T>;
  }

  /** Reads the four elements of a quad. */
  at4(quad: ExprLike<'u32'>): [Expr<T>, Expr<T>, Expr<T>, Expr<T>] {
    return this.load(quad, 4) as [Expr<T>, Expr<T>, Expr<T>, Expr<T>];
  }

  /** Hints that a quad will be read soon. */
  prefetch4(quad: ExprLike<'u32'>): void {
    currentTrace().add({ kind: 'prefetch', place: this.place(quad) });
  }

  protected load(index: ExprLike<'u32'>, count: 1 | 4): Expr<T>[] {
    const trace = currentTrace();
    const place = this.place(index);
    const results = Array.from({ length: count }, () => trace.local(this.decl.type));
    trace.add({ kind: 'load', place, results });
    return results.map((node) => new Expr(this.type, node));
  }
}

export class ReadBuffer<T extends Numeric> extends TypedView<T> {
  /**
   * Returns the buffer from a quad on. The quad's number is 64-bit, so that buffers past 4 GiB are addressable with 32-bit
   * indices.
   */
  slice(firstQuad: ExprLike<'u32'> | ExprLike<'u64'>): ReadBuffer<T> {
    return new ReadBuffer(this.decl, this.sliceBase(firstQuad), this.type);
  }
}

export class RwBuffer<T extends Numeric> extends TypedView<T> {
  slice(firstQuad: ExprLike<'u32'> | ExprLike<'u64'>): RwBuffer<T> {
    return new RwBuffer(this.decl, this.sliceBase(firstQuad), this.type);
  }

  set(index: ExprLike<'u32'>, value: ExprLike<T>): void {
    this.store(index, [value]);
  }

  set4(quad: ExprLike<'u32'>, values: readonly ExprLike<T>[]): void {
    if (values.length !== 4) {
      throw currentTrace().error('kernel-value', `set4 takes four values, not ${values.length}`, 'pad the quad');
    }
    this.store(quad, values);
  }

  protected store(index: ExprLike<'u32'>, values: readonly ExprLike<T>[]): void {
    const trace = currentTrace();
    const nodes = values.map((value) => operand(this.type, value).node);
    for (const node of nodes) trace.checkUse(node);
    trace.checkEffect('a store');
    trace.add({ kind: 'store', place: this.place(index), values: nodes });
  }
}

/** Elements under relaxed atomics. All methods but `store` return the previous value. */
export class AtomicBuffer<T extends Unsigned = 'u32'> extends View {
  get type(): T {
    return this.decl.type as T;
  }

  /** The number of elements of the buffer that is bound, at most 2^32 − 1. */
  get length(): Expr<'u32'> {
    return this.elementCount();
  }

  slice(firstQuad: ExprLike<'u32'> | ExprLike<'u64'>): AtomicBuffer<T> {
    return new AtomicBuffer(this.decl, this.sliceBase(firstQuad));
  }
  add(index: ExprLike<'u32'>, value: ExprLike<T>): Expr<T> {
    return this.atomicUpdate('add', index, value);
  }
  sub(index: ExprLike<'u32'>, value: ExprLike<T>): Expr<T> {
    return this.atomicUpdate('sub', index, value);
  }
  and(index: ExprLike<'u32'>, value: ExprLike<T>): Expr<T> {
    return this.atomicUpdate('and', index, value);
  }
  or(index: ExprLike<'u32'>, value: ExprLike<T>): Expr<T> {
    return this.atomicUpdate('or', index, value);
  }
  xor(index: ExprLike<'u32'>, value: ExprLike<T>): Expr<T> {
    return this.atomicUpdate('xor', index, value);
  }
  min(index: ExprLike<'u32'>, value: ExprLike<T>): Expr<T> {
    return this.atomicUpdate('min', index, value);
  }
  max(index: ExprLike<'u32'>, value: ExprLike<T>): Expr<T> {
    return this.atomicUpdate('max', index, value);
  }
  exchange(index: ExprLike<'u32'>, value: ExprLike<T>): Expr<T> {
    return this.atomicUpdate('exchange', index, value);
  }
  /** Stores `value` if the element is `expected`. It was stored if the result is `expected`; it never fails by chance. */
  compareExchange(index: ExprLike<'u32'>, expected: ExprLike<T>, value: ExprLike<T>): Expr<T> {
    return this.atomicUpdate('compareExchange', index, value, expected);
  }
  load(index: ExprLike<'u32'>): Expr<T> {
    const trace = currentTrace();
    const place = this.place(index);
    const result = trace.local(this.type);
    trace.add({ kind: 'atomic', op: 'load', place, result });
    return new Expr(this.type, result);
  }
  store(index: ExprLike<'u32'>, value: ExprLike<T>): void {
    const trace = currentTrace();
    const node = operand(this.type, value).node;
    trace.checkUse(node);
    trace.checkEffect('an atomic store');
    trace.add({ kind: 'atomic', op: 'store', place: this.place(index), value: node });
  }
}
