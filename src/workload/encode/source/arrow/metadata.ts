import type { Precision } from '../../kernel/encoding.js';
import { badFile, badType } from '../source.js';
import { type FlatTable, sizeAt } from './flatbuffer.js';

/** The first column of a file: floats, or lists of floats. */
export interface Column {
  readonly precision: Precision;
  readonly isList: boolean;
  /** Bytes of each list's offset; undefined if lists have one size or rows are single floats. */
  readonly offsetBytes: 4 | 8 | undefined;
  /** Values per row, if the type has it. */
  readonly size: number | undefined;
}

/** Numbers of the types in a schema's union. */
const Type = { float: 3, list: 12, fixedSizeList: 16, largeList: 21 } as const;
const typeNames: Readonly<Record<number, string>> = {
  1: 'nulls',
  2: 'integers',
  3: 'floats',
  4: 'binary data',
  5: 'text',
  6: 'booleans',
  7: 'decimals',
  8: 'dates',
  9: 'times',
  10: 'timestamps',
  11: 'intervals',
  12: 'lists',
  13: 'structs',
  14: 'unions',
  15: 'binary data',
  16: 'lists',
  17: 'maps',
  18: 'durations',
  19: 'binary data',
  20: 'text',
  21: 'lists',
  22: 'runs',
  23: 'binary data',
  24: 'text',
  25: 'list views',
  26: 'list views',
};
const SINGLE = 1;
const DOUBLE = 2;
/** Characters of a column's name that an error shows. */
const MAX_NAME_CHARACTERS = 80;

/** The first column of a schema. Types that cannot be encoded are refused by name. */
export function columnIn(path: string, schema: FlatTable): Column {
  if (schema.int16(0) !== 0) throw badType(path, 'its values are big-endian', 'write it on a little-endian machine');
  const field = schema.tables(1).at(0);
  if (field === undefined) throw badFile(path, 'the file has no columns', 'write one column of lists of floats');
  const type = field.int8(2);
  const isList = type === Type.list || type === Type.largeList || type === Type.fixedSizeList;
  const item = isList ? field.tables(5).at(0) : field;
  const itemType = item?.int8(2) ?? 0;
  const precision = itemType === Type.float ? item?.table(3)?.int16(0) : undefined;
  const isDictionary = field.table(4) !== undefined || item?.table(4) !== undefined;
  if (isDictionary || (precision !== DOUBLE && precision !== SINGLE)) {
    const named = itemType === Type.float && !isDictionary ? 'float16' : (typeNames[itemType] ?? `type ${itemType}`);
    const what = `${isList ? 'lists of ' : ''}${isDictionary ? 'dictionary-encoded ' : ''}${named}`;
    throw badType(
      path,
      `column ${field.text(0).slice(0, MAX_NAME_CHARACTERS)} holds ${what}`,
      'write lists of float64 or float32',
    );
  }
  const size = type === Type.fixedSizeList ? (field.table(3)?.int32(0) ?? 0) : isList ? undefined : 1;
  if (size !== undefined && size < 1) throw badFile(path, `its lists have ${size} values`, 'write one value or more');
  return {
    precision: precision === DOUBLE ? 'f64' : 'f32',
    isList,
    offsetBytes: type === Type.list ? 4 : type === Type.largeList ? 8 : undefined,
    size,
  };
}

/** Bytes of a message's body. */
export interface BufferRange {
  readonly from: number;
  readonly bytes: number;
}

/** Where the first column of a record batch lies in the body of its message. */
export interface ColumnLayout {
  readonly rows: number;
  /** Values of all rows together. */
  readonly values: number;
  /** A bit for each row, set unless it is null; undefined if no row is null. */
  readonly validity: BufferRange | undefined;
  readonly offsets: BufferRange | undefined;
  readonly itemValidity: BufferRange | undefined;
  readonly items: BufferRange;
  readonly compression: 'lz4' | 'zstd' | undefined;
}

const NODE_BYTES = 16;
const RANGE_BYTES = 16;

/** `bodyBytes` is the length of the message's body, which holds all regions. */
export function layoutIn(batch: FlatTable, column: Column, bodyBytes: number): ColumnLayout {
  const nodes = batch.structs(1, NODE_BYTES);
  const regions = batch.structs(2, RANGE_BYTES);
  const node = (index: number): { readonly length: number; readonly hasNulls: boolean } => {
    if (index >= nodes.count) throw new Error('a record batch lacks its first column');
    return {
      length: sizeAt(nodes.view, index * NODE_BYTES),
      hasNulls: sizeAt(nodes.view, index * NODE_BYTES + 8) > 0,
    };
  };
  const region = (index: number): BufferRange => {
    if (index >= regions.count) throw new Error('a record batch lacks its first column');
    const from = sizeAt(regions.view, index * RANGE_BYTES);
    const bytes = sizeAt(regions.view, index * RANGE_BYTES + 8);
    if (from + bytes > bodyBytes) throw new Error(`a buffer ends at byte ${from + bytes} of a body of ${bodyBytes}`);
    return { from, bytes };
  };
  const { isList, offsetBytes } = column;
  const rows = node(0);
  const items = isList ? node(1) : rows;
  if (rows.length !== batch.size(0)) {
    throw new Error(`a record batch has ${batch.size(0)} rows, its first column ${rows.length}`);
  }
  const afterList = offsetBytes === undefined ? 1 : 2;
  return {
    rows: rows.length,
    values: items.length,
    validity: rows.hasNulls ? region(0) : undefined,
    offsets: offsetBytes === undefined ? undefined : region(1),
    itemValidity: isList && items.hasNulls ? region(afterList) : undefined,
    items: region(isList ? afterList + 1 : 1),
    compression: compressionIn(batch),
  };
}

function compressionIn(batch: FlatTable): ColumnLayout['compression'] {
  const compression = batch.table(3);
  if (compression === undefined) return undefined;
  const codec = compression.int8(0);
  if (compression.int8(1) !== 0 || codec < 0 || codec > 1) throw new Error(`unknown compression codec ${codec}`);
  return codec === 0 ? 'lz4' : 'zstd';
}
