import { implicitValues, RING_HEADER_WORDS, ringCapacity, ringLayout } from '../abi/harness.js';
import { MillraceError } from '../error.js';
import { elementsOf, type FieldValues, fieldValues } from '../language/params.js';
import { bytesOf, fromWords, type Scalar, toWords, type Value } from '../language/types.js';
import { atomicResult, evaluate, evaluateNodes, outOfBounds } from './evaluate.js';
import { type PrintedValue, printedWith } from './prints.js';
import {
  type Block,
  type BufferDecl,
  type CellDecl,
  type FunctionDecl,
  functionsOf,
  type HoistedProgram,
  type Node,
  type Place,
  type Program,
  type Statement,
  SUM_PARTIALS,
} from './program.js';

export interface InterpretOptions {
  readonly job: FieldValues;
  readonly chunk?: FieldValues;
  readonly base?: bigint;
  /** Items [first, first + count) of the launch. */
  readonly first?: number;
  readonly count: number;
  readonly buffers?: Readonly<Record<string, Uint8Array>>;
  readonly ring?: Uint8Array;
  /** Called before each item. */
  readonly cancelled?: () => boolean;
  /** Statements that one item may execute. */
  readonly itemSteps?: number;
  readonly observer?: InterpretObserver;
  /** Receives a value as soon as it is printed. */
  readonly onPrint?: (printed: PrintedValue) => void;
}

/** Is told of each statement that an item executes. `read` reads values that are known by then. */
export interface InterpretObserver {
  before?(statement: Statement, read: (node: Node) => Value): void;
  /** A round of a loop or region starts: its index is known. */
  round?(statement: Statement, read: (node: Node) => Value): void;
  after?(statement: Statement, read: (node: Node) => Value): void;
}

/**
 * Runs a program item by item, statement by statement: slow and obviously right. It runs a fresh trace as well as the output
 * of each pass (before gangs), so that each pass can be compared with the trace.
 */
export function interpret(program: Program | HoistedProgram, run: InterpretOptions): { complete: boolean } {
  const first = run.first ?? 0;
  const machine = new Interpreter(program, run);
  for (let item = first; item < first + run.count; item++) {
    if (run.cancelled?.()) return { complete: false };
    machine.runItem(item);
  }
  return { complete: true };
}

class Interpreter {
  readonly #program: Program;
  readonly #values = new Map<Node, Value>();
  readonly #cells = new Map<CellDecl, Value>();
  readonly #memory = new Map<BufferDecl, NumericArray>();
  readonly #ring: Uint32Array | undefined;
  readonly #leafValue: (node: Node) => Value;
  #item = 0;
  #isBreaking = false;
  readonly #itemSteps: number;
  readonly #observer: InterpretObserver | undefined;
  readonly #onPrint: InterpretOptions['onPrint'];
  #stepsLeft = 0;
  #hasReturned = false;
  readonly #functions: ReadonlyMap<FunctionDecl, Block>;
  /** The results of the function that ended last. */
  #results: readonly Value[] = [];

