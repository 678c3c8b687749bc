import {
  type Block,
  type BufferDecl,
  type CellDecl,
  type FunctionDecl,
  innerBlocks,
  type Node,
  operandsOf,
  type Program,
  type Statement,
  type TableDecl,
} from '../../ir/program.js';
import { Graph, isAnchored, topologicalOrder } from '../graph.js';
import { rewriteStatement } from '../rewrite.js';
import { arraysToCells } from '../shape/arrays-to-cells.js';
import { Simplifier } from './simplify.js';
import { regroupSums } from './sums.js';

/**
 * Simplifies a program: folds constants and identities, shares common subexpressions, replaces cells that only name a
 * value, makes cells of arrays whose indices are all constant, regroups sums so that terms known early are added first, and
 * drops unused statements. The result *floats*: pure nodes have no `let` until `placeNodes` adds it. Look-ups keep theirs,
 * because elsewhere their index may be out of bounds.
 */
export function fold(program: Program): Program {
  const simplified = rebuild(program);
  const regrouped = rebuild(regroupSums(arraysToCells(simplified)));
  return removeUnused(regrouped);
}

/** Walks the program once, in order, and makes every operation again with the simplifier. */
function rebuild(program: Program): Program {
  const graph = new Graph();
  const simplifier = new Simplifier(graph);
  const rebuilt = new Map<Node, Node>();
  const tables = new Map<TableDecl, TableDecl>();
  const setIn = cellsSet(program.body);

  const tableOf = (old: TableDecl): TableDecl => {
    let table = tables.get(old);
    if (!table) {
      table = { ...old, values: old.values.map(resolve) };
      tables.set(old, table);
    }
    return table;
  };

  const resolve = (original: Node): Node => {
    const known = rebuilt.get(original);
    if (known) return known;
    // In a fresh trace the operands come before their users; after regrouping some are new.
    if (original.args.every((arg) => rebuilt.has(arg))) rebuilt.set(original, remake(original));
    else for (const node of topologicalOrder([original], (n) => rebuilt.has(n))) rebuilt.set(node, remake(node));
    return rebuilt.get(original) as Node;
  };

  const remake = (node: Node): Node => {
    if (node.op === 'const') return graph.constant(node.type, node.detail.value as never, node.origin);
    if (node.args.length === 0) return graph.leaf(node);
    const detail = node.detail.table ? { ...node.detail, table: tableOf(node.detail.table) } : node.detail;
    return simplifier.make(
      node.op,
      node.type,
      node.args.map((arg) => rebuilt.get(arg) as Node),
      detail,
      node.origin,
    );
  };

  /** Values that cells are known to hold on the path being walked. */
  type Known = Map<CellDecl, Node>;

  const walk = (block: Block, known: Known): Block => {
    const out: Statement[] = [];
    for (const statement of block) {
      switch (statement.kind) {
        case 'let': {
          const node = resolve(statement.node);
          // An operation may have been simplified to a look-up that is one of its operands, which already has its `let`.
          if (isAnchored(statement.node) && isAnchored(node)) out.push({ ...statement, node });
          break;
        }
        case 'cell':
        case 'set': {
          const value = resolve(statement.value);
          known.set(statement.cell, value);
          out.push({ ...statement, value });
          break;
        }
        case 'get': {
          const value = known.get(statement.cell);
          if (value) rebuilt.set(statement.result, value);
          else {
            const result = resolve(statement.result);
            known.set(statement.cell, result);
            out.push({ ...statement, result });
          }
          break;
        }
        case 'when': {
          const condition = resolve(statement.condition);
          if (condition.op === 'const') {
            out.push(...walk(condition.detail.value ? statement.body : statement.otherwise, known));
            break;
          }
          const yes = new Map(known);
          const no = new Map(known);
          const body = walk(statement.body, yes);
          const otherwise = walk(statement.otherwise, no);
          for (const cell of new Set([...known.keys(), ...yes.keys(), ...no.keys()])) {
            const value = yes.get(cell);
            if (value && value === no.get(cell)) known.set(cell, value);
            else known.delete(cell);
          }
          if (body.length > 0 || otherwise.length > 0) out.push({ ...statement, condition, body, otherwise });
          break;
        }
        default: {
          const changed = innerBlocks(statement).flatMap((inner) => [...(setIn.get(inner) ?? [])]);
          for (const cell of changed) known.delete(cell);
          out.push(
            rewriteStatement(statement, {
              read: resolve,
              define: resolve,
              block: (inner) => walk(inner, new Map(known)),
            }),
          );
        }
      }
    }
    return out;
  };

  const body = walk(program.body, new Map());
  return { ...program, body, tables: [...tables.values()] };
}

