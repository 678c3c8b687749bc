/** Types of Thrift's compact protocol. */
export const ThriftType = {
  boolTrue: 1,
  boolFalse: 2,
  byte: 3,
  i16: 4,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
} as const;

/** Parquet's metadata is seven levels deep; deeper nesting is damage. */
const MAX_DEPTH = 16;

/**
 * Reads Thrift's compact protocol. Lengths are checked against the bytes, and values of unknown fields are skipped. `name`
 * is the subject of errors.
 */
export class ThriftReader {
  readonly #bytes: Uint8Array;
  readonly #name: string;
  #depth = 0;
  at: number;

  constructor(bytes: Uint8Array, at: number, name: string) {
    this.#bytes = bytes;
    this.at = at;
    this.#name = name;
  }

  /** Visits the fields of a struct. `visit` reads the value and returns true, or returns false to have it skipped. */
  struct(visit: (field: number, type: number) => boolean): void {
    this.#nested(() => {
      for (let field = 0; ; ) {
        const first = this.byte();
        if (first === 0) return;
        field = first >> 4 === 0 ? this.zigzag() : field + (first >> 4);
        if (!visit(field, first & 15)) this.skip(first & 15);
      }
    });
  }

  /** Visits the elements of a list; `visit` reads each. Each takes a byte, so too large a count ends with the bytes. */
  list(type: number, visit: (index: number) => void): void {
    this.#nested(() => {
      const first = this.byte();
      const count = first >> 4 === 15 ? this.varint() : first >> 4;
      if (count > 0 && (first & 15) !== type) throw new Error(`${this.#name} has a list of another type`);
      for (let index = 0; index < count; index++) visit(index);
    });
  }

  /** Reads a whole number; undefined for other types. */
  integer(type: number): number | undefined {
    if (type === ThriftType.byte) return this.byte();
    if (type >= ThriftType.i16 && type <= ThriftType.i64) return this.zigzag();
    return undefined;
  }

  skip(type: number): void {
    if (type === ThriftType.boolTrue || type === ThriftType.boolFalse) return;
    if (this.integer(type) !== undefined) return;
    if (type === ThriftType.double) this.take(8);
    else if (type === ThriftType.binary) this.take(this.varint());
    else if (type === ThriftType.list || type === ThriftType.set) this.#skipList();
    else if (type === ThriftType.map) this.#skipMap();
    else if (type === ThriftType.struct) this.struct(() => false);
    else throw new Error(`${this.#name} has a field of unknown type ${type}`);
  }

  take(count: number): Uint8Array {
    if (count > this.#bytes.length - this.at) throw this.#truncatedError();
    this.at += count;
    return this.#bytes.subarray(this.at - count, this.at);
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw this.#truncatedError();
    return byte;
  }

  /** Seven bits a byte, the lowest first. */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 63; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new Error(`${this.#name} has a number of more than 64 bits`);
  }

  /** 0, −1, 1, −2, …: the sign is the lowest bit. */
  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  #skipList(): void {
    const type = (this.#bytes[this.at] ?? 0) & 15;
    this.list(type, () => this.#skipElement(type));
  }

  #skipMap(): void {
    this.#nested(() => {
      const count = this.varint();
      const types = count === 0 ? 0 : this.byte();
      for (let i = 0; i < count; i++) {
        this.#skipElement(types >> 4);
        this.#skipElement(types & 15);
      }
    });
  }

  /** A boolean field is in the field's type; in lists booleans are bytes. */
  #skipElement(type: number): void {
    this.skip(type === ThriftType.boolTrue || type === ThriftType.boolFalse ? ThriftType.byte : type);
  }

  #nested(read: () => void): void {
    if (this.#depth === MAX_DEPTH) throw new Error(`${this.#name} is nested too deeply`);
    this.#depth += 1;
    read();
    this.#depth -= 1;
  }

  #truncatedError(): Error {
    return new Error(`${this.#name} is cut short`);
  }
}
