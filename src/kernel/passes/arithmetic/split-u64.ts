import { MillraceError } from '../../error.js';
import { rowOf } from '../../ir/ops.js';
import type {
  Block,
  BufferDecl,
  CellDecl,
  FunctionDecl,
  HoistedProgram,
  Node,
  Op,
  Place,
  Statement,
  TableDecl,
} from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import { literal, type Scalar, toWords, type Value } from '../../language/types.js';
import { Graph, isAnchored, topologicalOrder } from '../graph.js';
import { rewriteStatement } from '../rewrite.js';
import { removeUnused } from './fold.js';
import { Simplifier } from './simplify.js';
import { U64Arithmetic, type WordPair } from './u64-arithmetic.js';
import { expandU64Sums } from './u64-sums.js';

/**
 * Lowers a floating program for targets without 64-bit integers: every u64 becomes two u32, in values, cells, tables,
 * buffers and arrays (an element is two words), slices, and parameters and results of functions. A slice's base becomes 32 bits, since these targets bind less
 * than 4 GiB; a checked build reports a larger base. The only 64-bit values left are bit patterns of f64, on targets that
 * have f64.
 */
export function splitU64(program: HoistedProgram, checked = false): HoistedProgram {
  return removeUnused(new U64Splitter(expandU64Sums(program), checked).program());
}

/** The largest base for which four elements of two words each stay within 32 bits. */
const MAX_BASE = 0x3fff_ffff;

class U64Splitter {
  readonly #program: HoistedProgram;
  readonly #graph = new Graph();
  readonly #simplifier = new Simplifier(this.#graph);
  readonly #words = new Map<Node, Node>();
  readonly #pairs = new Map<Node, WordPair>();
  readonly #cells = new Map<CellDecl, { lo: CellDecl; hi: CellDecl }>();
  readonly #buffers = new Map<BufferDecl, BufferDecl>();
  readonly #tables = new Map<TableDecl, TableDecl>();
  readonly #functions = new Map<FunctionDecl, FunctionDecl>();
  readonly #checked: boolean;
  #nextCell = 1 << 22;
  #origin: Origin;

  constructor(program: HoistedProgram, checked: boolean) {
    this.#program = program;
    this.#checked = checked;
    this.#origin = program.body[0]?.origin as Origin;
  }