/** Returns, for each block, the cells that it or a block inside it sets. */
function cellsSet(body: Block): Map<Block, Set<CellDecl>> {
  const sets = new Map<Block, Set<CellDecl>>();
  const walk = (block: Block): Set<CellDecl> => {
    const cells = new Set<CellDecl>();
    for (const statement of block) {
      if (statement.kind === 'set' || statement.kind === 'cell') cells.add(statement.cell);
      for (const inner of innerBlocks(statement)) for (const cell of walk(inner)) cells.add(cell);
    }
    sets.set(block, cells);
    return cells;
  };
  walk(body);
  return sets;
}

/**
 * Drops statements without effect: cells and arrays that are never read, loads, look-ups, calls and native bodies with
 * unused results, and functions without calls.
 */
export function removeUnused<P extends Program>(program: P): P {
  const used = new Set<Node>();
  const usedTables = new Set<TableDecl>();
  const readCells = new Set<CellDecl>();
  const readArrays = new Set<BufferDecl>();
  const called = new Set<FunctionDecl>();
  const need = (...nodes: readonly Node[]) => {
    const stack = [...nodes];
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (used.has(node)) continue;
      used.add(node);
      if (node.detail.table) usedTables.add(node.detail.table);
      stack.push(...node.args);
    }
  };

  /**
   * Walks backwards, so that a use comes before its definition. Loops may need a second round, since cells carry values
   * around.
   */
  const sweep = (block: Block): Statement[] => {
    const kept: Statement[] = [];
    for (let i = block.length - 1; i >= 0; i--) {
      const statement = sweepOne(block[i] as Statement);
      if (statement) kept.push(statement);
    }
    return kept.reverse();
  };

  const sweepOne = (statement: Statement): Statement | undefined => {
    switch (statement.kind) {
      case 'let':
        if (!used.has(statement.node)) return undefined;
        need(...statement.node.args);
        return statement;
      case 'get':
        if (!used.has(statement.result)) return undefined;
        readCells.add(statement.cell);
        return statement;
      case 'cell':
      case 'set':
        if (!readCells.has(statement.cell)) return undefined;
        need(statement.value);
        return statement;
      case 'load':
      case 'native':
      case 'invoke':
        if (!statement.results.some((node) => used.has(node))) return undefined;
        if (statement.kind === 'load' && statement.place.buffer.kind === 'array')
          readArrays.add(statement.place.buffer);
        if (statement.kind === 'invoke') called.add(statement.callee);
        need(...(statement.kind === 'load' ? nodesOfPlace(statement.place) : statement.args));
        return statement;
      case 'when': {
        const body = sweep(statement.body);
        const otherwise = sweep(statement.otherwise);
        if (body.length + otherwise.length === 0) return undefined;
        need(statement.condition);
        return { ...statement, body, otherwise };
      }
      case 'loop':
      case 'each': {
        const body = sweep(statement.body);
        if (body.length === 0) return undefined;
        need(statement.count);
        return { ...statement, body };
      }
      case 'sum': {
        if (!used.has(statement.result)) return undefined;
        need(statement.count, statement.value);
        return { ...statement, body: sweep(statement.body) };
      }
      case 'scan':
        return statement; // the effect is on the array
      case 'once': {
        const body = sweep(statement.body);
        return body.length === 0 ? undefined : { ...statement, body };
      }
      case 'while': {
        need(statement.condition);
        const body = sweep(statement.body);
        return { ...statement, body, test: sweep(statement.test) };
      }
      case 'break':
        need(statement.condition);
        return statement;
      case 'array':
        if (!readArrays.has(statement.array)) return undefined;
        need(...statement.values);
        return statement;
      case 'store':
        if (statement.place.buffer.kind === 'array' && !readArrays.has(statement.place.buffer)) return undefined;
        need(...nodesOfPlace(statement.place), ...statement.values);
        return statement;
      case 'prefetch':
        need(...nodesOfPlace(statement.place));
        return statement;
      case 'atomic':
        need(...nodesOfPlace(statement.place), ...operandsOf(statement));
        if (!statement.result || used.has(statement.result)) return statement;
        return statement.op === 'load' ? undefined : withoutResult(statement);
      case 'return':
      case 'parameters':
        return statement;
      case 'function': // its calls come after it
        return called.has(statement.callee) ? { ...statement, body: sweep(statement.body) } : undefined;
      case 'emit':
      case 'results':
        need(...statement.values);
        return statement;
    }
  };

  // A cell read early in a loop keeps its set later in the loop alive: repeat until nothing new is needed.
  const found = () => used.size + readCells.size + readArrays.size + called.size;
  for (let before = -1; before !== found(); ) {
    before = found();
    sweep(program.body);
  }
  const body = sweep(program.body);
  return { ...program, body, tables: program.tables.filter((table) => usedTables.has(table)) };
}

function nodesOfPlace(place: { readonly index: Node; readonly base?: Node }): Node[] {
  return place.base ? [place.index, place.base] : [place.index];
}

function withoutResult({ result, ...rest }: Extract<Statement, { kind: 'atomic' }>): Statement {
  return rest;
}
