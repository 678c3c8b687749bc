import { ONE_FIELD } from '../../abi/harness.js';
import { type Block, functionsOf, type HoistedProgram, type Node, ValueStage } from '../../ir/program.js';
import { countUses, rootsOf, topologicalOrder } from '../graph.js';
import { rewriteStatement } from '../rewrite.js';
import { hoistRotations } from './hoist-rotations.js';

/** The work that goes to the multiply-add pipe; `pipe-shares.ts` estimates it. */
export interface PipeShares {
  /**
   * The share, 0 to 1, of additions of two varying values. Values known before the launch are added there anyway (VIADD).
   */
  readonly additions: number;
  /** True if rotations are taken out of a xor that is added: see `hoistRotations`. */
  readonly turns: boolean;
}

/**
 * How to make a compiler keep the factor where it costs nothing: in a uniform register of the warp, or in constant memory.
 * In an ordinary register it would be a third operand to read from two banks, which would then be the limit. NVIDIA's
 * compiler for CUDA C and OpenCL does so with a word computed from loaded words (SHA-256d on an H200: 8.68 GH/s; 6.8 with a
 * loaded word), the one for Vulkan with a loaded word (8.12; 6.59 computed).
 */
export type FactorSource = 'computed' | 'loaded';

/**
 * Moves 32-bit work from the integer pipe of NVIDIA's processors, which rotations and logic fill, to their multiply-add
 * pipe: x + y becomes x·one + y, with `one` a parameter that is always 1. Its value is known only at run time, so that no
 * compiler reverts the change. Runs on floating programs. A number is the share of additions, with `hoistRotations`; 0 leaves
 * programs as they are. (Right shifts as upper halves of products were tried too: 8.52 GH/s of SHA-256d on an H200 with all
 * of them, 8.68 with none.)
 */
export function balancePipes(
  program: HoistedProgram,
  requested: number | PipeShares,
  factor: FactorSource = 'computed',
): HoistedProgram {
  const shares = typeof requested === 'number' ? sharesFromNumber(requested) : requested;
  const rotated = shares.turns ? hoistRotations(program) : program;
  if (shares.additions <= 0) return rotated;
  const { nodes, additions } = movableAdditions(rotated);
  const moved = new Set(pickEvenly(additions, shares.additions));
  const [first] = moved;
  if (!first) return rotated;

  const word = program.jobWords + program.chunkWords;
  let next = nodes.reduce((max, node) => Math.max(max, node.id), 0) + 1;
  const detail = { field: ONE_FIELD, element: 0 };
  const leaf: Node = { ...first, id: next++, op: 'chunk', args: [], stage: ValueStage.chunk, detail };
  const one: Node = { ...leaf, id: next++, op: 'param', detail: { word, name: 'one' } };
  const make = (like: Node, op: Node['op'], ...args: readonly Node[]): Node => ({ ...like, id: next++, op, args });
  const uniform = factor === 'loaded' ? one : make({ ...one, detail: {} }, 'mul', one, one);

  const changed = new Map<Node, Node>();
  const resolve = (node: Node): Node => changed.get(node) ?? node;
  for (const node of nodes) {
    const [x, y] = node.args.map(resolve) as [Node, Node];
    if (moved.has(node)) changed.set(node, make(node, 'add', make(node, 'mul', x, uniform), y));
    else if (node.args.some((arg) => changed.has(arg))) changed.set(node, { ...node, args: node.args.map(resolve) });
  }
  const block = (old: Block): Block =>
    old.map((statement) => rewriteStatement(statement, { read: resolve, define: resolve, block }));
  return {
    ...rotated,
    body: block(rotated.body),
    host: [...program.host, leaf],
    params: [...program.params, { node: leaf, word, name: 'one' }],
    chunkWords: program.chunkWords + 1,
  };
}

const sharesFromNumber = (share: number): PipeShares => ({ additions: share, turns: share > 0 });

const isWord = (node: Node) => node.type === 'u32' && node.stage === ValueStage.varying;
const isShift = (node: Node) =>
  (node.op === 'shr' || node.op === 'shl' || node.op === 'rotr') && isWord(node) && node.args[1]?.op === 'const';

/** Returns all nodes of a program in order, and the additions that could move. A function cannot read the factor. */
export function movableAdditions(program: HoistedProgram): { nodes: Node[]; additions: Node[] } {
  const roots = rootsOf(program.body);
  const nodes = topologicalOrder(roots);
  const uses = countUses(nodes, roots);
  const sums = nodes.filter((node) => node.op === 'add' && isWord(node));
  // A shift or rotation and the addition of its result are already one instruction.
  const joins = (node: Node) => isShift(node) && uses.get(node) === 1;
  const joined = new Set(sums.flatMap((sum) => sum.args.filter(joins)));
  const ofFunctions = new Set(topologicalOrder(functionsOf(program).flatMap(({ body }) => rootsOf(body))));
  const additions = sums.filter(
    (sum) => !ofFunctions.has(sum) && sum.args.every((arg) => isWord(arg) && !joined.has(arg)),
  );
  return { nodes, additions };
}

/** Returns the given share of a list, evenly spaced. */
function pickEvenly(list: readonly Node[], share: number): Node[] {
  const upTo = (count: number) => Math.floor(count * Math.min(share, 1) + 1e-9);
  return list.filter((_, i) => upTo(i + 1) > upTo(i));
}
