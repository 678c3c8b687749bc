import {
  type Block,
  type BufferDecl,
  type CellDecl,
  type FunctionDecl,
  type FunctionStatement,
  functionsOf,
  innerBlocks,
  type Node,
  type Program,
  type Statement,
  ValueStage,
} from '../../ir/program.js';
import { bytesOf } from '../../language/types.js';
import { rewriteStatement } from '../rewrite.js';

/** A function of so many statements or fewer costs less than its calls. */
export const SMALL_FUNCTION = 32;

/** Programs that would be larger with all calls inlined keep their functions: minutes of a compiler, a thread's stack. */
const MAX_INLINED = { statements: 20_000, arrayBytes: 8192 } as const;

/**
 * Replaces calls by the bodies of their functions: `all` of them, or those that pay. These are calls of functions that have
 * no more than `SMALL_FUNCTION` statements and no arrays, the only call of a function, and calls with arguments known before
 * the launch if the host can compute the function. Runs on traces; `fold` removes the cells that hold results here. A tile's
 * threads read tables together, which a function cannot: there functions with look-ups are inlined.
 */
export function inlineCalls(program: Program, all: boolean): Program {
  const functions = functionsOf(program);
  if (functions.length === 0) return program;
  const calls = countCalls(program.body);
  const inliner = new Inliner(program.body);
  const bodies = new Map<FunctionDecl, Callee>();
  const block = (old: Block): Block => old.flatMap(statement);
  const statement = (old: Statement): Statement[] => {
    if (old.kind !== 'invoke')
      return innerBlocks(old).length === 0 ? [old] : [rewriteStatement(old, { ...same, block })];
    const callee = bodies.get(old.callee);
    if (!callee || !(callee.isInlined || (callee.isStraight && old.args.every(isKnownEarly)))) return [old];
    return inliner.expand(old, callee.body);
  };
  const kept: FunctionStatement[] = [];
  for (const old of functions) {
    const body = block(old.body);
    const { statements, arrayBytes } = sizeOf(body);
    const isSmall = statements <= SMALL_FUNCTION && arrayBytes === 0;
    const isInlined =
      all || isSmall || calls.get(old.callee) === 1 || (program.kind === 'tiles' && someStatement(body, isLookup));
    bodies.set(old.callee, { body, isInlined, isStraight: body.every(({ kind }) => STRAIGHT.has(kind)) });
    if (!isInlined) kept.push({ ...old, body });
  }
  return { ...program, body: [...kept, ...block(program.body.filter(({ kind }) => kind !== 'function'))] };
}

/** True if a program with all calls inlined is of a reasonable size. */
export function canInlineAll(program: Program): boolean {
  const functions = functionsOf(program);
  if (functions.length === 0) return true;
  const sizes = new Map<FunctionDecl, Size>();
  for (const { callee, body } of functions) sizes.set(callee, sizeOf(body, sizes));
  const { statements, arrayBytes } = sizeOf(
    program.body.filter(({ kind }) => kind !== 'function'),
    sizes,
  );
  const arrays = functions.some(({ body }) => someStatement(body, ({ kind }) => kind === 'array'));
  return statements <= MAX_INLINED.statements && (!arrays || arrayBytes <= MAX_INLINED.arrayBytes);
}

interface Callee {
  readonly body: Block;
  readonly isInlined: boolean;
  /** True if the host can compute it. */
  readonly isStraight: boolean;
}

const STRAIGHT: ReadonlySet<Statement['kind']> = new Set(['let', 'parameters', 'results'] as const);
const same = { read: (node: Node): Node => node, define: (node: Node): Node => node };
const isKnownEarly = ({ stage }: Node): boolean => stage < ValueStage.varying;
const isLookup = (statement: Statement): boolean => statement.kind === 'let' && statement.node.op === 'lookup';

const someStatement = (block: Block, matches: (statement: Statement) => boolean): boolean =>
  block.some(
    (statement) => matches(statement) || innerBlocks(statement).some((inner) => someStatement(inner, matches)),
  );

interface Size {
  readonly statements: number;
  readonly arrayBytes: number;
}

/** Counts statements, and the bytes of arrays. A call has the size of its function, if that is given. */
function sizeOf(block: Block, functions: ReadonlyMap<FunctionDecl, Size> = new Map()): Size {
  let [statements, arrayBytes] = [0, 0];
  const add = (size: Size | undefined): void => {
    statements += size?.statements ?? 0;
    arrayBytes += size?.arrayBytes ?? 0;
  };
  for (const statement of block) {
    if (statement.kind === 'parameters' || statement.kind === 'results') continue;
    statements++;
    if (statement.kind === 'array') arrayBytes += (statement.array.length ?? 0) * bytesOf[statement.array.type];
    if (statement.kind === 'invoke') add(functions.get(statement.callee));
    for (const inner of innerBlocks(statement)) add(sizeOf(inner, functions));
  }
  return { statements, arrayBytes };
}

