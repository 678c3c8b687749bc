import { fromWords, JobParameters, type Value, wordsOf } from '../../../kernel/index.js';
import { atomicResult, evaluate, outOfBounds } from '../../../kernel/ir/evaluate.js';
import {
  type Block,
  type BufferDecl,
  type CellDecl,
  type Node,
  type Place,
  type Statement,
  SUM_PARTIALS,
  type TableDecl,
} from '../../../kernel/ir/program.js';
import type { Gang } from '../../../kernel/passes/shape/gang.js';
import { type Data, zeros } from '../rig.js';
import { AMPLE_RECORDS, copyBuffers, type Inputs, type Output, RING_WORDS } from './trial.js';

/** One value for all lanes, or one for each. */
type LaneValues = Value | readonly Value[];

/**
 * Runs the output of `gang` as the C printer implements it: a uniform value is computed once and without a mask, a varying
 * one in every lane, and effects lane by lane under their mask. Thousands of masks can be tested this way; a compiler takes
 * a second for each kernel.
 */
export const runGang = (gang: Gang, inputs: Inputs): Output => runGangWatched(gang, inputs, () => false);

/**
 * Calls `watch` with the current memory: before each round of a long loop (with the loop) and when a gang or tile has
 * ended (without). `first` is the gang's first item. A gang leaves its items where `watch` returns true.
 */
export function runGangWatched(
  gang: Gang,
  inputs: Inputs,
  watch: (now: Output, first: number, loop?: Statement) => boolean,
): Output {
  const output = { buffers: copyBuffers(inputs, gang.program.buffers), ring: new Uint32Array(RING_WORDS) };
  const isTiles = gang.program.kind === 'tiles';
  let first = 0;
  const machine = new GangMachine(gang, inputs, { ...output.buffers, ring: output.ring }, (loop) =>
    watch(output, first, loop),
  );
  for (; first < inputs.count; first += isTiles ? 1 : gang.lanes) {
    try {
      if (isTiles) machine.tile(first);
      else machine.items(first);
      watch(output, first);
    } catch (error) {
      if (!(error instanceof GangExit)) throw error;
    }
  }
  return output;
}

/** Views the memory of a buffer as the program does: elements of words as words, i64 as u64. */
function asStored({ type }: BufferDecl, data: Data): Data {
  if (type === 'u32') return new Uint32Array(data.buffer, data.byteOffset, data.byteLength / 4);
  return type === 'u64' ? new BigUint64Array(data.buffer, data.byteOffset, data.byteLength / 8) : data;
}

/** Thrown to unwind a gang that leaves its items. */
class GangExit extends Error {}

class GangMachine {
  readonly #gang: Gang;
  /** Indices of the launch, or of the region that is run. */
  #count: number;
  readonly #params: Uint32Array;
  readonly #memory = new Map<BufferDecl, Data>();
  readonly #values = new Map<Node, LaneValues>();
  readonly #cells = new Map<CellDecl, LaneValues>();
  /** One for all lanes, or one for each. */
  readonly #arrays = new Map<BufferDecl, readonly Data[]>();
  readonly #allLanes: readonly number[];
  /** The active lanes: one between the regions of a tile. */
  #activeLanes: readonly number[];
  #tile = 0;
  #first = 0;
  #isBreaking = false;

  readonly #exitsAt: (loop: Statement) => boolean;

  /** Calls `exitsAt` before each round of a long loop. */
  constructor(
    gang: Gang,
    { job, chunk, base, count }: Inputs,
    buffers: Readonly<Record<string, Data>>,
    exitsAt: (loop: Statement) => boolean,
  ) {
    this.#gang = gang;
    this.#exitsAt = exitsAt;
    this.#count = count;
    const bytes = gang.program.buffers.map(({ name }) => buffers[name]?.byteLength ?? 0);
    this.#params = new JobParameters(gang.program, job).words(base, AMPLE_RECORDS, chunk, bytes);
    this.#allLanes = [...Array(gang.lanes).keys()];
    this.#activeLanes = gang.program.kind === 'tiles' ? [0] : this.#allLanes;
    for (const decl of gang.program.buffers) {
      this.#memory.set(decl, asStored(decl, buffers[decl.name] as Data));
    }
  }

