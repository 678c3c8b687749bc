import { rowOf } from '../ir/ops.js';
import {
  type Block,
  innerBlocks,
  type Node,
  type NodeDetail,
  nodeReadAtEnd,
  type Op,
  readNodes,
  ValueStage,
} from '../ir/program.js';
import type { Origin } from '../language/origin.js';
import type { Scalar, Value } from '../language/types.js';

/** True if an operation must stay in the kernel's block: elsewhere its index may be out of bounds. */
export const isAnchored = (node: Node): boolean => node.op === 'lookup';

/**
 * The maximum distance, in nodes, to an equal node that is reused: keeping a value alive longer costs a register, which is
 * more than it saves.
 */
const MAX_REUSE_DISTANCE = 4000;

/**
 * Makes nodes and returns the same one for the same operation on the same operands (hash consing). Sharing across
 * branches is sound because `placeNodes` decides later where each node is computed.
 */
export class Graph {
  #next = 0;
  readonly #leaves = new Map<string, Node>();
  /**
   * Keyed by operation and type, then by the operands' ids. Most operations have two operands, whose ids make one number.
   */
  readonly #operations = new Map<string, Map<number | string, Node>>();

  constant(type: Scalar, value: Value, origin: Origin): Node {
    const key = `${type} ${Object.is(value, -0) ? '-0' : String(value)}`;
    return (
      this.#leaves.get(key) ?? this.#leaf(key, this.#node('const', type, [], ValueStage.constant, { value }, origin))
    );
  }

  leaf(node: Node): Node {
    const { op, type, detail } = node;
    const again = () => this.#node(op, type, [], node.stage, detail, node.origin);
    if (op === 'local') return again();
    const key = `${op} ${type} ${detail.field} ${detail.element} ${detail.word}`;
    return this.#leaves.get(key) ?? this.#leaf(key, again());
  }

  operation(op: Op, type: Scalar, args: readonly Node[], detail: NodeDetail, origin: Origin): Node {
    let stage: ValueStage = op === 'lookup' ? ValueStage.varying : ValueStage.constant;
    for (const arg of args) if (arg.stage > stage) stage = arg.stage;
    if (op === 'lookup') return this.#node(op, type, args, stage, detail, origin);
    const kind = detail.truth === undefined ? `${op} ${type}` : `${op} ${type} ${detail.truth}`;
    let same = this.#operations.get(kind);
    if (!same) {
      same = new Map();
      this.#operations.set(kind, same);
    }
    const key = operandKey(args, rowOf(op)?.commutes ?? false);
    const known = same.get(key);
    if (known && this.#next - known.id <= MAX_REUSE_DISTANCE) return known;
    const node = this.#node(op, type, args, stage, detail, origin);
    same.set(key, node);
    return node;
  }

  #leaf(key: string, node: Node): Node {
    this.#leaves.set(key, node);
    return node;
  }

  #node(op: Op, type: Scalar, args: readonly Node[], stage: ValueStage, detail: NodeDetail, origin: Origin): Node {
    return { id: this.#next++, op, type, args, stage, detail, origin };
  }
}

/** With ids below this limit, two of them make one exact number below 2^53. */
const ID_LIMIT = 2 ** 26;

/** Returns a key that is equal for equal operands, in any order if `anyOrder` is set. */
function operandKey(args: readonly Node[], anyOrder: boolean): number | string {
  const [a, b] = args;
  if (args.length !== 2 || !a || !b) return args.map((arg) => arg.id).join(' ');
  return anyOrder && a.id > b.id ? b.id * ID_LIMIT + a.id : a.id * ID_LIMIT + b.id;
}

/** Returns the nodes that `roots` need, operands before users. Uses no recursion: kernels are thousands of nodes deep. */
export function topologicalOrder(roots: Iterable<Node>, skip: (node: Node) => boolean = () => false): Node[] {
  const done = new Set<Node>();
  const list: Node[] = [];
  const path: Node[] = [];
  const next: number[] = [];
  for (const root of roots) {
    path.push(root);
    next.push(0);
    while (path.length > 0) {
      const top = path.length - 1;
      const node = path[top] as Node;
      const at = next[top] as number;
      const operand = at === 0 && (done.has(node) || skip(node)) ? undefined : node.args[at];
      if (operand && !done.has(operand)) {
        path.push(operand);
        next.push(0);
      }
      if (operand) {
        next[top] = at + 1;
        continue;
      }
      path.pop();
      next.pop();
      if (done.has(node) || (at === 0 && skip(node))) continue;
      done.add(node);
      list.push(node);
    }
  }
  return list;
}

/** Returns everything that the statements of a block, and of blocks inside it, read. */
export function rootsOf(block: Block): Node[] {
  return block.flatMap((statement) => {
    const last = nodeReadAtEnd(statement);
    const own = statement.kind === 'let' ? [statement.node] : readNodes(statement);
    return [...own, ...(last ? [last.node] : []), ...innerBlocks(statement).flatMap(rootsOf)];
  });
}

/** Counts how often each node is an operand or is read by a statement. */
export function countUses(nodes: readonly Node[], roots: readonly Node[]): Map<Node, number> {
  const uses = new Map<Node, number>();
  const use = (node: Node) => uses.set(node, (uses.get(node) ?? 0) + 1);
  for (const root of roots) use(root);
  for (const node of nodes) node.args.forEach(use);
  return uses;
}

/** Returns the parameters that a placed body reads, in word order. */
export function paramsOf(body: Block): Node[] {
  const byWord = new Map<number, Node>();
  const walk = (block: Block): void => {
    for (const statement of block) {
      for (const node of readNodes(statement)) if (node.op === 'param') byWord.set(node.detail.word ?? 0, node);
      const last = nodeReadAtEnd(statement);
      if (last?.node.op === 'param') byWord.set(last.node.detail.word ?? 0, last.node);
      for (const inner of innerBlocks(statement)) walk(inner);
    }
  };
  walk(body);
  return [...byWord].sort(([a], [b]) => a - b).map(([, node]) => node);
}