function countCalls(body: Block): Map<FunctionDecl, number> {
  const counts = new Map<FunctionDecl, number>();
  const walk = (block: Block): void => {
    for (const statement of block) {
      if (statement.kind === 'invoke') counts.set(statement.callee, (counts.get(statement.callee) ?? 0) + 1);
      for (const inner of innerBlocks(statement)) walk(inner);
    }
  };
  walk(body);
  return counts;
}

/** Greater than the ids that tracing assigns, smaller than those of later passes. */
const FIRST_NODE_ID = 1 << 24;
const FIRST_CELL_ID = 1 << 18;

/** Makes copies of function bodies. Each has nodes, cells and arrays of its own. */
class Inliner {
  #nextNode = FIRST_NODE_ID;
  #nextCell = FIRST_CELL_ID;
  #nextArray = 0;

  constructor(body: Block) {
    const walk = (block: Block): void => {
      for (const statement of block) {
        if (statement.kind === 'array') this.#nextArray = Math.max(this.#nextArray, statement.array.slot + 1);
        for (const inner of innerBlocks(statement)) walk(inner);
      }
    };
    walk(body);
  }

  /** Returns the statements of the body with the call's arguments. A cell passes each result to the call's own node. */
  expand({ args, results, origin }: Extract<Statement, { kind: 'invoke' }>, body: Block): Statement[] {
    const copy = new BodyCopy(this);
    const out: Statement[] = [];
    for (const statement of body) {
      if (statement.kind === 'parameters') for (const [i, node] of statement.nodes.entries()) copy.set(node, args[i]);
      else if (statement.kind !== 'results') out.push(copy.statement(statement));
      else
        for (const [i, value] of statement.values.entries()) {
          const cell: CellDecl = { id: this.#nextCell++, type: value.type };
          out.push({ kind: 'cell', cell, value: copy.read(value), origin });
          out.push({ kind: 'get', cell, result: results[i] as Node, origin });
        }
    }
    return out;
  }

  node(old: Node, args: readonly Node[]): Node {
    let stage: ValueStage = args.length === 0 || old.op === 'lookup' ? old.stage : ValueStage.constant;
    for (const arg of args) if (arg.stage > stage) stage = arg.stage;
    return { ...old, id: this.#nextNode++, args, stage };
  }

  cell({ type }: CellDecl): CellDecl {
    return { id: this.#nextCell++, type };
  }

  array(old: BufferDecl): BufferDecl {
    const slot = this.#nextArray++;
    return { ...old, slot, name: `array${slot}` };
  }
}

class BodyCopy {
  readonly #inliner: Inliner;
  readonly #nodes = new Map<Node, Node>();
  readonly #cells = new Map<CellDecl, CellDecl>();
  readonly #arrays = new Map<BufferDecl, BufferDecl>();

  constructor(inliner: Inliner) {
    this.#inliner = inliner;
  }

  set(node: Node, value: Node | undefined): void {
    if (value) this.#nodes.set(node, value);
  }

  /** A constant stays; a value has been copied at its statement. */
  readonly read = (node: Node): Node => this.#nodes.get(node) ?? node;

  readonly #define = (node: Node): Node => {
    const made = this.#inliner.node(node, node.args.map(this.read));
    this.#nodes.set(node, made);
    return made;
  };

  statement(old: Statement): Statement {
    if (old.kind === 'let') return { ...old, node: this.#define(old.node) };
    const copied = rewriteStatement(old, {
      read: this.read,
      define: this.#define,
      block: (block) => block.map((inner) => this.statement(inner)),
    });
    switch (copied.kind) {
      case 'cell':
      case 'get':
      case 'set':
        return { ...copied, cell: this.#cell(copied.cell) };
      case 'array':
        return { ...copied, array: this.#array(copied.array) };
      case 'load':
      case 'store':
        return { ...copied, place: { ...copied.place, buffer: this.#array(copied.place.buffer) } };
      default:
        return copied;
    }
  }

  #cell(old: CellDecl): CellDecl {
    return known(this.#cells, old, () => this.#inliner.cell(old));
  }

  #array(old: BufferDecl): BufferDecl {
    return known(this.#arrays, old, () => this.#inliner.array(old));
  }
}

function known<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
