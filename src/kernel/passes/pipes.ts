import { ONE_FIELD } from '../harness.js';
import { type Block, type Hoisted, type Node, Stage } from '../ir.js';
import { inOrder, rootsOf } from './graph.js';
import { rewriteStatement } from './rewrite.js';

/**
 * Writes a share of the 32-bit additions as x·one + y, `one` being a parameter that is always 1. NVIDIA's processors
 * have a separate multiply-add pipe: what goes there leaves room for rotations and logic on the integer pipe. Only at
 * run time is `one` known, so that no compiler turns it back. Runs on floating programs; 0 leaves them as they are.
 */
export function pipes(program: Hoisted, share: number): Hoisted {
  if (share <= 0) return program;
  const nodes = inOrder(rootsOf(program.body));
  const isAddition = (node: Node) => node.op === 'add' && node.type === 'u32' && node.stage === Stage.varying;
  const word = program.jobWords + program.chunkWords;
  const origin = nodes[0]?.origin ?? program.body[0]?.origin;
  if (!origin) return program;
  let next = nodes.reduce((most, node) => Math.max(most, node.id), 0) + 1;
  const leaf: Node = {
    id: next++,
    op: 'chunk',
    type: 'u32',
    args: [],
    stage: Stage.chunk,
    detail: { field: ONE_FIELD, element: 0 },
    origin,
  };
  const one: Node = { ...leaf, id: next++, op: 'param', detail: { word, name: 'one' } };

  // Evenly: every addition brings the share nearer to the next whole one.
  let due = 0;
  const changed = new Map<Node, Node>();
  const of = (node: Node): Node => changed.get(node) ?? node;
  for (const node of nodes) {
    const args = node.args.map(of);
    due += isAddition(node) ? Math.min(share, 1) : 0;
    if (isAddition(node) && due > 1 - 1e-9) {
      due -= 1;
      const [x, y] = args as [Node, Node];
      const product: Node = { ...node, id: next++, op: 'mul', args: [x, one] };
      changed.set(node, { ...node, id: next++, args: [product, y] });
    } else if (args.some((arg, i) => arg !== node.args[i])) {
      changed.set(node, { ...node, args });
    }
  }
  const block = (old: Block): Block =>
    old.map((statement) => rewriteStatement(statement, { read: of, define: of, block }));
  return {
    ...program,
    body: block(program.body),
    host: [...program.host, leaf],
    params: [...program.params, { node: leaf, word, name: 'one' }],
    chunkWords: program.chunkWords + 1,
  };
}
