import { MillraceError } from '../error.js';
import type { Block, BufferDecl, CellDecl, Node, Place, Program, TableDecl } from '../ir/program.js';
import { ValueStage } from '../ir/program.js';
import { eventsOf, isConstantTable, type RecordedFunction, type TraceEvent } from '../ir/recording.js';
import { Expr } from '../language/expr.js';
import type { Origin } from '../language/origin.js';
import { nativeKeyOf, type StdCall } from '../language/std-function.js';
import type { Trace } from '../language/trace.js';
import type { Value } from '../language/types.js';

/** The declarations and functions that a replay refers to. */
export interface ReplayContext {
  readonly kind: Program['kind'];
  readonly buffers: readonly BufferDecl[];
  /** Functions whose definition this version has too, in the same words. Their native bodies may replace them. */
  readonly known: ReadonlyMap<RecordedFunction, StdCall>;
}

/**
 * Makes a trace of recorded events, as the kernel's own body would. The trace checks scopes and places as it does for a body;
 * types are left to `checkProgram`. A call becomes a native statement if the target has a native body for it, and the
 * recorded body otherwise.
 */
export function replay(trace: Trace, events: readonly TraceEvent[], context: ReplayContext): void {
  const replayer = new Replayer(trace, context);
  try {
    replayer.events(events);
  } catch (cause) {
    if (!(cause instanceof MillraceError)) throw cause;
    const { code, summary, advice } = cause;
    // The trace names the line of its caller, which is in this file.
    throw new MillraceError({ code, message: summary, asked: replayer.place, ...(advice && { advice }), cause });
  }
}

class Replayer {
  readonly #trace: Trace;
  readonly #context: ReplayContext;
  /** Values of the trace for recorded nodes; leaves by content. A function's values are replaced at its next call. */
  readonly #values = new Map<Node | string, Node>();
  readonly #cells = new Map<CellDecl, CellDecl>();
  /** Near arrays, and arrays of the item. */
  readonly #arrays = new Map<BufferDecl, BufferDecl>();
  readonly #tables = new Map<TableDecl, TableDecl>();

  /** The event that is being replayed, for errors. */
  place = '';

  constructor(trace: Trace, context: ReplayContext) {
    this.#trace = trace;
    this.#context = context;
  }

  /** `caller` is the origin of all events of a function. */
  events(events: readonly TraceEvent[], caller?: Origin): void {
    for (const event of events) {
      const origin = caller ?? event.origin;
      this.place = `${event.kind === 'let' ? event.node.op : event.kind} at ${origin.line}`;
      this.#trace.withOrigin(origin, () => this.#event(event, caller));
    }
  }

