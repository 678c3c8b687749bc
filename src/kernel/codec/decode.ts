import { implicitChunkFields } from '../abi/harness.js';
import { MillraceError } from '../error.js';
import type { KernelLimits } from '../ir/limits.js';
import { ops, resultType } from '../ir/ops.js';
import {
  type AtomicOp,
  type Block,
  type BufferDecl,
  type CellDecl,
  type Field,
  type Node,
  type NodeDetail,
  type Op,
  type Place,
  type Program,
  type TableDecl,
  ValueStage,
} from '../ir/program.js';
import {
  MAX_BODIES,
  type RecordedBody,
  type RecordedBuffer,
  type RecordedFunction,
  type Recording,
  type TraceEvent,
} from '../ir/recording.js';
import { Origin } from '../language/origin.js';
import { bytesOf, fromWords, type Scalar, toWords, type Value, wordsOf } from '../language/types.js';
import { ByteReader, malformed } from './bytes.js';
import {
  atomicNumbers,
  bufferKindNumbers,
  bufferTypeNumbers,
  byNumber,
  END,
  Feature,
  FIRST_OPERATION,
  kindNumbers,
  knownFeatures,
  LATEST_VALUE,
  leafNumbers,
  MAGIC,
  NEW_CONSTANT,
  NEW_LEAF,
  ORIGIN,
  opNumbers,
  type RecordedKind,
  type RecordedOp,
  statementNumbers,
  typeNumbers,
  VERSION,
} from './numbers.js';
import { isOriginText, joinOrigin } from './origins.js';

const types = byNumber(typeNumbers);
const bufferTypes = byNumber(bufferTypeNumbers);
const bufferKinds = byNumber(bufferKindNumbers);
const kinds = byNumber<Program['kind']>(kindNumbers);
const leaves = byNumber(leafNumbers);
const operations = byNumber(opNumbers);
const atomics = byNumber(atomicNumbers);
const statements = byNumber(statementNumbers);

const NAME_LENGTH = 200;

/** A recording that came as bytes, with its functions. A function's callees come before it. */
export interface DecodedRecording extends Recording {
  readonly functions: readonly RecordedFunction[];
  /** The statements of a function after expanding its calls. */
  readonly sizes: ReadonlyMap<RecordedFunction, number>;
}

/**
 * Reads an encoded kernel. This checks the format and the limits; the rules of the language are checked when a trace is made
 * of the result. The bytes may come from anywhere: memory and time are bounded by their length and the limits.
 */
export function decodeRecording(bytes: Uint8Array, limits: KernelLimits): DecodedRecording {
  if (bytes.length > limits.bytes) throw overLimit('bytes', bytes.length, limits.bytes);
  return new Decoder(bytes, limits).recording();
}

export const overLimit = (what: string, count: number, limit: number): MillraceError =>
  new MillraceError({
    code: 'kernel-budget',
    message: `an encoded kernel has ${Number.isFinite(count) ? count : 'too many'} ${what}, the limit is ${limit}`,
    advice: 'make the kernel smaller, or raise the limits given to decodeKernel()',
  });

/** The part that is the same for all bodies. */
class Decoder {
  readonly reader: ByteReader;
  readonly limits: KernelLimits;
  readonly buffers: BufferDecl[] = [];
  tables: readonly TableDecl[] = [];
  readonly functions: RecordedFunction[] = [];
  readonly sizes = new Map<RecordedFunction, number>();
  readonly depths = new Map<RecordedFunction, number>();
  readonly unknownOrigin = Origin.ofLine('an unknown line');
  #strings: readonly string[] = [];
  readonly #fields: Record<'job' | 'chunk' | 'hit', readonly Field[]> = { job: [], chunk: [], hit: [] };
  #nodes = 0;
  #words = 0;

  constructor(bytes: Uint8Array, limits: KernelLimits) {
    this.reader = new ByteReader(bytes);
    this.limits = limits;
  }