  items(first: number): void {
    this.#first = first;
    this.#block(this.#gang.program.body);
  }

  tile(tile: number): void {
    this.#tile = tile;
    for (const decl of this.#gang.program.near) {
      const data = zeros(decl.type, decl.length ?? 0);
      new Uint8Array(data.buffer).fill(0x5a); // initially undefined
      this.#memory.set(decl, data);
    }
    this.#block(this.#gang.program.body);
  }

  /** Runs the indices of a region, one gang at a time; `after` is called with each index and its lane. */
  #region(
    statement: Extract<Statement, { kind: 'each' | 'sum' }>,
    after: (i: number, lane: number) => void = () => undefined,
  ): void {
    const count = this.#uniform(statement.count) as number;
    this.#count = count;
    this.#activeLanes = this.#allLanes;
    for (let first = 0; first < count; first += this.#gang.lanes) {
      this.#first = first;
      this.#values.set(
        statement.index,
        this.#allLanes.map((lane) => first + lane),
      );
      this.#block(statement.body);
      for (const lane of this.#allLanes) if (first + lane < count) after(first + lane, lane);
    }
    this.#activeLanes = [0];
  }

  #sum(statement: Extract<Statement, { kind: 'sum' }>): void {
    const { type } = statement.result;
    const node = { op: 'add', type, args: [statement.result, statement.result], detail: {} } as unknown as Node;
    const partials = Array<Value>(SUM_PARTIALS).fill(type === 'u64' ? 0n : 0);
    const add = (at: number, value: Value) => {
      partials[at] = evaluate(node, [partials[at] as Value, value]);
    };
    this.#region(statement, (i, lane) => add(i % SUM_PARTIALS, this.#lane(statement.value, lane)));
    for (let half = SUM_PARTIALS / 2; half >= 1; half /= 2)
      for (let i = 0; i < half; i++) add(i, partials[i + half] as Value);
    this.#values.set(statement.result, partials[0] as Value);
  }

  #scan({ near, length, result }: Extract<Statement, { kind: 'scan' }>): void {
    const memory = this.#memory.get(near) as Uint32Array;
    let total = 0;
    for (let i = 0; i < length; i++) {
      const count = memory[i] as number;
      memory[i] = total;
      total = (total + count) >>> 0;
    }
    this.#values.set(result, total);
  }

  #block(block: Block): void {
    for (const statement of block) {
      this.#statement(statement);
      if (this.#isBreaking) return;
    }
  }

  #statement(statement: Statement): void {
    switch (statement.kind) {
      case 'let':
        return void this.#values.set(statement.node, this.#pure(statement.node, statement.mask));
      case 'cell':
        return void this.#cells.set(
          statement.cell,
          this.#gang.varyingCells.has(statement.cell)
            ? this.#allLanes.map((lane) => this.#lane(statement.value, lane))
            : this.#uniform(statement.value),
        );
      case 'set':
        this.#set(statement);
        return;
      case 'get': {
        const held = this.#cells.get(statement.cell) as LaneValues;
        if (Array.isArray(held) && !this.#gang.varying.has(statement.result))
          throw new TypeError('a varying cell is read as a uniform value');
        return void this.#values.set(statement.result, held);
      }
      case 'load':
        this.#load(statement);
        return;
      case 'array':
        this.#array(statement);
        return;
      case 'store':
        if (statement.place.buffer.kind === 'array' && !this.#gang.varyingArrays.has(statement.place.buffer)) {
          const { memory, at } = this.#locate(statement, statement.place, 1, undefined);
          memory[at] = this.#uniform(statement.values[0] as Node) as never;
          return;
        }
        this.#forEachLane(statement.mask, (lane) => {
          const values = statement.values.map((node) => this.#lane(node, lane));
          const { memory, at } = this.#locate(statement, statement.place, values.length, lane);
          values.forEach((value, k) => {
            memory[at + k] = value as never;
          });
        });
        return;
      case 'atomic':
        this.#atomic(statement);
        return;
      case 'prefetch':
        return;
      case 'when':
        this.#block(this.#uniform(statement.condition) ? statement.body : statement.otherwise);
        return;
      case 'loop':
        for (let i = 0; i < (this.#uniform(statement.count) as number) && !this.#isBreaking; i++) {
          this.#values.set(statement.index, i);
          this.#block(statement.body);
        }
        this.#isBreaking = false;
        return;
      case 'while':
        for (;;) {
          if (statement.isLong && this.#exitsAt(statement)) throw new GangExit();
          this.#block(statement.test);
          if (!this.#uniform(statement.condition)) break;
          this.#block(statement.body);
          if (this.#isBreaking) break;
        }
        this.#isBreaking = false;
        return;
      case 'break':
        this.#isBreaking = this.#uniform(statement.condition) as boolean;
        return;
      case 'each':
        this.#region(statement);
        return;
      case 'sum':
        this.#sum(statement);
        return;
      case 'scan':
        this.#scan(statement);
        return;
      case 'once':
        this.#block(statement.body);
        return;
      default:
        throw new TypeError(`${statement.kind} is not expected here`);
    }
  }

  #pure(node: Node, mask: Node | undefined): LaneValues {
    if (node.op === 'any') return this.#allLanes.some((lane) => this.#lane(node.args[0] as Node, lane));
    const one = (args: readonly Value[]) =>
      node.op === 'lookup' ? this.#entry(node, args[0] as number) : evaluate(node, args);
    if (!this.#gang.varying.has(node)) return one(node.args.map((arg) => this.#uniform(arg)));
    // Lanes outside the mask have a value too, which must not matter.
    const masked = node.op === 'lookup' && mask;
    return this.#allLanes.map((lane) =>
      masked && !this.#lane(mask, lane) ? inactiveValue(node) : one(node.args.map((arg) => this.#lane(arg, lane))),
    );
  }

  #entry(node: Node, index: number): Value {
    const table = node.detail.table as TableDecl;
    const entry = table.values[index];
    if (!entry) throw outOfBounds(node, `a table of ${table.values.length} entries`, index);
    if (table.word === undefined) return entry.detail.value as Value;
    return fromWords(table.type, this.#params, table.word + index * wordsOf(table.type));
  }

  #set({ cell, value, mask }: Extract<Statement, { kind: 'set' }>): void {
    if (!this.#gang.varyingCells.has(cell)) {
      this.#cells.set(cell, this.#uniform(value));
      return;
    }
    const old = this.#cells.get(cell) as readonly Value[];
    this.#cells.set(
      cell,
      this.#allLanes.map((lane) => (mask && !this.#lane(mask, lane) ? (old[lane] as Value) : this.#lane(value, lane))),
    );
  }

  #array({ array, values }: Extract<Statement, { kind: 'array' }>): void {
    const { type, length = 0 } = array;
    const filled = (value: (node: Node) => Value): Data => {
      const data = zeros(type, length);
      values.forEach((node, i) => {
        data[i] = value(node) as never;
      });
      return data;
    };
    const lanes = this.#gang.varyingArrays.has(array)
      ? this.#allLanes.map((lane) => filled((node) => this.#lane(node, lane)))
      : [filled((node) => this.#uniform(node))];
    this.#arrays.set(array, lanes);
  }

  #load(statement: Extract<Statement, { kind: 'load' }>): void {
    const { place, results, mask } = statement;
    if (!this.#gang.varying.has(results[0] as Node)) {
      const { memory, at } = this.#locate(statement, place, results.length, undefined);
      results.forEach((node, k) => void this.#values.set(node, memory[at + k] as Value));
      return;
    }
    const lanes = results.map((node) => this.#allLanes.map(() => inactiveValue(node)));
    this.#forEachLane(mask, (lane) => {
      const { memory, at } = this.#locate(statement, place, results.length, lane);
      lanes.forEach((values, k) => {
        values[lane] = memory[at + k] as Value;
      });
    });
    results.forEach((node, k) => void this.#values.set(node, lanes[k] as Value[]));
  }

  #atomic(statement: Extract<Statement, { kind: 'atomic' }>): void {
    const { op, place, value, expected, result, mask } = statement;
    const previousValues: Value[] = this.#allLanes.map(() => (result ? inactiveValue(result) : 0));
    this.#forEachLane(mask, (lane) => {
      const { memory, at } = this.#locate(statement, place, 1, lane);
      const before = memory[at] as Value;
      previousValues[lane] = before;
      const operand = (node: Node | undefined) => (node ? this.#lane(node, lane) : 0);
      memory[at] = atomicResult(op, before, operand(value), operand(expected)) as never;
    });
    if (result)
      this.#values.set(result, this.#activeLanes.length === 1 ? (previousValues[0] as Value) : previousValues);
  }

  /** Calls `act` for each lane of the mask, in order. */
  #forEachLane(mask: Node | undefined, act: (lane: number) => void): void {
    for (const lane of this.#activeLanes) if (!mask || this.#lane(mask, lane)) act(lane);
  }

  #locate(statement: Statement, place: Place, width: number, lane: number | undefined): { memory: Data; at: number } {
    const nodeValue = (node: Node) => (lane === undefined ? this.#uniform(node) : this.#lane(node, lane));
    const memory = place.buffer.kind === 'array' ? this.#arrayOf(place.buffer, lane) : this.#memory.get(place.buffer);
    if (!memory) throw new TypeError(`no memory for ${place.buffer.name}`);
    const at = (place.base ? Number(nodeValue(place.base)) * 4 : 0) + Number(nodeValue(place.index)) * width;
    if (at + width > memory.length) throw outOfBounds(statement, `buffer ${place.buffer.name}`, at);
    return { memory, at };
  }

  #arrayOf(array: BufferDecl, lane: number | undefined): Data | undefined {
    const lanes = this.#arrays.get(array);
    if (!this.#gang.varyingArrays.has(array)) return lanes?.[0];
    if (lane === undefined) throw new TypeError('a varying array is accessed as a uniform one');
    return lanes?.[lane];
  }

  #value(node: Node): LaneValues {
    if (node.op === 'const') return node.detail.value as Value;
    if (node.op === 'param') return fromWords(node.type, this.#params, node.detail.word);
    if (node.op === 'item' && this.#gang.program.kind === 'tiles') return this.#tile;
    if (node.op === 'item')
      return this.#gang.lanes === 1 ? this.#first : this.#allLanes.map((lane) => this.#first + lane);
    if (node.op === 'active') return this.#allLanes.map((lane) => this.#first + lane < this.#count);
    const value = this.#values.get(node);
    if (value === undefined) throw new TypeError(`node ${node.id} (${node.op}) has no value yet`);
    return value;
  }

  #lane(node: Node, lane: number): Value {
    const value = this.#value(node);
    return Array.isArray(value) ? (value[lane] as Value) : (value as Value);
  }

  #uniform(node: Node): Value {
    const value = this.#value(node);
    if (Array.isArray(value))
      throw new TypeError(`node ${node.id} (${node.op}) varies, but is used as a uniform value`);
    return value as Value;
  }
}

/** Returns the value of a lane outside the mask, which no result may depend on. */
const inactiveValue = ({ type }: Node): Value =>
  type === 'u64'
    ? 0x5a5a_5a5a_5a5a_5a5an
    : type === 'bool'
      ? true
      : type === 'i32' || type === 'u32'
        ? 0x5a5a5a5a
        : 12345.5;
