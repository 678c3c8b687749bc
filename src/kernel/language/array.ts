import type { BufferDecl, Node, Place } from '../ir/program.js';
import { Expr, type ExprLike, operand } from './expr.js';
import { currentTrace, Traced } from './trace.js';
import { type Scalar, scalarOf, type Type } from './types.js';

/**
 * An array that belongs to one item and is indexed at run time. Like a cell, it can be used in the block that made it and in
 * blocks inside it. A value that was read does not change when the element is set afterwards.
 */
export class ItemArray<T extends Type> extends Traced {
  readonly type: T;
  readonly length: number;
  readonly #array: BufferDecl;

  constructor(type: T, array: BufferDecl) {
    super();
    this.type = type;
    this.length = array.length ?? 0;
    this.#array = array;
  }

  protected override describe(): string {
    return `an array of ${this.type}`;
  }

  at(index: ExprLike<'u32'>): Expr<T> {
    const trace = currentTrace();
    const place = this.#place(index, 'get');
    const result = trace.local(this.#array.type);
    trace.add({ kind: 'load', place, results: [result] });
    return fromElement(this.type, result);
  }

  set(index: ExprLike<'u32'>, value: ExprLike<T>): void {
    const trace = currentTrace();
    const { node } = toElement(operand(this.type, value));
    trace.checkUse(node);
    trace.add({ kind: 'store', place: this.#place(index, 'set'), values: [node] });
  }

  #place(index: ExprLike<'u32'>, how: 'get' | 'set'): Place {
    const trace = currentTrace();
    if (typeof index === 'number' && index >= this.length) {
      throw trace.error(
        'kernel-bounds',
        `index ${index} is outside an array of ${this.length} elements`,
        'count from 0',
      );
    }
    const { node } = operand('u32', index);
    trace.checkUse(node);
    trace.checkCellUse(this.#array, how);
    return { buffer: this.#array, index: node };
  }
}

/**
 * Makes an array of `length` zeros (false for bools), or of the given values. It costs registers if all its indices are
 * known while tracing, local memory otherwise.
 */
export function array<T extends Type>(type: T, content: number | readonly ExprLike<T>[]): ItemArray<T> {
  const trace = currentTrace();
  const length = typeof content === 'number' ? content : content.length;
  if (!Number.isInteger(length) || length < 1) {
    throw trace.error(
      'kernel-value',
      `an array of ${length} elements`,
      'give a whole number of at least 1, known while tracing, or a list of values',
    );
  }
  const values = typeof content === 'number' ? [] : content.map((value) => toElement(operand(type, value)).node);
  for (const node of values) trace.checkUse(node);
  return new ItemArray(type, trace.itemArray(elementType(type), length, values));
}

/** The type in memory: a bool is a word. */
const elementType = (type: Type): Exclude<Scalar, 'bool'> => (type === 'bool' ? 'u32' : scalarOf(type));

const toElement = (value: Expr<Type>): Expr<Type> => (value.type === 'bool' ? value.to('u32') : value);

const fromElement = <T extends Type>(type: T, element: Node): Expr<T> =>
  type === 'bool' ? (new Expr('u32', element).ne(0) as Expr<Type> as Expr<T>) : new Expr(type, element);
