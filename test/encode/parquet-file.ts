import * as zlib from 'node:zlib';
import type { FileMetaData } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { snappyCompress } from 'hyparquet-writer/src/snappy.js';
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js';

/** A Parquet file with pages of every form that the format allows. Available writers produce only some. */
export interface FileLook {
  readonly groups: readonly (readonly Row[])[];
  readonly type: 'DOUBLE' | 'FLOAT';
  /** Standard lists, lists of required values, a repeated field, one value per row. */
  readonly shape: 'list' | 'required' | 'repeated' | 'value';
  readonly codec: 'UNCOMPRESSED' | 'SNAPPY' | 'GZIP';
  /** Forms of pages, used in rotation. */
  readonly pages: readonly PageLook[];
}

export type Row = readonly (number | null)[] | null;

export interface PageLook {
  /** Max entries: values and nulls. */
  readonly entries: number;
  readonly version: 1 | 2;
  readonly values: 'plain' | 'dictionary' | 'split';
  /** Which runs of levels and dictionary indices are bit-packed, in rotation; the others are run-length encoded. */
  readonly packed: readonly boolean[];
}

const nodes = {
  list: [
    { name: 'x', repetition_type: 'OPTIONAL', converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'OPTIONAL' },
  ],
  required: [
    { name: 'x', repetition_type: 'REQUIRED', converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'REQUIRED' },
  ],
  repeated: [{ name: 'x', repetition_type: 'REPEATED' }],
  value: [{ name: 'x', repetition_type: 'OPTIONAL' }],
} as const;

/** Definition levels of a value and of an empty list. */
const levels = {
  list: { most: 3, empty: 1 },
  required: { most: 1, empty: 0 },
  repeated: { most: 1, empty: 0 },
  value: { most: 1, empty: -1 },
} as const;

export function parquetFile(look: FileLook): Uint8Array {
  const writer = new ByteWriter();
  writer.appendBytes(Buffer.from('PAR1'));
  const chain = nodes[look.shape];
  const turn = turns(look.pages);
  const row_groups = look.groups.map((rows) => {
    const from = writer.offset;
    const { dictionary, pages, entries } = chunkOf(rows, look, turn);
    if (dictionary) writer.appendBytes(dictionary);
    const data = writer.offset;
    for (const page of pages) writer.appendBytes(page);
    const bytes = BigInt(writer.offset - from);
    const meta_data = {
      type: look.type,
      encodings: ['PLAIN', 'RLE', 'RLE_DICTIONARY', 'BYTE_STREAM_SPLIT'] as const,
      path_in_schema: chain.map(({ name }) => name),
      codec: look.codec,
      num_values: BigInt(entries),
      total_uncompressed_size: bytes,
      total_compressed_size: bytes,
      data_page_offset: BigInt(data),
      ...(dictionary && { dictionary_page_offset: BigInt(from) }),
    };
    return {
      columns: [{ file_offset: BigInt(from), meta_data }],
      total_byte_size: bytes,
      num_rows: BigInt(rows.length),
    };
  });
  const schema = [
    { name: 'root', num_children: 1 },
    ...chain.map((node) => ('num_children' in node ? node : { ...node, type: look.type })),
  ];
  const num_rows = BigInt(look.groups.flat().length);
  writeMetadata(writer, { version: 2, schema, num_rows, row_groups, metadata_length: 0 } as unknown as FileMetaData);
  writer.appendBytes(Buffer.from('PAR1'));
  return writer.getBytes();
}

type Turn<T> = () => T;

function turns<T>(all: readonly T[]): Turn<T> {
  let next = 0;
  return () => all[next++ % all.length]!;
}

interface Entry {
  readonly repetition: number;
  readonly definition: number;
  readonly value?: number;
}

function entriesOf(row: Row, shape: FileLook['shape']): Entry[] {
  const { most, empty } = levels[shape];
  if (row === null) return [{ repetition: 0, definition: 0 }];
  if (row.length === 0) return [{ repetition: 0, definition: empty }];
  return row.map((value, at) => ({
    repetition: at === 0 ? 0 : 1,
    definition: value === null ? most - 1 : most,
    ...(value !== null && { value }),
  }));
}

function chunkOf(rows: readonly Row[], look: FileLook, turn: Turn<PageLook>) {
  const entries = rows.flatMap((row) => entriesOf(row, look.shape));
  const distinct = [...new Set(entries.flatMap(({ value }) => value ?? []))];
  const pages: Uint8Array[] = [];
  let isAsked = false;
  for (let at = 0; at < entries.length; ) {
    const own = turn();
    // Version 2 pages start at a row.
    let end = Math.min(entries.length, at + own.entries);
    while (own.version === 2 && end < entries.length && entries[end]?.repetition !== 0) end++;
    const isWhole = own.version === 1 || entries[at]?.repetition === 0;
    pages.push(pageOf(entries.slice(at, end), isWhole ? own : { ...own, version: 1 }, look, distinct));
    isAsked ||= own.values === 'dictionary';
    at = end;
  }
  const plain = bytesOf(distinct, look.type, 'plain');
  const dictionary = isAsked
    ? withHeader(packed(plain, look), plain.length, 2, { field_7: { field_1: distinct.length, field_2: 0 } })
    : undefined;
  return { dictionary, pages, entries: entries.length };
}

