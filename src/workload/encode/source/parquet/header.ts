import { ThriftReader, ThriftType } from './thrift.js';

/** The header of a page, in Thrift's compact protocol. */
export interface PageHeader {
  readonly kind: 'data' | 'data-2' | 'dictionary' | 'other';
  /** Bytes of the page, compressed and decompressed. */
  readonly bytes: number;
  readonly decompressedBytes: number;
  /** Values of the page, including nulls. */
  readonly entries: number;
  readonly encoding: number;
  /** Encodings of the levels in version 1; in version 2 they are always runs. */
  readonly levels: readonly number[];
  /** Bytes of the levels in version 2, which are never compressed. */
  readonly repetitionBytes: number;
  readonly definitionBytes: number;
  readonly isCompressed: boolean;
  /** Offset of the page, after this header. */
  readonly end: number;
}

/** Reads the header at an offset. All sizes in it are whole numbers from 0; the reader of a page checks whether they fit. */
export function pageHeaderAt(bytes: Uint8Array, at: number): PageHeader {
  const reader = new ThriftReader(bytes, at, 'a page header');
  const parts = new Map<number, Fields>();
  const fields = fieldsIn(reader, (field) => {
    parts.set(field, fieldsIn(reader));
    return true;
  });
  const kind = kinds[sizeIn(fields, 1)] ?? 'other';
  const own = kind === 'other' ? undefined : parts.get(structFields[kind]);
  if (kind !== 'other' && own === undefined) throw new Error('a page header lacks the part for its kind');
  const inner: Fields = own ?? new Map();
  const is2 = kind === 'data-2';
  return {
    kind,
    decompressedBytes: sizeIn(fields, 2),
    bytes: sizeIn(fields, 3),
    entries: kind === 'other' ? 0 : sizeIn(inner, 1),
    encoding: kind === 'other' ? 0 : sizeIn(inner, is2 ? 4 : 2),
    levels: kind === 'data' ? [sizeIn(inner, 3), sizeIn(inner, 4)] : [],
    definitionBytes: is2 ? sizeIn(inner, 5) : 0,
    repetitionBytes: is2 ? sizeIn(inner, 6) : 0,
    isCompressed: !is2 || inner.get(7) !== 0,
    end: reader.at,
  };
}

const kinds: Readonly<Record<number, PageHeader['kind']>> = { 0: 'data', 2: 'dictionary', 3: 'data-2' };
/** The field with the part for each kind. */
const structFields = { data: 5, dictionary: 7, 'data-2': 8 } as const;

/** The numbers of a struct by their fields; booleans are 1 and 0. */
type Fields = ReadonlyMap<number, number>;

function fieldsIn(reader: ThriftReader, onStruct: (field: number) => boolean = () => false): Fields {
  const fields = new Map<number, number>();
  reader.struct((field, type) => {
    if (type === ThriftType.struct) return onStruct(field);
    if (type === ThriftType.boolTrue || type === ThriftType.boolFalse) {
      fields.set(field, type === ThriftType.boolTrue ? 1 : 0);
      return true;
    }
    const value = reader.integer(type);
    if (value === undefined) return false;
    fields.set(field, value);
    return true;
  });
  return fields;
}

function sizeIn(fields: Fields, field: number): number {
  const value = fields.get(field);
  if (value === undefined || value < 0) throw new Error('a page header lacks a size');
  return value;
}
