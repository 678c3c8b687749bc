import { ops, resultType } from '../ir/ops.js';
import {
  type AtomicOp,
  type Block,
  type BufferDecl,
  type CellDecl,
  type Node,
  type Place,
  type TableDecl,
  ValueStage,
} from '../ir/program.js';
import type { TraceEvent } from '../ir/recording.js';
import { Origin } from '../language/origin.js';
import { bytesOf, type Scalar, scalarOf } from '../language/types.js';
import { type ByteReader, malformed } from './bytes.js';
import { type DecodeContext, overLimit } from './decode-context.js';
import {
  atomicNumbers,
  byNumber,
  END,
  FIRST_OPERATION,
  LATEST_VALUE,
  leafNumbers,
  NEW_CONSTANT,
  NEW_LEAF,
  ORIGIN,
  opNumbers,
  type RecordedKind,
  type RecordedOp,
  statementNumbers,
} from './numbers.js';
import { isOriginText, joinOrigin } from './origins.js';

const leaves = byNumber(leafNumbers);
const operations = byNumber(opNumbers);
const atomics = byNumber(atomicNumbers);
const statements = byNumber(statementNumbers);

/** Reads one body, or a function. */
export class BodyDecoder {
  /** Statements after expanding calls, and the deepest block. */
  size = 0;
  depth = 0;
  readonly #shared: DecodeContext;
  readonly #reader: ByteReader;
  readonly #hasOrigins: boolean;
  readonly #values: Node[] = [];
  readonly #cells: CellDecl[] = [];
  readonly #near: BufferDecl[] = [];
  readonly #arrays: BufferDecl[] = [];
  readonly #tables: TableDecl[] = [];
  #origin: Origin;
  readonly #origins = new Map<string, Origin>();

  constructor(shared: DecodeContext, hasOrigins: boolean) {
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
        const args = callee.params.map(({ type }) => {
          const arg = this.operand();
          if (arg.type !== type) throw malformed(`${callee.name} takes a ${type}, not a ${arg.type}`);
          return arg;
        });
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
    return this.#shared.node(op, scalarOf(type), [], ValueStage[op], { field, element }, this.#origin);
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
