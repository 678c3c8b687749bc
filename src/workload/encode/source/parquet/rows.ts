import type { RowChecks } from '../column.js';
import type { ColumnDepth, Page } from './page.js';
import type { RunReader } from './run-reader.js';

/** What of a page goes to the rows, one after the other: so many of its values, or so many zeros. */
export interface ValueSegment {
  readonly count: number;
  readonly isZero: boolean;
}

/**
 * Finds the rows in a column's levels, and holds each against the length of the first. A row that is null is as many zeros,
 * and so is a null within a row. It works on whole runs: two numbers for a row of 65,536.
 */
export class RowScanner {
  readonly #depth: ColumnDepth;
  readonly #checks: RowChecks;
  /** Values of a row; the first that is not null says it where nobody has. */
  length: number | undefined;
  /** Rows that have begun, null or not. */
  rowsBegun = 0;
  /** Values of the row that may go on, if one may. */
  #openRowLength: number | undefined;
  #segments: { count: number; isZero: boolean }[] = [];

  constructor(depth: ColumnDepth, checks: RowChecks, length?: number) {
    this.#depth = depth;
    this.#checks = checks;
    this.length = length;
  }

  /**
   * What the levels of the next page say, some stretches at a time. A stretch may end with a row that goes on for too long:
   * that is known before the next stretch comes, or by `end`.
   */
  *page(page: Page): Generator<ValueSegment> {
    const repetition = page.repetitionLevels();
    const definition = page.definitionLevels();
    for (let left = page.entries; left > 0; ) {
      repetition?.peek(left);
      definition?.peek(repetition?.count ?? left);
      const count = definition?.count ?? repetition?.count ?? left;
      this.#entries(repetition, definition?.value ?? this.#depth.definition, count);
      repetition?.skip(count);
      definition?.skip(count);
      left -= count;
      if (this.#segments.length >= MAX_SEGMENTS) yield* this.#takeSegments();
    }
    yield* this.#takeSegments();
  }

  /** No row goes on after the last page of a row group. */
  end(): void {
    if (this.#openRowLength === undefined) return;
    this.length ??= this.#openRowLength;
    this.#checks.checkRowLength(this.rowsBegun - 1, this.#openRowLength, this.length);
    this.#openRowLength = undefined;
  }

  #entries(repetition: RunReader | undefined, definition: number, count: number): void {
    const { listDefinition, definition: most } = this.#depth;
    if (definition > most || (repetition?.value ?? 0) > 1)
      throw new Error('a page has a level that its column has not');
    const isThere = definition === most;
    if (repetition === undefined) {
      if (isThere) this.length = 1;
      else this.#checks.checkNull(this.rowsBegun);
      this.rowsBegun += count;
      this.#append(count, !isThere);
    } else if (repetition.value === 1) {
      if (this.#openRowLength === undefined || definition < listDefinition)
        throw new Error('a page goes on with a row that has ended');
      this.#extendRow(count, isThere);
    } else {
      this.#beginRows(definition, isThere, count);
    }
  }

  /** So many rows, each with one entry at least; all but the last have ended, so where they have values they have one. */
  #beginRows(definition: number, isThere: boolean, count: number): void {
    this.end();
    const { listDefinition } = this.#depth;
    if (definition < listDefinition - 1) {
      this.#checks.checkNull(this.rowsBegun);
      this.rowsBegun += count;
      this.#append(count * (this.length ?? 0), true);
      return;
    }
    this.rowsBegun += 1;
    this.#openRowLength = 0;
    if (definition >= listDefinition) this.#extendRow(1, isThere);
    if (count > 1 || definition < listDefinition) this.end();
    this.rowsBegun += count - 1;
    if (count === 1 || definition < listDefinition) return;
    this.#openRowLength = 1;
    this.#append(count - 1, !isThere);
  }

  /** What goes past the length is counted, and told when the row ends. */
  #extendRow(count: number, isThere: boolean): void {
    const before = this.#openRowLength ?? 0;
    if (!isThere) this.#checks.checkNull(this.rowsBegun - 1, before);
    this.#openRowLength = before + count;
    const fitting = this.length === undefined ? count : Math.max(0, Math.min(count, this.length - before));
    this.#append(fitting, !isThere);
  }

  #takeSegments(): ValueSegment[] {
    const taken = this.#segments;
    this.#segments = [];
    return taken;
  }

  #append(count: number, isZero: boolean): void {
    const last = this.#segments.at(-1);
    if (last?.isZero === isZero) last.count += count;
    else if (count > 0) this.#segments.push({ count, isZero });
  }
}

/** Where nulls and values alternate, a page of 100 MB has millions. */
const MAX_SEGMENTS = 1024;
