import { MillraceError } from '../error.js';
import { rowOf } from '../ir/ops.js';
import {
  type BufferDecl,
  type CellDecl,
  type Field,
  type Node,
  operandsOf,
  type Place,
  type Statement,
  type TableDecl,
} from '../ir/program.js';
import {
  type CallEvent,
  eventsOf,
  isConstantTable,
  type RecordedFunction,
  type Recording,
  type TraceEvent,
} from '../ir/recording.js';
import type { Origin } from '../language/origin.js';
import { type Scalar, toWords, type Value } from '../language/types.js';
import { ByteWriter } from './bytes.js';
import {
  atomicNumbers,
  bufferKindNumbers,
  bufferTypeNumbers,
  END,
  Feature,
  FIRST_OPERATION,
  fieldTypeNumbers,
  functionKinds,
  kindNumbers,
  LATEST_VALUE,
  leafNumbers,
  MAGIC,
  NEW_CONSTANT,
  NEW_LEAF,
  ORIGIN,
  opNumbers,
  type RecordedKind,
  type RecordedLeaf,
  type RecordedOp,
  statementNumbers,
  typeNumbers,
  VERSION,
} from './numbers.js';
import { originText, splitOrigin } from './origins.js';

/** Encodes a recording. A recording has one encoding. */
export function encodeRecording(recording: Recording): Uint8Array {
  const encoder = new Encoder(recording.name, recording.buffers.length, recording.hasOrigins);
  const signature = new ByteWriter();
  encoder.signature(recording, signature);
  const bodies = new ByteWriter();
  bodies.number(recording.bodies.length);
  for (const { natives, events } of recording.bodies) {
    bodies.number(natives.size);
    for (const [key, has] of natives) bodies.number(encoder.string(key) * 2 + (has ? 1 : 0));
    const body = new BodyEncoder(encoder, recording.hasOrigins);
    body.block(events);
    bodies.raw(body.out.bytes);
  }

  const out = new ByteWriter();
  for (const byte of MAGIC) out.byte(byte);
  out.byte(VERSION);
  out.number((recording.hasOrigins ? Feature.origins : 0) | (encoder.hasOwnFunctions ? Feature.functions : 0));
  encoder.sections(out, signature.bytes);
  out.raw(bodies.bytes);
  return out.bytes;
}

/** Encodes a function by itself. Two functions are the same if the bytes are. */
export function encodeFunction(callee: RecordedFunction, buffers = 0): Uint8Array {
  const encoder = new Encoder(callee.name, buffers, false);
  encoder.functionNumber(callee);
  const out = new ByteWriter();
  encoder.sections(out, new Uint8Array());
  return out.bytes;
}

/** The parts that bodies share: strings, constant tables and functions, each numbered when it is first used. */
class Encoder {
  readonly kernel: string;
  readonly buffers: number;
  readonly #strings = new Map<string, number>();
  readonly #tables = new Map<TableDecl, number>();
  readonly #hasOrigins: boolean;
  readonly #functions: { readonly bytes: Uint8Array; readonly isOwn: boolean }[] = [];
  readonly #numbers = new Map<RecordedFunction, number>();
  readonly #byContent = new Map<string, number>();

  constructor(kernel: string, buffers: number, hasOrigins: boolean) {
    this.kernel = kernel;
    this.buffers = buffers;
    this.#hasOrigins = hasOrigins;
  }

  get hasOwnFunctions(): boolean {
    return this.#functions.some(({ isOwn }) => isOwn);
  }

