import { EncodeError } from '../errors.js';
import type { SourceOptions } from './source.js';

/** A value of a column as readers give it: a list, a number, nothing. */
export type Cell = ArrayLike<number | null | undefined> | number | null | undefined;

/** Lays the rows of a column out one after the other. All must have as many values as the first one that has any. */
export class RowLayout {
  readonly #path: string;
  readonly #rejects: boolean;
  length: number | undefined;
  #seen = 0;

  constructor(path: string, { nulls = 'fill_zero' }: SourceOptions) {
    this.#path = path;
    this.#rejects = nulls === 'reject';
  }

  /** Rows in memory. Those that are nothing before the first that has a length are dropped, since nobody knows it. */
  lay(cells: readonly Cell[]): Float64Array {
    const first = this.#seen;
    this.#seen += cells.length;
    this.length ??= lengthOf(cells.find((one) => one !== null && one !== undefined));
    const length = this.length;
    if (length === undefined) {
      if (this.#rejects && cells.length > 0) throw this.#null(first);
      return new Float64Array(0);
    }
    const rows = new Float64Array(cells.length * length);
    cells.forEach((cell, at) => {
      this.#put(rows, at * length, cell, length, first + at);
    });
    return rows;
  }

  #put(rows: Float64Array, from: number, cell: Cell, length: number, sample: number): void {
    if (cell === null || cell === undefined) {
      if (this.#rejects) throw this.#null(sample);
      return;
    }
    if (typeof cell === 'number') {
      rows[from] = cell;
      return;
    }
    if (cell.length !== length) {
      throw new EncodeError('size', {
        message: `${this.#path}: sample ${sample} has ${cell.length} values, the first one ${length}`,
        asked: `the samples in ${this.#path}`,
        advice: 'all samples must be of one length',
        sample,
      });
    }
    for (let i = 0; i < length; i++) {
      const value = cell[i];
      if (value !== null && value !== undefined) rows[from + i] = value;
      else if (this.#rejects) throw this.#null(sample, i);
    }
  }

  #null(sample: number, position?: number): EncodeError {
    return new EncodeError('format', {
      message: `${this.#path}: sample ${sample} ${position === undefined ? 'is' : `has, at ${position},`} a null`,
      asked: 'samples without nulls',
      advice: 'take --nulls fill_zero, which makes zeros of them',
      sample,
      ...(position !== undefined && { position }),
    });
  }
}

const lengthOf = (cell: Cell): number | undefined =>
  cell === null || cell === undefined ? undefined : typeof cell === 'number' ? 1 : cell.length;
