import { languageSets } from '../ir/ops.js';
import type { BufferDecl, Node } from '../ir/program.js';
import { View } from './buffers.js';
import { Expr, type ExprLike, operand } from './expr.js';
import { callers } from './origin.js';
import {
  type Buffers,
  defineKernel,
  type Fields,
  type HitValues,
  type Kernel,
  type KernelContext,
  type ScalarFields,
  type ScalarHit,
  type Signature,
  type TracedFields,
  type TracedScalars,
} from './signature.js';
import { currentTrace, type Trace } from './trace.js';
import { type Numeric, scalarOf } from './types.js';

/**
 * The operations of a tile. Code between regions is the same for the whole tile. Threads exist only inside `each`, `sum` and
 * `once`, and their number is not visible. Values leave a region through near arrays, buffers or the region's result.
 */
export interface TileValues<Job, Chunk, B extends Buffers, Hit> extends KernelContext<Job, Chunk, B, Hit> {
  /** The tile's number within this launch, from 0. */
  readonly tile: Expr<'u32'>;
  /** Declares an array that belongs to the tile. Its initial contents are undefined. */
  near<T extends Numeric>(type: T, length: number): Near<T>;
  /** Runs `body` for all i below `count` in parallel; afterwards all threads see the stores. */
  each(count: ExprLike<'u32'>, body: (i: Expr<'u32'>) => void): void;
  /** Sums over all i below `count`, in an order that is the same on every device. */
  sum<T extends Numeric>(type: T, count: ExprLike<'u32'>, value: (i: Expr<'u32'>) => ExprLike<T>): Expr<T>;
  /** Turns the first `length` counts into exclusive prefix sums and returns the total. */
  scan(length: number, counts: Near<'u32'>): Expr<'u32'>;
  /** Runs `body` once per tile. */
  once(body: () => void): void;
}

/** The context of a tile, given the declarations of its fields. */
export type TileContext<J extends Fields, C extends Fields, B extends Buffers, H extends Fields> = TileValues<
  TracedFields<J>,
  TracedFields<C>,
  B,
  HitValues<H>
>;

/** Defines a kernel in which a workgroup works on one index together and shares memory. */
export function tiles<
  const J extends ScalarFields = Record<never, never>,
  const C extends ScalarFields = Record<never, never>,
  const B extends Buffers = Record<never, never>,
  const H extends ScalarFields = Record<never, never>,
>(
  name: string,
  signature: Signature<J, C, B, H>,
  body: (context: TileValues<TracedScalars<J>, TracedScalars<C>, B, ScalarHit<H>>) => void,
): Kernel<J, C, B, H>;
export function tiles<
  const J extends Fields = Record<never, never>,
  const C extends Fields = Record<never, never>,
  const B extends Buffers = Record<never, never>,
  const H extends Fields = Record<never, never>,
>(name: string, signature: Signature<J, C, B, H>, body: (context: TileContext<J, C, B, H>) => void): Kernel<J, C, B, H>;
export function tiles<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  name: string,
  signature: Signature<J, C, B, H>,
  body: (context: never) => void,
): Kernel<J, C, B, H> {
  const run = body as (context: TileContext<J, C, B, H>) => void;
  return defineKernel('tiles', name, signature, (context, tile, trace) =>
    callers.callBlockBody(run, { ...context, tile, ...tileOperations(trace) }),
  );
}

/** A tile's array. It works like a buffer; `or` and `add` are for words that several threads may update. */
export class Near<T extends Numeric> extends View {
  readonly type: T;

  constructor(decl: BufferDecl, type: T) {
    super(decl);
    this.type = type;
  }

  get length(): number {
    return this.decl.length ?? 0;
  }

  at(index: ExprLike<'u32'>): Expr<T> {
    const trace = currentTrace();
    const place = this.place(index);
    const result = trace.local(this.decl.type);
    trace.add({ kind: 'load', place, results: [result] });
    return new Expr(this.type, result);
  }

  set(index: ExprLike<'u32'>, value: ExprLike<T>): void {
    const trace = currentTrace();
    const node = operand(this.type, value).node;
    trace.checkUse(node);
    trace.checkEffect('a store');
    trace.add({ kind: 'store', place: this.place(index), values: [node] });
  }

  or(this: Near<'u32'>, index: ExprLike<'u32'>, value: ExprLike<'u32'>): void {
    this.#checkWords('or()');
    this.atomicUpdate('or', index, value);
  }
  add(this: Near<'u32'>, index: ExprLike<'u32'>, value: ExprLike<'u32'>): Expr<'u32'> {
    this.#checkWords('add()');
    return this.atomicUpdate('add', index, value);
  }

  #checkWords(what: string): void {
    if (this.type === 'u32') return;
    throw currentTrace().error('kernel-type', `${what} of a near array of ${this.type}`, 'declare the array as u32');
  }
}

function tileOperations(trace: Trace) {
  const checkedNode = (value: ExprLike<'u32'>): Node => {
    const { node } = operand('u32', value);
    trace.checkUse(node);
    return node;
  };
  return {
    near<T extends Numeric>(type: T, length: number): Near<T> {
      if (!languageSets.numeric.includes(type))
        throw trace.error(
          'kernel-type',
          `a near array of ${type}`,
          `its type may be ${languageSets.numeric.join(', ')}`,
        );
      if (!Number.isInteger(length) || length < 1) {
        throw trace.error(
          'kernel-value',
          `a near array of ${length} elements`,
          'give a whole number of at least 1, known while tracing',
        );
      }
      return new Near(trace.nearArray(scalarOf(type), length), type);
    },
    each(count: ExprLike<'u32'>, body: (i: Expr<'u32'>) => void): void {
      const node = checkedNode(count);
      let index: Node | undefined;
      const block = trace.region('each', () => {
        index = trace.local('u32');
        callers.callBlockBody(body, new Expr('u32', index));
      });
      trace.add({ kind: 'each', count: node, index: index as unknown as Node, body: block });
    },
    sum<T extends Numeric>(type: T, count: ExprLike<'u32'>, value: (i: Expr<'u32'>) => ExprLike<T>): Expr<T> {
      const node = checkedNode(count);
      let index: Node | undefined;
      let term: Node | undefined;
      const block = trace.region('sum', () => {
        index = trace.local('u32');
        term = operand(type, callers.callBlockBody(value, new Expr('u32', index))).node;
        trace.checkUse(term);
      });
      const scalar = scalarOf(type);
      const result = trace.local(scalar);
      trace.add({
        kind: 'sum',
        count: node,
        index: index as unknown as Node,
        body: block,
        value: term as unknown as Node,
        result,
      });
      // A sum of f16 is one of f32, rounded once at the end.
      return type === 'f16' ? new Expr('f32', result).to(type) : new Expr(type, result);
    },
    scan(length: number, counts: Near<'u32'>): Expr<'u32'> {
      if (!Number.isInteger(length) || length < 1 || length > counts.length) {
        throw trace.error(
          'kernel-value',
          `scan() of ${length} out of ${counts.length} counts`,
          'give a whole number of at least 1, at most the length of the array',
        );
      }
      trace.region('once', () => undefined); // checks that a region is allowed here
      const result = trace.local('u32');
      trace.add({ kind: 'scan', near: counts.decl, length, result });
      return new Expr('u32', result);
    },
    once(body: () => void): void {
      trace.add({ kind: 'once', body: trace.region('once', () => callers.callBlockBody(body)) });
    },
  };
}
