import {
  type Block,
  type BufferDecl,
  type CellDecl,
  type HoistedProgram,
  innerBlocks,
  type Node,
  readNodes,
  type Statement,
} from '../../ir/program.js';

/** Values, cells, arrays and loops that may differ between the lanes of a gang. */
export interface Variance {
  readonly nodes: Set<Node>;
  readonly cells: Set<CellDecl>;
  /** Arrays whose elements may differ. */
  readonly arrays: Set<BufferDecl>;
  /** Loops that lanes may leave at different times. */
  readonly loops: Set<Statement>;
}

/**
 * Finds what may differ between lanes, starting from the item's or region's number. Grows the sets until nothing changes.
 */
export function analyseVariance({ body, kind }: HoistedProgram): Variance {
  const nodes = new Set<Node>();
  const cells = new Set<CellDecl>();
  const arrays = new Set<BufferDecl>();
  const loops = new Set<Statement>();
  const varies = (node: Node) => nodes.has(node) || (node.op === 'item' && kind === 'items');
  const mark = (list: readonly Node[]) => {
    for (const node of list) nodes.add(node);
  };

  /**
   * `masks` counts the enclosing varying conditions; `home` records that count for each cell and array; `loop` is the
   * nearest loop.
   */
  const home = new Map<CellDecl | BufferDecl, number>();
  const walk = (block: Block, masks: number, loop: EnclosingLoop | undefined, parallel: boolean): void => {
    for (const statement of block) {
      let differs = false;
      for (const node of readNodes(statement)) {
        if (!varies(node)) continue;
        differs = true;
        if (node.op === 'item') nodes.add(node);
      }
      switch (statement.kind) {
        case 'let':
          if (differs && statement.node.op !== 'any') nodes.add(statement.node);
          break;
        case 'cell':
          home.set(statement.cell, masks);
          if (differs) cells.add(statement.cell);
          break;
        case 'set':
          if (differs || masks > (home.get(statement.cell) ?? 0)) cells.add(statement.cell);
          break;
        case 'get':
          if (cells.has(statement.cell)) nodes.add(statement.result);
          break;
        case 'array':
          home.set(statement.array, masks);
          if (differs) arrays.add(statement.array);
          break;
        case 'store': {
          const { buffer } = statement.place;
          if (buffer.kind === 'array' && (differs || masks > (home.get(buffer) ?? 0))) arrays.add(buffer);
          break;
        }
        case 'load':
          if (differs || arrays.has(statement.place.buffer)) mark(statement.results);
          break;
        case 'atomic':
          if (statement.result && parallel) nodes.add(statement.result);
          break;
        case 'native':
          if (parallel) mark(statement.results);
          break;
        case 'each':
        case 'sum':
          nodes.add(statement.index);
          walk(statement.body, masks, undefined, true);
          break;
        case 'once':
          walk(statement.body, masks, undefined, false);
          break;
        case 'when': {
          const inside = masks + (differs ? 1 : 0);
          walk(statement.body, inside, loop, parallel);
          walk(statement.otherwise, inside, loop, parallel);
          break;
        }
        case 'loop': {
          if (differs) loops.add(statement);
          const inside = masks + (loops.has(statement) ? 1 : 0);
          walk(statement.body, inside, { statement, masks: inside }, parallel);
          break;
        }
        case 'while': {
          if (varies(statement.condition)) loops.add(statement);
          const inside = masks + (loops.has(statement) ? 1 : 0);
          walk(statement.test, inside, undefined, parallel);
          walk(statement.body, inside, { statement, masks: inside }, parallel);
          break;
        }
        case 'break':
          if (loop && (differs || masks > loop.masks)) loops.add(loop.statement);
          break;
        default:
      }
    }
  };
  const found = () => nodes.size + cells.size + arrays.size + loops.size;
  for (let before = -1; before !== found(); ) {
    before = found();
    walk(body, 0, undefined, kind === 'items');
  }
  return { nodes, cells, arrays, loops };
}

/** The loop that a break would leave, and the number of masks around it. */
interface EnclosingLoop {
  readonly statement: Statement;
  readonly masks: number;
}

/** Returns the item or a region's index, and values at a fixed distance from it. */
export function findConsecutive(program: HoistedProgram, varying: ReadonlySet<Node>): Set<Node> {
  const found = new Set<Node>();
  const walk = (block: Block): void => {
    for (const statement of block) {
      for (const node of readNodes(statement)) if (node.op === 'item' && varying.has(node)) found.add(node);
      const index = statement.kind === 'each' || statement.kind === 'sum' ? statement.index : undefined;
      if (index) found.add(index);
      if (statement.kind === 'let' && statement.node.op === 'add') {
        const [a, b] = statement.node.args as [Node, Node];
        if ((found.has(a) && !varying.has(b)) || (found.has(b) && !varying.has(a))) found.add(statement.node);
      }
      for (const inner of innerBlocks(statement)) walk(inner);
    }
  };
  walk(program.body);
  return found;
}