  recording(): DecodedRecording {
    const { reader } = this;
    if (MAGIC.some((byte) => reader.byte() !== byte)) throw malformed('it does not begin with MRK');
    const version = reader.byte();
    if (version !== VERSION) throw unsupported(`version ${version}`, `version ${VERSION}`);
    const features = reader.number();
    if ((features & ~knownFeatures) !== 0) throw unsupported(`features ${features}`, `features ${knownFeatures}`);
    const hasOrigins = (features & Feature.origins) !== 0;
    this.#strings = this.list(() => reader.text());
    const name = this.string();
    const kind = this.pick(kinds, reader.byte(), 'kind of kernel');
    const lanes = reader.number();
    if (lanes > 64 || (lanes & (lanes - 1)) !== 0) throw malformed(`${lanes} lanes`);
    const job = this.#fieldList('job');
    const chunk = this.#fieldList('chunk');
    const hit = this.#fieldList('hit');
    const buffers = this.#bufferList();
    this.tables = this.#tableList();
    const functionCount = reader.count();
    if (functionCount > this.limits.functions) throw overLimit('functions', functionCount, this.limits.functions);
    while (this.functions.length < functionCount) this.#function();
    const bodies = this.#bodies(hasOrigins);
    if (reader.left > 0) throw malformed(`${reader.left} bytes follow it`);
    const { functions, sizes } = this;
    const signature = { name, kind, job, chunk, hit, buffers, ...(lanes === 0 ? {} : { lanes }) };
    return { ...signature, bodies, hasOrigins, functions, sizes };
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
    const text = this.#strings[number];
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
    const field = number < implicit.length ? implicit[number] : this.#fields[op][number - implicit.length];
    if (!field || element >= field.length) throw malformed(`it has no ${op} value ${number}, ${element}`);
    return field;
  }

  /** The number of values of a hit. */
  get hitLength(): number {
    return this.#fields.hit.reduce((sum, { length }) => sum + length, 0);
  }

  #fieldList(kind: 'job' | 'chunk' | 'hit'): Field[] {
    const fields = this.list((): Field => {
      const name = this.#name();
      const type = this.type();
      const length = this.reader.number();
      this.#words += Math.max(1, length) * wordsOf(type);
      if (this.#words > this.limits.parameterWords)
        throw overLimit('parameter words', this.#words, this.limits.parameterWords);
      return { name, type, length: Math.max(1, length), array: length > 0 };
    });
    checkDistinct(fields);
    this.#fields[kind] = fields;
    return fields;
  }

  #bufferList(): RecordedBuffer[] {
    const buffers = this.list((): RecordedBuffer => {
      const name = this.#name();
      const kind = this.pick(bufferKinds, this.reader.byte(), 'kind of buffer');
      const type = this.pick(bufferTypes, this.reader.byte(), 'type of a buffer');
      if ((kind === 'atomic' && type !== 'u32' && type !== 'u64') || (type === 'u8' && kind !== 'read'))
        throw malformed(`buffer ${name} is ${kind} ${type}`);
      return { name, kind, type };
    });
    checkDistinct(buffers);
    if (buffers.length > this.limits.buffers) throw overLimit('buffers', buffers.length, this.limits.buffers);
    for (const [slot, { name, kind, type }] of buffers.entries())
      this.buffers.push({ name, kind, type: type === 'u8' ? 'u32' : type, slot });
    return buffers;
  }