  sections(out: ByteWriter, signature: Uint8Array): void {
    out.number(this.#strings.size);
    for (const text of this.#strings.keys()) out.text(text);
    out.raw(signature);
    out.number(this.#tables.size);
    for (const { type, values } of this.#tables.keys()) {
      out.byte(typeNumbers[type]);
      out.number(values.length);
      for (const { detail } of values) writeValue(out, type, detail.value as Value);
    }
    out.number(this.#functions.length);
    for (const { bytes, isOwn } of this.#functions) {
      if (this.hasOwnFunctions) out.byte(isOwn ? functionKinds.own : functionKinds.std);
      out.raw(bytes);
    }
  }

  signature({ name, kind, lanes = 0, job, chunk, hit, buffers }: Recording, out: ByteWriter): void {
    out.number(this.string(name));
    out.byte(kindNumbers[kind]);
    out.number(lanes);
    for (const fields of [job, chunk, hit]) this.#fields(fields, out);
    out.number(buffers.length);
    for (const buffer of buffers) {
      out.number(this.string(buffer.name));
      out.byte(bufferKindNumbers[buffer.kind]);
      out.byte(bufferTypeNumbers[buffer.type]);
    }
  }

  #fields(fields: readonly Field[], out: ByteWriter): void {
    out.number(fields.length);
    for (const { name, type, length, array } of fields) {
      out.number(this.string(name));
      out.byte(fieldTypeNumbers[type]);
      out.number(array ? length : 0);
    }
  }

  string(text: string): number {
    return numberOf(this.#strings, text);
  }

  /** Returns the number of a table of constants; undefined for one with computed entries. */
  constantTable(table: TableDecl): number | undefined {
    const known = this.#tables.get(table);
    return known !== undefined || !isConstantTable(table) ? known : numberOf(this.#tables, table);
  }

  /**
   * Returns the number of a function; its callees come before it. Calls of a std function with the same body have one
   * function.
   */
  functionNumber(callee: RecordedFunction): number {
    const known = this.#numbers.get(callee);
    if (known !== undefined) return known;
    const { isOwn = false } = callee;
    const body = new BodyEncoder(this, isOwn && this.#hasOrigins);
    body.function(callee);
    const { bytes } = body.out;
    const content = new TextDecoder('latin1').decode(bytes);
    let number = isOwn ? undefined : this.#byContent.get(content);
    if (number === undefined) {
      number = this.#functions.length;
      this.#functions.push({ bytes, isOwn });
      if (!isOwn) this.#byContent.set(content, number);
    }
    this.#numbers.set(callee, number);
    return number;
  }
}

/** Writes one body: of the kernel, or of a function. Values, cells, near arrays and computed tables are numbered in it. */
class BodyEncoder {
  readonly out = new ByteWriter();
  readonly #shared: Encoder;
  readonly #hasOrigins: boolean;
  /** By node, or for constants and leaves by content. */
  readonly #values = new Map<Node | string, number>();
  readonly #cells = new Map<CellDecl, number>();
  readonly #near = new Map<BufferDecl, number>();
  readonly #arrays = new Map<BufferDecl, number>();
  readonly #tables = new Map<TableDecl, number>();
  #line: string | undefined;

  constructor(shared: Encoder, hasOrigins: boolean) {
    this.#shared = shared;
    this.#hasOrigins = hasOrigins;
  }

  function({ name, params, events, results }: RecordedFunction): void {
    this.out.number(this.#shared.string(name));
    this.out.number(params.length);
    for (const param of params) {
      this.out.byte(typeNumbers[param.type]);
      this.#define(param);
    }
    this.block(events);
    this.out.number(results.length);
    for (const result of results) this.#operand(result);
  }

  block(events: readonly TraceEvent[]): void {
    for (const event of events) {
      if (this.#hasOrigins) this.#origin(event.origin);
      this.#event(event);
    }
    this.out.byte(END);
  }

  #block(block: readonly Statement[]): void {
    this.block(eventsOf(block));
  }

  #event(event: TraceEvent): void {
    if (event.kind === 'let') return void this.#operation(event.node);
    if (!isRecorded(event))
      throw this.#notEncodable(`a ${event.kind === 'native' ? 'native body' : event.kind}`, event.origin);
    this.out.byte(statementNumbers[event.kind]);
    switch (event.kind) {
      case 'cell':
        this.#operand(event.value);
        this.#cells.set(event.cell, this.#cells.size);
        return;
      case 'get':
        this.#cell(event.cell, event.origin);
        return void this.#define(event.result);
      case 'set':
        this.#cell(event.cell, event.origin);
        return void this.#operand(event.value);
      case 'load':
        this.#place(event.place, event.origin);
        this.out.byte(event.results.length);
        for (const node of event.results) this.#define(node);
        return;
      case 'store':
        this.#place(event.place, event.origin);
        this.out.byte(event.values.length);
        for (const node of event.values) this.#operand(node);
        return;
      case 'prefetch':
        return void this.#place(event.place, event.origin);
      case 'atomic':
        this.out.byte(atomicNumbers[event.op]);
        this.#place(event.place, event.origin);
        for (const node of operandsOf(event)) this.#operand(node);
        if (event.result) this.#define(event.result);
        return;
      case 'when':
        this.#operand(event.condition);
        this.#block(event.body);
        return void this.#block(event.otherwise);
      case 'loop':
      case 'each':
        this.#operand(event.count);
        this.#define(event.index);
        return void this.#block(event.body);
      case 'while':
        this.out.byte(event.isLong ? 1 : 0);
        this.#block(event.test);
        this.#operand(event.condition);
        return void this.#block(event.body);
      case 'return':
        return;
      case 'break':
        return void this.#operand(event.condition);
      case 'emit':
        for (const node of event.values) this.#operand(node);
        return;
      case 'sum':
        this.#operand(event.count);
        this.#define(event.index);
        this.#block(event.body);
        this.#operand(event.value);
        return void this.#define(event.result);
      case 'scan':
        this.out.number(this.#nearNumber(event.near, event.origin));
        this.out.number(event.length);
        return void this.#define(event.result);
      case 'once':
        return void this.#block(event.body);
      case 'call':
        return void this.#call(event);
      case 'table':
        return void this.#table(event.table);
      case 'near':
        this.out.byte(typeNumbers[event.near.type]);
        this.out.number(event.near.length ?? 0);
        this.#near.set(event.near, this.#near.size);
        return;
      case 'array':
        this.out.byte(typeNumbers[event.array.type]);
        this.out.number(event.array.length ?? 0);
        this.out.number(event.values.length);
        for (const node of event.values) this.#operand(node);
        this.#arrays.set(event.array, this.#arrays.size);
        return;
    }
  }

  /** The code of the operation and its operands; the type only if they do not determine it. */
  #operation(node: Node): void {
    const number: number | undefined = opNumbers[node.op as RecordedOp];
    if (number === undefined) throw this.#notEncodable(`the operation ${node.op}`, node.origin);
    this.out.byte(FIRST_OPERATION + number);
    for (const arg of node.args) this.#operand(arg);
    const { table } = node.detail;
    if (table) this.out.number(this.#tableNumber(table, node.origin));
    else if (rowOf(node.op)?.result === 'own') this.out.byte(typeNumbers[node.type]);
    this.#define(node);
  }

  #call({ callee, args, results }: CallEvent): void {
    this.out.number(this.#shared.functionNumber(callee));
    for (const arg of args) this.#operand(arg);
    for (const result of results) this.#define(result);
  }

  /** 0 and its entries, if those are computed; else one more than its number among the constant tables. */
  #table(table: TableDecl): void {
    const constant = this.#shared.constantTable(table);
    if (constant !== undefined) return void this.out.number(constant + 1);
    this.out.number(0);
    this.out.byte(typeNumbers[table.type]);
    this.out.number(table.values.length);
    for (const value of table.values) this.#operand(value);
    this.#tables.set(table, this.#tables.size);
  }

  #tableNumber(table: TableDecl, origin: Origin): number {
    const own = this.#tables.get(table);
    if (own !== undefined) return own * 2 + 1;
    const constant = this.#shared.constantTable(table);
    if (constant === undefined) throw this.#notEncodable('a table of another function', origin);
    return constant * 2;
  }

  #operand(node: Node): void {
    const key = valueKey(node);
    const known = this.#values.get(key);
    if (known !== undefined) return void this.out.number(this.#values.size - 1 - known + LATEST_VALUE);
    if (node.op === 'const') {
      this.out.byte(NEW_CONSTANT);
      this.out.byte(typeNumbers[node.type]);
      writeValue(this.out, node.type, node.detail.value as Value);
    } else {
      const leaf: number | undefined = leafNumbers[node.op as RecordedLeaf];
      if (leaf === undefined) throw this.#notEncodable(`a value (${node.op}) of another function`, node.origin);
      this.out.byte(NEW_LEAF);
      this.out.byte(leaf);
      if (node.op !== 'item') {
        this.out.number(node.detail.field ?? 0);
        if (node.op !== 'length') this.out.number(node.detail.element ?? 0);
      }
    }
    this.#values.set(key, this.#values.size);
  }

  #define(node: Node): void {
    this.#values.set(node, this.#values.size);
  }

  #cell(cell: CellDecl, origin: Origin): void {
    const number = this.#cells.get(cell);
    if (number === undefined) throw this.#notEncodable('a cell of another function', origin);
    this.out.number(this.#cells.size - 1 - number);
  }

  #place({ buffer, base, index }: Place, origin: Origin): void {
    this.out.number(this.#bufferNumber(buffer, origin) * 2 + (base ? 1 : 0));
    if (base) this.#operand(base);
    this.#operand(index);
  }

  /** The buffers of the signature come first, then near arrays and arrays of the item, in turn. */
  #bufferNumber(buffer: BufferDecl, origin: Origin): number {
    if (buffer.kind !== 'near' && buffer.kind !== 'array') return buffer.slot;
    if (buffer.kind === 'near') return this.#shared.buffers + 2 * this.#nearNumber(buffer, origin);
    const number = this.#arrays.get(buffer);
    if (number === undefined) throw this.#notEncodable('an array of another function', origin);
    return this.#shared.buffers + 2 * number + 1;
  }

  #nearNumber(near: BufferDecl, origin: Origin): number {
    const number = this.#near.get(near);
    if (number === undefined) throw this.#notEncodable('a near array of another function', origin);
    return number;
  }

  #origin(origin: Origin): void {
    const line = originText(origin);
    if (line === this.#line) return;
    this.#line = line;
    const { file, row, column } = splitOrigin(line);
    this.out.byte(ORIGIN);
    this.out.number(this.#shared.string(file));
    this.out.number(row);
    if (row > 0) this.out.number(column);
  }

  #notEncodable(what: string, origin: Origin): MillraceError {
    return new MillraceError({
      code: 'kernel-invalid',
      message: `kernel ${this.#shared.kernel}: ${what} cannot be encoded`,
      asked: `encodeKernel(), for ${origin.line}`,
      advice: 'a function uses its arguments and its own values only',
    });
  }
}

const isRecorded = (event: TraceEvent): event is Extract<TraceEvent, { kind: RecordedKind }> =>
  event.kind in statementNumbers;

/** Equal constants and leaves are one value. */
function valueKey(node: Node): Node | string {
  if (node.op === 'const') return `${node.type} ${toWords(node.type, node.detail.value as Value).join(' ')}`;
  return node.op in leafNumbers ? `${node.op} ${node.detail.field} ${node.detail.element}` : node;
}

function writeValue(out: ByteWriter, type: Scalar, value: Value): void {
  switch (type) {
    case 'u32':
      return void out.number(Number(value));
    case 'i32':
      // Zigzag: small numbers of either sign are short.
      return void out.number(((Number(value) << 1) ^ (Number(value) >> 31)) >>> 0);
    case 'u64':
      return void out.bigint(BigInt(value));
    case 'f32':
    case 'f64':
      for (const word of toWords(type, value)) out.word(word);
      return;
    case 'bool':
      return void out.byte(value ? 1 : 0);
  }
}

function numberOf<K>(numbers: Map<K, number>, key: K): number {
  const known = numbers.get(key);
  if (known !== undefined) return known;
  numbers.set(key, numbers.size);
  return numbers.size - 1;
}
