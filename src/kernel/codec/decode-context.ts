import { implicitChunkFields } from '../abi/harness.js';
import { MillraceError } from '../error.js';
import type { KernelLimits } from '../ir/limits.js';
import {
  type BufferDecl,
  type Field,
  type Node,
  type NodeDetail,
  type Op,
  type TableDecl,
  ValueStage,
} from '../ir/program.js';
import type { RecordedFunction } from '../ir/recording.js';
import { Origin } from '../language/origin.js';
import { fromWords, type Scalar, toWords, type Value, wordsOf } from '../language/types.js';
import { ByteReader, malformed } from './bytes.js';
import { byNumber, typeNumbers } from './numbers.js';

const types = byNumber(typeNumbers);

export const overLimit = (what: string, count: number, limit: number): MillraceError =>
  new MillraceError({
    code: 'kernel-budget',
    message: `an encoded kernel has ${Number.isFinite(count) ? count : 'too many'} ${what}, the limit is ${limit}`,
    advice: 'make the kernel smaller, or raise the limits given to decodeKernel()',
  });

/** What has been read of a kernel, which all of its bodies share, and how single values are read. */
export class DecodeContext {
  readonly reader: ByteReader;
  readonly limits: KernelLimits;
  strings: readonly string[] = [];
  readonly fields: Record<'job' | 'chunk' | 'hit', readonly Field[]> = { job: [], chunk: [], hit: [] };
  readonly buffers: BufferDecl[] = [];
  tables: readonly TableDecl[] = [];
  readonly functions: RecordedFunction[] = [];
  /** The statements of a function after expanding its calls, and its deepest block. */
  readonly sizes = new Map<RecordedFunction, number>();
  readonly depths = new Map<RecordedFunction, number>();
  readonly unknownOrigin = Origin.ofLine('an unknown line');
  #nodes = 0;

  constructor(bytes: Uint8Array, limits: KernelLimits) {
    this.reader = new ByteReader(bytes);
    this.limits = limits;
  }

  /** A number of entries, then the entries. */
  list<T>(entry: (at: number) => T): T[] {
    const list: T[] = [];
    for (let left = this.reader.count(); left > 0; left--) list.push(entry(list.length));
    return list;
  }

  string(): string {
    return this.stringAt(this.reader.number());
  }

  stringAt(number: number): string {
    const text = this.strings[number];
    if (text === undefined) throw malformed(`it has no string ${number}`);
    return text;
  }

  type(): Scalar {
    return this.pick(types, this.reader.byte(), 'type');
  }

  pick<T>(entries: ReadonlyMap<number, T>, number: number, what: string): T {
    const entry = entries.get(number);
    if (entry === undefined) throw malformed(`${number} is not a ${what}`);
    return entry;
  }

  value(type: Scalar): Value {
    const { reader } = this;
    switch (type) {
      case 'u32':
        return reader.number();
      case 'i32': {
        const zigzag = reader.number();
        return (zigzag >>> 1) ^ -(zigzag & 1);
      }
      case 'u64':
        return reader.bigint();
      case 'f32':
      case 'f64': {
        const words = Array.from({ length: wordsOf(type) }, () => reader.word());
        const value = fromWords(type, words);
        // JavaScript does not keep the bits of a NaN: only one of them can be a constant.
        if (toWords(type, value).some((word, i) => word !== words[i])) throw malformed('a NaN of an unusual form');
        return value;
      }
      case 'bool': {
        const byte = reader.byte();
        if (byte > 1) throw malformed(`${byte} is not a bool`);
        return byte === 1;
      }
    }
  }

  node(op: Op, type: Scalar, args: readonly Node[], stage: ValueStage, detail: NodeDetail = {}, origin?: Origin): Node {
    return { id: this.#nodes++, op, type, args, stage, detail, origin: origin ?? this.unknownOrigin };
  }

  field(op: 'job' | 'chunk', number: number, element: number): Field {
    const implicit = op === 'chunk' ? implicitChunkFields : [];
    const field = number < implicit.length ? implicit[number] : this.fields[op][number - implicit.length];
    if (!field || element >= field.length) throw malformed(`it has no ${op} value ${number}, ${element}`);
    return field;
  }

  /** The number of values of a hit. */
  get hitLength(): number {
    return this.fields.hit.reduce((sum, { length }) => sum + length, 0);
  }

  constant(type: Scalar, origin?: Origin): Node {
    return this.node('const', type, [], ValueStage.constant, { value: this.value(type) }, origin);
  }
}
