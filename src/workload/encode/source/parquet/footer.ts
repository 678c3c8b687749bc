import type { FileHandle } from 'node:fs/promises';
import { readInto } from '../raw.js';
import { badFile } from '../source.js';
import { ThriftReader, ThriftType } from './thrift.js';

/** The schema of a file, and the row groups of its first column. */
export interface Footer {
  /** The schema's tree, depth first; the first element is the root. */
  readonly elements: readonly SchemaElement[];
  readonly groups: readonly RowGroup[];
}

export interface SchemaElement {
  readonly name: string;
  /** Undefined for a group. */
  readonly type: string | undefined;
  readonly repetition: 'required' | 'optional' | 'repeated';
  readonly children: number;
}

/** A row group, and the position of its first column's pages. */
export interface RowGroup {
  readonly rows: number;
  readonly codec: string;
  readonly from: number;
  readonly end: number;
}

const MAGIC = 'PAR1';
/** At the end: the footer's length, and the magic number. */
const END_BYTES = 4 + MAGIC.length;
/** A file of 100,000 row groups has 15 MB. */
const MAX_FOOTER = 2 ** 25;
const MAX_ELEMENTS = 2 ** 16;
const MAX_GROUPS = 2 ** 20;

/** Reads the footer. Throws if the pages of a row group are not in the file. */
export async function footerOf(path: string, file: FileHandle, size: number): Promise<Footer> {
  const end = size - END_BYTES;
  const last = Buffer.alloc(END_BYTES);
  if (end >= MAGIC.length) await readInto(path, file, last, end);
  if (last.toString('latin1', 4) !== MAGIC) {
    throw badFile(path, 'the file does not end like a Parquet file', 'check that the file is complete');
  }
  const bytes = last.readUInt32LE(0);
  if (bytes > end - MAGIC.length || bytes > MAX_FOOTER) {
    const advice = `check that the file is complete; at most ${MAX_FOOTER} bytes are accepted`;
    throw badFile(path, `its footer has ${bytes} bytes`, advice);
  }
  const footer = Buffer.alloc(bytes);
  await readInto(path, file, footer, end - bytes);
  return footerIn(footer, size);
}

function footerIn(bytes: Uint8Array, fileSize: number): Footer {
  const reader = new ThriftReader(bytes, 0, 'its footer');
  const elements: SchemaElement[] = [];
  const groups: RowGroup[] = [];
  reader.struct((field, type) => {
    if (type !== ThriftType.list || (field !== 2 && field !== 4)) return false;
    reader.list(ThriftType.struct, (index) => {
      if (index >= (field === 2 ? MAX_ELEMENTS : MAX_GROUPS)) throw new Error('its footer has too many entries');
      if (field === 2) elements.push(elementIn(reader));
      else groups.push(groupIn(reader, index, fileSize));
    });
    return true;
  });
  return { elements, groups };
}

const types = ['BOOLEAN', 'INT32', 'INT64', 'INT96', 'FLOAT', 'DOUBLE', 'BYTE_ARRAY', 'FIXED_LEN_BYTE_ARRAY'];
const repetitions = ['required', 'optional', 'repeated'] as const;
const codecs = ['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'LZO', 'BROTLI', 'LZ4', 'ZSTD', 'LZ4_RAW'];
/** Characters of a name that an error shows. */
const MAX_NAME_CHARACTERS = 80;

function elementIn(reader: ThriftReader): SchemaElement {
  let name = '';
  const numbers = numbersIn(reader, (field, type) => {
    if (field !== 4 || type !== ThriftType.binary) return false;
    name = Buffer.from(reader.take(reader.varint())).toString('utf8').slice(0, MAX_NAME_CHARACTERS);
    return true;
  });
  const type = numbers.get(1);
  const repetition = repetitions[numbers.get(3) ?? 0];
  if (repetition === undefined) throw new Error(`column ${name} has an unknown repetition`);
  const isGroup = numbers.has(5);
  return {
    name,
    type: isGroup || type === undefined ? undefined : (types[type] ?? `type ${type}`),
    repetition,
    children: numbers.get(5) ?? 0,
  };
}

function groupIn(reader: ThriftReader, at: number, fileSize: number): RowGroup {
  let column: ReadonlyMap<number, number> = new Map();
  let isElsewhere = false;
  const numbers = numbersIn(reader, (field, type) => {
    if (field !== 1 || type !== ThriftType.list) return false;
    reader.list(ThriftType.struct, (index) => {
      if (index > 0) return reader.skip(ThriftType.struct);
      reader.struct((own, kind) => {
        if (own === 1 && kind === ThriftType.binary) isElsewhere = true;
        if (own !== 3 || kind !== ThriftType.struct) return false;
        column = numbersIn(reader, () => false);
        return true;
      });
    });
    return true;
  });
  const codec = column.get(4);
  const rows = numbers.get(3) ?? -1;
  const from = column.get(11) || (column.get(9) ?? -1);
  const end = from + (column.get(7) ?? -1);
  if (isElsewhere || codec === undefined || rows < 0 || from < 0 || end < from || end > fileSize) {
    throw new Error(`row group ${at} is not in the file`);
  }
  return { rows, from, end, codec: codecs[codec] ?? `codec ${codec}` };
}

/** The numbers of a struct by their fields. `visit` sees the other fields. */
function numbersIn(reader: ThriftReader, visit: (field: number, type: number) => boolean): Map<number, number> {
  const numbers = new Map<number, number>();
  reader.struct((field, type) => {
    const value = reader.integer(type);
    if (value === undefined) return visit(field, type);
    numbers.set(field, value);
    return true;
  });
  return numbers;
}
