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
  ValueStage,
} from '../../ir/program.js';
import { isInteger } from '../../language/types.js';
import { topologicalOrder } from '../graph.js';
import { rewriteStatement } from '../rewrite.js';

/**
 * Flattens integer sums through operands that only they use, and orders their terms by when they are known. The host then
 * computes (constants + job values + chunk values) as one value, which leaves one addition. Terms that an inner loop does
 * not change are added outside the loop. Wrapping addition is associative: the bits stay the same.
 */
export function regroupSums(program: Program): Program {
  const roots: Node[] = [];
  const loopsAround = new Map<Node, number>();
  const collect = (block: Block, loops: number): void => {
    for (const statement of block) {
      roots.push(...readNodes(statement));
      for (const node of definedNodes(statement)) loopsAround.set(node, loops);
      const last = nodeReadAtEnd(statement);
      if (last) roots.push(last.node);
      const index = loopIndex(statement);
      if (index) loopsAround.set(index, loops + 1);
      const inside = loops + (isRepeating(statement) ? 1 : 0);
      for (const inner of innerBlocks(statement)) collect(inner, inside);
    }
  };
  collect(program.body, 0);
  for (const table of program.tables) roots.push(...table.values);

  const nodes = topologicalOrder(roots);
  const uses = new Map<Node, number>();
  const use = (node: Node) => uses.set(node, (uses.get(node) ?? 0) + 1);
  for (const root of roots) use(root);
  for (const node of nodes) {
    let loops = loopsAround.get(node) ?? 0;
    for (const arg of node.args) {
      use(arg);
      loops = Math.max(loops, loopsAround.get(arg) ?? 0);
    }
    if (loops > 0) loopsAround.set(node, loops);
  }
  const loopsOf = (node: Node) => loopsAround.get(node) ?? 0;

  const isSum = (node: Node) => node.op === 'add' && isInteger(node.type);
  const inner = new Set<Node>();
  for (const node of nodes) {
    if (isSum(node)) for (const arg of node.args) if (isSum(arg) && uses.get(arg) === 1) inner.add(arg);
  }

  let next = nodes.reduce((max, node) => Math.max(max, node.id), 0) + 1;
  const rebuilt = new Map<Node, Node>();
  const resolve = (node: Node): Node => rebuilt.get(node) ?? node;
  const sum = (a: Node, b: Node): Node => ({
    ...a,
    id: next++,
    op: 'add',
    args: [a, b],
    stage: Math.max(a.stage, b.stage) as ValueStage,
    detail: {},
  });

  for (const node of nodes) {
    if (inner.has(node)) continue;
    if (isSum(node))
      rebuilt.set(node, {
        ...regroup(
          termsOf(node, inner)
            .sort((a, b) => loopsOf(a) - loopsOf(b))
            .map(resolve),
          sum,
        ),
        origin: node.origin,
      });
    else if (node.args.some((arg) => rebuilt.has(arg)))
      rebuilt.set(node, { ...node, id: next++, args: node.args.map(resolve) });
  }

  const block = (old: Block): Block =>
    old.map((statement) => rewriteStatement(statement, { read: resolve, define: resolve, block }));
  return { ...program, body: block(program.body) };
}

/** Returns the terms of a sum, left to right, including those of sums that only it uses. */
function termsOf(root: Node, inner: ReadonlySet<Node>): Node[] {
  const terms: Node[] = [];
  const stack: Node[] = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (node === root || inner.has(node)) stack.push(...[...node.args].reverse());
    else terms.push(node);
  }
  return terms;
}

/**
 * Sums the terms. Varying terms keep their order. Terms known before the launch are summed separately, earliest first, and
 * added last.
 */
function regroup(terms: readonly Node[], sum: (a: Node, b: Node) => Node): Node {
  const known = terms.filter((term) => term.stage < ValueStage.varying).sort((a, b) => a.stage - b.stage);
  const varying = terms.filter((term) => term.stage === ValueStage.varying);
  const total = (list: readonly Node[]) =>
    list.reduce<Node | undefined>((left, right) => (left ? sum(left, right) : right), undefined);
  const early = total(known);
  const late = total(varying);
  return early && late ? sum(late, early) : ((late ?? early) as Node);
}
