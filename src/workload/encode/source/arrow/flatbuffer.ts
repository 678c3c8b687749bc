/**
 * A table of a FlatBuffers message. Offsets and lengths are checked against the message before they are followed, so a
 * damaged message gives an error and never a long loop or a large allocation.
 */
export class FlatTable {
  readonly #view: DataView;
  readonly #at: number;
  readonly #fields: number;
  readonly #fieldBytes: number;

  constructor(view: DataView, at: number) {
    this.#view = view;
    this.#at = at;
    check(view, at, 4);
    this.#fields = at - view.getInt32(at, true);
    check(view, this.#fields, 4);
    this.#fieldBytes = view.getUint16(this.#fields, true);
    check(view, this.#fields, this.#fieldBytes);
  }

  /** The table that a message begins with. */
  static root(bytes: Uint8Array): FlatTable {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return new FlatTable(view, target(view, 0));
  }

  int8(field: number): number {
    const at = this.#fieldOffset(field, 1);
    return at === undefined ? 0 : this.#view.getInt8(at);
  }

  int16(field: number): number {
    const at = this.#fieldOffset(field, 2);
    return at === undefined ? 0 : this.#view.getInt16(at, true);
  }

  int32(field: number): number {
    const at = this.#fieldOffset(field, 4);
    return at === undefined ? 0 : this.#view.getInt32(at, true);
  }

  /** A 64-bit length or count: from 0 to 2^53 − 1. */
  size(field: number): number {
    const at = this.#fieldOffset(field, 8);
    return at === undefined ? 0 : sizeAt(this.#view, at);
  }

  table(field: number): FlatTable | undefined {
    const at = this.#fieldOffset(field, 4);
    return at === undefined ? undefined : new FlatTable(this.#view, target(this.#view, at));
  }

  text(field: number): string {
    const { at, count } = this.#vector(field, 1);
    const { buffer, byteOffset } = this.#view;
    return Buffer.from(buffer, byteOffset + at, count).toString('utf8');
  }

  /** The number of tables in a vector, and the table at an index. */
  tables(field: number): { readonly count: number; at(index: number): FlatTable | undefined } {
    const { at, count } = this.#vector(field, 4);
    return {
      count,
      at: (index) => (index < count ? new FlatTable(this.#view, target(this.#view, at + 4 * index)) : undefined),
    };
  }

  /** The structs of a vector, `bytes` each. */
  structs(field: number, bytes: number): { readonly count: number; readonly view: DataView } {
    const { at, count } = this.#vector(field, bytes);
    const { buffer, byteOffset } = this.#view;
    return { count, view: new DataView(buffer, byteOffset + at, count * bytes) };
  }

  /** Returns the offset of a field's value; undefined if the table does not have the field. */
  #fieldOffset(field: number, bytes: number): number | undefined {
    const entry = 4 + 2 * field;
    if (entry + 2 > this.#fieldBytes) return undefined;
    const offset = this.#view.getUint16(this.#fields + entry, true);
    if (offset === 0) return undefined;
    check(this.#view, this.#at + offset, bytes);
    return this.#at + offset;
  }

  #vector(field: number, bytes: number): { readonly at: number; readonly count: number } {
    const place = this.#fieldOffset(field, 4);
    if (place === undefined) return { at: 0, count: 0 };
    const from = target(this.#view, place);
    check(this.#view, from, 4);
    const count = this.#view.getUint32(from, true);
    check(this.#view, from + 4, count * bytes);
    return { at: from + 4, count };
  }
}

/** A 64-bit integer that must be a length: from 0 to 2^53 − 1. */
export function sizeAt(view: DataView, at: number): number {
  const value = Number(view.getBigInt64(at, true));
  if (value < 0 || !Number.isSafeInteger(value)) throw new Error(`its metadata has a length of ${value}`);
  return value;
}

/** Follows the offset stored at `at`. */
function target(view: DataView, at: number): number {
  check(view, at, 4);
  return at + view.getUint32(at, true);
}

function check({ byteLength }: DataView, at: number, bytes: number): void {
  if (at >= 0 && at + bytes <= byteLength) return;
  throw new Error(`its metadata refers to byte ${at + bytes} of ${byteLength}`);
}
