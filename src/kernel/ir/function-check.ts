import type { Scalar } from '../language/types.js';
import {
  type FunctionStatement,
  innerBlocks,
  type Node,
  nodeReadAtEnd,
  readNodes,
  type Statement,
  ValueStage,
} from './program.js';

/** Returns what is wrong with a function: it must compute its results from its parameters alone. */
export function functionProblem({ callee, body }: FunctionStatement): string | undefined {
  const [first, ...rest] = body;
  const last = rest.pop();
  if (first?.kind !== 'parameters' || last?.kind !== 'results') return 'lacks its parameters or results';
  const typesFit = hasTypes(first.nodes, callee.params) && hasTypes(last.values, callee.results);
  if (!typesFit || callee.results.length === 0) return 'has other parameters or results than its declaration';
  const problems = [...rest.flatMap(problemsIn), ...outsideProblem(last.values)];
  return problems[0];
}

export const hasTypes = (nodes: readonly Node[], types: readonly Scalar[]): boolean =>
  nodes.length === types.length && nodes.every(({ type }, i) => type === types[i]);

/** Statements that access nothing but values, cells and arrays. */
const LOCAL: ReadonlySet<Statement['kind']> = new Set<Statement['kind']>([
  ...(['let', 'cell', 'get', 'set', 'array', 'load', 'store', 'when', 'loop', 'while', 'break'] as const),
  ...(['native', 'invoke'] as const),
]);

function problemsIn(statement: Statement): string[] {
  const { kind } = statement;
  if (!LOCAL.has(kind)) return [`has the statement ${kind}`];
  if ((kind === 'load' || kind === 'store') && statement.place.buffer.kind !== 'array')
    return [`accesses buffer ${statement.place.buffer.name}`];
  if (kind === 'let' && (statement.node.detail.table?.stage ?? 0) > ValueStage.constant)
    return ['looks up a table of job values'];
  const last = nodeReadAtEnd(statement);
  return [
    ...outsideProblem([...readNodes(statement), ...(last ? [last.node] : [])]),
    ...innerBlocks(statement).flatMap((block) => block.flatMap(problemsIn)),
  ];
}

const outsideProblem = (nodes: readonly Node[]): string[] =>
  nodes.some(({ op, args }) => args.length === 0 && op !== 'const' && op !== 'local')
    ? ['uses a value from outside']
    : [];