  #name(): string {
    const name = this.string();
    if (name.length > NAME_LENGTH) throw malformed(`a name of ${name.length} characters`);
    return name;
  }

  #tableList(): TableDecl[] {
    const tables = this.list((id): TableDecl => {
      const type = this.type();
      const values = this.list(() => this.constant(type));
      return { id, type, values, stage: ValueStage.constant };
    });
    if (tables.length > this.limits.tables) throw overLimit('tables', tables.length, this.limits.tables);
    const bytes = tables.reduce((sum, { type, values }) => sum + values.length * bytesOf[type], 0);
    if (bytes > this.limits.tableBytes) throw overLimit('bytes of tables', bytes, this.limits.tableBytes);
    return tables;
  }

  constant(type: Scalar, origin?: Origin): Node {
    return this.node('const', type, [], ValueStage.constant, { value: this.value(type) }, origin);
  }

  #function(): void {
    const body = new BodyDecoder(this, false);
    const name = this.#name();
    const params = this.list(() => body.define(this.node('local', this.type(), [], ValueStage.varying)));
    const events = body.block(0);
    const results = this.list(() => body.operand());
    const callee: RecordedFunction = { name, params, events, results };
    this.functions.push(callee);
    this.sizes.set(callee, body.size);
    this.depths.set(callee, body.depth);
  }

  #bodies(hasOrigins: boolean): RecordedBody[] {
    const bodies = this.list((): RecordedBody => {
      const natives = new Map(
        this.list(() => {
          const code = this.reader.number();
          return [this.stringAt(code >>> 1), (code & 1) === 1] as const;
        }),
      );
      const body = new BodyDecoder(this, hasOrigins);
      return { natives, events: body.block(0) };
    });
    if (bodies.length === 0 || bodies.length > MAX_BODIES) throw malformed(`it has ${bodies.length} bodies`);
    return bodies;
  }
}

/** Reads one body. */
class BodyDecoder {
  /** Statements after expanding calls, and the deepest block. */
  size = 0;
  depth = 0;
  readonly #shared: Decoder;
  readonly #reader: ByteReader;
  readonly #hasOrigins: boolean;
  readonly #values: Node[] = [];
  readonly #cells: CellDecl[] = [];
  readonly #near: BufferDecl[] = [];
  readonly #arrays: BufferDecl[] = [];
  readonly #tables: TableDecl[] = [];
  #origin: Origin;
  readonly #origins = new Map<string, Origin>();

  constructor(shared: Decoder, hasOrigins: boolean) {
    this.#shared = shared;
    this.#reader = shared.reader;
    this.#hasOrigins = hasOrigins;
    this.#origin = shared.unknownOrigin;
  }

  define(node: Node): Node {
    this.#values.push(node);
    return node;
  }

