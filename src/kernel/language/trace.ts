import { type ErrorCode, MillraceError } from '../error.js';
import {
  type Block,
  type BufferDecl,
  type Cell,
  type Detail,
  type NativeBody,
  type Node,
  type Op,
  type Program,
  Stage,
  type Statement,
  type Table,
} from '../ir/program.js';
import { Origin } from './origin.js';
import type { Scalar, Value } from './types.js';

/**
 * One run of a kernel's body with symbolic values. The trace keeps the stack of open blocks. A value made in a block can be
 * used only there and in blocks inside it. Values known before the launch (constants, job, chunk) are exempt: they are
 * computed before the body starts.
 */
export class Trace {
  readonly kernel: string;
  readonly kind: Program['kind'];
  readonly tables: Table[] = [];
  readonly near: BufferDecl[] = [];
  /** Keys of the native bodies that the target has. */
  readonly natives: ReadonlySet<string>;
  readonly #constants = new Map<string, Node>();
  readonly #scopes: Scope[] = [];
  readonly #homes = new Map<Node, Scope>();
  readonly #cellHomes = new Map<Cell, Scope>();
  #nodes = 0;
  #cells = 0;

  constructor(kernel: string, kind: Program['kind'], natives: ReadonlySet<string>) {
    this.kernel = kernel;
    this.kind = kind;
    this.natives = natives;
  }

  constant(type: Scalar, value: Value): Node {
    const key = `${type} ${Object.is(value, -0) ? '-0' : String(value)}`;
    let node = this.#constants.get(key);
    if (!node) {
      node = this.#node('const', type, [], Stage.constant, { value });
      this.#constants.set(key, node);
    }
    return node;
  }

  /** Makes a value that comes from outside: a field of the job or chunk, or the item's number. */
  leaf(op: 'job' | 'chunk' | 'item', type: Scalar, detail: Detail): Node {
    const stage = op === 'job' ? Stage.job : op === 'chunk' ? Stage.chunk : Stage.varying;
    const node = this.#node(op, type, [], stage, detail);
    if (stage === Stage.varying) this.#homes.set(node, this.#root());
    return node;
  }

  pure(op: Op, type: Scalar, args: readonly Node[], detail: Detail): Node {
    // A look-up stays in its block, whatever its index: elsewhere the index may be out of bounds.
    let stage: Stage = op === 'lookup' ? Stage.varying : Stage.constant;
    for (const arg of args) {
      this.use(arg);
      if (arg.stage > stage) stage = arg.stage;
    }
    const node = this.#node(op, type, args, stage, detail);
    const scope = stage === Stage.varying ? this.#scope() : this.#root();
    this.#homes.set(node, scope);
    scope.statements.push({ kind: 'let', node, origin: node.origin });
    return node;
  }

  /** Makes the result of a statement that is about to be added. */
  local(type: Scalar): Node {
    const node = this.#node('local', type, [], Stage.varying, {});
    this.#homes.set(node, this.#scope());
    return node;
  }

  add(statement: StatementWithoutOrigin): void {
    this.#scope().statements.push({ ...statement, origin: this.#origin ?? Origin.here() } as Statement);
  }

  cell(type: Scalar, value: Node): Cell {
    const cell: Cell = { id: this.#cells++, type };
    this.#cellHomes.set(cell, this.#scope());
    this.add({ kind: 'cell', cell, value });
    return cell;
  }

  useCell(cell: Cell, how: 'get' | 'set' = 'get'): void {
    const home = this.#cellHomes.get(cell);
    this.#mustBeOpen(home, () => 'a cell');
    const region = this.#region();
    if (how === 'set' && region && home && this.#scopes.indexOf(home) < this.#scopes.indexOf(region)) {
      throw this.fail(
        'kernel-scope',
        `a cell from outside is set in ${region.kind}()`,
        'values leave a region through near arrays, buffers or its result',
      );
    }
  }

  /** Declares an array that belongs to a tile. */
  nearArray(type: BufferDecl['type'], length: number): BufferDecl {
    const decl: BufferDecl = { name: `near${this.near.length}`, kind: 'near', type, slot: this.near.length, length };
    this.near.push(decl);
    return decl;
  }

  /** Traces the body of a parallel region; regions do not nest. */
  region(kind: 'each' | 'sum' | 'once', body: () => void): Block {
    const outer = this.#region();
    if (outer)
      throw this.fail(
        'kernel-control',
        `${kind}() stands inside ${outer.kind}()`,
        'regions follow each other, they do not nest',
      );
    return this.block(kind, body);
  }

  /**
   * Checks that an effect may be added here. In a tile an effect belongs to a region; otherwise every thread would do it.
   */
  effect(what: string): void {
    const region = this.#region();
    if (this.kind === 'tiles' && !region) {
      throw this.fail(
        'kernel-control',
        `${what} stands outside each() and once()`,
        'put it into once() if it is to happen once per tile',
      );
    }
    if (region?.kind === 'sum') {
      throw this.fail('kernel-control', `${what} stands inside sum()`, 'a sum only computes; write in each()');
    }
  }

  #region(): Scope | undefined {
    return this.#scopes.find((scope) => scope.kind === 'each' || scope.kind === 'sum' || scope.kind === 'once');
  }

