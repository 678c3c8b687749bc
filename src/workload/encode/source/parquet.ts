import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import { type Cell, RowLayout } from './column.js';
import { badFile, badType, type Source, type SourceOptions } from './source.js';

/** Rows that are read at a time where nobody says. */
const ROWS = 2048;

/** One column: lists of floats, or a float a row. Read some rows at a time. */
export async function openParquet(path: string, options: SourceOptions): Promise<Source> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const columns = parquetSchema(metadata).children;
  const [column] = columns;
  if (column === undefined || columns.length !== 1) {
    throw badFile(path, `it has ${columns.length} columns`, 'write a file with one: a list of floats in each row');
  }
  const name = column.element.name;
  const leaves = leavesOf(column);
  const types = leaves.map((leaf) => leaf.element.type);
  if (types.length !== 1 || (types[0] !== 'DOUBLE' && types[0] !== 'FLOAT')) {
    throw badType(path, `column ${name} is of ${types.join(', ') || 'nothing'}`, 'write lists of float64 or float32');
  }
  const samples = Number(metadata.num_rows);
  const atATime = options.batch ?? ROWS;
  const layout = new RowLayout(path, options);
  const read = async (rowStart: number): Promise<Float64Array> => {
    const rowEnd = Math.min(samples, rowStart + atATime);
    const rows = await parquetReadObjects({ file, metadata, rowStart, rowEnd }).catch((error: Error) => {
      throw badFile(path, error.message, 'see that it is whole, and compressed by snappy or not at all', error);
    });
    return layout.lay(rows.map((row) => row[name] as Cell));
  };
  // The first rows say how long a sample is.
  let first = new Float64Array(0);
  let next = 0;
  for (; next < samples && first.length === 0; next += atATime) first = (await read(next)) as Float64Array<ArrayBuffer>;
  if (layout.length === undefined || layout.length === 0) {
    throw badFile(path, 'it has no values', 'write at least one row that is not null');
  }
  return {
    length: layout.length,
    samples: undefined,
    precision: types[0] === 'DOUBLE' ? 'f64' : 'f32',
    async *batches() {
      yield first;
      for (; next < samples; next += atATime) yield await read(next);
    },
    close: async () => undefined,
  };
}

type Column = ReturnType<typeof parquetSchema>['children'][number];

const leavesOf = (column: Column): Column[] =>
  column.children.length === 0 ? [column] : column.children.flatMap((child) => leavesOf(child));
