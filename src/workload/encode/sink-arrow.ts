import {
  Field,
  FixedSizeList,
  Float32,
  Float64,
  makeData,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Struct,
} from 'apache-arrow';
import type { Precision } from './encoding.js';

/** Arrow's file format: a column `state` of lists, real and imaginary parts by turns. */
export function arrowFormat(qubits: number, precision: Precision) {
  const width = 2 * 2 ** qubits;
  const real = precision === 'f64' ? new Float64() : new Float32();
  const item = new Field('item', real, false);
  const list = new FixedSizeList(width, item);
  const schema = new Schema([new Field('state', list, false)]);
  const writer = new RecordBatchFileWriter();
  writer.reset(undefined, schema);
  const parts = writer[Symbol.asyncIterator]();
  const rowBytes = width * (precision === 'f64' ? 8 : 4);
  const batchOf = (states: Uint8Array): RecordBatch => {
    // The writer keeps what it is given until it is taken out below, at once: no copy is needed but for alignment.
    const { buffer, byteOffset, byteLength } = states;
    const data =
      precision === 'f64'
        ? new Float64Array(buffer, byteOffset, byteLength / 8)
        : new Float32Array(buffer, byteOffset, byteLength / 4);
    const rows = byteLength / rowBytes;
    const child = makeData({ type: real as Float64, data: data as Float64Array, length: data.length, nullCount: 0 });
    const column = makeData({ type: list as FixedSizeList<Float64>, child, length: rows, nullCount: 0 });
    return new RecordBatch(
      schema,
      makeData({ type: new Struct(schema.fields), children: [column], length: rows, nullCount: 0 }),
    );
  };
  /** What the writer has to give: as many bytes as have been written into it. */
  let taken = 0;
  const take = async (until: number): Promise<Uint8Array> => {
    const all: Uint8Array[] = [];
    for (; taken < until; ) {
      const next = await parts.next();
      if (next.done) break;
      all.push(Uint8Array.from(next.value));
      taken += next.value.byteLength;
    }
    return Buffer.concat(all);
  };
  const position = (): number => (writer as unknown as { readonly _position: number })._position;
  return {
    begin: () => new Uint8Array(0),
    around: (states: Uint8Array): Promise<Uint8Array> => {
      writer.write(batchOf(states));
      return take(position());
    },
    end: async () => {
      writer.finish();
      return { last: await take(Number.POSITIVE_INFINITY) };
    },
  };
}
