import { readFile } from 'node:fs/promises';
import { EventLoopTurns } from './event-loop-turns.js';
import { badFile, badRank, badType, type Source, type SourceOptions, samplesPerRead } from './source.js';

/** A tensor as TensorFlow writes it: type (1), shape (2), and the values as bytes (4) or as doubles (6). */
export async function openTensorProto(path: string, options: SourceOptions): Promise<Source> {
  const { samples, length, values } = await tensorIn(path, await readFile(path), new EventLoopTurns(options.signal));
  const size = samplesPerRead(length, 8, options) * length;
  return {
    samples,
    length,
    precision: 'f64',
    async *batches() {
      for (let at = 0; at < values.length; at += size) yield values.subarray(at, at + size);
    },
    close: async () => undefined,
  };
}

const DOUBLE = 2;

async function tensorIn(path: string, bytes: Buffer, turns: EventLoopTurns) {
  let type = 0;
  let sides: number[] | undefined;
  let content: Buffer | undefined;
  const doubles = new Doubles(bytes.length);
  let fields = 0;
  for (const field of fieldsIn(path, bytes)) {
    if (field.number === 1) type = field.value;
    else if (field.number === 2) sides = dimensionsIn(path, field.bytes);
    else if (field.number === 4) content = field.bytes;
    else if (field.number === 6) doubles.append(field.bytes);
    fields += 1;
    if (fields % FIELDS_PER_YIELD === 0) await turns.yieldIfDue();
  }
  if (type !== DOUBLE) throw badType(path, `its type is number ${type}, not double (2)`, 'save it as float64');
  if (sides === undefined) throw badFile(path, 'the tensor has no shape', 'save the tensor with its shape');
  if (sides.length !== 1 && sides.length !== 2) throw badRank(path, sides.length);
  if (sides.some((side) => side <= 0)) {
    throw badFile(path, `its shape is ${sides.join(' × ')}`, 'each side must be 1 or more');
  }
  const [samples, length] = sides.length === 1 ? [1, sides[0] ?? 0] : [sides[0] ?? 0, sides[1] ?? 0];
  if (content && content.length > 0) doubles.replace(content);
  const { count, values } = doubles;
  if (count === 0) throw badFile(path, 'the tensor has no values', 'save a tensor with values');
  if (count !== samples * length) {
    throw badFile(
      path,
      `the tensor has ${count} values, its shape is ${samples} × ${length}`,
      'check that the file is complete',
    );
  }
  return { samples, length, values };
}

/** Fields read between two turns of the event loop. */
const FIELDS_PER_YIELD = 65_536;

/** Doubles from the fields of a message, in memory for as many as the message can hold. */
class Doubles {
  readonly #bytes: number;
  #all = Buffer.alloc(0);
  #used = 0;

  constructor(messageBytes: number) {
    this.#bytes = messageBytes;
  }

  /** Not a whole number if bytes are left over. */
  get count(): number {
    return this.#used / 8;
  }

  get values(): Float64Array {
    return new Float64Array(this.#all.buffer, this.#all.byteOffset, Math.floor(this.count));
  }

  /** Adds the doubles of a field. Bytes after the last whole one are dropped. */
  append(bytes: Buffer): void {
    if (this.#all.length === 0) this.#all = Buffer.from(new ArrayBuffer(this.#bytes));
    const whole = bytes.length - (bytes.length % 8);
    this.#used += bytes.copy(this.#all, this.#used, 0, whole);
  }

  /** Replaces all bytes. */
  replace(bytes: Buffer): void {
    this.#all = Buffer.from(new ArrayBuffer(bytes.length));
    this.#used = bytes.copy(this.#all);
  }
}

/** A shape of two dimensions takes some dozen bytes. */
const MAX_SHAPE_BYTES = 65_536;

function dimensionsIn(path: string, bytes: Buffer): number[] {
  if (bytes.length > MAX_SHAPE_BYTES)
    throw badFile(path, `its shape takes ${bytes.length} bytes`, 'save one or two dimensions');
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

const EMPTY = Buffer.alloc(0);

/** The fields of a message in the format of protocol buffers. */
function* fieldsIn(path: string, bytes: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63n)
        throw badFile(path, 'the file is cut short', 'check that the file is complete');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
    }
  };
  const take = (length: number): Buffer => {
    if (length < 0 || at + length > bytes.length)
      throw badFile(path, 'the file is cut short', 'check that the file is complete');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const key = varint();
    const number = key >>> 3;
    const kind = key & 7;
    if (kind === 0) yield { number, value: varint(), bytes: EMPTY };
    else if (kind === 1) yield { number, value: 0, bytes: take(8) };
    else if (kind === 2) yield { number, value: 0, bytes: take(varint()) };
    else if (kind === 5) yield { number, value: 0, bytes: take(4) };
    else throw badFile(path, 'not a TensorProto', 'write it with tf.make_tensor_proto(...).SerializeToString()');
  }
}
