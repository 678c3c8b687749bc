/** What stands before each page of a column, in Thrift's compact protocol. */
export interface PageHeader {
  readonly kind: 'data' | 'data-2' | 'dictionary' | 'other';
  /** Bytes of the page as it lies there, and once it is decompressed. */
  readonly bytes: number;
  readonly unpacked: number;
  /** Values of the page, with those that are null. */
  readonly entries: number;
  readonly encoding: number;
  /** How levels of the first version are written; those of the second are always runs. */
  readonly levels: readonly number[];
  /** Bytes of the levels of the second version, which are never compressed. */
  readonly repetitionBytes: number;
  readonly definitionBytes: number;
  readonly isCompressed: boolean;
  /** Where the page begins, after this header. */
  readonly end: number;
}

/** Reads the header at a place. All sizes in it are whole numbers from 0; whether they can be is seen where they are used. */
export function pageHeaderAt(bytes: Uint8Array, at: number): PageHeader {
  const cursor: Cursor = { bytes, at };
  const fields = structAt(cursor, 0);
  const kind = kinds[sizeIn(fields, 1)] ?? 'other';
  const own = kind === 'other' ? undefined : fields.get(part[kind]);
  if (kind !== 'other' && !(own instanceof Map)) throw new Error('a page does not say what it has');
  const inner: Fields = own instanceof Map ? own : new Map();
  const is2 = kind === 'data-2';
  return {
    kind,
    unpacked: sizeIn(fields, 2),
    bytes: sizeIn(fields, 3),
    entries: kind === 'other' ? 0 : sizeIn(inner, 1),
    encoding: kind === 'other' ? 0 : sizeIn(inner, is2 ? 4 : 2),
    levels: kind === 'data' ? [sizeIn(inner, 3), sizeIn(inner, 4)] : [],
    definitionBytes: is2 ? sizeIn(inner, 5) : 0,
    repetitionBytes: is2 ? sizeIn(inner, 6) : 0,
    isCompressed: !is2 || inner.get(7) !== 0,
    end: cursor.at,
  };
}

const kinds: Readonly<Record<number, PageHeader['kind']>> = { 0: 'data', 2: 'dictionary', 3: 'data-2' };
/** The field that has what is of this kind alone. */
const part = { data: 5, dictionary: 7, 'data-2': 8 } as const;

/** Numbers and structs by their fields; what a page header needs nothing of is stepped over. */
type Fields = Map<number, number | Fields>;

function sizeIn(fields: Fields, field: number): number {
  const value = fields.get(field);
  if (typeof value !== 'number' || value < 0) throw new Error('a page header lacks a size');
  return value;
}

interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
}

/** Types of the protocol. */
const Type = { yes: 1, no: 2, byte: 3, i16: 4, i64: 6, double: 7, binary: 8, list: 9, set: 10, map: 11, struct: 12 };
/** Headers are three deep; what goes on and on is none. */
const MOST_DEPTH = 8;

function structAt(cursor: Cursor, depth: number): Fields {
  if (depth > MOST_DEPTH) throw new Error('a page header is no page header');
  const fields: Fields = new Map();
  for (let field = 0; ; ) {
    const first = byteAt(cursor);
    if (first === 0) return fields;
    field = first >> 4 === 0 ? signedAt(cursor) : field + (first >> 4);
    const value = valueAt(cursor, first & 15, depth);
    if (value !== undefined) fields.set(field, value);
  }
}

function valueAt(cursor: Cursor, type: number, depth: number): number | Fields | undefined {
  if (type === Type.yes) return 1;
  if (type === Type.no) return 0;
  if (type === Type.byte) return byteAt(cursor);
  if (type >= Type.i16 && type <= Type.i64) return signedAt(cursor);
  if (type === Type.double) return skip(cursor, 8);
  if (type === Type.binary) return skip(cursor, numberAt(cursor));
  if (type === Type.list || type === Type.set) return skipList(cursor, depth);
  if (type === Type.map) return skipMap(cursor, depth);
  if (type === Type.struct) return structAt(cursor, depth + 1);
  throw new Error('a page header has a field of no type');
}

/** Each element takes a byte at least, so a count that lies ends with the bytes. */
function skipList(cursor: Cursor, depth: number): undefined {
  const first = byteAt(cursor);
  const count = first >> 4 === 15 ? numberAt(cursor) : first >> 4;
  for (let i = 0; i < count; i++) skipElement(cursor, first & 15, depth);
}

function skipMap(cursor: Cursor, depth: number): undefined {
  const count = numberAt(cursor);
  const types = count === 0 ? 0 : byteAt(cursor);
  for (let i = 0; i < count; i++) {
    skipElement(cursor, types >> 4, depth);
    skipElement(cursor, types & 15, depth);
  }
}

/** Truths are in the field's type; in lists they are bytes. */
function skipElement(cursor: Cursor, type: number, depth: number): void {
  if (depth > MOST_DEPTH) throw new Error('a page header is no page header');
  valueAt(cursor, type === Type.yes || type === Type.no ? Type.byte : type, depth + 1);
}

function skip(cursor: Cursor, count: number): undefined {
  if (count > cursor.bytes.length - cursor.at) throw cutShort();
  cursor.at += count;
}

function byteAt(cursor: Cursor): number {
  const byte = cursor.bytes[cursor.at++];
  if (byte === undefined) throw cutShort();
  return byte;
}

/** Seven bits a byte, the lowest first. */
function numberAt(cursor: Cursor): number {
  let value = 0;
  for (let scale = 1; scale <= 2 ** 63; scale *= 128) {
    const byte = byteAt(cursor);
    value += (byte & 127) * scale;
    if (byte < 128) return value;
  }
  throw new Error('a page header has a number of more than 64 bits');
}

/** 0, −1, 1, −2, …: the sign is the lowest bit. */
function signedAt(cursor: Cursor): number {
  const value = numberAt(cursor);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

const cutShort = (): Error => new Error('a page header is cut short');
