import type { AllocateValues } from '../../job/staging-pool.js';
import { realBytes } from '../../kernel/encoding.js';
import type { RowChecks } from '../column.js';
import { type ArrowBuffer, type MessageBody, openBuffer } from './buffer.js';
import type { Column, ColumnLayout } from './metadata.js';

/** The rows of a record batch. */
export class BatchRows {
  readonly #column: Column;
  readonly #layout: ColumnLayout;
  readonly #body: MessageBody;
  readonly #validity: ArrowBuffer | undefined;
  readonly #offsets: ArrowBuffer | undefined;
  /** Opened when the first rows are read; row lengths are known without it. */
  #items: Promise<Items> | undefined;

  private constructor(
    column: Column,
    layout: ColumnLayout,
    body: MessageBody,
    validity: ArrowBuffer | undefined,
    offsets: ArrowBuffer | undefined,
  ) {
    this.#column = column;
    this.#layout = layout;
    this.#body = body;
    this.#validity = validity;
    this.#offsets = offsets;
  }

  /** Throws if a batch's buffers are too short for its rows, before anything is allocated for them. */
  static async open(column: Column, layout: ColumnLayout, body: MessageBody): Promise<BatchRows> {
    const { rows, values } = layout;
    const validity = layout.validity && (await openBuffer(body, layout.validity, Math.ceil(rows / 8)));
    const ends = (column.offsetBytes ?? 0) * (rows + 1);
    const offsets = layout.offsets && (await openBuffer(body, layout.offsets, rows === 0 ? 0 : ends));
    if (column.size !== undefined && rows * column.size > values) {
      throw new Error(`${rows} rows of ${column.size} values exceed the ${values} values of the batch`);
    }
    return new BatchRows(column, layout, body, validity, offsets);
  }

  /** Values of the first row that is not null; undefined if all are. */
  async firstLength(): Promise<number | undefined> {
    const { rows } = this.#layout;
    for (let first = 0; first < rows; first += ROWS_PER_SCAN) {
      await this.#body.turns.yieldIfDue();
      const count = Math.min(ROWS_PER_SCAN, rows - first);
      const isValid = await bitsOf(this.#validity, first, count);
      const starts = await this.#starts(first, count);
      for (let row = 0; row < count; row++) {
        if (isValid(row)) return this.#lengthAt(starts, row);
      }
    }
    return undefined;
  }

  /** Reads rows, with zeros for nulls. `firstSample` is the number of the batch's first row, for errors. */
  async read(
    first: number,
    count: number,
    { length, checks, allocate, firstSample }: ReadOptions,
  ): Promise<Float64Array | Float32Array> {
    await this.#body.turns.yieldIfDue();
    const isValid = await bitsOf(this.#validity, first, count);
    const starts = await this.#starts(first, count);
    const items = await this.#openItems();
    const values = await allocate(count * length, this.#column.precision);
    for (let row = 0; row < count; ) {
      const sample = firstSample + first + row;
      if (!isValid(row)) {
        checks.checkNull(sample);
        values.fill(0, row * length, (row + 1) * length);
        row += 1;
        continue;
      }
      checks.checkRowLength(sample, this.#lengthAt(starts, row), length);
      const from = starts[row] as number;
      let end = row + 1;
      while (end < count && isValid(end) && this.#follows(starts, end, length)) end += 1;
      const part = values.subarray(row * length, end * length);
      await readItems(items, part, from, (at) => checks.checkNull(sample + Math.floor(at / length), at % length));
      row = end;
    }
    return values;
  }

  /** True if a row begins where the one before it ends, and is as long. */
  #follows(starts: Float64Array, row: number, length: number): boolean {
    return (starts[row] as number) === (starts[row - 1] as number) + length && this.#lengthAt(starts, row) === length;
  }

  #openItems(): Promise<Items> {
    const { values, items, itemValidity } = this.#layout;
    this.#items ??= (async () => ({
      values: await openBuffer(this.#body, items, values * realBytes(this.#column.precision)),
      validity: itemValidity && (await openBuffer(this.#body, itemValidity, Math.ceil(values / 8))),
    }))();
    return this.#items;
  }

  /** Returns the offsets of rows in the values, and the end of the last row. */
  async #starts(first: number, count: number): Promise<Float64Array> {
    const starts = new Float64Array(count + 1);
    if (this.#offsets === undefined) {
      for (let row = 0; row <= count; row++) starts[row] = (first + row) * (this.#column.size ?? 0);
    } else {
      const bytes = this.#column.offsetBytes ?? 4;
      const raw = new Uint8Array((count + 1) * bytes);
      await this.#offsets.read(raw, first * bytes);
      const offsets = bytes === 4 ? new Int32Array(raw.buffer) : new BigInt64Array(raw.buffer);
      for (let row = 0; row <= count; row++) starts[row] = Number(offsets[row]);
    }
    const [begin, end] = [starts[0] as number, starts[count] as number];
    if (begin >= 0 && end <= this.#layout.values) return starts;
    throw new Error(`rows refer to values ${begin} to ${end} of ${this.#layout.values}`);
  }

  #lengthAt(starts: Float64Array, row: number): number {
    const length = (starts[row + 1] as number) - (starts[row] as number);
    if (length < 0) throw new Error('a list ends before it begins');
    return length;
  }
}

export interface ReadOptions {
  readonly length: number;
  readonly checks: RowChecks;
  readonly allocate: AllocateValues;
  readonly firstSample: number;
}

interface Items {
  readonly values: ArrowBuffer;
  readonly validity: ArrowBuffer | undefined;
}

/** Reads values from `from` on, with zeros for nulls. */
async function readItems(
  { values, validity }: Items,
  into: Float64Array | Float32Array,
  from: number,
  onNull: (at: number) => void,
): Promise<void> {
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT } = into;
  await values.read(new Uint8Array(buffer, byteOffset, byteLength), from * BYTES_PER_ELEMENT);
  if (validity === undefined) return;
  const isValid = await bitsOf(validity, from, into.length);
  for (let at = 0; at < into.length; at++) {
    if (isValid(at)) continue;
    onNull(at);
    into[at] = 0;
  }
}

/** Rows examined at a time to find the first that is not null. */
const ROWS_PER_SCAN = 65_536;

/** Reads the bits of a bitmap from `first` on. Without a bitmap all are set. */
async function bitsOf(bitmap: ArrowBuffer | undefined, first: number, count: number): Promise<(at: number) => boolean> {
  if (bitmap === undefined) return () => true;
  const from = Math.floor(first / 8);
  const bytes = new Uint8Array(Math.ceil((first + count) / 8) - from);
  await bitmap.read(bytes, from);
  const shift = first - 8 * from;
  return (at) => (((bytes[(at + shift) >> 3] ?? 0) >> ((at + shift) & 7)) & 1) === 1;
}
