import type { Precision } from '../kernel/encoding.js';
import { type FlatNode, flatMessage, int8, int16, int32, int64, refer } from './flatbuffer-writer.js';

/** Arrow's file format: a column `state` of lists of one size, real and imaginary parts alternating. */
export function arrowFormat(qubits: number, precision: Precision) {
  const width = 2 * 2 ** qubits;
  const rowBytes = width * (precision === 'f64' ? 8 : 4);
  const schema = schemaOf(width, precision);
  const begin = Buffer.concat([Buffer.from('ARROW1\0\0', 'latin1'), messageOf(Header.schema, schema, 0)]);
  let end = begin.length;
  const blocks: bigint[] = [];
  return {
    begin: () => begin,
    wrap: (states: Uint8Array): readonly Uint8Array[] => {
      const rows = states.byteLength / rowBytes;
      const head = messageOf(Header.batch, batchOf(rows, rows * width, states.byteLength), states.byteLength);
      blocks.push(BigInt(end), BigInt(head.length), BigInt(states.byteLength));
      end += head.length + states.byteLength;
      return [head, states];
    },
    end: async () => {
      const footer = flatMessage({
        fields: {
          0: int16(VERSION),
          1: refer(schema),
          2: refer({ structs: new Uint8Array(0), count: 0 }),
          3: refer({ structs: bytesOf(blocks), count: blocks.length / 3 }),
        },
      });
      const size = Buffer.alloc(4);
      size.writeInt32LE(footer.length);
      return { last: Buffer.concat([END_OF_STREAM, footer, size, Buffer.from('ARROW1', 'latin1')]) };
    },
  };
}

/** The fifth version of the metadata, in use since Arrow 1.0. */
const VERSION = 4;
const Header = { schema: 1, batch: 3 } as const;
const Type = { float: 3, fixedSizeList: 16 } as const;
/** Before a message's length; with a length of 0 it ends a stream. */
const CONTINUATION = Buffer.from([0xff, 0xff, 0xff, 0xff]);
const END_OF_STREAM = Buffer.concat([CONTINUATION, Buffer.alloc(4)]);

function schemaOf(width: number, precision: Precision): FlatNode {
  const float: FlatNode = { fields: { 0: int16(precision === 'f64' ? 2 : 1) } };
  const item: FlatNode = {
    fields: { 0: refer({ text: 'item' }), 2: int8(Type.float), 3: refer(float), 5: refer({ list: [] }) },
  };
  const state: FlatNode = {
    fields: {
      0: refer({ text: 'state' }),
      2: int8(Type.fixedSizeList),
      3: refer({ fields: { 0: int32(width) } }),
      5: refer({ list: [item] }),
    },
  };
  return { fields: { 1: refer({ list: [state] }) } };
}

/** Neither lists nor values are ever null: their bitmaps are empty, and the only buffer is the values. */
function batchOf(rows: number, values: number, bytes: number): FlatNode {
  const nodes = bytesOf([rows, 0, values, 0].map(BigInt));
  const buffers = bytesOf([0, 0, 0, 0, 0, bytes].map(BigInt));
  return {
    fields: { 0: int64(rows), 1: refer({ structs: nodes, count: 2 }), 2: refer({ structs: buffers, count: 3 }) },
  };
}

/** A message's length and metadata; the body follows. */
function messageOf(kind: number, header: FlatNode, bodyBytes: number): Buffer {
  const metadata = flatMessage({
    fields: { 0: int16(VERSION), 1: int8(kind), 2: refer(header), 3: int64(bodyBytes) },
  });
  const size = Buffer.alloc(4);
  size.writeInt32LE(metadata.length);
  return Buffer.concat([CONTINUATION, size, metadata]);
}

const bytesOf = (numbers: readonly bigint[]): Uint8Array => new Uint8Array(BigInt64Array.from(numbers).buffer);
