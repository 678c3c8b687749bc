import { EncodeError } from '../errors.js';
import type { SourceOptions } from './source.js';

/** A value of a column as readers give it: a list, a number, nothing. */
export type Cell = ArrayLike<number | null | undefined> | number | null | undefined;

/** What is said of rows that are not as they should be: all must have as many values as the first one that has any. */
export class RowChecks {
  readonly #path: string;
  readonly #rejects: boolean;

  constructor(path: string, { nulls = 'fill_zero' }: SourceOptions) {
    this.#path = path;
    this.#rejects = nulls === 'reject';
  }

  /** A row that is null, or a value of it. */
  null(sample: number, position?: number): void {
    if (!this.#rejects) return;
    throw new EncodeError('format', {
      message: `${this.#path}: sample ${sample} ${position === undefined ? 'is' : `has, at ${position},`} a null`,
      asked: 'samples without nulls',
      advice: 'take --nulls fill_zero, which makes zeros of them',
      sample,
      ...(position !== undefined && { position }),
    });
  }

  length(sample: number, values: number, first: number): void {
    if (values === first) return;
    throw new EncodeError('size', {
      message: `${this.#path}: sample ${sample} has ${values} values, the first one ${first}`,
      asked: `the samples in ${this.#path}`,
      advice: 'all samples must be of one length',
      sample,
    });
  }
}

/** Lays the rows of a column out one after the other. */
export class RowLayout {
  readonly #checks: RowChecks;
  length: number | undefined;
  #seen = 0;
  /** Rows that are nothing, before the first that has a length: nobody knows yet how many zeros they are. */
  #waiting = 0;

  constructor(checks: RowChecks) {
    this.#checks = checks;
  }

  /** Whether so many rows of one length without nulls, which need not be laid out, may come next. */
  takes(rows: number, length: number): boolean {
    if (this.#waiting > 0 || length !== (this.length ?? length)) return false;
    this.length = length;
    this.#seen += rows;
    return true;
  }

  /** Rows in memory, with those that have waited. */
  lay(cells: readonly Cell[]): Float64Array {
    const first = this.#seen;
    this.#seen += cells.length;
    this.length ??= lengthOf(cells.find((one) => one !== null && one !== undefined));
    const length = this.length;
    if (length === undefined) {
      if (cells.length > 0) this.#checks.null(first);
      this.#waiting += cells.length;
      return new Float64Array(0);
    }
    const rows = new Float64Array((this.#waiting + cells.length) * length);
    cells.forEach((cell, at) => {
      this.#put(rows, (this.#waiting + at) * length, cell, length, first + at);
    });
    this.#waiting = 0;
    return rows;
  }

  #put(rows: Float64Array, from: number, cell: Cell, length: number, sample: number): void {
    if (cell === null || cell === undefined) {
      this.#checks.null(sample);
      return;
    }
    if (typeof cell === 'number') {
      rows[from] = cell;
      return;
    }
    this.#checks.length(sample, cell.length, length);
    for (let i = 0; i < length; i++) {
      const value = cell[i];
      if (value !== null && value !== undefined) rows[from + i] = value;
      else this.#checks.null(sample, i);
    }
  }
}

const lengthOf = (cell: Cell): number | undefined =>
  cell === null || cell === undefined ? undefined : typeof cell === 'number' ? 1 : cell.length;