  #event(event: TraceEvent, caller: Origin | undefined): void {
    const trace = this.#trace;
    const inside = (block: Block) => () => this.events(eventsOf(block), caller);
    switch (event.kind) {
      case 'let': {
        const { op, type, args, detail } = event.node;
        const table = detail.table && (this.#tables.get(detail.table) ?? this.#declareConstants(detail.table));
        this.#set(event.node, trace.pure(op, type, args.map(this.#read), table ? { table } : {}));
        return;
      }
      case 'cell':
        this.#cells.set(event.cell, trace.cell(event.cell.type, this.#read(event.value)));
        return;
      case 'get': {
        const cell = this.#cell(event.cell);
        trace.checkCellUse(cell);
        return void trace.add({ kind: 'get', cell, result: this.#local(event.result) });
      }
      case 'set': {
        const cell = this.#cell(event.cell);
        trace.checkCellUse(cell, 'set');
        return void trace.add({ kind: 'set', cell, value: this.#read(event.value) });
      }
      case 'load': {
        const place = this.#place(event.place, 'get');
        return void trace.add({ kind: 'load', place, results: event.results.map(this.#local) });
      }
      case 'store':
        if (event.place.buffer.kind !== 'array') trace.checkEffect('a store');
        return void trace.add({
          kind: 'store',
          place: this.#place(event.place, 'set'),
          values: event.values.map(this.#read),
        });
      case 'prefetch':
        return void trace.add({ kind: 'prefetch', place: this.#place(event.place) });
      case 'atomic': {
        if (event.op !== 'load') trace.checkEffect(event.op === 'store' ? 'an atomic store' : 'an atomic update');
        const expected = event.expected && { expected: this.#read(event.expected) };
        const value = event.value && { value: this.#read(event.value) };
        const place = this.#place(event.place);
        const result = event.result && { result: this.#local(event.result) };
        return void trace.add({ kind: 'atomic', op: event.op, place, ...expected, ...value, ...result });
      }
      case 'when': {
        const condition = this.#read(event.condition);
        const body = trace.block('when', inside(event.body));
        return void trace.add({
          kind: 'when',
          condition,
          body,
          otherwise: trace.block('when', inside(event.otherwise)),
        });
      }
      case 'loop': {
        const count = this.#read(event.count);
        let index: Node | undefined;
        const body = trace.block('loop', () => {
          index = this.#local(event.index);
          inside(event.body)();
        });
        return void trace.add({ kind: 'loop', count, index: index as unknown as Node, body });
      }
      case 'while': {
        let condition: Node | undefined;
        const test = trace.block('test', () => {
          inside(event.test)();
          condition = this.#read(event.condition);
        });
        const body = trace.block('loop', inside(event.body));
        const long = event.isLong ? { isLong: true } : {};
        return void trace.add({ kind: 'while', test, condition: condition as unknown as Node, body, ...long });
      }
      case 'return':
        trace.checkReturn();
        return void trace.add({ kind: 'return' });
      case 'break':
        if (!trace.inLoop)
          throw trace.error('kernel-control', 'a break is outside a loop', 'use it inside a loop only');
        return void trace.add({ kind: 'break', condition: this.#read(event.condition) });
      case 'emit':
        trace.checkEffect('emit()');
        return void trace.add({ kind: 'emit', values: event.values.map(this.#read) });
      case 'each': {
        const count = this.#read(event.count);
        let index: Node | undefined;
        const body = this.#region('each', () => {
          index = this.#local(event.index);
          inside(event.body)();
        });
        return void trace.add({ kind: 'each', count, index: index as unknown as Node, body });
      }
      case 'sum': {
        const count = this.#read(event.count);
        let [index, value]: (Node | undefined)[] = [];
        const body = this.#region('sum', () => {
          index = this.#local(event.index);
          inside(event.body)();
          value = this.#read(event.value);
        });
        const result = this.#local(event.result);
        const term = value as unknown as Node;
        return void trace.add({ kind: 'sum', count, index: index as unknown as Node, body, value: term, result });
      }
      case 'scan': {
        this.#region('once', () => undefined); // checks that a region is allowed here
        return void trace.add({
          kind: 'scan',
          near: this.#buffer(event.near),
          length: event.length,
          result: this.#local(event.result),
        });
      }
      case 'once':
        return void trace.add({ kind: 'once', body: this.#region('once', inside(event.body)) });
      case 'call': {
        const { callee, results } = event;
        const args = event.args.map(this.#read);
        const made = callee.isOwn
          ? this.#invoke(callee, args)
          : (this.#nativeCall(callee, args) ?? this.#expand(callee, args, caller ?? event.origin));
        for (const [i, result] of results.entries()) this.#set(result, made[i] as Node);
        return;
      }
      case 'table':
        this.#declareTable(event.table);
        return;
      case 'near': {
        this.#checkTiles('near()');
        const { type, length = 0 } = event.near;
        this.#arrays.set(event.near, trace.nearArray(type, length));
        return;
      }
      case 'array': {
        const { type, length = 0 } = event.array;
        this.#arrays.set(event.array, trace.itemArray(type, length, event.values.map(this.#read)));
        return;
      }
      default:
        throw trace.error('kernel-invalid', `a recording has the statement ${event.kind}`, 'record the kernel again');
    }
  }

  /** Returns the results of a native body, if the target has one for the call. */
  #nativeCall(callee: RecordedFunction, args: readonly Node[]): Node[] | undefined {
    const call = this.#context.known.get(callee);
    if (!call || args.every(({ stage }) => stage < ValueStage.varying)) return undefined;
    if (nativeKeyOf(call.definition, this.#trace.natives) === undefined) return undefined;
    return call(...args.map((node) => new Expr(node.type, node))).map(({ node }) => node);
  }

  #expand({ params, events, results }: RecordedFunction, args: readonly Node[], origin: Origin): Node[] {
    for (const [i, param] of params.entries()) this.#set(param, args[i] as Node);
    this.events(events, origin);
    return results.map(this.#read);
  }

  /** Calls a function of the kernel. Its events have their own lines. */
  #invoke(callee: RecordedFunction, args: readonly Node[]): Node[] {
    const { name, params: recorded, events, results } = callee;
    const params = recorded.map(({ type }) => type);
    return this.#trace.functions.invoke({ key: callee, name, params }, args, (nodes) => {
      for (const [i, param] of recorded.entries()) this.#set(param, nodes[i] as Node);
      this.events(events);
      return results.map(this.#read);
    });
  }

  readonly #read = (node: Node): Node => {
    const value = this.#value(node);
    this.#trace.checkUse(value);
    return value;
  };

  #value(node: Node): Node {
    const { op, type, detail } = node;
    if (op === 'const') return this.#trace.constant(type, detail.value as Value);
    if (op !== 'job' && op !== 'chunk' && op !== 'item' && op !== 'length')
      return this.#values.get(node) ?? this.#missing();
    const key = `${op} ${detail.field} ${detail.element}`;
    const known = this.#values.get(key);
    if (known) return known;
    const leaf = this.#trace.leaf(op, type, detail);
    this.#values.set(key, leaf);
    return leaf;
  }

  #set(recorded: Node, value: Node): void {
    this.#values.set(recorded, value);
  }

  readonly #local = (recorded: Node): Node => {
    const local = this.#trace.local(recorded.type);
    this.#set(recorded, local);
    return local;
  };

  #cell(recorded: CellDecl): CellDecl {
    return this.#cells.get(recorded) ?? this.#missing();
  }

  #place({ buffer: recorded, base, index }: Place, how: 'get' | 'set' = 'get'): Place {
    const buffer = this.#buffer(recorded);
    if (buffer.kind === 'array') this.#trace.checkCellUse(buffer, how);
    return { buffer, ...(base && { base: this.#read(base) }), index: this.#read(index) };
  }

  #buffer(recorded: BufferDecl): BufferDecl {
    const isLocal = recorded.kind === 'near' || recorded.kind === 'array';
    const own = isLocal ? this.#arrays.get(recorded) : this.#context.buffers[recorded.slot];
    return own ?? this.#missing();
  }

  #declareTable(recorded: TableDecl): TableDecl {
    const table = this.#trace.table(recorded.type, recorded.values.map(this.#read));
    this.#tables.set(recorded, table);
    return table;
  }

  /** The first look-up declares a table of constants that no event has declared: the event was in a function. */
  #declareConstants(recorded: TableDecl): TableDecl {
    return isConstantTable(recorded) ? this.#declareTable(recorded) : this.#missing();
  }

  #region(kind: 'each' | 'sum' | 'once', body: () => void): Block {
    this.#checkTiles(`${kind}()`);
    return this.#trace.region(kind, body);
  }

  #checkTiles(what: string): void {
    if (this.#context.kind === 'tiles') return;
    throw this.#trace.error('kernel-control', `${what} is in a kernel of items`, 'make it a kernel of tiles');
  }

  /** A value is used before its statement. */
  #missing(): never {
    throw this.#trace.error('kernel-scope', 'a value is used where it does not exist', 'use it after it is made');
  }
}