  block(depth: number): Block {
    this.#deepen(depth);
    const events: TraceEvent[] = [];
    for (let code = this.#reader.byte(); code !== END; code = this.#reader.byte()) {
      if (code === ORIGIN) {
        this.#readOrigin();
        continue;
      }
      this.#grow(1);
      events.push(this.#event(code, depth));
    }
    return events as Block; // as in a recording: see `eventsOf`
  }

  operand(): Node {
    const code = this.#reader.number();
    if (code === NEW_CONSTANT) return this.define(this.#shared.constant(this.#shared.type(), this.#origin));
    if (code === NEW_LEAF) return this.define(this.#leaf());
    const node = this.#values[this.#values.length - 1 - (code - LATEST_VALUE)];
    if (!node) throw malformed(`a value refers ${code - LATEST_VALUE} values back, of ${this.#values.length}`);
    return node;
  }

  #event(code: number, depth: number): TraceEvent {
    if (code >= FIRST_OPERATION) return this.#operation(code - FIRST_OPERATION);
    return this.#statement(this.#shared.pick(statements, code, 'statement'), depth);
  }

  #statement(kind: RecordedKind, depth: number): TraceEvent {
    const reader = this.#reader;
    const origin = this.#origin;
    const inner = () => this.block(depth + 1);
    switch (kind) {
      case 'cell': {
        const value = this.operand();
        const cell: CellDecl = { id: this.#cells.length, type: value.type };
        this.#cells.push(cell);
        return { kind, cell, value, origin };
      }
      case 'get': {
        const cell = this.#cell();
        return { kind, cell, result: this.#local(cell.type), origin };
      }
      case 'set':
        return { kind, cell: this.#cell(), value: this.operand(), origin };
      case 'load': {
        const place = this.#place();
        return { kind, place, results: this.#quad(() => this.#local(place.buffer.type)), origin };
      }
      case 'store':
        return { kind, place: this.#place(), values: this.#quad(() => this.operand()), origin };
      case 'prefetch':
        return { kind, place: this.#place(), origin };
      case 'atomic':
        return this.#atomic(this.#shared.pick(atomics, reader.byte(), 'atomic operation'));
      case 'when':
        return { kind, condition: this.operand(), body: inner(), otherwise: inner(), origin };
      case 'loop':
      case 'each':
        return { kind, count: this.operand(), index: this.#local('u32'), body: inner(), origin };
      case 'while': {
        const isLong = this.#shared.value('bool') === true;
        return { kind, test: inner(), condition: this.operand(), body: inner(), ...(isLong && { isLong }), origin };
      }
      case 'return':
        return { kind, origin };
      case 'break':
        return { kind, condition: this.operand(), origin };
      case 'emit':
        this.#grow(this.#shared.hitLength);
        return { kind, values: Array.from({ length: this.#shared.hitLength }, () => this.operand()), origin };
      case 'sum': {
        const count = this.operand();
        const index = this.#local('u32');
        const body = inner();
        const value = this.operand();
        return { kind, count, index, body, value, result: this.#local(value.type), origin };
      }
      case 'scan': {
        const near = this.#nearArray(reader.number());
        return { kind, near, length: reader.number(), result: this.#local('u32'), origin };
      }
      case 'once':
        return { kind, body: inner(), origin };
      case 'call': {
        const callee = this.#shared.functions[reader.number()];
        if (!callee) throw malformed('a function is called before it is defined');
        this.#grow((this.#shared.sizes.get(callee) ?? 0) + callee.params.length + callee.results.length);
        this.#deepen(depth + (this.#shared.depths.get(callee) ?? 0));
        const args = callee.params.map(() => this.operand());
        return { kind, callee, args, results: callee.results.map(({ type }) => this.#local(type)), origin };
      }
      case 'table':
        return { kind, table: this.#table(), origin };
      case 'near': {
        const type = this.#shared.type();
        if (type === 'bool') throw malformed('a near array of bools');
        const slot = this.#near.length;
        const near: BufferDecl = { name: `near${slot}`, kind: 'near', type, slot, length: reader.number() };
        this.#near.push(near);
        return { kind, near, origin };
      }
      case 'array': {
        const type = this.#shared.type();
        if (type === 'bool') throw malformed('an array of bools in memory');
        const length = reader.number();
        const values = this.#shared.list(() => this.operand());
        this.#grow(values.length);
        const slot = this.#arrays.length;
        const array: BufferDecl = { name: `array${slot}`, kind: 'array', type, slot, length };
        this.#arrays.push(array);
        return { kind, array, values, origin };
      }
    }
  }

  #operation(number: number): TraceEvent {
    const op: RecordedOp = this.#shared.pick(operations, number, 'operation');
    const args = ops[op].args.map(() => this.operand());
    const table = op === 'lookup' ? this.#tableAt(this.#reader.number()) : undefined;
    const own = table ? table.type : ops[op].result === 'own' ? this.#shared.type() : 'u32';
    if ((op === 'cast' || op === 'bits') && own === args[0]?.type) throw malformed(`a ${op} to the same type`);
    const type = resultType({ op, type: own, args });
    const stage = args.reduce<ValueStage>(
      (latest, arg) => (arg.stage > latest ? arg.stage : latest),
      table ? ValueStage.varying : ValueStage.constant,
    );
    const node = this.#shared.node(op, type, args, stage, table ? { table } : {}, this.#origin);
    return { kind: 'let', node: this.define(node), origin: this.#origin };
  }

  #atomic(op: AtomicOp): TraceEvent {
    const place = this.#place();
    const origin = this.#origin;
    const expected = op === 'compareExchange' ? { expected: this.operand() } : {};
    const value = op === 'load' ? {} : { value: this.operand() };
    const result = op === 'store' ? {} : { result: this.#local(place.buffer.type) };
    return { kind: 'atomic', op, place, ...expected, ...value, ...result, origin };
  }

  #leaf(): Node {
    const op = this.#shared.pick(leaves, this.#reader.byte(), 'leaf');
    if (op === 'item') return this.#shared.node(op, 'u32', [], ValueStage.varying, {}, this.#origin);
    if (op === 'length') {
      const slot = this.#reader.number();
      const buffer = this.#shared.buffers[slot];
      if (!buffer) throw malformed(`it has no buffer ${slot}`);
      const detail = { field: slot, element: bytesOf[buffer.type] };
      return this.#shared.node(op, 'u64', [], ValueStage.chunk, detail, this.#origin);
    }
    const [field, element] = [this.#reader.number(), this.#reader.number()];
    const { type } = this.#shared.field(op, field, element);
    return this.#shared.node(op, type, [], ValueStage[op], { field, element }, this.#origin);
  }

  #local(type: Scalar): Node {
    return this.define(this.#shared.node('local', type, [], ValueStage.varying, {}, this.#origin));
  }

  /** One element, or four. */
  #quad(element: () => Node): Node[] {
    const count = this.#reader.byte();
    if (count !== 1 && count !== 4) throw malformed(`an access to ${count} elements`);
    return Array.from({ length: count }, element);
  }

  #cell(): CellDecl {
    const cell = this.#cells[this.#cells.length - 1 - this.#reader.number()];
    if (!cell) throw malformed('a cell is used before it is made');
    return cell;
  }

  #place(): Place {
    const code = this.#reader.number();
    const number = code >>> 1;
    const { buffers } = this.#shared;
    const buffer = buffers[number] ?? this.#localArray(number - buffers.length);
    const place = { buffer, ...((code & 1) === 1 && { base: this.operand() }), index: this.operand() };
    if (place.base && place.base.type !== 'u64') throw malformed(`a slice that begins at a ${place.base.type}`);
    return place;
  }

  #localArray(number: number): BufferDecl {
    if (number % 2 === 0) return this.#nearArray(number / 2);
    const array = this.#arrays[(number - 1) / 2];
    if (!array) throw malformed(`it has no array ${(number - 1) / 2}`);
    return array;
  }

  #nearArray(number: number): BufferDecl {
    const near = this.#near[number];
    if (!near) throw malformed(`it has no near array ${number}`);
    return near;
  }

  #table(): TableDecl {
    const number = this.#reader.number();
    if (number > 0) return this.#constantTable(number - 1);
    const type = this.#shared.type();
    const values = this.#shared.list(() => this.operand());
    this.#grow(values.length);
    if (values.some((value) => value.type !== type)) throw malformed('a table with values of other types');
    const table: TableDecl = { id: this.#tables.length, type, values, stage: ValueStage.job };
    this.#tables.push(table);
    return table;
  }

  #tableAt(code: number): TableDecl {
    const table = (code & 1) === 0 ? this.#constantTable(code >>> 1) : this.#tables[code >>> 1];
    if (!table) throw malformed(`it has no table ${code >>> 1}`);
    return table;
  }

  #constantTable(number: number): TableDecl {
    const table = this.#shared.tables[number];
    if (!table) throw malformed(`it has no constant table ${number}`);
    return table;
  }

  #readOrigin(): void {
    if (!this.#hasOrigins) throw malformed('a source line where there are none');
    const file = this.#shared.string();
    const row = this.#reader.number();
    const line = joinOrigin({ file, row, column: row > 0 ? this.#reader.number() : 0 });
    if (!isOriginText(line)) throw malformed('a source line with unusual characters');
    let origin = this.#origins.get(line);
    if (!origin) {
      origin = Origin.ofLine(line);
      this.#origins.set(line, origin);
    }
    this.#origin = origin;
  }

  #grow(statementCount: number): void {
    this.size += statementCount;
    const { limits } = this.#shared;
    if (this.size > limits.statements) throw overLimit('statements', this.size, limits.statements);
  }

  #deepen(depth: number): void {
    this.depth = Math.max(this.depth, depth);
    const { limits } = this.#shared;
    if (depth > limits.depth) throw overLimit('blocks inside each other', depth, limits.depth);
  }
}

function checkDistinct(named: readonly { readonly name: string }[]): void {
  const names = new Set<string>();
  for (const { name } of named) {
    if (names.has(name)) throw malformed(`the name ${name} is used twice`);
    names.add(name);
  }
}

const unsupported = (has: string, supported: string): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `an encoded kernel of ${has}; this version of Millrace reads ${supported}`,
    advice: 'update Millrace, or encode the kernel with the same version',
  });
