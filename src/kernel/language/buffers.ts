import type { AtomicOp, BufferDecl, Place } from '../ir/program.js';
import { Expr, type In, operand } from './expr.js';
import { currentTrace } from './trace.js';
import type { Numeric } from './types.js';

/** A buffer's declaration in a signature. */
export interface ReadSpec<T extends Numeric | 'u8' = Numeric | 'u8'> {
  readonly kind: 'read';
  readonly type: T;
}
export interface RwSpec<T extends Numeric = Numeric> {
  readonly kind: 'rw';
  readonly type: T;
}
export interface AtomicSpec {
  readonly kind: 'atomic';
  readonly type: 'u32';
}
export type BufferSpec = ReadSpec | RwSpec | AtomicSpec;

export const read = <T extends Numeric | 'u8'>(type: T): ReadSpec<T> => ({ kind: 'read', type });
export const rw = <T extends Numeric>(type: T): RwSpec<T> => ({ kind: 'rw', type });
/** Declares words for atomic access only: u32, relaxed. */
export const atomic = (): AtomicSpec => ({ kind: 'atomic', type: 'u32' });

export type BufferOf<D> =
  D extends ReadSpec<infer T>
    ? T extends Numeric
      ? ReadBuffer<T>
      : ByteBuffer
    : D extends RwSpec<infer T>
      ? RwBuffer<T>
      : D extends AtomicSpec
        ? AtomicBuffer
        : never;

/** A view of a buffer from a given quad (four elements) on. A view of the whole buffer has no base. */
export class View {
  readonly decl: BufferDecl;
  readonly base: Expr<'u64'> | undefined;

  constructor(decl: BufferDecl, base?: Expr<'u64'>) {
    this.decl = decl;
    this.base = base;
  }

  protected place(index: In<'u32'>): Place {
    const trace = currentTrace();
    const node = operand('u32', index).node;
    trace.use(node);
    if (!this.base) return { buffer: this.decl, index: node };
    trace.use(this.base.node);
    return { buffer: this.decl, base: this.base.node, index: node };
  }

  protected from(firstQuad: In<'u32'> | In<'u64'>): Expr<'u64'> {
    const quad =
      firstQuad instanceof Expr && firstQuad.type === 'u32'
        ? (firstQuad as Expr<'u32'>).to('u64')
        : operand('u64', firstQuad as In<'u64'>);
    // Takes a snapshot of a cell: the view does not move if the cell is set afterwards.
    return this.base ? this.base.add(quad) : new Expr('u64', quad.node);
  }

  /** Adds one atomic update; its result is the previous value. */
  protected update(op: AtomicOp, index: In<'u32'>, value: In<'u32'>): Expr<'u32'> {
    const trace = currentTrace();
    const node = operand('u32', value).node;
    trace.use(node);
    trace.effect('an atomic update');
    const place = this.place(index);
    const result = trace.local('u32');
    trace.add({ kind: 'atomic', op, place, value: node, result });
    return new Expr('u32', result);
  }
}

class TypedView<T extends Numeric> extends View {
  get type(): T {
    return this.decl.type as T;
  }

  at(index: In<'u32'>): Expr<T> {
    return this.load(index, 1)[0] as Expr<T>;
  }

  /** Reads the four elements of a quad. */
  at4(quad: In<'u32'>): [Expr<T>, Expr<T>, Expr<T>, Expr<T>] {
    return this.load(quad, 4) as [Expr<T>, Expr<T>, Expr<T>, Expr<T>];
  }

  /** Hints that a quad will be read soon. */
  prefetch4(quad: In<'u32'>): void {
    currentTrace().add({ kind: 'prefetch', place: this.place(quad) });
  }

  private load(index: In<'u32'>, count: 1 | 4): Expr<T>[] {
    const trace = currentTrace();
    const place = this.place(index);
    const results = Array.from({ length: count }, () => trace.local(this.type));
    trace.add({ kind: 'load', place, results });
    return results.map((node) => new Expr(this.type, node));
  }
}

export class ReadBuffer<T extends Numeric> extends TypedView<T> {
  /**
   * Returns the buffer from a quad on. The quad's number is 64-bit, so that buffers past 4 GiB are addressable with 32-bit
   * indices.
   */
  slice(firstQuad: In<'u32'> | In<'u64'>): ReadBuffer<T> {
    return new ReadBuffer(this.decl, this.from(firstQuad));
  }
}

export class RwBuffer<T extends Numeric> extends TypedView<T> {
  slice(firstQuad: In<'u32'> | In<'u64'>): RwBuffer<T> {
    return new RwBuffer(this.decl, this.from(firstQuad));
  }

  set(index: In<'u32'>, value: In<T>): void {
    this.#store(index, [value]);
  }

  set4(quad: In<'u32'>, values: readonly In<T>[]): void {
    if (values.length !== 4) {
      throw currentTrace().fail('kernel-value', `set4 takes four values, not ${values.length}`, 'pad the quad');
    }
    this.#store(quad, values);
  }

  #store(index: In<'u32'>, values: readonly In<T>[]): void {
    const trace = currentTrace();
    const nodes = values.map((value) => operand(this.type, value).node);
    for (const node of nodes) trace.use(node);
    trace.effect('a store');
    trace.add({ kind: 'store', place: this.place(index), values: nodes });
  }
}

/** A read-only view of bytes in words: byte i is bits 8·(i mod 4) of word i / 4. */
export class ByteBuffer extends View {
  at(index: In<'u32'>): Expr<'u32'> {
    const i = operand('u32', index);
    const at = new Expr('u32', i.node);
    const word = new ReadBuffer<'u32'>(this.decl, this.base).at(at.shr(2));
    return word.shr(at.and(3).shl(3)).and(0xff);
  }

  /** Returns the buffer from a quad of words (16 bytes) on. */
  slice(firstQuad: In<'u32'> | In<'u64'>): ByteBuffer {
    return new ByteBuffer(this.decl, this.from(firstQuad));
  }
}

/** u32 words under relaxed atomics. `add`, `or`, `min`, `max` and `exchange` return the previous value. */
export class AtomicBuffer extends View {
  slice(firstQuad: In<'u32'> | In<'u64'>): AtomicBuffer {
    return new AtomicBuffer(this.decl, this.from(firstQuad));
  }
  add(index: In<'u32'>, value: In<'u32'>): Expr<'u32'> {
    return this.update('add', index, value);
  }
  or(index: In<'u32'>, value: In<'u32'>): Expr<'u32'> {
    return this.update('or', index, value);
  }
  min(index: In<'u32'>, value: In<'u32'>): Expr<'u32'> {
    return this.update('min', index, value);
  }
  max(index: In<'u32'>, value: In<'u32'>): Expr<'u32'> {
    return this.update('max', index, value);
  }
  exchange(index: In<'u32'>, value: In<'u32'>): Expr<'u32'> {
    return this.update('exchange', index, value);
  }
  load(index: In<'u32'>): Expr<'u32'> {
    const trace = currentTrace();
    const place = this.place(index);
    const result = trace.local('u32');
    trace.add({ kind: 'atomic', op: 'load', place, result });
    return new Expr('u32', result);
  }
  store(index: In<'u32'>, value: In<'u32'>): void {
    const trace = currentTrace();
    const node = operand('u32', value).node;
    trace.use(node);
    trace.effect('an atomic store');
    trace.add({ kind: 'atomic', op: 'store', place: this.place(index), value: node });
  }
}
