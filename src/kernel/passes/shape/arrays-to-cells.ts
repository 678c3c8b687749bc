import {
  type Block,
  type BufferDecl,
  type CellDecl,
  innerBlocks,
  type Node,
  type Program,
  type Statement,
  ValueStage,
} from '../../ir/program.js';
import { rewriteStatement } from '../rewrite.js';

/**
 * Makes cells of the arrays whose indices are all constant and inside: one for each element that is accessed. Targets keep
 * cells in registers. Runs on simplified programs, in which an index that can be known is a constant.
 */
export function arraysToCells(program: Program): Program {
  const accessed = constantIndices(program.body);
  if (accessed.size === 0) return program;
  let nextCell = FIRST_CELL_ID;
  const cells = new Map<BufferDecl, Map<number, CellDecl>>();
  for (const [array, indices] of accessed) {
    const inOrder = [...indices].sort((a, b) => a - b);
    cells.set(array, new Map(inOrder.map((at) => [at, { id: nextCell++, type: array.type }])));
  }
  const cellAt = ({ buffer, index }: { readonly buffer: BufferDecl; readonly index: Node }): CellDecl | undefined =>
    cells.get(buffer)?.get(Number(index.detail.value));
  const block = (old: Block): Block => old.flatMap(statement);
  const statement = (old: Statement): Statement[] => {
    const { origin } = old;
    if (old.kind === 'array') {
      const own = cells.get(old.array);
      if (!own) return [old];
      return [...own].map(([at, cell]) => ({ kind: 'cell', cell, value: old.values[at] ?? zeroOf(old), origin }));
    }
    if (old.kind === 'load') {
      const cell = cellAt(old.place);
      return cell ? [{ kind: 'get', cell, result: old.results[0] as Node, origin }] : [old];
    }
    if (old.kind === 'store') {
      const cell = cellAt(old.place);
      return cell ? [{ kind: 'set', cell, value: old.values[0] as Node, origin }] : [old];
    }
    return [innerBlocks(old).length === 0 ? old : rewriteStatement(old, { read: same, define: same, block })];
  };
  return { ...program, body: block(program.body) };
}

/** Greater than the cell ids that tracing assigns, smaller than those of later passes. */
const FIRST_CELL_ID = 1 << 19;

const same = (node: Node): Node => node;

/** Returns the indices of each array that has only constant ones below its length. */
function constantIndices(body: Block): Map<BufferDecl, Set<number>> {
  const found = new Map<BufferDecl, Set<number>>();
  const others = new Set<BufferDecl>();
  const walk = (block: Block): void => {
    for (const statement of block) {
      if (statement.kind === 'array') found.set(statement.array, new Set());
      if ((statement.kind === 'load' || statement.kind === 'store') && statement.place.buffer.kind === 'array') {
        const { buffer, index } = statement.place;
        const at = Number(index.detail.value);
        if (index.op === 'const' && at < (buffer.length ?? 0)) found.get(buffer)?.add(at);
        else others.add(buffer);
      }
      for (const inner of innerBlocks(statement)) walk(inner);
    }
  };
  walk(body);
  for (const array of others) found.delete(array);
  return found;
}

/** Returns the value of elements without one. The node floats: the next pass over the program makes it again. */
function zeroOf({ array, origin }: Extract<Statement, { kind: 'array' }>): Node {
  const value = array.type === 'u64' ? 0n : 0;
  return { id: 0, op: 'const', type: array.type, args: [], stage: ValueStage.constant, detail: { value }, origin };
}
