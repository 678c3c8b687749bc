import { EncodeError } from '../job/errors.js';
import type { SourceOptions } from './source.js';

/** Checks the rows of a column: nulls if the caller rejects them, and that all rows are as long as the first. */
export class RowChecks {
  readonly #path: string;
  readonly #rejectsNulls: boolean;

  constructor(path: string, { nulls = 'fill_zero' }: SourceOptions) {
    this.#path = path;
    this.#rejectsNulls = nulls === 'reject';
  }

  /** Called for a null row, or a null value in a row. */
  checkNull(sample: number, position?: number): void {
    if (!this.#rejectsNulls) return;
    throw new EncodeError('format', {
      message: `${this.#path}: ${position === undefined ? '' : `value ${position} of `}sample ${sample} is null`,
      asked: 'samples without nulls',
      advice: 'use --nulls fill_zero to replace nulls by zeros',
      sample,
      ...(position !== undefined && { position }),
    });
  }

  checkRowLength(sample: number, values: number, first: number): void {
    if (values === first) return;
    throw new EncodeError('size', {
      message: `${this.#path}: sample ${sample} has ${values} values, the first one ${first}`,
      asked: `the samples in ${this.#path}`,
      advice: 'all samples must have the same length',
      sample,
    });
  }
}
