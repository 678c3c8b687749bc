import type { RowChecks } from '../column.js';
import type { Depth, Page } from './page.js';
import type { Runs } from './runs.js';

/** What of a page goes to the rows, one after the other: so many of its values, or so many zeros. */
export interface Stretch {
  readonly count: number;
  readonly isZero: boolean;
}

/**
 * Finds the rows in a column's levels, and holds each against the length of the first. A row that is null is as many zeros,
 * and so is a null within a row. It works on whole runs: two numbers for a row of 65,536.
 */
export class Rows {
  readonly #depth: Depth;
  readonly #checks: RowChecks;
  /** Values of a row; the first that is not null says it where nobody has. */
  length: number | undefined;
  /** Rows that have begun, null or not. */
  begun = 0;
  /** Values of the row that may go on, if one may. */
  #inRow: number | undefined;
  #stretches: { count: number; isZero: boolean }[] = [];

  constructor(depth: Depth, checks: RowChecks, length?: number) {
    this.#depth = depth;
    this.#checks = checks;
    this.length = length;
  }

  /**
   * What the levels of the next page say, some stretches at a time. A stretch may end with a row that goes on for too long:
   * that is known before the next stretch comes, or by `end`.
   */
  *page(page: Page): Generator<Stretch> {
    const repetition = page.repetition();
    const definition = page.definition();
    for (let left = page.entries; left > 0; ) {
      repetition?.look(left);
      definition?.look(repetition?.count ?? left);
      const count = definition?.count ?? repetition?.count ?? left;
      this.#entries(repetition, definition?.value ?? this.#depth.definition, count);
      repetition?.take(count);
      definition?.take(count);
      left -= count;
      if (this.#stretches.length >= MOST_STRETCHES) yield* this.#taken();
    }
    yield* this.#taken();
  }

  /** No row goes on after the last page of a row group. */
  end(): void {
    if (this.#inRow === undefined) return;
    this.length ??= this.#inRow;
    this.#checks.length(this.begun - 1, this.#inRow, this.length);
    this.#inRow = undefined;
  }

  #entries(repetition: Runs | undefined, definition: number, count: number): void {
    const { listed, definition: most } = this.#depth;
    if (definition > most || (repetition?.value ?? 0) > 1)
      throw new Error('a page has a level that its column has not');
    const isThere = definition === most;
    if (repetition === undefined) {
      if (isThere) this.length = 1;
      else this.#checks.null(this.begun);
      this.begun += count;
      this.#put(count, !isThere);
    } else if (repetition.value === 1) {
      if (this.#inRow === undefined || definition < listed) throw new Error('a page goes on with a row that has ended');
      this.#more(count, isThere);
    } else {
      this.#begin(definition, isThere, count);
    }
  }

  /** So many rows, each with one entry at least; all but the last have ended, so where they have values they have one. */
  #begin(definition: number, isThere: boolean, count: number): void {
    this.end();
    const { listed } = this.#depth;
    if (definition < listed - 1) {
      this.#checks.null(this.begun);
      this.begun += count;
      this.#put(count * (this.length ?? 0), true);
      return;
    }
    this.begun += 1;
    this.#inRow = 0;
    if (definition >= listed) this.#more(1, isThere);
    if (count > 1 || definition < listed) this.end();
    this.begun += count - 1;
    if (count === 1 || definition < listed) return;
    this.#inRow = 1;
    this.#put(count - 1, !isThere);
  }

  /** What goes past the length is counted, and told when the row ends. */
  #more(count: number, isThere: boolean): void {
    const before = this.#inRow ?? 0;
    if (!isThere) this.#checks.null(this.begun - 1, before);
    this.#inRow = before + count;
    const fitting = this.length === undefined ? count : Math.max(0, Math.min(count, this.length - before));
    this.#put(fitting, !isThere);
  }

  #taken(): Stretch[] {
    const taken = this.#stretches;
    this.#stretches = [];
    return taken;
  }

  #put(count: number, isZero: boolean): void {
    const last = this.#stretches.at(-1);
    if (last?.isZero === isZero) last.count += count;
    else if (count > 0) this.#stretches.push({ count, isZero });
  }
}

/** Where nulls and values alternate, a page of 100 MB has millions. */
const MOST_STRETCHES = 1024;
