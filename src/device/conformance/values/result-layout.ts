import { type BufferSpec, type Expr, type RwBuffer, rw, type Type, type Value } from '../../../kernel/index.js';
import type { ResultCheck } from '../model/result-check.js';
import { type Data, elementOf, formatValue, zeros } from '../rig.js';
import { type Operation, slotType } from './operations.js';
import type { Row } from './rows.js';

/** One computed value of a kernel, and its operands for the model and for messages. */
export interface Result {
  readonly operation: Operation;
  /** Describes how the operands are passed. */
  readonly form: string;
  /** Returns the operands for an item's row. */
  operands(row: Row): Value[];
}

/**
 * The layout of results: per type a buffer in which an item has an element for each result of that type, rounded up to
 * quads. They are stored as quads: in a gang each store is a loop over the lanes, which compilers are slow with.
 */
export class ResultLayout {
  readonly #results = new Map<Type, Result[]>();

  add(result: Result): { readonly type: Type; readonly at: number } {
    const type = memoryType(result.operation.result);
    const list = this.#results.get(type) ?? [];
    this.#results.set(type, list);
    const index = list.indexOf(result);
    return { type, at: index >= 0 ? index : list.push(result) - 1 };
  }

  get specs(): Record<string, BufferSpec> {
    return Object.fromEntries([...this.#results.keys()].map((type) => [`out-${type}`, rw(type as 'u32')]));
  }

  width(type: Type): number {
    return Math.ceil((this.#results.get(memoryType(type))?.length ?? 0) / 4) * 4;
  }

  buffers(rows: number): Record<string, Data> {
    return Object.fromEntries(
      [...this.#results].map(([type]) => [`out-${type}`, zeros(type, rows * this.width(type))]),
    );
  }

  /** Stores an item's results, made in the order in which they were placed. */
  store(buffers: Buffers, row: Expr<'u32'>, build: (result: Result) => Expr<Type>): void {
    for (const [type, list] of this.#results) {
      const out = buffers[`out-${type}`] as RwBuffer<'u32'>;
      const first = row.mul(this.width(type) / 4);
      for (let at = 0; at < list.length; at += 4) {
        const quad = list.slice(at, at + 4).map((result) => inMemory(build(result)) as Expr<'u32'>);
        out.set4(
          first.add(at / 4),
          [0, 1, 2, 3].map((k) => quad[k] ?? (quad[0] as Expr<'u32'>)),
        );
      }
    }
  }

  /** Compares all results of all rows with the model. Throws one error with the first fault of each operation. */
  compare(buffers: Readonly<Record<string, Data>>, rows: readonly Row[], isAcceptable: ResultCheck): void {
    const faults = new Map<string, string>();
    let wrong = 0;
    for (const [type, list] of this.#results) {
      const data = buffers[`out-${type}`];
      rows.forEach((row, r) => {
        list.forEach((result, k) => {
          const { operation } = result;
          const args = result.operands(row);
          const expected = operation.model(args);
          const raw = elementOf(type, data, r * this.width(type) + k);
          const got = operation.result === 'bool' ? raw === 1 || (raw === 0 ? false : undefined) : raw;
          if (isAcceptable(operation, args, expected, got)) return;
          wrong++;
          const name = `${operation.name} ${result.form}`;
          if (faults.has(name)) return;
          const operands = operation.uses.map((slot, i) => formatValue(slotType(slot, operation.on), args[i]));
          faults.set(
            name,
            `${name}(${operands.join(', ')}) is ${formatValue(type, raw)}, not ${formatValue(operation.result, expected)}`,
          );
        });
      });
    }
    if (wrong > 0) throw new Error(`${wrong} results are wrong:\n${[...faults.values()].slice(0, 12).join('\n')}`);
  }
}

export const memoryType = (type: Type): Type => (type === 'bool' ? 'u32' : type);
export type Buffers = Readonly<Record<string, unknown>>;

/** A bool is a word in memory. */
export const inMemory = (value: Expr<Type>): Expr<Type> => (value.type === 'bool' ? value.to('u32') : value);
