import { readFile } from 'node:fs/promises';
import { badFile, badRank, badType, type Source } from './source.js';

/** A tensor as TensorFlow writes it: type (1), shape (2), and the values as bytes (4) or as doubles (6). */
export async function openTensorProto(path: string): Promise<Source> {
  const { samples, length, values } = tensorIn(path, await readFile(path));
  return {
    samples,
    length,
    precision: 'f64',
    async *batches() {
      yield values;
    },
    close: async () => undefined,
  };
}

const DOUBLE = 2;

function tensorIn(path: string, bytes: Buffer) {
  let type = 0;
  let sides: number[] | undefined;
  let content: Buffer | undefined;
  const doubles: number[] = [];
  for (const field of fieldsIn(path, bytes)) {
    if (field.number === 1) type = field.value;
    else if (field.number === 2) sides = sidesIn(path, field.bytes);
    else if (field.number === 4) content = field.bytes;
    else if (field.number === 6) {
      for (let at = 0; at + 8 <= field.bytes.length; at += 8) doubles.push(field.bytes.readDoubleLE(at));
    }
  }
  if (type !== DOUBLE) throw badType(path, `its type is number ${type}, not double (2)`, 'save it as float64');
  if (sides === undefined) throw badFile(path, 'it has no shape', 'save the tensor with its shape');
  if (sides.length !== 1 && sides.length !== 2) throw badRank(path, sides.length);
  if (sides.some((side) => side <= 0)) throw badFile(path, `its shape is ${sides.join(' × ')}`, 'no side may be 0');
  const [samples, length] = sides.length === 1 ? [1, sides[0] ?? 0] : [sides[0] ?? 0, sides[1] ?? 0];
  const given = content && content.length > 0 ? doublesIn(content) : Float64Array.from(doubles);
  if (given.length === 0) throw badFile(path, 'it has no values', 'save a tensor that holds some');
  if (given.length !== samples * length) {
    throw badFile(
      path,
      `it has ${given.length} values, its shape ${samples} × ${length}`,
      'see that the file is whole',
    );
  }
  return { samples, length, values: given };
}

/** Bytes that are no whole doubles give a number of values that no shape has. */
function doublesIn(content: Buffer): Float64Array {
  const values = new Float64Array(Math.ceil(content.length / 8) + (content.length % 8 === 0 ? 0 : 1));
  for (let at = 0; at + 8 <= content.length; at += 8) values[at / 8] = content.readDoubleLE(at);
  return values;
}

function sidesIn(path: string, bytes: Buffer): number[] {
  const sides: number[] = [];
  for (const field of fieldsIn(path, bytes)) {
    if (field.number === 3 && field.value !== 0) throw badFile(path, 'its rank is unknown', 'save it with its shape');
    if (field.number !== 2) continue;
    let size = 0;
    for (const part of fieldsIn(path, field.bytes)) if (part.number === 1) size = part.value;
    sides.push(size);
  }
  return sides;
}

interface Field {
  readonly number: number;
  readonly value: number;
  readonly bytes: Buffer;
}

const NOTHING = Buffer.alloc(0);

/** The fields of a message in the format of protocol buffers. */
function* fieldsIn(path: string, bytes: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63n) throw badFile(path, 'it is cut short', 'see that the file is whole');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
    }
  };
  const take = (length: number): Buffer => {
    if (length < 0 || at + length > bytes.length) throw badFile(path, 'it is cut short', 'see that the file is whole');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const key = varint();
    const number = key >>> 3;
    const kind = key & 7;
    if (kind === 0) yield { number, value: varint(), bytes: NOTHING };
    else if (kind === 1) yield { number, value: 0, bytes: take(8) };
    else if (kind === 2) yield { number, value: 0, bytes: take(varint()) };
    else if (kind === 5) yield { number, value: 0, bytes: take(4) };
    else
      throw badFile(path, 'it is no tensor of TensorFlow', 'write it by tf.make_tensor_proto(...).SerializeToString()');
  }
}