  program(): HoistedProgram {
    const program = this.#program;
    const body = this.#block(program.body);
    return {
      ...program,
      body,
      buffers: program.buffers.map((decl) => this.#buffer(decl)),
      near: program.near.map((decl) => this.#buffer(decl)),
      tables: [...this.#tables.values()],
    };
  }

  readonly #arithmetic = new U64Arithmetic({
    op: (op, type, ...args) => this.#make(op, type, args),
    word: (value) => this.#literal('u32', value),
    literal: (type, value) => this.#literal(type, value),
  });

  #make(op: Op, type: Scalar, args: readonly Node[]): Node {
    return this.#simplifier.make(op, type, args, {}, this.#origin);
  }
  #literal(type: Scalar, value: Value): Node {
    return this.#graph.constant(type, literal(type, value), this.#origin);
  }

  /** Returns the new node for a node of a type other than u64. */
  #word(node: Node): Node {
    this.#rewriteUpTo(node);
    return this.#words.get(node) as Node;
  }
  #pair(node: Node): WordPair {
    this.#rewriteUpTo(node);
    return this.#pairs.get(node) as WordPair;
  }

  #rewriteUpTo(target: Node): void {
    const done = (node: Node) => this.#words.has(node) || this.#pairs.has(node);
    if (done(target)) return;
    for (const node of topologicalOrder([target], done)) {
      this.#origin = node.origin;
      if (node.type === 'u64') this.#pairs.set(node, this.#makePair(node));
      else this.#words.set(node, this.#makeWord(node));
    }
  }

  /** Makes a node whose result is not a u64, though its operands may be. */
  #makeWord(node: Node): Node {
    const w = this.#arithmetic;
    const [a, b] = node.args as [Node, Node];
    if (node.args.length === 0)
      return node.op === 'const'
        ? this.#graph.constant(node.type, node.detail.value as Value, node.origin)
        : this.#graph.leaf(node);
    if (a.type !== 'u64') {
      const detail = node.detail.table ? { ...node.detail, table: this.#table(node.detail.table) } : node.detail;
      return this.#simplifier.make(
        node.op,
        node.type,
        node.args.map((arg) => this.#word(arg)),
        detail,
        node.origin,
      );
    }
    const x = this.#pair(a);
    switch (node.op) {
      case 'eq':
        return w.eq(x, this.#pair(b));
      case 'ne':
        return this.#make('not', 'bool', [w.eq(x, this.#pair(b))]);
      case 'lt':
        return w.lt(x, this.#pair(b));
      case 'le':
        return w.le(x, this.#pair(b));
      case 'hi':
        return x.hi;
      case 'popcount':
        return this.#make('add', 'u32', [this.#make('popcount', 'u32', [x.lo]), this.#make('popcount', 'u32', [x.hi])]);
      case 'clz':
      case 'ctz':
        return w[node.op](x);
      case 'bits': // to f64
        return this.#make('bits', node.type, [this.#graph.operation('pack', 'u64', [x.lo, x.hi], {}, node.origin)]);
      case 'cast':
        if (node.type === 'u32') return x.lo;
        if (node.type === 'i32') return this.#make('bits', 'i32', [x.lo]);
        if (node.type === 'bool')
          return this.#make('ne', 'bool', [this.#make('or', 'u32', [x.lo, x.hi]), this.#literal('u32', 0)]);
        return w.toFloat(node.type as 'f32' | 'f64', x);
      default:
        throw new TypeError(`no 32-bit form of ${node.op}`);
    }
  }

  #makePair(node: Node): WordPair {
    const w = this.#arithmetic;
    const { op, args, detail } = node;
    if (op === 'const') {
      const [lo = 0, hi = 0] = toWords('u64', detail.value as bigint);
      return { lo: this.#literal('u32', lo), hi: this.#literal('u32', hi) };
    }
    if (op === 'param') {
      const half = (k: 0 | 1): Node =>
        this.#graph.leaf({
          ...node,
          type: 'u32',
          detail: { ...detail, word: (detail.word ?? 0) + k, name: `${detail.name}_${k === 0 ? 'lo' : 'hi'}` },
        });
      return { lo: half(0), hi: half(1) };
    }
    if (op === 'local') return { lo: this.#local(node), hi: this.#local(node) };
    const [a, b, c, d] = args as [Node, Node, Node, Node];
    if (rowOf(op)?.class === 'logic') {
      const made = (half: 'lo' | 'hi'): Node => {
        const own = args.map((arg) => this.#pair(arg)[half]);
        return this.#simplifier.make(op, 'u32', own, detail, node.origin);
      };
      return { lo: made('lo'), hi: made('hi') };
    }
    switch (op) {
      case 'pack':
        return { lo: this.#word(a), hi: this.#word(b) };
      case 'cast':
        return this.#widen(a);
      case 'bits': {
        const whole = this.#graph.operation('bits', 'u64', [this.#word(a)], {}, node.origin);
        return {
          lo: this.#graph.operation('cast', 'u32', [whole], {}, node.origin),
          hi: this.#graph.operation('hi', 'u32', [whole], {}, node.origin),
        };
      }
      case 'lookup': {
        const table = this.#table(detail.table as TableDecl);
        const at = (k: number) =>
          this.#make('add', 'u32', [
            this.#make('shl', 'u32', [this.#word(a), this.#literal('u32', 1)]),
            this.#literal('u32', k),
          ]);
        const one = (k: number) => this.#simplifier.make('lookup', 'u32', [at(k)], { table }, node.origin);
        return { lo: one(0), hi: one(1) };
      }
      case 'select':
        return w.select(this.#word(a), this.#pair(b), this.#pair(c));
      case 'byteSwap':
        return {
          lo: this.#make('byteSwap', 'u32', [this.#pair(a).hi]),
          hi: this.#make('byteSwap', 'u32', [this.#pair(a).lo]),
        };
      case 'neg':
        return w.sub(w.zero(), this.#pair(a));
      case 'shl':
      case 'shr':
      case 'rotl':
      case 'rotr':
        return w[op](this.#pair(a), this.#word(b));
      case 'add':
      case 'sub':
      case 'mul':
        return w[op](this.#pair(a), this.#pair(b));
      case 'mulHi':
        return w.wmadHi(this.#pair(a), this.#pair(b), w.zero(), w.zero());
      case 'wmadHi':
        return w.wmadHi(this.#pair(a), this.#pair(b), this.#pair(c), this.#pair(d));
      case 'carry':
      case 'borrow':
        return w[op](this.#pair(a), this.#pair(b), this.#pair(c));
      case 'div':
        return w.divide(this.#pair(a), this.#pair(b)).quotient;
      case 'rem':
        return w.divide(this.#pair(a), this.#pair(b)).remainder;
      default:
        throw new TypeError(`no 32-bit form of ${op}`);
    }
  }

  #widen(from: Node): WordPair {
    const zero = this.#literal('u32', 0);
    switch (from.type) {
      case 'f32':
      case 'f64':
        return this.#arithmetic.fromFloat(from.type, this.#word(from));
      case 'i32': {
        const word = this.#make('bits', 'u32', [this.#word(from)]);
        const sign = this.#make('shr', 'i32', [this.#word(from), this.#literal('u32', 31)]);
        return { lo: word, hi: this.#make('bits', 'u32', [sign]) };
      }
      case 'bool':
        return { lo: this.#make('cast', 'u32', [this.#word(from)]), hi: zero };
      default:
        return { lo: this.#word(from), hi: zero };
    }
  }

  #local(node: Node): Node {
    return this.#graph.leaf({ ...node, type: 'u32' });
  }

  #table(old: TableDecl): TableDecl {
    let table = this.#tables.get(old);
    if (!table) {
      // The host computes the values of a job table; here only their number matters.
      const split = (node: Node): Node[] =>
        node.op === 'const'
          ? toWords('u64', node.detail.value as bigint).map((word) => this.#literal('u32', word))
          : [node, node];
      table = old.type === 'u64' ? { ...old, type: 'u32', values: old.values.flatMap(split) } : old;
      this.#tables.set(old, table);
    }
    return table;
  }

  #buffer(old: BufferDecl): BufferDecl {
    let decl = this.#buffers.get(old);
    if (!decl) {
      decl = old.type === 'u64' ? { ...old, type: 'u32', ...(old.length ? { length: old.length * 2 } : {}) } : old;
      this.#buffers.set(old, decl);
    }
    return decl;
  }

  #cell(old: CellDecl): { lo: CellDecl; hi: CellDecl } {
    let halves = this.#cells.get(old);
    if (!halves) {
      halves = { lo: { id: this.#nextCell++, type: 'u32' }, hi: { id: this.#nextCell++, type: 'u32' } };
      this.#cells.set(old, halves);
    }
    return halves;
  }

  #function(old: FunctionDecl): FunctionDecl {
    let decl = this.#functions.get(old);
    if (!decl) {
      const split = (types: readonly Scalar[]) =>
        types.flatMap((type): Scalar[] => (type === 'u64' ? ['u32', 'u32'] : [type]));
      decl = { ...old, params: split(old.params), results: split(old.results) };
      this.#functions.set(old, decl);
    }
    return decl;
  }

  /** The words of values, two for a u64. */
  #wordsOf(nodes: readonly Node[]): Node[] {
    return nodes.flatMap((node) => {
      if (node.type !== 'u64') return [this.#word(node)];
      const { lo, hi } = this.#pair(node);
      return [lo, hi];
    });
  }

  #block(block: Block): Block {
    return block.flatMap((statement) => {
      this.#origin = statement.origin;
      return this.#statement(statement);
    });
  }

  #statement(statement: Statement): Statement[] {
    const rewrite = {
      read: (node: Node) => this.#word(node),
      define: (node: Node) => this.#word(node),
      block: (block: Block) => this.#block(block),
    };
    const two = (make: (half: 'lo' | 'hi') => Statement): Statement[] => [make('lo'), make('hi')];
    switch (statement.kind) {
      case 'let': {
        if (statement.node.type !== 'u64')
          return [{ ...statement, node: this.#word(statement.node) }].filter(({ node }) => isAnchored(node));
        const pair = this.#pair(statement.node);
        return two((half) => ({ ...statement, node: pair[half] })).filter(
          (one) => one.kind === 'let' && isAnchored(one.node),
        );
      }
      case 'cell':
      case 'set': {
        if (statement.cell.type !== 'u64') return [rewriteStatement(statement, rewrite)];
        const [cell, pair] = [this.#cell(statement.cell), this.#pair(statement.value)];
        return two((half) => ({ ...statement, cell: cell[half], value: pair[half] }));
      }
      case 'get': {
        if (statement.cell.type !== 'u64') return [rewriteStatement(statement, rewrite)];
        const [cell, pair] = [this.#cell(statement.cell), this.#pair(statement.result)];
        return two((half) => ({ ...statement, cell: cell[half], result: pair[half] }));
      }
      case 'array':
        return [{ ...statement, array: this.#buffer(statement.array), values: this.#wordsOf(statement.values) }];
      case 'function':
        return [{ ...statement, callee: this.#function(statement.callee), body: this.#block(statement.body) }];
      case 'parameters':
        return [{ ...statement, nodes: this.#wordsOf(statement.nodes) }];
      case 'results':
        return [{ ...statement, values: this.#wordsOf(statement.values) }];
      case 'invoke': {
        const callee = this.#function(statement.callee);
        const [args, results] = [this.#wordsOf(statement.args), this.#wordsOf(statement.results)];
        return [{ ...statement, callee, args, results }];
      }
      case 'load':
        return this.#access(statement.place, statement.results, (place, results) => ({ ...statement, place, results }));
      case 'store':
        return this.#access(statement.place, statement.values, (place, values) => ({ ...statement, place, values }));
      case 'prefetch':
        return [
          { ...statement, place: this.#place(statement.place, statement.place.buffer.type === 'u64' ? 1 : 0, 0) },
        ];
      case 'atomic':
        if (statement.place.buffer.type === 'u64') throw this.#unsupported('an atomic access to u64');
        return [
          {
            ...statement,
            place: this.#place(statement.place, 0, 0),
            ...(statement.expected ? { expected: this.#word(statement.expected) } : {}),
            ...(statement.value ? { value: this.#word(statement.value) } : {}),
            ...(statement.result ? { result: this.#word(statement.result) } : {}),
          },
        ];
      case 'scan':
        return [{ ...statement, near: this.#buffer(statement.near), result: this.#word(statement.result) }];
      case 'native':
        if ([...statement.args, ...statement.results].some(({ type }) => type === 'u64'))
          throw this.#unsupported(`the native body ${statement.body.name}`);
        return [rewriteStatement(statement, rewrite)];
      default:
        return [rewriteStatement(statement, rewrite)];
    }
  }

  /** Accesses a u64 buffer: an element is two words, a quad of elements two quads. */
  #access(place: Place, nodes: readonly Node[], make: (place: Place, nodes: Node[]) => Statement): Statement[] {
    if (place.buffer.type !== 'u64')
      return [
        make(
          this.#place(place, 0, 0),
          nodes.map((node) => this.#word(node)),
        ),
      ];
    const words = nodes.flatMap((node) => [this.#pair(node).lo, this.#pair(node).hi]);
    const width = nodes.length;
    return [0, 1].map((k) => make(this.#place(place, 1, k), words.slice(k * width, (k + 1) * width)));
  }

  /** Returns the place with its index doubled `double` times, plus `offset`; a slice's base in one word. */
  #place(place: Place, double: 0 | 1, offset: number): Place {
    const shifted = (node: Node) => this.#make('shl', 'u32', [node, this.#literal('u32', double)]);
    const index = this.#make('add', 'u32', [shifted(this.#word(place.index)), this.#literal('u32', offset)]);
    const buffer = this.#buffer(place.buffer);
    return place.base ? { buffer, index, base: shifted(this.#base(this.#pair(place.base))) } : { buffer, index };
  }

  /**
   * Returns one word for a slice's first quad. In a checked build a base that does not fit becomes one past the end of every
   * buffer.
   */
  #base({ lo, hi }: WordPair): Node {
    if (!this.#checked) return lo;
    const far = this.#literal('u32', MAX_BASE);
    const small = this.#make('lt', 'bool', [lo, far]);
    const fits = this.#make('and', 'bool', [this.#make('eq', 'bool', [hi, this.#literal('u32', 0)]), small]);
    return this.#make('select', 'u32', [fits, lo, far]);
  }

  #unsupported(what: string): MillraceError {
    return new MillraceError({
      code: 'device-capability',
      message: `kernel ${this.#program.name}: ${what} needs 64-bit integers, which this target does not have`,
      asked: this.#origin.line,
      advice: 'use u32, or a device with 64-bit integers',
    });
  }
}