  table(type: Scalar, values: readonly Node[]): Table {
    const stage = values.reduce<Stage>((latest, node) => (node.stage > latest ? node.stage : latest), Stage.constant);
    if (stage > Stage.job) {
      throw this.fail(
        'kernel-type',
        'a table holds constants and job values only',
        'write varying values to a buffer, or use select',
      );
    }
    const table: Table = { id: this.tables.length, type, values, stage };
    this.tables.push(table);
    return table;
  }

  /** Traces `body` into a new block. */
  block(kind: Scope['kind'], body: () => void): Block {
    const scope: Scope = { kind, statements: [], open: true };
    this.#scopes.push(scope);
    try {
      body();
    } finally {
      scope.open = false;
      this.#scopes.pop();
    }
    return scope.statements;
  }

  /** Returns the latest statement of the open block. */
  last(): Statement | undefined {
    const { statements } = this.#scope();
    return statements[statements.length - 1];
  }

  /** Removes the latest statement, which is then added again in another form. */
  takeLast(): void {
    this.#scope().statements.pop();
  }

  /** True if there is a loop to leave, inside the current region if there is one. */
  get inLoop(): boolean {
    const region = this.#region();
    const within = this.#scopes.slice(region ? this.#scopes.indexOf(region) : 0);
    // The condition of a loop is not part of its rounds: there is no loop to leave yet.
    return within.findLast(({ kind }) => kind === 'loop' || kind === 'test')?.kind === 'loop';
  }

  /** Checks that a value may be used here: it must belong to this trace and to an open block. */
  use(node: Node): void {
    if (node.stage < Stage.varying) {
      if (node.op !== 'const' && !this.#homes.has(node) && !this.#known.has(node)) this.#foreign();
      return;
    }
    const home = this.#homes.get(node);
    if (!home) this.#foreign();
    this.#mustBeOpen(home, () => `the value made at ${node.origin.line}`);
  }

  native(body: NativeBody, args: readonly Node[], types: readonly Scalar[]): Node[] {
    for (const arg of args) this.use(arg);
    const results = types.map((type) => this.local(type));
    this.add({ kind: 'native', body, args, results });
    return results;
  }

  /**
   * Runs `body` and attributes all its nodes to the line that called it. The thousands of nodes of a std function then share
   * one origin, the user's line, which saves about 6 µs per node.
   */
  attributed<R>(body: () => R): R {
    const outer = this.#origin;
    this.#origin = outer ?? Origin.here();
    try {
      return body();
    } finally {
      this.#origin = outer;
    }
  }
  #origin: Origin | undefined;

  /** Makes an error that names the kernel, the helper functions and the user's line. */
  fail(code: ErrorCode, message: string, advice: string): MillraceError {
    const origin = Origin.here();
    const chain = [this.kernel, ...origin.helpers].join(' > ');
    return new MillraceError({
      code,
      message: `kernel ${this.kernel}: ${message}`,
      asked: `${chain} at ${origin.line}`,
      advice,
    });
  }

  readonly #known = new Set<Node>();

  #node(op: Op, type: Scalar, args: readonly Node[], stage: Stage, detail: Detail): Node {
    const node: Node = { id: this.#nodes++, op, type, args, stage, detail, origin: this.#origin ?? Origin.here() };
    if (stage < Stage.varying) this.#known.add(node);
    return node;
  }

  #scope(): Scope {
    const scope = this.#scopes[this.#scopes.length - 1];
    if (!scope) throw this.fail('kernel-control', 'no block is open', 'trace inside the kernel body only');
    return scope;
  }

  #root(): Scope {
    return this.#scopes[0] ?? this.#scope();
  }

  #foreign(): never {
    throw this.fail(
      'kernel-scope',
      'a value of another kernel, or of another tracing of this one, is used here',
      'pass it in as a job value or a spec value',
    );
  }

  #mustBeOpen(home: Scope | undefined, what: () => string): void {
    if (!home) this.#foreign();
    if (!home.open) {
      throw this.fail(
        'kernel-scope',
        `${what()} is used outside the ${home.kind} that made it`,
        'keep what must leave a block in a cell that is made outside of it',
      );
    }
  }
}

interface Scope {
  readonly kind: 'kernel' | 'when' | 'loop' | 'test' | 'each' | 'sum' | 'once';
  readonly statements: Statement[];
  open: boolean;
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
type StatementWithoutOrigin = DistributiveOmit<Statement, 'origin'>;

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
  if (active) throw active.fail('kernel-control', 'a kernel cannot be traced inside another', 'trace it before');
  active = trace;
  try {
    return body();
  } finally {
    active = undefined;
  }
}
