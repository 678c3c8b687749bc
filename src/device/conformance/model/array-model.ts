import type { Value } from '../../../kernel/index.js';

/**
 * An array by its history: an element is the value that was stored there last, or its initial value. It shares no code with
 * the interpreter or a target.
 */
export class ArrayModel<V extends Value = number> {
  readonly #initial: readonly V[];
  readonly #stores: { readonly at: number; readonly value: V }[] = [];

  constructor(initial: readonly V[]) {
    this.#initial = initial;
  }

  static zeros(length: number): ArrayModel {
    return new ArrayModel(Array<number>(length).fill(0));
  }

  at(index: number): V {
    if (!(index in this.#initial)) throw new RangeError(`index ${index} of ${this.#initial.length} elements`);
    const last = this.#stores.findLast(({ at }) => at === index);
    return last ? last.value : (this.#initial[index] as V);
  }

  set(index: number, value: V): void {
    this.at(index); // must be inside
    this.#stores.push({ at: index, value });
  }
}
