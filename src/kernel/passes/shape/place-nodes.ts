import {
  type Block,
  definedNodes,
  innerBlocks,
  isRepeating,
  loopIndex,
  type Node,
  nodeReadAtEnd,
  type Program,
  readNodes,
  type Statement,
} from '../../ir/program.js';
import { isAnchored, topologicalOrder } from '../graph.js';
import { rewriteStatement } from '../rewrite.js';

/**
 * Gives every floating node a `let` in the deepest block that covers all its uses, but outside loops that it does not depend
 * on. Values that only the body of a test uses thus move into the body, so that an early test saves their work, and sharing
 * is sound.
 */
export function placeNodes<P extends Program>(program: P): P {
  const root: BlockPosition = { parent: undefined, depth: 0, loops: 0 };
  const regions = new Map<Block, BlockPosition>();
  const definedIn = new Map<Node, BlockPosition>();
  const uses: { node: Node; region: BlockPosition }[] = [];

  const survey = (block: Block, region: BlockPosition): void => {
    regions.set(block, region);
    for (const statement of block) {
      for (const node of readNodes(statement)) uses.push({ node, region });
      for (const node of definedNodes(statement)) definedIn.set(node, region);
      const last = nodeReadAtEnd(statement);
      for (const inner of innerBlocks(statement)) {
        const inside: BlockPosition = {
          parent: region,
          depth: region.depth + 1,
          loops: region.loops + (isRepeating(statement) ? 1 : 0),
        };
        const index = loopIndex(statement);
        if (index) definedIn.set(index, inside);
        survey(inner, inside);
        if (last?.block === inner) uses.push({ node: last.node, region: inside });
      }
    }
  };
  survey(program.body, root);

  const floats = (node: Node) => node.args.length > 0 && !isAnchored(node);
  const nodes = topologicalOrder(uses.map((use) => use.node));
  const earliest = new Map<Node, BlockPosition>();
  for (const node of nodes) {
    const from =
      definedIn.get(node) ??
      node.args.reduce<BlockPosition>((deepest, arg) => deeper(deepest, earliest.get(arg) ?? root), root);
    earliest.set(node, from);
  }

  const latest = new Map<Node, BlockPosition>();
  const useIn = (node: Node, region: BlockPosition) => {
    const known = latest.get(node);
    latest.set(node, known ? commonAncestor(known, region) : region);
  };
  for (const { node, region } of uses) useIn(node, region);
  const home = new Map<Node, BlockPosition>();
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i] as Node;
    if (!floats(node)) continue;
    const at = outermostLoopLevel(latest.get(node) ?? root, earliest.get(node) ?? root);
    home.set(node, at);
    for (const arg of node.args) useIn(arg, at);
  }

  const emitted = new Set<Node>();
  const outputs = new Map<BlockPosition, Statement[]>();
  const need = (roots: readonly Node[]) => {
    for (const node of topologicalOrder(roots, (n) => emitted.has(n) || !floats(n))) {
      emitted.add(node);
      outputs.get(home.get(node) ?? root)?.push({ kind: 'let', node, origin: node.origin });
    }
  };
  const write = (block: Block, readLast?: Node): Block => {
    const region = regions.get(block) ?? root;
    const out: Statement[] = [];
    outputs.set(region, out);
    for (const statement of block) {
      need(readNodes(statement));
      const last = nodeReadAtEnd(statement);
      const inside = (inner: Block) => write(inner, last?.block === inner ? last.node : undefined);
      out.push(rewriteStatement(statement, { read: same, define: same, block: inside }));
    }
    if (readLast) need([readLast]);
    return out;
  };
  return { ...program, body: write(program.body) };
}

const same = (node: Node): Node => node;

/** A block's position in the tree; `loops` counts the loops around it. */
interface BlockPosition {
  readonly parent: BlockPosition | undefined;
  readonly depth: number;
  readonly loops: number;
}

/** Returns the inner one of two regions on one path from the root. */
const deeper = (a: BlockPosition, b: BlockPosition): BlockPosition => (b.depth > a.depth ? b : a);

function commonAncestor(a: BlockPosition, b: BlockPosition): BlockPosition {
  let [x, y] = [a, b];
  while (x !== y) {
    if (x.depth >= y.depth && x.parent) x = x.parent;
    else if (y.parent) y = y.parent;
    else return x;
  }
  return x;
}

/**
 * Returns the region with the fewest loops around it on the path from `late` up to `early`; the deepest one if there are
 * several.
 */
function outermostLoopLevel(late: BlockPosition, early: BlockPosition): BlockPosition {
  let best = late;
  for (let region: BlockPosition | undefined = late; region && region.depth >= early.depth; region = region.parent) {
    if (region.loops < best.loops) best = region;
  }
  return best;
}
