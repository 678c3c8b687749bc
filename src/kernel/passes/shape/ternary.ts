import { meanings } from '../../ir/evaluate.js';
import { rowOf } from '../../ir/ops.js';
import { type Block, type Node, type Program, ValueStage } from '../../ir/program.js';
import { rootsOf, topologicalOrder } from '../graph.js';
import { rewriteStatement } from '../rewrite.js';

const isLogic = (node: Node) => rowOf(node.op)?.class === 'logic' && node.type !== 'bool';

/**
 * Merges bit logic into functions of three inputs, which are one instruction on AVX-512 and NVIDIA processors. An operand is
 * merged if only this node uses it and there are still at most three inputs. Runs on floating nodes. With `complements`, only
 * functions that contain one.
 */
export function mergeTernaryLogic<P extends Program>(program: P, which: 'all' | 'complements' = 'all'): P {
  const roots = rootsOf(program.body);
  const nodes = topologicalOrder(roots);
  const uses = new Map<Node, number>();
  for (const node of [...nodes.flatMap((n) => n.args), ...roots]) uses.set(node, (uses.get(node) ?? 0) + 1);

  const merged = new Map<Node, Node>();
  const resolve = (node: Node): Node => merged.get(node) ?? node;
  for (const node of nodes) {
    if (node.stage === ValueStage.varying && isLogic(node)) {
      const inputs = inputsOf(node, uses);
      const operations = operationsBetween(node, inputs);
      const isWanted = which === 'all' || [...operations].some(({ op }) => op === 'not');
      if (isWanted && countOf(operations, node) > 1) {
        const [a, b, c] = [inputs[0], inputs[1] ?? inputs[0], inputs[2] ?? inputs[0]] as [Node, Node, Node];
        merged.set(node, {
          ...node,
          op: 'logic3',
          args: [resolve(a), resolve(b), resolve(c)],
          detail: { truth: truthOf(node, [a, b, c]) },
        });
        continue;
      }
    }
    if (node.args.some((arg) => merged.has(arg))) merged.set(node, { ...node, args: node.args.map(resolve) });
  }
  const block = (old: Block): Block =>
    old.map((statement) => rewriteStatement(statement, { read: resolve, define: resolve, block }));
  return { ...program, body: block(program.body) };
}

/**
 * Returns the inputs of the largest function around `root` that has at most three. Operands are expanded one after the
 * other. In between there may be one or two inputs too many (a majority passes through four).
 */
function inputsOf(root: Node, uses: ReadonlyMap<Node, number>): Node[] {
  let best = [...new Set(root.args)];
  if (!root.args.some((arg) => isLogic(arg))) return best;
  const queue: Node[][] = [best];
  for (let tried = 0; tried < 24; tried++) {
    const inputs = queue.shift();
    if (!inputs) break;
    for (const input of inputs) {
      if (!isLogic(input) || input.stage !== ValueStage.varying) continue;
      if ((uses.get(input) ?? 0) > usesWithin(root, input, inputs)) continue;
      const wider = [...new Set([...inputs.filter((other) => other !== input), ...input.args])];
      if (wider.length > 5) continue;
      queue.push(wider);
      if (wider.length <= 3 && operationsIn(root, wider) > operationsIn(root, best)) best = wider;
    }
  }
  return best;
}

/** Counts how often `target` is used between the root and the inputs. */
function usesWithin(root: Node, target: Node, inputs: readonly Node[]): number {
  let count = 0;
  const seen = new Set<Node>();
  const stack = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    for (const arg of node.args) {
      if (arg === target) count++;
      else if (!inputs.includes(arg)) stack.push(arg);
    }
  }
  return count;
}

const operationsIn = (root: Node, inputs: readonly Node[]): number => countOf(operationsBetween(root, inputs), root);

function operationsBetween(root: Node, inputs: readonly Node[]): ReadonlySet<Node> {
  const seen = new Set<Node>();
  const stack = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (seen.has(node) || (node !== root && inputs.includes(node))) continue;
    seen.add(node);
    stack.push(...node.args);
  }
  return seen;
}

/** bitSelect has three inputs already: it is one instruction on the targets that use this pass. */
const countOf = (operations: ReadonlySet<Node>, root: Node): number =>
  operations.size + (root.op === 'bitSelect' ? 1 : 0);

/** Returns the function's eight results, evaluated on the three columns of a truth table. */
function truthOf(root: Node, [a, b, c]: readonly [Node, Node, Node]): number {
  const known = new Map<Node, number>([
    [c, 0b10101010],
    [b, 0b11001100],
    [a, 0b11110000],
  ]);
  const value = (node: Node): number => {
    const column = known.get(node);
    if (column !== undefined) return column;
    const [x = 0, y = 0, z = 0] = node.args.map(value);
    const result = (meanings[node.op as 'and'].word?.(x, y, z, node) ?? 0) & 0xff;
    known.set(node, result);
    return result;
  };
  return value(root) & 0xff;
}
