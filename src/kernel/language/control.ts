import { languageSets } from '../ir/ops.js';
import type { CellDecl as CellNode, Node, TableDecl as TableNode } from '../ir/program.js';
import { Expr, type ExprLike, make, operand } from './expr.js';
import { callers } from './origin.js';
import { currentTrace, Traced } from './trace.js';
import { scalarOf, type Type } from './types.js';

/** A mutable variable. Using it takes a snapshot: the value does not change when the cell is set afterwards. */
export class Cell<T extends Type> extends Expr<T> {
  readonly #cell: CellNode;

  constructor(type: T, cell: CellNode) {
    super(type, undefined);
    this.#cell = cell;
  }

  protected override describe(): string {
    return `a cell of ${this.type}`;
  }

  override get node(): Node {
    const trace = currentTrace();
    trace.checkCellUse(this.#cell);
    const result = trace.local(scalarOf(this.type));
    trace.add({ kind: 'get', cell: this.#cell, result });
    return result;
  }

  /** Returns the current value as a plain value. */
  get(): Expr<T> {
    return new Expr(this.type, this.node);
  }

  set(value: ExprLike<T>): void {
    const trace = currentTrace();
    const node = operand(this.type, value).node;
    trace.checkCellUse(this.#cell, 'set');
    trace.checkUse(node);
    trace.add({ kind: 'set', cell: this.#cell, value: node });
  }
}

export function cell<T extends Type>(type: T, value: ExprLike<T>): Cell<T> {
  const trace = currentTrace();
  const node = operand(type, value).node;
  trace.checkUse(node);
  return new Cell(type, trace.cell(scalarOf(type), node));
}

export function cells<T extends Type>(type: T, values: readonly ExprLike<T>[]): Cell<T>[] {
  return values.map((value) => cell(type, value));
}

export interface Otherwise {
  otherwise(body: () => void): void;
}

/** Runs `body` if the condition holds. Values that only the body uses are computed only there. */
export function when(condition: Expr<'bool'>, body: () => void): Otherwise {
  const trace = currentTrace();
  const node = operand('bool', condition).node;
  trace.checkUse(node);
  const traced = trace.block('when', () => callers.callBlockBody(body));
  const statement = { kind: 'when' as const, condition: node, body: traced, otherwise: [] as typeof traced };
  const added = trace.add(statement);
  return {
    otherwise(other) {
      // Removed first: values of the branch that are known early are added to the outermost block, which may be this one.
      if (currentTrace() !== trace || !trace.remove(added)) {
        throw trace.error(
          'kernel-control',
          'otherwise() does not follow its when()',
          'chain it directly: when(…).otherwise(…)',
        );
      }
      trace.add({ ...statement, otherwise: trace.block('when', () => callers.callBlockBody(other)) });
    },
  };
}

/** Runs case number `which`; the last case also handles every larger number. Each case is traced once. */
export function choose(which: Expr<'u32'>, cases: readonly (() => void)[]): void {
  if (cases.length === 0) throw currentTrace().error('kernel-value', 'choose() has no cases', 'give at least one');
  const chosen = new Expr('u32', operand('u32', which).node);
  const chooseFrom = (first: number): void => {
    const body = cases[first];
    if (!body) return;
    if (first === cases.length - 1) callers.callBlockBody(body);
    else when(chosen.eq(first), body).otherwise(() => chooseFrom(first + 1));
  };
  chooseFrom(0);
}

/** Adds a loop at run time, `i` from 0 to count − 1. (A TypeScript `for` unrolls while tracing.) */
export function loop(count: ExprLike<'u32'>, body: (i: Expr<'u32'>) => void): void {
  const trace = currentTrace();
  const node = operand('u32', count).node;
  trace.checkUse(node);
  let index: Node | undefined;
  const block = trace.block('loop', () => {
    index = trace.local('u32');
    callers.callBlockBody(body, new Expr('u32', index));
  });
  trace.add({ kind: 'loop', count: node, index: index as unknown as Node, body: block });
}

/**
 * Repeats `body` while the condition, evaluated before each round, holds. A launch checks for cancellation when an item
 * begins. With `isLong`, meant for items that take milliseconds, it also checks before each round. A cancelled launch then
 * leaves the item: nothing after the loop runs. In a tile this happens on CPUs only, since the threads of a GPU must stay
 * together.
 */
export function whileTrue(
  condition: () => Expr<'bool'>,
  body: () => void,
  { isLong = false }: { readonly isLong?: boolean } = {},
): void {
  const trace = currentTrace();
  let result: Node | undefined;
  const test = trace.block('test', () => {
    result = operand('bool', callers.callBlockBody(condition)).node;
    trace.checkUse(result);
  });
  const holds = result as unknown as Node;
  const round = trace.block('loop', () => callers.callBlockBody(body));
  trace.add({ kind: 'while', test, condition: holds, body: round, ...(isLong && { isLong }) });
}

/** Leaves the nearest loop if the condition holds. */
export function breakWhen(condition: Expr<'bool'>): void {
  const trace = currentTrace();
  if (!trace.inLoop)
    throw trace.error('kernel-control', 'breakWhen() is outside a loop', 'use it inside loop() or whileTrue()');
  const node = operand('bool', condition).node;
  trace.checkUse(node);
  trace.add({ kind: 'break', condition: node });
}

/** Ends the item: nothing after it runs. Use it inside `when`. Hits and stores made before it stay. */
export function returnItem(): void {
  const trace = currentTrace();
  trace.checkReturn();
  trace.add({ kind: 'return' });
}

/** A read-only table of constants or job values, looked up by a varying index. The target decides where it is stored. */
export class Table<T extends Type> extends Traced {
  readonly type: T;
  readonly length: number;
  readonly #table: TableNode;

  constructor(type: T, table: TableNode) {
    super();
    this.type = type;
    this.length = table.values.length;
    this.#table = table;
  }

  protected override describe(): string {
    return `a table of ${this.type}`;
  }

  at(index: ExprLike<'u32'>): Expr<T> {
    const at = operand('u32', index);
    if (typeof index === 'number' && index >= this.length) {
      throw currentTrace().error(
        'kernel-bounds',
        `index ${index} is outside a table of ${this.length} entries`,
        'count from 0',
      );
    }
    return make(this.type, 'lookup', [at], { table: this.#table });
  }
}

export function table<T extends Exclude<Type, 'bool'>>(type: T, values: readonly ExprLike<T>[]): Table<T> {
  const trace = currentTrace();
  if (!languageSets.numeric.includes(type))
    throw trace.error('kernel-type', `a table of ${type}`, 'write 0 and 1 in a table of u32, and ne(0) after at()');
  const nodes = values.map((value) => operand(type, value).node);
  for (const node of nodes) trace.checkUse(node);
  if (nodes.length === 0) throw trace.error('kernel-value', 'a table needs at least one value', 'leave it out');
  return new Table(type, trace.table(scalarOf(type), nodes));
}