const encodings = { plain: 0, dictionary: 8, split: 9 } as const;

function pageOf(entries: readonly Entry[], own: PageLook, look: FileLook, distinct: readonly number[]): Uint8Array {
  const { most } = levels[look.shape];
  const style = turns(own.packed);
  const numbers = entries.flatMap(({ value }) => value ?? []);
  const width = 32 - Math.clz32(distinct.length);
  const places = new Map(distinct.map((one, at) => [one, at]));
  const values =
    own.values === 'dictionary'
      ? Buffer.concat([
          Buffer.of(width),
          hybrid(
            numbers.map((one) => places.get(one)!),
            width,
            style,
          ),
        ])
      : bytesOf(numbers, look.type, own.values);
  const definition = hybrid(
    entries.map((one) => one.definition),
    32 - Math.clz32(most),
    style,
  );
  const hasLists = look.shape !== 'value';
  const repetition = hasLists
    ? hybrid(
        entries.map((one) => one.repetition),
        1,
        style,
      )
    : new Uint8Array(0);
  const encoding = encodings[own.values];
  if (own.version === 1) {
    const all = Buffer.concat([...(hasLists ? [sized(repetition)] : []), sized(definition), values]);
    const field_5 = { field_1: entries.length, field_2: encoding, field_3: 3, field_4: 3 };
    return withHeader(packed(all, look), all.length, 0, { field_5 });
  }
  const body = Buffer.concat([repetition, definition, packed(values, look)]);
  const unpacked = repetition.length + definition.length + values.length;
  const field_8 = {
    field_1: entries.length,
    field_2: entries.length - numbers.length,
    field_3: entries.filter((one) => one.repetition === 0).length,
    field_4: encoding,
    field_5: definition.length,
    field_6: repetition.length,
  };
  return withHeader(body, unpacked, 3, { field_8 });
}

function withHeader(body: Uint8Array, unpacked: number, type: number, own: object): Uint8Array {
  const writer = new ByteWriter();
  serializeTCompactProtocol(writer, { field_1: type, field_2: unpacked, field_3: body.length, ...own });
  writer.appendBytes(body);
  return writer.getBytes();
}

function packed(bytes: Uint8Array, { codec }: FileLook): Uint8Array {
  if (codec === 'UNCOMPRESSED') return bytes;
  return codec === 'SNAPPY' ? snappyCompress(bytes) : zlib.gzipSync(bytes);
}

function bytesOf(numbers: readonly number[], type: FileLook['type'], look: 'plain' | 'split'): Uint8Array {
  const all = new Uint8Array((type === 'DOUBLE' ? Float64Array : Float32Array).from(numbers).buffer);
  if (look === 'plain') return all;
  const size = type === 'DOUBLE' ? 8 : 4;
  return all.map((_, at) => all[(at % numbers.length) * size + Math.floor(at / numbers.length)]!);
}

function sized(bytes: Uint8Array): Uint8Array {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(bytes.length);
  return Buffer.concat([size, bytes]);
}

/** Writes RLE and bit-packed runs. If both are possible, `isPacked` chooses. */
function hybrid(numbers: readonly number[], width: number, isPacked: Turn<boolean>): Uint8Array {
  const parts: Buffer[] = [];
  for (let at = 0; at < numbers.length; ) {
    let same = 1;
    while (numbers[at + same] === numbers[at]) same++;
    if (!isPacked()) {
      const value = Buffer.alloc(Math.ceil(width / 8));
      if (width > 0) value.writeUIntLE(numbers[at]!, 0, value.length);
      parts.push(varint(2 * same), value);
      at += same;
      continue;
    }
    // Only the last group may be incomplete.
    const groups = Math.min(1 + (same >> 3), Math.ceil((numbers.length - at) / 8));
    let bits = 0n;
    for (let i = 8 * groups - 1; i >= 0; i--) bits = (bits << BigInt(width)) | BigInt(numbers[at + i] ?? 0);
    const bytes = Buffer.from(Array.from({ length: groups * width }, (_, i) => Number((bits >> BigInt(8 * i)) & 255n)));
    parts.push(varint(2 * groups + 1), bytes);
    at += 8 * groups;
  }
  return Buffer.concat(parts);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) + 128);
  }
}
