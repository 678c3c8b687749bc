import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import { type Cell, RowLayout } from './column.js';
import { decompressors } from './decompress.js';
import { badFile, badType, type Source, type SourceOptions } from './source.js';

/** Rows that are given at a time where nobody says. */
const ROWS = 2048;

/** One column: lists of floats, or a float a row. A row group is read at a time. */
export async function openParquet(path: string, options: SourceOptions): Promise<Source> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const columns = parquetSchema(metadata).children;
  const [column] = columns;
  if (column === undefined || columns.length !== 1) {
    throw badFile(path, `it has ${columns.length} columns`, 'write a file with one: a list of floats in each row');
  }
  const name = column.element.name;
  const [leaf, ...others] = leavesOf(column);
  const type = leaf?.column.element.type;
  // A list repeats once; a group that does not repeat is a struct.
  const isList = leaf !== undefined && leaf.repeated <= 1 && (leaf.repeated === 1 || column.children.length === 0);
  if (others.length > 0 || !isList || (type !== 'DOUBLE' && type !== 'FLOAT')) {
    const inner = [leaf, ...others].map((one) => one?.column.element.type ?? 'nothing').join(', ');
    const of = isList || leaf === undefined ? inner : leaf.repeated > 1 ? `lists of lists of ${inner}` : `structs`;
    throw badType(path, `column ${name} is of ${of}`, 'write lists of float64 or float32');
  }
  const atATime = options.batch ?? ROWS;
  const layout = new RowLayout(path, options);
  const read = async (rowStart: number, rowEnd: number): Promise<Float64Array> => {
    const asked = { file, metadata, rowStart, rowEnd, compressors: decompressors };
    const rows = await parquetReadObjects(asked).catch((error: Error) => {
      const where = `rows ${rowStart} to ${rowEnd - 1}: ${error.message}`;
      throw badFile(path, where, 'see that it is whole, and how it is compressed', error);
    });
    return layout.lay(rows.map((row) => row[name] as Cell));
  };
  const groups = groupsOf(
    metadata.row_groups.map(({ num_rows }) => Number(num_rows)),
    atATime,
  );
  // The first rows say how long a sample is.
  let first = new Float64Array(0);
  let next = 0;
  for (; next < groups.length && first.length === 0; next++) {
    first = (await read(...(groups[next] as Group))) as Float64Array<ArrayBuffer>;
  }
  const { length } = layout;
  if (length === undefined || length === 0) {
    throw badFile(path, 'it has no values', 'write at least one row that is not null');
  }
  return {
    length,
    samples: undefined,
    precision: type === 'DOUBLE' ? 'f64' : 'f32',
    async *batches() {
      const size = atATime * length;
      let rows: Float64Array = first;
      for (;;) {
        let at = 0;
        for (; at + size <= rows.length; at += size) yield rows.subarray(at, at + size);
        const left = rows.subarray(at);
        const group = groups[next++];
        if (group === undefined) {
          if (left.length > 0) yield left;
          return;
        }
        rows = joined(left, await read(...group));
      }
    },
    close: async () => undefined,
  };
}

type Group = readonly [begin: number, end: number];

/** Row groups are what is compressed together, and the reader decodes all of one to get at any of its rows. */
function groupsOf(counts: readonly number[], atLeast: number): Group[] {
  const groups: Group[] = [];
  let [begin, end] = [0, 0];
  for (const count of counts) {
    end += count;
    if (end - begin < atLeast) continue;
    groups.push([begin, end]);
    begin = end;
  }
  return end > begin ? [...groups, [begin, end]] : groups;
}

function joined(left: Float64Array, more: Float64Array): Float64Array {
  if (left.length === 0) return more;
  const both = new Float64Array(left.length + more.length);
  both.set(left);
  both.set(more, left.length);
  return both;
}

type Column = ReturnType<typeof parquetSchema>['children'][number];

/** What a column is made of, and how often lists are inside each other on the way there. */
function leavesOf(column: Column, above = 0): { readonly column: Column; readonly repeated: number }[] {
  const repeated = above + (column.element.repetition_type === 'REPEATED' ? 1 : 0);
  if (column.children.length === 0) return [{ column, repeated }];
  return column.children.flatMap((child) => leavesOf(child, repeated));
}
