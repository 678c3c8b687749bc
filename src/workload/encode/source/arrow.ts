import { open } from 'node:fs/promises';
import { CompressionType, compressionRegistry, DataType, RecordBatchReader, type Vector } from 'apache-arrow';
import { realBytes } from '../encoding.js';
import { type Cell, RowChecks, RowLayout } from './column.js';
import { lz4Frame } from './lz4.js';
import { fill } from './raw.js';
import { badFile, badType, type Source, type SourceOptions, samplesAtATime } from './source.js';
import { zstdFrame } from './zstd.js';

// The reader has no codecs of its own. Feather is compressed by lz4 unless its writer is told otherwise.
compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: lz4Frame });
compressionRegistry.set(CompressionType.ZSTD, { decode: zstdFrame });

/** Arrow's file format, of which Feather is another name: lists of floats in the first column. */
export async function openArrow(path: string, options: SourceOptions): Promise<Source> {
  const reader = RecordBatchReader.from(await bytesIn(path));
  reader.open();
  const [field] = reader.schema?.fields ?? [];
  if (field === undefined) throw badFile(path, 'it has no columns', "write Arrow's file format: one column of lists");
  const { type } = field;
  const isList = DataType.isList(type) || DataType.isLargeList(type) || DataType.isFixedSizeList(type);
  const inner = isList ? type.children[0]?.type : type;
  if (!DataType.isFloat(inner) || inner.precision === 0) {
    throw badType(path, `column ${field.name} is of ${type}`, 'write lists of float64 or float32');
  }
  const precision = inner.precision === 2 ? 'f64' : 'f32';
  const layout = new RowLayout(new RowChecks(path, options));
  const parts: (Float64Array | Float32Array)[] = [];
  let values = 0;
  for (const batch of reader) {
    const column = batch.getChildAt(0);
    if (column === null) throw badFile(path, 'a part of it has no columns', 'see that the file is whole');
    const dense = denseRows(column);
    const isDense = dense !== undefined && layout.takes(column.length, dense.length / column.length);
    const rows = isDense ? dense : layout.lay(cellsOf(column));
    if (rows.length > 0) parts.push(rows);
    values += rows.length;
  }
  const { length = 0 } = layout;
  if (length === 0 || values === 0) throw badFile(path, 'it has no values', 'write at least one row that is not null');
  const size = samplesAtATime(length, realBytes(precision), options) * length;
  return {
    length,
    samples: values / length,
    precision,
    async *batches() {
      for (const rows of parts) {
        for (let at = 0; at < rows.length; at += size) yield rows.subarray(at, at + size);
      }
    },
    close: async () => undefined,
  };
}

/** All of it, aligned: what is not compressed in it is used where it lies. */
async function bytesIn(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const bytes = new Uint8Array(size);
    await fill(path, file, bytes, 0);
    return bytes;
  } finally {
    await file.close();
  }
}

/** The values of rows of one length without nulls, which lie one after the other already. */
function denseRows({ data: parts }: Vector): Float64Array | Float32Array | undefined {
  const [data, ...more] = parts;
  if (data === undefined || more.length > 0) return undefined;
  const { type, length, children } = data;
  const inner = children[0] ?? data;
  if (data.offset !== 0 || inner.offset !== 0 || length === 0) return undefined;
  if (data.nullCount !== 0 || inner.nullCount !== 0) return undefined;
  const fixed = DataType.isFixedSizeList(type) ? type.listSize : 1;
  const hasEnds = DataType.isList(type) || DataType.isLargeList(type);
  const [from, end] = hasEnds ? endsOf(data.valueOffsets, length) : [0, length * fixed];
  const all: unknown = inner.values;
  const isFloat = all instanceof Float64Array || all instanceof Float32Array;
  return isFloat && from < end && end <= all.length ? all.subarray(from, end) : undefined;
}

/** Where lists begin and end, if all have as many values; else a stretch of nothing. */
function endsOf(ends: Int32Array | BigInt64Array, rows: number): readonly [number, number] {
  const from = Number(ends[0]);
  const each = Number(ends[1]) - from;
  for (let row = 1; row <= rows; row++) if (Number(ends[row]) !== from + row * each) return [0, 0];
  return [from, from + rows * each];
}

function cellsOf(column: Vector): Cell[] {
  return Array.from({ length: column.length }, (_, row) => {
    const cell = column.get(row) as Vector | number | null;
    if (cell === null || typeof cell === 'number') return cell;
    // A list with nulls in it says so by `get` alone: its array has whatever lies there.
    return cell.nullCount === 0 ? (cell.toArray() as ArrayLike<number>) : Array.from(cell as Iterable<number | null>);
  });
}
