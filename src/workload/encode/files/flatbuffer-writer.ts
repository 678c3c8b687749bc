/** A value of a FlatBuffers table: a number of 1 to 8 bytes, or a reference to a node. */
export type FlatValue = { readonly bytes: 1 | 2 | 4 | 8; readonly value: number } | { readonly refersTo: FlatNode };

/** A table by its fields, a list of tables, a text, or structs (as bytes, with their number). */
export type FlatNode =
  | { readonly fields: Readonly<Record<number, FlatValue>> }
  | { readonly list: readonly FlatNode[] }
  | { readonly text: string }
  | { readonly structs: Uint8Array; readonly count: number };

export const int8 = (value: number): FlatValue => ({ bytes: 1, value });
export const int16 = (value: number): FlatValue => ({ bytes: 2, value });
export const int32 = (value: number): FlatValue => ({ bytes: 4, value });
export const int64 = (value: number): FlatValue => ({ bytes: 8, value });
export const refer = (refersTo: FlatNode): FlatValue => ({ refersTo });

/** A message with this table as its root, padded to a multiple of 8 bytes. References point forward, as readers demand. */
export function flatMessage(root: FlatNode): Buffer {
  const writer = new FlatWriter();
  const reference = writer.reserve(4, 4);
  writer.link(reference, root);
  return writer.finish();
}

class FlatWriter {
  #bytes = Buffer.alloc(1024);
  #end = 0;

  /** Zeroed bytes at the end, at a multiple of `align`. */
  reserve(bytes: number, align: number): number {
    const at = Math.ceil(this.#end / align) * align;
    this.#end = at + bytes;
    if (this.#end > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(Math.max(this.#bytes.length, this.#end))]);
    }
    return at;
  }

  /** Writes a node, and the reference to it. */
  link(reference: number, node: FlatNode): void {
    const at = this.#write(node);
    this.#bytes.writeUInt32LE(at - reference, reference);
  }

  finish(): Buffer {
    this.reserve(0, 8);
    return this.#bytes.subarray(0, this.#end);
  }

  #write(node: FlatNode): number {
    if ('fields' in node) return this.#table(node.fields);
    if ('list' in node) {
      const at = this.#vector(node.list.length, 4 * node.list.length, 4);
      for (const [index, item] of node.list.entries()) this.link(at + 4 + 4 * index, item);
      return at;
    }
    const isText = 'text' in node;
    const content = isText ? Buffer.from(node.text, 'utf8') : node.structs;
    // A text ends with a zero byte that its length does not count.
    const at = this.#vector(isText ? content.length : node.count, content.length + (isText ? 1 : 0), isText ? 1 : 8);
    this.#bytes.set(content, at + 4);
    return at;
  }

  /** The number of elements, then the elements, which begin at a multiple of `align`. */
  #vector(count: number, bytes: number, align: number): number {
    if (align === 8 && Math.ceil(this.#end / 4) % 2 === 0) this.reserve(4, 4);
    const at = this.reserve(4 + bytes, 4);
    this.#bytes.writeUInt32LE(count, at);
    return at;
  }

  /** The offsets of the fields first, then the table, which begins with the distance to them. */
  #table(fields: Readonly<Record<number, FlatValue>>): number {
    const known = Object.entries(fields).map(([number, value]) => ({ number: Number(number), value }));
    const offsetBytes = 4 + 2 * (1 + Math.max(-1, ...known.map(({ number }) => number)));
    let size = 4;
    const placed = known.map(({ number, value }) => {
      const bytes = 'bytes' in value ? value.bytes : 4;
      const offset = Math.ceil(size / bytes) * bytes;
      size = offset + bytes;
      return { number, value, offset };
    });
    const offsets = this.reserve(offsetBytes, 2);
    const at = this.reserve(size, 8);
    this.#bytes.writeUInt16LE(offsetBytes, offsets);
    this.#bytes.writeUInt16LE(size, offsets + 2);
    this.#bytes.writeInt32LE(at - offsets, at);
    for (const { number, value, offset } of placed) {
      this.#bytes.writeUInt16LE(offset, offsets + 4 + 2 * number);
      if (!('bytes' in value)) this.link(at + offset, value.refersTo);
      else if (value.bytes === 8) this.#bytes.writeBigInt64LE(BigInt(value.value), at + offset);
      else this.#bytes.writeIntLE(value.value, at + offset, value.bytes);
    }
    return at;
  }
}
