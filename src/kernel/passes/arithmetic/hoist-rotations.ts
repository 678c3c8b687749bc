import { type Block, type Node, type Program, ValueStage } from '../../ir/program.js';
import { countUses, rootsOf, topologicalOrder } from '../graph.js';
import { rewriteStatement } from '../rewrite.js';

/**
 * Takes a rotation out of a xor that is added to something: rotr(a, i) ^ rotr(b, j) = rotr(a ^ rotr(b, j − i), i). The
 * number of rotations stays the same, but the outermost one and the addition are one instruction on NVIDIA's processors
 * (LEA.HI): 236 of the 1,047 additions of a SHA-256d hash then cost nothing. Runs on floating nodes.
 */
export function hoistRotations<P extends Program>(program: P): P {
  const roots = rootsOf(program.body);
  const nodes = topologicalOrder(roots);
  const uses = countUses(nodes, roots);
  const isAdded = new Set(nodes.filter(isSum).flatMap((sum) => sum.args.filter((arg) => uses.get(arg) === 1)));
  let next = nodes.reduce((max, node) => Math.max(max, node.id), 0) + 1;

  const rewritten = new Map<Node, Node>();
  const resolve = (node: Node): Node => rewritten.get(node) ?? node;
  for (const node of nodes) {
    const rotations = isAdded.has(node) ? rotationsIn(node, uses) : undefined;
    if (rotations) rewritten.set(node, hoistRotation(node, rotations));
    else if (node.args.some((arg) => rewritten.has(arg)))
      rewritten.set(node, { ...node, args: node.args.map(resolve) });
  }

  function hoistRotation(xor: Node, rotations: readonly Rotation[]): Node {
    const [outer, ...others] = [...rotations].sort((a, b) => a.count - b.count) as [Rotation, ...Rotation[]];
    const make = (op: 'xor' | 'rotr', a: Node, b: Node): Node => ({ ...xor, id: next++, op, args: [a, b] });
    const terms = others.map(({ node, count }) => {
      const [value, old] = node.args as [Node, Node];
      const rest = count - outer.count;
      return rest === 0
        ? resolve(value)
        : make('rotr', resolve(value), { ...old, id: next++, detail: { value: rest } });
    });
    const [value, count] = outer.node.args as [Node, Node];
    const inside = terms.reduce((left, right) => make('xor', left, right), resolve(value));
    return make('rotr', inside, count);
  }

  const block = (old: Block): Block =>
    old.map((statement) => rewriteStatement(statement, { read: resolve, define: resolve, block }));
  return { ...program, body: block(program.body) };
}

const isWord = (node: Node) => node.type === 'u32' && node.stage === ValueStage.varying;
const isSum = (node: Node) => node.op === 'add' && isWord(node);

interface Rotation {
  readonly node: Node;
  readonly count: number;
}

/** Returns the rotations that a xor consists of; undefined if it has other operands or the rotations have other users. */
function rotationsIn(root: Node, uses: ReadonlyMap<Node, number>): Rotation[] | undefined {
  if (root.op !== 'xor' || !isWord(root)) return undefined;
  const rotations: Rotation[] = [];
  const stack = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (node !== root && uses.get(node) !== 1) return undefined;
    const count = node.args[1];
    if (node.op === 'xor') stack.push(...[...node.args].reverse());
    else if (node.op === 'rotr' && count?.op === 'const') rotations.push({ node, count: Number(count.detail.value) });
    else return undefined;
  }
  return rotations;
}
