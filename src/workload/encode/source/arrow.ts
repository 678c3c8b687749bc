import { readFile } from 'node:fs/promises';
import { CompressionType, compressionRegistry, DataType, RecordBatchReader, type Vector } from 'apache-arrow';
import { type Cell, RowLayout } from './column.js';
import { zstd } from './decompress.js';
import { lz4Frame } from './lz4.js';
import { badFile, badType, type Source, type SourceOptions } from './source.js';

// The reader has no codecs of its own. Feather is compressed by lz4 unless its writer is told otherwise.
compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: lz4Frame });
compressionRegistry.set(CompressionType.ZSTD, { decode: zstd });

/** Arrow's file format, of which Feather is another name: lists of floats in the first column. */
export async function openArrow(path: string, options: SourceOptions): Promise<Source> {
  const reader = RecordBatchReader.from(await readFile(path));
  reader.open();
  const [field] = reader.schema?.fields ?? [];
  if (field === undefined) throw badFile(path, 'it has no columns', "write Arrow's file format: one column of lists");
  const { type } = field;
  const isList = DataType.isList(type) || DataType.isLargeList(type) || DataType.isFixedSizeList(type);
  const inner = isList ? type.children[0]?.type : type;
  if (!DataType.isFloat(inner) || inner.precision === 0) {
    throw badType(path, `column ${field.name} is of ${type}`, 'write lists of float64 or float32');
  }
  const layout = new RowLayout(path, options);
  const parts: Float64Array[] = [];
  let samples = 0;
  for (const batch of reader) {
    const column = batch.getChildAt(0);
    if (column === null) throw badFile(path, 'a part of it has no columns', 'see that the file is whole');
    const rows = layout.lay(cellsOf(column));
    if (rows.length > 0) parts.push(rows);
    samples += layout.length ? rows.length / layout.length : 0;
  }
  if (layout.length === undefined || layout.length === 0 || samples === 0) {
    throw badFile(path, 'it has no values', 'write at least one row that is not null');
  }
  return {
    length: layout.length,
    samples,
    precision: inner.precision === 2 ? 'f64' : 'f32',
    async *batches() {
      yield* parts;
    },
    close: async () => undefined,
  };
}

function cellsOf(column: Vector): Cell[] {
  return Array.from({ length: column.length }, (_, row) => {
    const cell = column.get(row) as Vector | number | null;
    if (cell === null || typeof cell === 'number') return cell;
    // A list with nulls in it says so by `get` alone: its array has whatever lies there.
    return cell.nullCount === 0 ? (cell.toArray() as ArrayLike<number>) : Array.from(cell as Iterable<number | null>);
  });
}
