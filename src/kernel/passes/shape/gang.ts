import {
  type Block,
  type BufferDecl,
  type CellDecl,
  type HoistedProgram,
  innerBlocks,
  type Node,
  type Op,
  type Statement,
  ValueStage,
} from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import type { Value } from '../../language/types.js';
import { isAnchored } from '../graph.js';
import { rewriteStatement } from '../rewrite.js';
import { analyseVariance, findConsecutive, type Variance } from './variance.js';

/** A program that processes `lanes` items at once. Values not in `varying` are the same for all lanes and stay scalars. */
export interface Gang {
  readonly program: HoistedProgram;
  readonly lanes: number;
  readonly varying: ReadonlySet<Node>;
  readonly varyingCells: ReadonlySet<CellDecl>;
  /** Arrays of which each lane has its own elements. */
  readonly varyingArrays: ReadonlySet<BufferDecl>;
  /**
   * The lanes for which each array was made. Under the same mask a store may also write the elements of other lanes: they
   * are never read.
   */
  readonly arrayMasks: ReadonlyMap<BufferDecl, Node | undefined>;
  /** Values that grow by one from lane to lane: memory indexed by them is contiguous. */
  readonly consecutive: ReadonlySet<Node>;
}

/**
 * Turns control flow that differs between lanes into masks. Each effect has a `mask` of its lanes. A branch is skipped if no
 * lane takes it. A loop continues while some lane does. In a tile, the indices of a region are the lanes, and code between
 * regions runs once. With one lane the program stays as it is.
 */
export function makeGang(program: HoistedProgram, lanes: number): Gang {
  if (lanes === 1) return { program, lanes, ...noVariance };
  const variance = analyseVariance(program);
  const consecutive = findConsecutive(program, variance.nodes);
  const masker = new Masker(variance);
  return {
    program: { ...program, body: masker.body(program) },
    lanes,
    varying: variance.nodes,
    varyingCells: variance.cells,
    varyingArrays: variance.arrays,
    arrayMasks: masker.arrayMasks,
    consecutive,
  };
}

const noVariance: Omit<Gang, 'program' | 'lanes'> = {
  varying: new Set(),
  varyingCells: new Set(),
  varyingArrays: new Set(),
  arrayMasks: new Map(),
  consecutive: new Set(),
};

/** The state of the walk: the active lanes (undefined between regions), and the varying loop that a break would leave. */
interface MaskContext {
  readonly mask: Node | undefined;
  readonly loop: { readonly alive: CellDecl } | 'uniform' | undefined;
}

class Masker {
  readonly #variance: Variance;
  readonly #cellMasks = new Map<CellDecl, Node | undefined>();
  readonly arrayMasks = new Map<BufferDecl, Node | undefined>();
  #nextNode = 1 << 28; // greater than any id that tracing assigns
  #nextCell = 1 << 20;

  constructor(variance: Variance) {
    this.#variance = variance;
  }

  body({ body, kind }: HoistedProgram): Block {
    return kind === 'items' ? this.#maskParallel(body) : this.#block(body, { mask: undefined, loop: undefined });
  }