  constructor(program: Program, run: InterpretOptions) {
    this.#program = program;
    this.#functions = new Map(functionsOf(program).map(({ callee, body }) => [callee, body]));
    this.#itemSteps = run.itemSteps ?? Number.POSITIVE_INFINITY;
    this.#observer = run.observer;
    this.#onPrint = run.onPrint;
    this.#ring = run.ring && new Uint32Array(run.ring.buffer, run.ring.byteOffset, run.ring.byteLength >> 2);
    const implicit = implicitValues(run.base ?? 0n, ringCapacity(program, run.ring?.byteLength ?? 0));
    const job = fieldValues(program.name, 'job', program.job, run.job);
    const chunk = fieldValues(program.name, 'chunk', program.chunk, { ...run.chunk, ...implicit });
    this.#leafValue = (node) => {
      const { field = 0, element = 0 } = node.detail;
      if (node.op === 'item') return this.#item;
      if (node.op === 'active') return true;
      if (node.op === 'length') return elementsOf(node, run.buffers?.[program.buffers[field]?.name ?? '']?.byteLength);
      const value = (node.op === 'job' ? job : chunk)[field]?.[element];
      if (value === undefined) throw new TypeError(`no value for ${node.op} field ${field}`);
      return value;
    };
    for (const decl of program.buffers) {
      const bytes = decl.name === 'ring' ? run.ring : run.buffers?.[decl.name]; // after the harness the ring is a buffer
      if (bytes) this.#memory.set(decl, typedArrayOf(decl.type, bytes));
    }
    if ('params' in program) this.#bindParams(program as HoistedProgram);
  }

  /** After `hoist`, parameters are nodes in the host's list, and the body refers to them by word. */
  #bindParams(program: HoistedProgram): void {
    const known = new Map<Node, Value>();
    evaluateNodes(program.host, this.#leafValue, known);
    this.#params = new Uint32Array(program.jobWords + program.chunkWords);
    for (const { node, word } of program.params) {
      const value = known.get(node) ?? (node.detail.value as Value);
      this.#params.set(toWords(node.type, value), word);
    }
    for (const [node, value] of known) this.#values.set(node, value);
  }
  #params = new Uint32Array();

  runItem(item: number): void {
    this.#item = item;
    // Near arrays hold what the last tile left, which is undefined: the fill pattern makes its use easy to notice.
    for (const decl of this.#program.near)
      this.#memory.set(
        decl,
        typedArrayOf(decl.type, new Uint8Array((decl.length ?? 0) * bytesOf[decl.type]).fill(0xa5)),
      );
    this.#isBreaking = false;
    this.#stepsLeft = this.#itemSteps;
    this.#hasReturned = false;
    this.#block(this.#program.body);
  }

  #value(node: Node): Value {
    if (node.op === 'const') return node.detail.value as Value;
    if (node.op === 'param') return fromWords(node.type, this.#params, node.detail.word);
    if (node.args.length === 0 && node.op !== 'local') return this.#leafValue(node);
    const value = this.#values.get(node);
    if (value === undefined) throw new TypeError(`node ${node.id} (${node.op}) has no value yet`);
    return value;
  }

  #number(node: Node): number {
    return this.#value(node) as number;
  }

  #block(block: Block): void {
    for (const statement of block) {
      if (statement.kind === 'function' || statement.kind === 'parameters') continue;
      if (statement.kind === 'results') {
        this.#results = statement.values.map(this.#valueOf);
        return;
      }
      this.#observer?.before?.(statement, this.#valueOf);
      this.#statement(statement);
      this.#observer?.after?.(statement, this.#valueOf);
      if (this.#isBreaking || this.#hasReturned) return;
    }
  }

  readonly #valueOf = (node: Node): Value => this.#value(node);

  #statement(statement: Statement): void {
    this.#step(statement);
    switch (statement.kind) {
      case 'let':
        this.#values.set(statement.node, this.#evaluate(statement.node));
        return;
      case 'cell':
      case 'set':
        this.#cells.set(statement.cell, this.#value(statement.value));
        return;
      case 'get':
        this.#values.set(statement.result, this.#cells.get(statement.cell) as Value);
        return;
      case 'array': {
        const { type, length = 0 } = statement.array;
        const memory = typedArrayOf(type, new Uint8Array(length * bytesOf[type]));
        statement.values.forEach((node, i) => {
          memory[i] = this.#value(node) as never;
        });
        this.#memory.set(statement.array, memory);
        return;
      }
      case 'load': {
        const { memory, at } = this.#locate(statement, statement.place, statement.results.length);
        for (const [i, node] of statement.results.entries()) this.#values.set(node, memory[at + i] as Value);
        return;
      }
      case 'store': {
        const values = statement.values.map((node) => this.#value(node));
        const { memory, at } = this.#locate(statement, statement.place, values.length);
        values.forEach((value, i) => {
          memory[at + i] = value as never;
        });
        return;
      }
      case 'prefetch':
        return;
      case 'atomic':
        this.#atomic(statement);
        return;
      case 'when':
        this.#block(this.#value(statement.condition) ? statement.body : statement.otherwise);
        return;
      case 'loop': {
        const count = this.#number(statement.count);
        for (let i = 0; i < count && !this.#isBreaking && !this.#hasReturned; i++) {
          this.#step(statement);
          this.#values.set(statement.index, i);
          this.#observer?.round?.(statement, this.#valueOf);
          this.#block(statement.body);
        }
        this.#isBreaking = false;
        return;
      }
      case 'while':
        for (;;) {
          this.#step(statement);
          this.#block(statement.test);
          if (!this.#value(statement.condition)) break;
          this.#block(statement.body);
          if (this.#isBreaking || this.#hasReturned) break;
        }
        this.#isBreaking = false;
        return;
      case 'break':
        this.#isBreaking = this.#value(statement.condition) as boolean;
        return;
      case 'return':
        this.#hasReturned = true;
        return;
      case 'emit':
        this.#emit(statement.values);
        return;
      case 'each': {
        const count = this.#number(statement.count);
        for (let i = 0; i < count; i++) {
          this.#step(statement);
          this.#values.set(statement.index, i);
          this.#observer?.round?.(statement, this.#valueOf);
          this.#block(statement.body);
        }
        return;
      }
      case 'sum':
        this.#sum(statement);
        return;
      case 'scan': {
        const memory = this.#memory.get(statement.near) as Uint32Array;
        let total = 0;
        for (let i = 0; i < statement.length; i++) {
          const count = memory[i] as number;
          memory[i] = total;
          total = (total + count) >>> 0;
        }
        this.#values.set(statement.result, total);
        return;
      }
      case 'once':
        this.#block(statement.body);
        return;
      case 'invoke':
        this.#invoke(statement);
        return;
      case 'function':
      case 'parameters':
      case 'results':
        return; // see `#block`
      case 'native':
        throw new TypeError('native bodies are for compiled targets; trace without them to interpret');
    }
  }

  #invoke({ callee, args, results }: Extract<Statement, { kind: 'invoke' }>): void {
    const body = this.#functions.get(callee) ?? [];
    const [first] = body;
    const values = args.map((node) => this.#value(node));
    if (first?.kind === 'parameters')
      for (const [i, node] of first.nodes.entries()) this.#values.set(node, values[i] as Value);
    this.#block(body);
    for (const [i, node] of results.entries()) this.#values.set(node, this.#results[i] as Value);
  }

  #step(statement: Statement): void {
    if (--this.#stepsLeft >= 0) return;
    throw new MillraceError({
      code: 'kernel-budget',
      message: `an item takes more than ${this.#itemSteps} steps`,
      asked: statement.origin.line,
      advice: 'run the kernel on another device',
    });
  }

  /** Adds in the order that the language defines: partials by index, then halves. */
  #sum(statement: Extract<Statement, { kind: 'sum' }>): void {
    const { type } = statement.result;
    const add = { op: 'add', type, args: [statement.result, statement.result], detail: {} } as unknown as Node;
    const zero: Value = type === 'u64' ? 0n : 0;
    const partials = Array<Value>(SUM_PARTIALS).fill(zero);
    const count = this.#number(statement.count);
    for (let i = 0; i < count; i++) {
      this.#step(statement);
      this.#values.set(statement.index, i);
      this.#observer?.round?.(statement, this.#valueOf);
      this.#block(statement.body);
      const at = i % SUM_PARTIALS;
      partials[at] = evaluate(add, [partials[at] as Value, this.#value(statement.value)]);
    }
    for (let half = SUM_PARTIALS / 2; half >= 1; half /= 2) {
      for (let i = 0; i < half; i++) partials[i] = evaluate(add, [partials[i] as Value, partials[i + half] as Value]);
    }
    this.#values.set(statement.result, partials[0] as Value);
  }

  /** After `splitU64` a job value of 64 bits has two entries in its table: low word, then high word. */
  #tableValue(lookup: Node, index: number): Value {
    const entry = tableEntry(lookup, index);
    const value = this.#value(entry);
    return entry.type === lookup.type ? value : (toWords(entry.type, value)[index % 2] as Value);
  }

  #evaluate(node: Node): Value {
    const args = node.args.map((arg) => this.#value(arg));
    return node.op === 'lookup' ? this.#tableValue(node, args[0] as number) : evaluate(node, args);
  }

  #locate(statement: Statement, place: Place, width: number): { memory: NumericArray; at: number } {
    const memory = this.#memory.get(place.buffer);
    if (!memory) throw new TypeError(`no memory for buffer ${place.buffer.name}`);
    const base = place.base ? BigInt(this.#value(place.base)) * 4n : 0n; // one word after `splitU64`
    const at = base + BigInt(this.#number(place.index)) * BigInt(width);
    if (at + BigInt(width) > BigInt(memory.length)) {
      const what = place.buffer.kind === 'array' ? 'an array' : `buffer ${place.buffer.name}`;
      throw outOfBounds(statement, `${what} of ${memory.length} elements`, at);
    }
    return { memory, at: Number(at) };
  }

  #atomic(statement: Extract<Statement, { kind: 'atomic' }>): void {
    const value = statement.value ? this.#value(statement.value) : 0;
    const expected = statement.expected ? this.#value(statement.expected) : 0;
    const { memory, at } = this.#locate(statement, statement.place, 1);
    const before = memory[at] as Value;
    if (statement.result) this.#values.set(statement.result, before);
    memory[at] = atomicResult(statement.op, before, value, expected) as never;
    const { prints } = statement.place.buffer;
    const printed = this.#onPrint && prints && printedWith(memory as Uint32Array, at, prints);
    if (printed) this.#onPrint?.(printed);
  }

  #emit(values: readonly Node[]): void {
    const ring = this.#ring;
    if (!ring) throw new TypeError('a kernel that emits needs a ring');
    const { recordWords } = ringLayout(this.#program);
    const slot = ring[0] as number;
    ring[0] = slot + 1;
    if (slot >= ringCapacity(this.#program, ring.byteLength)) return;
    const words = [this.#item, ...values.flatMap((node) => toWords(node.type, this.#value(node)))];
    ring.set(words, RING_HEADER_WORDS + slot * recordWords);
  }
}

type NumericArray = Uint32Array | Int32Array | BigUint64Array | Float32Array | Float64Array;

function typedArrayOf(type: Exclude<Scalar, 'bool'>, bytes: Uint8Array): NumericArray {
  const arrays = { u32: Uint32Array, i32: Int32Array, u64: BigUint64Array, f32: Float32Array, f64: Float64Array };
  const Kind = arrays[type];
  return new Kind(bytes.buffer as ArrayBuffer, bytes.byteOffset, Math.floor(bytes.byteLength / Kind.BYTES_PER_ELEMENT));
}

/** Returns the value that a look-up finds. */
function tableEntry(lookup: Node, index: number): Node {
  const values = lookup.detail.table?.values ?? [];
  const entry = values[index];
  if (!entry) throw outOfBounds(lookup, `a table of ${values.length} entries`, index);
  return entry;
}
