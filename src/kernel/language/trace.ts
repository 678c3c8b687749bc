import { type ErrorCode, MillraceError } from '../error.js';
import { PRINT_BUFFER, type PrintCall } from '../ir/prints.js';
import {
  type Block,
  type BufferDecl,
  type CellDecl,
  type NativeBody,
  type NewStatement,
  type Node,
  type NodeDetail,
  type Op,
  type Program,
  type Statement,
  type TableDecl,
  ValueStage,
} from '../ir/program.js';
import { isConstantTable, type RecordedFunction, type TraceEvent } from '../ir/recording.js';
import type { Lowerings } from './expr.js';
import { FunctionTrace } from './functions/function-trace.js';
import { Origin } from './origin.js';
import { bytesOf, type Scalar, type Type, type Value } from './types.js';

/** WGSL's limit for the variables of a function, the smallest one of all targets. */
const MAX_ARRAY_BYTES = 8192;

/**
 * One run of a kernel's body with symbolic values. The trace keeps the stack of open blocks. A value made in a block can be
 * used only there and in blocks inside it. Values known before the launch (constants, job, chunk) are exempt: they are
 * computed before the body starts.
 */
export class Trace {
  readonly kernel: string;
  readonly kind: Program['kind'];
  readonly tables: TableDecl[] = [];
  readonly near: BufferDecl[] = [];
  /** Keys of the native bodies that the target has. */
  readonly natives: ReadonlySet<string>;
  /** True if the trace is a recording, which has calls of std functions instead of their bodies. */
  readonly isRecording: boolean;
  /** How operations on types that programs do not have are traced. */
  readonly lowerings: Lowerings;
  readonly #maxNodes: number;
  readonly #bufferCount: number;
  readonly #prints: PrintCall[] = [];
  #printBuffer: BufferDecl | undefined;
  readonly #constants = new Map<string, Node>();
  #scopes: TraceScope[] = [];
  /** The functions of the kernel. */
  readonly functions: FunctionTrace = new FunctionTrace(this);
  readonly #scopeOfNode = new Map<Node, TraceScope>();
  readonly #scopeOfCell = new Map<CellDecl | BufferDecl, TraceScope>();
  #nodeCount = 0;
  #cellCount = 0;
  #arrayCount = 0;
  #arrayBytes = 0;

  constructor(
    kernel: string,
    kind: Program['kind'],
    natives: ReadonlySet<string>,
    { lowerings, isRecording = false, maxNodes = Number.POSITIVE_INFINITY, bufferCount = 0 }: TracingOptions,
  ) {
    this.kernel = kernel;
    this.kind = kind;
    this.natives = natives;
    this.isRecording = isRecording;
    this.lowerings = lowerings;
    this.#maxNodes = maxNodes;
    this.#bufferCount = bufferCount;
  }

  constant(type: Scalar, value: Value): Node {
    const key = `${type} ${Object.is(value, -0) ? '-0' : String(value)}`;
    let node = this.#constants.get(key);
    if (!node) {
      node = this.#node('const', type, [], ValueStage.constant, { value });
      this.#constants.set(key, node);
    }
    return node;
  }

  /** Makes a value that comes from outside: a field of the job or chunk, a buffer's length, or the item's number. */
  leaf(op: 'job' | 'chunk' | 'length' | 'item', type: Scalar, detail: NodeDetail): Node {
    this.functions.refuseLeaf(op);
    const stage = op === 'job' ? ValueStage.job : op === 'item' ? ValueStage.varying : ValueStage.chunk;
    const node = this.#node(op, type, [], stage, detail);
    if (stage === ValueStage.varying) this.#scopeOfNode.set(node, this.#root());
    return node;
  }

  pure(op: Op, type: Scalar, args: readonly Node[], detail: NodeDetail): Node {
    // A look-up stays in its block, whatever its index: elsewhere the index may be out of bounds.
    let stage: ValueStage = op === 'lookup' ? ValueStage.varying : ValueStage.constant;
    for (const arg of args) {
      this.checkUse(arg);
      if (arg.stage > stage) stage = arg.stage;
    }
    if (this.functions.current && detail.table) for (const value of detail.table.values) this.checkUse(value);
    const node = this.#node(op, type, args, stage, detail);
    const scope = stage === ValueStage.varying ? this.#scope() : this.#root();
    this.#scopeOfNode.set(node, scope);
    const home = this.isRecording ? this.#scope() : scope;
    home.statements.push({ kind: 'let', node, origin: node.origin });
    return node;
  }