  /** Masks a block that all lanes enter except those past the end. */
  #maskParallel(block: Block): Statement[] {
    const active: Node = this.#node('active', [], block[0]?.origin as Origin);
    return this.#block(block, { mask: active, loop: undefined });
  }

  /**
   * Masks a block. After lanes have left the loop, the rest of the block is for the remaining lanes and is skipped if there
   * are none. This matters because an index that all lanes share is read without a mask, and may be out of bounds once all
   * have left.
   */
  #block(block: Block, context: MaskContext): Statement[] {
    const out: Statement[] = [];
    for (const [i, statement] of block.entries()) {
      const mask = this.#statement(statement, context, out);
      if (mask === undefined || mask === context.mask || i === block.length - 1) continue;
      const { origin } = statement;
      const some = this.#let('any', [mask], origin, out);
      const rest = this.#block(block.slice(i + 1), { ...context, mask });
      out.push({ kind: 'when', condition: some, body: rest, otherwise: [], origin });
      break;
    }
    return out;
  }

  #statement(statement: Statement, context: MaskContext, out: Statement[]): Node | undefined {
    const { mask } = context;
    const masked = (one: Statement): Statement => (mask ? { ...one, mask } : one);
    switch (statement.kind) {
      case 'cell':
        this.#cellMasks.set(statement.cell, mask);
        out.push(statement);
        return mask;
      case 'set':
        // A uniform cell may be set after lanes left the loop that made it: those lanes do not read it again.
        out.push(
          !this.#variance.cells.has(statement.cell) || this.#cellMasks.get(statement.cell) === mask
            ? statement
            : masked(statement),
        );
        return mask;
      case 'array':
        this.arrayMasks.set(statement.array, mask);
        out.push(statement);
        return mask;
      case 'let':
        out.push(isAnchored(statement.node) ? masked(statement) : statement);
        return mask;
      case 'load':
      case 'store':
      case 'atomic':
      case 'prefetch':
        out.push(masked(statement));
        return mask;
      case 'each':
      case 'sum':
        out.push({ ...statement, body: this.#maskParallel(statement.body) });
        return mask;
      case 'once':
        out.push({ ...statement, body: this.#block(statement.body, context) });
        return mask;
      case 'when':
        return this.#when(statement, context, out);
      case 'loop':
      case 'while':
        this.#loop(statement, context, out);
        return mask;
      case 'break':
        return this.#break(statement, context, out);
      default:
        out.push(statement);
        return mask;
    }
  }

  #when(statement: Extract<Statement, { kind: 'when' }>, context: MaskContext, out: Statement[]): Node | undefined {
    const { condition, origin } = statement;
    if (!this.#variance.nodes.has(condition)) {
      const body = this.#block(statement.body, context);
      const otherwise = this.#block(statement.otherwise, context);
      out.push({ ...statement, body, otherwise });
      return this.#remainingLanes(statement, context, out);
    }
    const branch = (lanes: Node, block: Block): void => {
      if (block.length === 0) return;
      const inside = this.#let('and', [maskOf(context), lanes], origin, out);
      const some = this.#let('any', [inside], origin, out);
      out.push({
        kind: 'when',
        condition: some,
        body: this.#block(block, { ...context, mask: inside }),
        otherwise: [],
        origin,
      });
    };
    branch(condition, statement.body);
    if (statement.otherwise.length > 0) branch(this.#let('not', [condition], origin, out), statement.otherwise);
    return this.#remainingLanes(statement, context, out);
  }

  /** Returns the mask after a branch in which lanes may have left the loop: only lanes that are still alive continue. */
  #remainingLanes(statement: Statement, context: MaskContext, out: Statement[]): Node | undefined {
    if (typeof context.loop !== 'object' || !innerBlocks(statement).some(hasBreak)) return context.mask;
    return this.#let(
      'and',
      [maskOf(context), this.#get(context.loop.alive, statement.origin, out)],
      statement.origin,
      out,
    );
  }

  #loop(statement: Extract<Statement, { kind: 'loop' | 'while' }>, context: MaskContext, out: Statement[]): void {
    if (!this.#variance.loops.has(statement)) {
      out.push(
        rewriteStatement(statement, {
          read: same,
          define: same,
          block: (block) => this.#block(block, { ...context, loop: 'uniform' }),
        }),
      );
      return;
    }
    const { origin } = statement;
    const alive = this.#cell('bool', maskOf(context), origin, out);
    const inside = (body: Block, before: Statement[]): Statement[] => {
      const mask = this.#get(alive, origin, before);
      return [...before, ...this.#block(body, { mask, loop: { alive } })];
    };
    const test: Statement[] = [];
    if (statement.kind === 'while') {
      // The condition's own statements are part of the round, so that they do not run after every lane has left.
      const round: Statement[] = [];
      const mask = this.#get(alive, origin, round);
      round.push(...this.#block(statement.test, { mask, loop: undefined }));
      this.#narrowMask(alive, mask, statement.condition, origin, round);
      const go = this.#let('any', [this.#get(alive, origin, round)], origin, round);
      round.push({ kind: 'when', condition: go, body: inside(statement.body, []), otherwise: [], origin });
      const some = this.#let('any', [this.#get(alive, origin, test)], origin, test);
      out.push({ ...statement, test, condition: some, body: round });
      return;
    }
    // Lanes share the counter; each leaves after its own count of rounds.
    const counter = this.#cell('u32', this.#constant(0, origin), origin, out, false);
    const count = this.#get(counter, origin, test);
    const mask = this.#get(alive, origin, test);
    this.#narrowMask(alive, mask, this.#let('lt', [count, statement.count], origin, test), origin, test);
    const some = this.#let('any', [this.#get(alive, origin, test)], origin, test);
    const body = inside(statement.body, [{ kind: 'get', cell: counter, result: statement.index, origin }]);
    const now = this.#get(counter, origin, body);
    const next = this.#let('add', [now, this.#constant(1, origin)], origin, body, false);
    body.push({ kind: 'set', cell: counter, value: next, origin });
    out.push({ kind: 'while', test, condition: some, body, ...(statement.isLong && { isLong: true }), origin });
  }

  #break(statement: Extract<Statement, { kind: 'break' }>, context: MaskContext, out: Statement[]): Node | undefined {
    if (typeof context.loop !== 'object') {
      out.push(statement);
      return context.mask;
    }
    const { origin } = statement;
    const stay = this.#let('not', [this.#let('and', [maskOf(context), statement.condition], origin, out)], origin, out);
    const alive = this.#get(context.loop.alive, origin, out);
    out.push({ kind: 'set', cell: context.loop.alive, value: this.#let('and', [alive, stay], origin, out), origin });
    return this.#let('and', [maskOf(context), stay], origin, out);
  }

  #narrowMask(alive: CellDecl, mask: Node, condition: Node, origin: Origin, out: Statement[]): void {
    out.push({ kind: 'set', cell: alive, value: this.#let('and', [mask, condition], origin, out), origin });
  }

  #cell(type: 'bool' | 'u32', value: Node, origin: Origin, out: Statement[], varying = true): CellDecl {
    const cell: CellDecl = { id: this.#nextCell++, type };
    if (varying) this.#variance.cells.add(cell);
    out.push({ kind: 'cell', cell, value, origin });
    return cell;
  }

  #get(cell: CellDecl, origin: Origin, out: Statement[]): Node {
    const result: Node = {
      id: this.#nextNode++,
      op: 'local',
      type: cell.type,
      args: [],
      stage: ValueStage.varying,
      detail: {},
      origin,
    };
    if (this.#variance.cells.has(cell)) this.#variance.nodes.add(result);
    out.push({ kind: 'get', cell, result, origin });
    return result;
  }

  #let(op: Op, args: readonly Node[], origin: Origin, out: Statement[], mask = true): Node {
    const node = this.#node(op, args, origin);
    if (op === 'any' || !mask) this.#variance.nodes.delete(node);
    out.push({ kind: 'let', node, origin });
    return node;
  }

  #node(op: Op, args: readonly Node[], origin: Origin): Node {
    const type = op === 'add' ? 'u32' : 'bool';
    const node: Node = { id: this.#nextNode++, op, type, args, stage: ValueStage.varying, detail: {}, origin };
    this.#variance.nodes.add(node);
    return node;
  }

  #constant(value: Value, origin: Origin): Node {
    return {
      id: this.#nextNode++,
      op: 'const',
      type: 'u32',
      args: [],
      stage: ValueStage.constant,
      detail: { value },
      origin,
    };
  }
}

const same = (node: Node): Node => node;

/** Returns the mask, which exists wherever control flow can vary. */
function maskOf({ mask }: MaskContext): Node {
  if (!mask) throw new TypeError('varying control flow between regions');
  return mask;
}

/** True if the block has a break that leaves the loop around it (not one inside it). */
function hasBreak(block: Block): boolean {
  return block.some(
    (statement) => statement.kind === 'break' || (statement.kind === 'when' && innerBlocks(statement).some(hasBreak)),
  );
}
