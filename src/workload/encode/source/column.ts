import { EncodeError } from '../job/errors.js';
import type { SourceOptions } from './source.js';

/** Checks the rows of a column: nulls as the caller wants them, and all rows as long as the first that is not null. */
export class RowChecks {
  readonly #path: string;
  readonly #rejectsNulls: boolean;

  constructor(path: string, { nulls = 'fill_zero' }: SourceOptions) {
    this.#path = path;
    this.#rejectsNulls = nulls === 'reject';
  }

  /** A row that is null, or a value of it. */
  checkNull(sample: number, position?: number): void {
    if (!this.#rejectsNulls) return;
    throw new EncodeError('format', {
      message: `${this.#path}: sample ${sample} ${position === undefined ? 'is' : `has, at ${position},`} a null`,
      asked: 'samples without nulls',
      advice: 'take --nulls fill_zero, which makes zeros of them',
      sample,
      ...(position !== undefined && { position }),
    });
  }

  checkRowLength(sample: number, values: number, first: number): void {
    if (values === first) return;
    throw new EncodeError('size', {
      message: `${this.#path}: sample ${sample} has ${values} values, the first one ${first}`,
      asked: `the samples in ${this.#path}`,
      advice: 'all samples must be of one length',
      sample,
    });
  }
}
