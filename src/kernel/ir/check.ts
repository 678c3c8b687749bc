import { MillraceError } from '../error.js';
import type { Scalar } from '../language/types.js';
import { operandType, resultType, rowOf, typeSets } from './ops.js';
import {
  type Block,
  type BufferDecl,
  definedNodes,
  innerBlocks,
  loopIndex,
  type Node,
  nodeReadAtEnd,
  operandsOf,
  type Program,
  readNodes,
  type Statement,
} from './program.js';

/**
 * Checks the rules of a valid program: every value is computed before it is used, in an enclosing block; operand and result
 * types fit the operation; stores do not go to read-only buffers. Runs after tracing and, in tests, after each pass.
 */
export function checkProgram(program: Program): void {
  const defined = new Set<Node>();
  const cells = new Set<unknown>();
  const arrays = new Set<BufferDecl>();

  const fail = (statement: Statement, message: string): never => {
    throw new MillraceError({
      code: 'kernel-invalid',
      message: `kernel ${program.name}: ${message}`,
      asked: `${statement.kind} at ${statement.origin.line}`,
      advice: 'this is a defect of the language, not of the kernel: please report it',
    });
  };

  const checkDefined = (statement: Statement, node: Node): void => {
    const free = node.args.length === 0 && node.op !== 'local';
    if (!free && !defined.has(node)) fail(statement, `${node.op} (node ${node.id}) is used before it is computed`);
  };

  const walk = (block: Block, inLoop: boolean, atEnd?: () => void): void => {
    const definedHere: Node[] = [];
    for (const statement of block) {
      for (const node of readNodes(statement)) checkDefined(statement, node);
      if (statement.kind === 'let') {
        // Nearly all statements are lets, and none of the checks below concerns them.
        const wrong = nodeProblem(statement.node);
        if (wrong) fail(statement, wrong);
        defined.add(statement.node);
        definedHere.push(statement.node);
        continue;
      }
      const problem = typeProblem(statement);
      if (problem) fail(statement, problem);
      if (statement.kind === 'cell') cells.add(statement.cell);
      if ((statement.kind === 'get' || statement.kind === 'set') && !cells.has(statement.cell)) {
        fail(statement, 'a cell is used before it is made');
      }
      if (statement.kind === 'array') arrays.add(statement.array);
      const used = statement.kind === 'load' || statement.kind === 'store' ? statement.place.buffer : undefined;
      if (used?.kind === 'array' && !arrays.has(used)) fail(statement, 'an array is used before it is made');
      if (statement.kind === 'break' && !inLoop) fail(statement, 'a break is outside a loop');
      const index = loopIndex(statement);
      if (index) defined.add(index);
      const last = nodeReadAtEnd(statement);
      for (const inner of innerBlocks(statement)) {
        const breaks = statement.kind === 'when' ? inLoop : statement.kind === 'loop' || inner !== last?.block;
        walk(inner, breaks, () => last?.block === inner && checkDefined(statement, last.node));
      }
      if (index) defined.delete(index);
      for (const node of definedNodes(statement)) {
        defined.add(node);
        definedHere.push(node);
      }
    }
    atEnd?.();
    for (const node of definedHere) defined.delete(node);
  };

  walk(program.body, false);
}

function typeProblem(statement: Statement): string | undefined {
  switch (statement.kind) {
    case 'cell':
    case 'set':
      return statement.value.type === statement.cell.type
        ? undefined
        : `a ${statement.value.type} is stored in a cell of ${statement.cell.type}`;
    case 'array':
      if (statement.values.some((node) => node.type !== statement.array.type))
        return `a value of an array of ${statement.array.type} has another type`;
      return statement.values.length === 0 || statement.values.length === statement.array.length
        ? undefined
        : `${statement.values.length} values for an array of ${statement.array.length} elements`;
    case 'store':
      if (!isWritable(statement.place.buffer))
        return `a store to the ${statement.place.buffer.kind} buffer ${statement.place.buffer.name}`;
      if (statement.place.buffer.kind === 'array' && statement.values.length !== 1) return QUAD_OF_ARRAY;
      return statement.values.every((node) => node.type === statement.place.buffer.type)
        ? undefined
        : 'a stored value has a different type from its buffer';
    case 'atomic':
      if (statement.place.buffer.kind !== 'atomic' && !isNearWords(statement.place.buffer))
        return `atomic access to the ${statement.place.buffer.kind} buffer ${statement.place.buffer.name}`;
      return operandsOf(statement).every((node) => node.type === statement.place.buffer.type)
        ? undefined
        : 'an operand of an atomic access has a different type from its buffer';
    case 'load':
      if (statement.place.buffer.kind === 'array' && statement.results.length !== 1) return QUAD_OF_ARRAY;
      return statement.place.buffer.kind === 'atomic'
        ? `plain access to the atomic buffer ${statement.place.buffer.name}`
        : undefined;
    case 'when':
    case 'break':
    case 'while':
      return statement.condition.type === 'bool' ? undefined : 'a condition is not a bool';
    case 'loop':
    case 'each':
      return statement.count.type === 'u32' ? undefined : 'a loop count is not a u32';
    case 'sum':
      return statement.value.type === statement.result.type ? undefined : 'a sum has a different type from its terms';
    case 'scan':
      return isNearWords(statement.near) ? undefined : 'a scan needs a near array of u32';
    default:
      return undefined;
  }
}

const isWritable = ({ kind }: BufferDecl) => kind === 'rw' || kind === 'near' || kind === 'array';
const QUAD_OF_ARRAY = 'a quad of an array';
const isNearWords = (buffer: BufferDecl) => buffer.kind === 'near' && buffer.type === 'u32';

function nodeProblem(node: Node): string | undefined {
  const { op, args, type } = node;
  for (const arg of args)
    if (op !== 'any' && arg.stage > node.stage) return `${op} has an earlier stage than its operands`;
  const row = rowOf(op);
  if (!row) return undefined;
  const T = operandType(node);
  const fits =
    args.length === row.args.length &&
    args.every((arg, i) => arg.type === (row.args[i] === 'T' ? T : row.args[i])) &&
    type === resultType(node) &&
    (typeSets[row.on] as readonly Scalar[]).includes(T);
  return fits ? undefined : `${op}(${args.map((arg) => arg.type).join(', ')}) -> ${type} is not an operation`;
}
