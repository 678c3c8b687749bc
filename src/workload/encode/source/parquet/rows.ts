import type { RowChecks } from '../column.js';
import type { ColumnDepth, Page } from './page.js';
import type { RunReader } from './run-reader.js';

/** A part of the rows: `count` values of the page, or `count` zeros. */
export interface ValueSegment {
  readonly count: number;
  readonly isZero: boolean;
}

/**
 * Finds the rows in a column's levels and checks that all have the same length. A null row becomes a row of zeros, a null
 * value a zero. It works on whole runs: two numbers for a row of 65,536.
 */
export class RowScanner {
  readonly #depth: ColumnDepth;
  readonly #checks: RowChecks;
  /** Values per row; unless given, those of the first row that is not null. */
  length: number | undefined;
  /** Rows begun so far, including null ones. */
  rowsBegun = 0;
  /** Values so far of the row that may continue; undefined if none may. */
  #openRowLength: number | undefined;
  #segments: { count: number; isZero: boolean }[] = [];

  constructor(depth: ColumnDepth, checks: RowChecks, length?: number) {
    this.#depth = depth;
    this.#checks = checks;
    this.length = length;
  }

  /**
   * Yields the segments of the next page. A segment may end with a row that turns out too long: this is found before the
   * next segment, or by `end`.
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

  /** Ends the open row: no row continues after the last page of a row group. */
  end(): void {
    if (this.#openRowLength === undefined) return;
    this.length ??= this.#openRowLength;
    this.#checks.checkRowLength(this.rowsBegun - 1, this.#openRowLength, this.length);
    this.#openRowLength = undefined;
  }

  #entries(repetition: RunReader | undefined, definition: number, count: number): void {
    const { listDefinition, definition: maxDefinition } = this.#depth;
    if (definition > maxDefinition || (repetition?.value ?? 0) > 1)
      throw new Error('a page has a level above the maximum of its column');
    const isPresent = definition === maxDefinition;
    if (repetition === undefined) {
      if (isPresent) this.length = 1;
      else this.#checks.checkNull(this.rowsBegun);
      this.rowsBegun += count;
      this.#append(count, !isPresent);
    } else if (repetition.value === 1) {
      if (this.#openRowLength === undefined || definition < listDefinition)
        throw new Error('a page continues a row that has ended');
      this.#extendRow(count, isPresent);
    } else {
      this.#beginRows(definition, isPresent, count);
    }
  }

  /** Begins `count` rows of one entry each. All but the last have ended; the last may get more entries. */
  #beginRows(definition: number, isPresent: boolean, count: number): void {
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
    if (definition >= listDefinition) this.#extendRow(1, isPresent);
    if (count > 1 || definition < listDefinition) this.end();
    this.rowsBegun += count - 1;
    if (count === 1 || definition < listDefinition) return;
    this.#openRowLength = 1;
    this.#append(count - 1, !isPresent);
  }

  /** Values past the row's length are counted; `end` reports them. */
  #extendRow(count: number, isPresent: boolean): void {
    const before = this.#openRowLength ?? 0;
    if (!isPresent) this.#checks.checkNull(this.rowsBegun - 1, before);
    this.#openRowLength = before + count;
    const fitting = this.length === undefined ? count : Math.max(0, Math.min(count, this.length - before));
    this.#append(fitting, !isPresent);
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

/** Segments yielded at a time: a page of 100 MB in which nulls and values alternate has millions. */
const MAX_SEGMENTS = 1024;