  /** Makes the result of a statement that is about to be added. */
  local(type: Scalar): Node {
    const node = this.#node('local', type, [], ValueStage.varying, {});
    this.#scopeOfNode.set(node, this.#scope());
    return node;
  }

  add(statement: NewStatement): Statement {
    this.functions.refuseStatement(statement);
    const added = { ...statement, origin: this.#origin ?? Origin.here() } as Statement;
    this.#scope().statements.push(added);
    return added;
  }

  cell(type: Scalar, value: Node): CellDecl {
    const cell: CellDecl = { id: this.#cellCount++, type };
    this.#scopeOfCell.set(cell, this.#scope());
    this.add({ kind: 'cell', cell, value });
    return cell;
  }

  /** Makes an array of the item, with these values or zeros. */
  itemArray(type: BufferDecl['type'], length: number, values: readonly Node[]): BufferDecl {
    this.#arrayBytes += length * bytesOf[type];
    if (this.#arrayBytes > MAX_ARRAY_BYTES) {
      throw this.error(
        'kernel-budget',
        `the arrays of an item have ${this.#arrayBytes} bytes, the limit is ${MAX_ARRAY_BYTES}`,
        'use fewer or shorter arrays, pack small values into words, or use a buffer',
      );
    }
    const slot = this.#arrayCount++;
    const decl: BufferDecl = { name: `array${slot}`, kind: 'array', type, slot, length };
    this.#scopeOfCell.set(decl, this.#scope());
    this.add({ kind: 'array', array: decl, values });
    return decl;
  }

  /** Checks that a cell or an array may be used here. */
  checkCellUse(cell: CellDecl | BufferDecl, how: 'get' | 'set' = 'get'): void {
    const home = this.#scopeOfCell.get(cell);
    const what = 'kind' in cell ? 'an array' : 'a cell';
    if (this.functions.current) this.#checkOwn(home, what);
    this.#checkOpen(home, () => what);
    const region = this.#openRegion();
    if (how === 'set' && region && home && this.#scopes.indexOf(home) < this.#scopes.indexOf(region)) {
      throw this.error(
        'kernel-scope',
        `${what} from outside is set in ${region.kind}()`,
        'values leave a region through near arrays, buffers or its result',
      );
    }
  }

  /** The buffer of `print`, which follows the kernel's own; undefined if nothing is printed. */
  get printBuffer(): BufferDecl | undefined {
    return this.#printBuffer;
  }

  /** Adds a call of `print`. Returns its number. */
  addPrint(label: string, type: Type): { readonly buffer: BufferDecl; readonly call: number } {
    if (this.isRecording)
      throw this.error('kernel-control', 'a kernel that prints cannot be encoded', 'remove its calls of print()');
    const [slot, prints] = [this.#bufferCount, this.#prints];
    this.#printBuffer ??= { name: PRINT_BUFFER, kind: 'atomic', type: 'u32', slot, prints };
    prints.push({ label, type, line: (this.#origin ?? Origin.here()).line });
    return { buffer: this.#printBuffer, call: prints.length - 1 };
  }

  /** Declares an array that belongs to a tile. */
  nearArray(type: BufferDecl['type'], length: number): BufferDecl {
    this.functions.refuse('near()');
    const decl: BufferDecl = { name: `near${this.near.length}`, kind: 'near', type, slot: this.near.length, length };
    this.near.push(decl);
    if (this.isRecording) this.#record({ kind: 'near', near: decl, origin: this.#origin ?? Origin.here() });
    return decl;
  }

  /** Traces the body of a parallel region; regions do not nest. */
  region(kind: 'each' | 'sum' | 'once', body: () => void): Block {
    this.functions.refuse(`${kind}()`);
    const outer = this.#openRegion();
    if (outer)
      throw this.error(
        'kernel-control',
        `${kind}() is inside ${outer.kind}()`,
        'regions follow each other, they do not nest',
      );
    return this.block(kind, body);
  }

  /**
   * Checks that an effect may be added here. In a tile an effect belongs to a region; otherwise every thread would do it.
   */
  checkEffect(what: string): void {
    this.functions.refuse(what);
    const region = this.#openRegion();
    if (this.kind === 'tiles' && !region) {
      throw this.error(
        'kernel-control',
        `${what} is outside each() and once()`,
        'put it into once() if it is to happen once per tile',
      );
    }
    if (region?.kind === 'sum') {
      throw this.error('kernel-control', `${what} is inside sum()`, 'a sum only computes; write in each()');
    }
  }

  #openRegion(): TraceScope | undefined {
    return this.#scopes.find((scope) => scope.kind === 'each' || scope.kind === 'sum' || scope.kind === 'once');
  }

  table(type: Scalar, values: readonly Node[]): TableDecl {
    const stage = values.reduce<ValueStage>(
      (latest, node) => (node.stage > latest ? node.stage : latest),
      ValueStage.constant,
    );
    if (stage > ValueStage.job) {
      throw this.error(
        'kernel-type',
        'a table holds constants and job values only',
        'write varying values to a buffer, or use select',
      );
    }
    const table: TableDecl = { id: this.tables.length, type, values, stage };
    this.tables.push(table);
    // The calls of a kernel share the constant tables of a std function: they do not belong to the first call.
    const isShared = this.#scopes.some(({ kind }) => kind === 'call') && isConstantTable(table);
    if (this.isRecording && !isShared) this.#record({ kind: 'table', table, origin: this.#origin ?? Origin.here() });
    return table;
  }

  /** Records a call of a std function. `body` gets its parameters and returns its results. */
  call(name: string, args: readonly Node[], body: (params: readonly Node[]) => readonly Node[]): Node[] {
    for (const arg of args) this.checkUse(arg);
    let params: readonly Node[] = [];
    let results: readonly Node[] = [];
    const events = this.block('call', () => {
      params = args.map(({ type }) => this.local(type));
      results = body(params);
      for (const result of results) this.checkUse(result);
    });
    const made = results.map(({ type }) => this.local(type));
    this.recordCall({ name, params, events, results }, args, made);
    return made;
  }

  /** Adds a call to a recording. */
  recordCall(callee: RecordedFunction, args: readonly Node[], results: readonly Node[]): void {
    this.#record({ kind: 'call', callee, args, results, origin: this.origin() });
  }

  /** The line that is being traced. */
  origin(): Origin {
    return this.#origin ?? Origin.here();
  }

  #record(event: TraceEvent): void {
    this.#scope().statements.push(event);
  }

  /** Traces the body of a function, which sees no block but its own. */
  functionBlock(body: () => void): Block {
    const outer = this.#scopes;
    this.#scopes = [];
    try {
      return this.block('function', body);
    } finally {
      this.#scopes = outer;
    }
  }

  /** Traces `body` into a new block. */
  block(kind: TraceScope['kind'], body: () => void): Block {
    const scope: TraceScope = { kind, statements: [], isOpen: true };
    this.#scopes.push(scope);
    try {
      body();
    } finally {
      scope.isOpen = false;
      this.#scopes.pop();
    }
    return scope.statements as Statement[]; // a recording has other events among them: see `eventsOf`
  }

  /**
   * Removes a statement of the open block, which is then added again in another form. What follows it may only be early
   * values and declarations, which are not computed there. Returns false if anything else follows it.
   */
  remove(statement: Statement): boolean {
    const { statements } = this.#scope();
    const at = statements.lastIndexOf(statement);
    if (at < 0 || !statements.slice(at + 1).every(isBeforeLaunch)) return false;
    statements.splice(at, 1);
    return true;
  }

  /** True if there is a loop to leave, inside the current region if there is one. */
  get inLoop(): boolean {
    const region = this.#openRegion();
    const within = this.#scopes.slice(region ? this.#scopes.indexOf(region) : 0);
    // The condition of a loop is not part of its rounds: there is no loop to leave yet.
    return within.findLast(({ kind }) => kind === 'loop' || kind === 'test' || kind === 'call')?.kind === 'loop';
  }

  /**
   * True if a value may differ from round to round of the nearest loop; outside of loops, if it may differ from item to item.
   */
  changesInLoop(node: Node): boolean {
    const nearest = this.#scopes.findLastIndex(({ kind }) => kind === 'loop' || kind === 'test');
    if (nearest === -1) return node.stage === ValueStage.varying;
    const inside = new Set(this.#scopes.slice(nearest));
    const seen = new Set<Node>();
    const stack = [node];
    for (let next = stack.pop(); next; next = stack.pop()) {
      const home = this.#scopeOfNode.get(next);
      if (seen.has(next) || next.stage < ValueStage.varying || !home || !inside.has(home)) continue;
      if (next.args.length === 0) return true;
      seen.add(next);
      stack.push(...next.args);
    }
    return false;
  }

  /** Checks that an item can end here: a tile cannot, since its threads stay together, nor can a loop's condition. */
  checkReturn(): void {
    this.functions.refuse('returnItem()');
    if (this.kind === 'tiles') {
      throw this.error(
        'kernel-control',
        'returnItem() is in a tile, whose threads must stay together',
        'put the rest of the region into when()',
      );
    }
    if (this.#scopes.some(({ kind }) => kind === 'test')) {
      throw this.error(
        'kernel-control',
        'returnItem() is in the condition of a loop',
        'return from the body of the loop instead',
      );
    }
  }

  /** Checks that a value may be used here: it must belong to this trace and to an open block. */
  checkUse(node: Node): void {
    if (this.functions.current) this.#checkOwn(this.#scopeOfNode.get(node), node);
    if (node.stage < ValueStage.varying) {
      if (node.op !== 'const' && !this.#scopeOfNode.has(node) && !this.#earlyNodes.has(node)) this.#throwForeign();
      return;
    }
    const home = this.#scopeOfNode.get(node);
    if (!home) this.#throwForeign();
    this.#checkOpen(home, () => `the value made at ${node.origin.line}`);
  }

  native(body: NativeBody, args: readonly Node[], types: readonly Scalar[]): Node[] {
    for (const arg of args) this.checkUse(arg);
    const results = types.map((type) => this.local(type));
    this.add({ kind: 'native', body, args, results });
    return results;
  }

  /**
   * Runs `body` and attributes all its nodes to the line that called it. The thousands of nodes of a std function then share
   * one origin, the user's line, which saves about 6 µs per node.
   */
  withCallerOrigin<R>(body: () => R): R {
    return this.withOrigin(this.#origin ?? Origin.here(), body);
  }

  /** Runs `body` and attributes all its nodes to `origin`. */
  withOrigin<R>(origin: Origin, body: () => R): R {
    const outer = this.#origin;
    this.#origin = origin;
    this.#sharedOrigins.add(origin);
    try {
      return body();
    } finally {
      this.#origin = outer;
    }
  }
  #origin: Origin | undefined;
  readonly #sharedOrigins = new Set<Origin>();

  /** True if a std function or the text of an encoded kernel made the value, not code of the author. */
  isFromStd({ origin }: Node): boolean {
    return this.#sharedOrigins.has(origin) || origin.isInStd;
  }

  /** Makes an error that names the kernel, the helper functions and the user's line. */
  error(code: ErrorCode, message: string, advice: string, origin = Origin.here()): MillraceError {
    const chain = [this.kernel, ...origin.helpers].join(' > ');
    return new MillraceError({
      code,
      message: `kernel ${this.kernel}: ${message}`,
      asked: `${chain} at ${origin.line}`,
      advice,
    });
  }

  readonly #earlyNodes = new Set<Node>();

  #node(op: Op, type: Scalar, args: readonly Node[], stage: ValueStage, detail: NodeDetail): Node {
    if (this.#nodeCount >= this.#maxNodes)
      throw this.error('kernel-budget', `more than ${this.#maxNodes} values`, 'split the kernel');
    const node: Node = { id: this.#nodeCount++, op, type, args, stage, detail, origin: this.#origin ?? Origin.here() };
    if (stage < ValueStage.varying) this.#earlyNodes.add(node);
    return node;
  }

  #scope(): TraceScope {
    const scope = this.#scopes[this.#scopes.length - 1];
    if (!scope) throw this.error('kernel-control', 'no block is open', 'trace inside the kernel body only');
    return scope;
  }

  #root(): TraceScope {
    return this.#scopes[0] ?? this.#scope();
  }

  #throwForeign(): never {
    throw this.error(
      'kernel-scope',
      'a value from another kernel, or from another trace of this one, is used here',
      'pass it in as a job value or a spec value',
    );
  }

  /** Checks that a value, a cell or an array belongs to the function whose body is traced. */
  #checkOwn(home: TraceScope | undefined, what: Node | string): void {
    const isConstant = typeof what !== 'string' && what.op === 'const';
    if (!isConstant && (!home || (home.isOpen && !this.#scopes.includes(home)))) this.functions.throwCaptured(what);
  }

  #checkOpen(home: TraceScope | undefined, what: () => string): void {
    if (!home) this.#throwForeign();
    if (!home.isOpen) {
      throw this.error(
        'kernel-scope',
        `${what()} is used outside the ${home.kind} that made it`,
        home.kind === 'function'
          ? 'return it from the function'
          : 'to pass a value out of a block, set a cell made outside of the block',
      );
    }
  }
}

interface TracingOptions {
  readonly lowerings: Lowerings;
  readonly isRecording?: boolean;
  /** Values that the trace may have. */
  readonly maxNodes?: number;
  /** The kernel's own buffers. */
  readonly bufferCount?: number;
}

interface TraceScope {
  readonly kind: 'kernel' | 'function' | 'when' | 'loop' | 'test' | 'each' | 'sum' | 'once' | 'call';
  readonly statements: TraceEvent[];
  isOpen: boolean;
}

/** True for an event of a recording that is done before the launch. */
const isBeforeLaunch = (event: TraceEvent): boolean =>
  event.kind === 'let' ? event.node.stage < ValueStage.varying : event.kind === 'table' || event.kind === 'near';

let active: Trace | undefined;

/** Returns the active trace; throws if there is none. */
export function currentTrace(): Trace {
  if (!active) {
    throw new MillraceError({
      code: 'kernel-control',
      message: 'kernel operations work only while a kernel is being traced',
      asked: new Origin().line,
      advice: 'move this call into the body function given to items()',
    });
  }
  return active;
}

/** Runs `body` with `trace` as the active one. Traces do not nest. */
export function withTrace<R>(trace: Trace, body: () => R): R {
  if (active) throw active.error('kernel-control', 'a kernel cannot be traced inside another', 'trace it first');
  active = trace;
  try {
    return body();
  } finally {
    active = undefined;
  }
}

/** Node calls the method of this name to print an object. */
const inspect: unique symbol = Symbol.for('nodejs.util.inspect.custom');

/**
 * The base of what stands for values that exist only while a kernel runs. JavaScript's own operators need such a value
 * while the kernel is traced: every conversion throws, and the error says what to write instead.
 */
export abstract class Traced {
  /** Returns its name in messages, with an article. */
  protected abstract describe(): string;

  [Symbol.toPrimitive](hint: 'number' | 'string' | 'default'): never {
    throw conversionError(this.describe(), hint);
  }
  valueOf(): never {
    throw conversionError(this.describe(), 'number');
  }
  toString(): never {
    throw conversionError(this.describe(), 'string');
  }
  toJSON(): never {
    throw conversionError(this.describe(), 'json');
  }

  [inspect](): string {
    return `[${this.describe()}]`;
  }
}

/** What JavaScript does with a value when it converts it in this way, and what to write instead. */
const conversions = {
  number: {
    does: 'JavaScript calculates with',
    advice: 'write lt(), le(), gt(), ge() for < and >, sub(), mul(), and() for - * &; decide with when() or select()',
  },
  default: { does: 'JavaScript adds or compares', advice: 'write add() for + and eq() for ==' },
  string: {
    does: 'JavaScript makes text of',
    advice: 'leave it out of texts and keys; to look up a value by it, write table(type, values).at(index)',
  },
  json: { does: 'JSON.stringify() writes', advice: 'leave it out; results leave a kernel through buffers and emit()' },
};

function conversionError(what: string, how: keyof typeof conversions): MillraceError {
  const { does, advice } = conversions[how];
  const message = `${does} ${what}, which has a value only while the kernel runs`;
  return (
    active?.error('kernel-type', message, advice) ??
    new MillraceError({ code: 'kernel-type', message, asked: Origin.here().line, advice })
  );
}
