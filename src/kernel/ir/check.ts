import { MillraceError } from '../error.js';
import { bytesOf, type Scalar, scalarOf } from '../language/types.js';
import { functionProblem, hasTypes } from './function-check.js';
import { operandType, resultType, rowOf, typeSets } from './ops.js';
import {
  type AtomicOp,
  type Block,
  type BufferDecl,
  type CellDecl,
  definedNodes,
  type FunctionDecl,
  functionsOf,
  innerBlocks,
  loopIndex,
  type Node,
  nodeReadAtEnd,
  operandsOf,
  type Place,
  type Program,
  readNodes,
  type Statement,
  type TableDecl,
  ValueStage,
} from './program.js';

/**
 * Checks the rules of a valid program: every value is computed before it is used, in an enclosing block; operand and result
 * types fit the operation; stores do not go to read-only buffers; regions belong to tiles and do not nest; a function uses
 * nothing from outside and calls only functions before it. Runs after tracing
 * and, in tests, after each pass. A traced program that passes can be lowered and interpreted, wherever it came from.
 */
export function checkProgram(program: Program): void {
  const defined = new Set<Node>();
  const cells = new Set<unknown>();
  const arrays = new Set<BufferDecl>();
  const tables = new Map<TableDecl, string | undefined>();
  const functions = new Set<FunctionDecl>();
  let inFunction = false;

  const failProgram = (message: string, asked?: string): never => {
    throw new MillraceError({
      code: 'kernel-invalid',
      message: `kernel ${program.name}: ${message}`,
      ...(asked === undefined ? {} : { asked }),
      advice: 'this is a defect of the language, not of the kernel: please report it',
    });
  };
  const fail = (statement: Statement, message: string): never =>
    failProgram(message, `${statement.kind} at ${statement.origin.line}`);

  const checkDefined = (statement: Statement, node: Node): void => {
    const free = node.args.length === 0 && node.op !== 'local';
    if (!free && !defined.has(node)) fail(statement, `${node.op} (node ${node.id}) is used before it is computed`);
  };

  const tableProblemOf = (table: TableDecl): string | undefined => {
    if (!tables.has(table)) tables.set(table, tableProblem(table));
    return tables.get(table);
  };

  const walk = (block: Block, inLoop: boolean, inRegion: boolean, atEnd?: () => void): void => {
    const definedHere: Node[] = [];
    const cellsHere: CellDecl[] = [];
    for (const statement of block) {
      for (const node of readNodes(statement)) checkDefined(statement, node);
      if (statement.kind === 'let') {
        // Nearly all statements are lets, and none of the checks below concerns them.
        const { table } = statement.node.detail;
        const wrong = nodeProblem(statement.node) ?? (table && tableProblemOf(table));
        if (wrong) fail(statement, wrong);
        defined.add(statement.node);
        definedHere.push(statement.node);
        continue;
      }
      const problem = typeProblem(statement) ?? hitProblem(program, statement);
      if (statement.kind === 'function') fail(statement, 'a function is inside a block');
      if ((statement.kind === 'parameters' || statement.kind === 'results') && !inFunction)
        fail(statement, 'the parameters or results of a function are outside of it');
      if (statement.kind === 'invoke' && !functions.has(statement.callee))
        fail(statement, 'a function is called before it is defined');
      if (problem) fail(statement, problem);
      if (statement.kind === 'cell') {
        cells.add(statement.cell);
        cellsHere.push(statement.cell);
      }
      if ((statement.kind === 'get' || statement.kind === 'set') && !cells.has(statement.cell)) {
        fail(statement, 'a cell is used before it is made');
      }
      if (statement.kind === 'array') arrays.add(statement.array);
      const used = statement.kind === 'load' || statement.kind === 'store' ? statement.place.buffer : undefined;
      if (used?.kind === 'array' && !arrays.has(used)) fail(statement, 'an array is used before it is made');
      if (statement.kind === 'break' && !inLoop) fail(statement, 'a break is outside a loop');
      const isRegion = regions.has(statement.kind);
      if (isRegion && program.kind !== 'tiles') fail(statement, 'a region is in a kernel of items');
      if (isRegion && inRegion) fail(statement, 'a region is inside another');
      const index = loopIndex(statement);
      if (index) defined.add(index);
      const last = nodeReadAtEnd(statement);
      for (const inner of innerBlocks(statement)) {
        const isRound = statement.kind === 'loop' || (statement.kind === 'while' && inner === statement.body);
        const breaks = statement.kind === 'when' ? inLoop : isRound;
        walk(inner, breaks, inRegion || isRegion, () => last?.block === inner && checkDefined(statement, last.node));
      }
      if (index) defined.delete(index);
      for (const node of definedNodes(statement)) {
        defined.add(node);
        definedHere.push(node);
      }
    }
    atEnd?.();
    for (const node of definedHere) defined.delete(node);
    for (const cell of cellsHere) cells.delete(cell);
  };

  for (const near of program.near) {
    const { length = 0 } = near;
    if (!Number.isInteger(length) || length < 1 || length > 0xffff_ffff)
      failProgram(`${near.name} has ${length} elements`);
  }
  for (const statement of functionsOf(program)) {
    const wrong = functionProblem(statement);
    if (wrong) fail(statement, `function ${statement.callee.name} ${wrong}`);
    inFunction = true;
    walk(statement.body, false, false);
    inFunction = false;
    functions.add(statement.callee);
  }
  walk(functions.size === 0 ? program.body : program.body.filter(({ kind }) => kind !== 'function'), false, false);
}

const regions: ReadonlySet<Statement['kind']> = new Set<Statement['kind']>(['each', 'sum', 'once', 'scan']);

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
      if ((statement.array.length ?? 0) < 1) return 'an array without elements';
      return statement.values.length === 0 || statement.values.length === statement.array.length
        ? undefined
        : `${statement.values.length} values for an array of ${statement.array.length} elements`;
    case 'get':
      return statement.result.type === statement.cell.type ? undefined : 'a cell is read with another type';
    case 'store':
      if (!isWritable(statement.place.buffer))
        return `a store to the ${statement.place.buffer.kind} buffer ${statement.place.buffer.name}`;
      if (statement.place.buffer.kind === 'array' && statement.values.length !== 1) return QUAD_OF_ARRAY;
      if (!statement.values.every((node) => node.type === statement.place.buffer.type))
        return 'a stored value has a different type from its buffer';
      return placeProblem(statement.place, statement.values.length);
    case 'atomic':
      return atomicProblem(statement);
    case 'load':
      if (statement.place.buffer.kind === 'array' && statement.results.length !== 1) return QUAD_OF_ARRAY;
      if (statement.place.buffer.kind === 'atomic')
        return `plain access to the atomic buffer ${statement.place.buffer.name}`;
      if (!statement.results.every((node) => node.type === statement.place.buffer.type))
        return 'a loaded value has a different type from its buffer';
      return placeProblem(statement.place, statement.results.length);
    case 'prefetch':
      if (statement.place.buffer.kind === 'atomic')
        return `plain access to the atomic buffer ${statement.place.buffer.name}`;
      return placeProblem(statement.place, 4);
    case 'when':
    case 'break':
    case 'while':
      return statement.condition.type === 'bool' ? undefined : 'a condition is not a bool';
    case 'loop':
    case 'each':
      return countProblem(statement);
    case 'sum':
      if (statement.result.type === 'bool') return 'a sum of bools';
      if (statement.value.type !== statement.result.type) return 'a sum has a different type from its terms';
      return countProblem(statement);
    case 'invoke': {
      const { callee, args, results } = statement;
      return hasTypes(args, callee.params) && hasTypes(results, callee.results)
        ? undefined
        : `a call of function ${callee.name} with other types`;
    }
    case 'scan':
      if (!isNearWords(statement.near)) return 'a scan needs a near array of u32';
      return statement.length >= 1 && statement.length <= (statement.near.length ?? 0)
        ? undefined
        : `a scan of ${statement.length} out of ${statement.near.length} words`;
    default:
      return undefined;
  }
}

const isWritable = ({ kind }: BufferDecl) => kind === 'rw' || kind === 'near' || kind === 'array';
const QUAD_OF_ARRAY = 'a quad of an array';
const isNearWords = (buffer: BufferDecl) => buffer.kind === 'near' && buffer.type === 'u32';

/** Quads are of buffers: a near array has no alignment. */
function placeProblem({ buffer, base, index }: Place, width: number): string | undefined {
  if (index.type !== 'u32') return `an index of type ${index.type}`;
  if (base && base.type !== 'u64' && base.type !== 'u32') return `a slice that begins at a ${base.type}`;
  if (width !== 1 && width !== 4) return `an access to ${width} elements`;
  const isArray = buffer.kind === 'near' || buffer.kind === 'array';
  return isArray && (base || width !== 1) ? 'a slice or a quad of an array' : undefined;
}

function atomicProblem(statement: Extract<Statement, { kind: 'atomic' }>): string | undefined {
  const { op, place, value, expected, result } = statement;
  const { buffer } = place;
  if (buffer.kind !== 'atomic' && !isNearWords(buffer))
    return `atomic access to the ${buffer.kind} buffer ${buffer.name}`;
  if (buffer.kind === 'near' && !nearAtomics.has(op)) return `atomic ${op} in a near array`;
  if ((op === 'load') !== (value === undefined) || (op === 'store' && result)) return `an atomic ${op} of another form`;
  if ((op === 'compareExchange') !== (expected !== undefined)) return `an atomic ${op} of another form`;
  if (operandsOf(statement).some((node) => node.type !== buffer.type) || (result && result.type !== buffer.type))
    return 'an operand of an atomic access has a different type from its buffer';
  return placeProblem(place, 1);
}

/** The updates that `Near` has. */
const nearAtomics: ReadonlySet<AtomicOp> = new Set<AtomicOp>(['add', 'or']);

const countProblem = ({ count, index }: { readonly count: Node; readonly index: Node }): string | undefined =>
  count.type === 'u32' && index.type === 'u32' ? undefined : 'a loop count is not a u32';

/** After `withRing` there is no `emit`. */
function hitProblem({ hit }: Program, statement: Statement): string | undefined {
  if (statement.kind !== 'emit') return undefined;
  const types = hit.flatMap(({ type, length }) => Array<Scalar>(length).fill(scalarOf(type)));
  const fits =
    types.length > 0 &&
    types.length === statement.values.length &&
    statement.values.every(({ type }, i) => type === types[i]);
  return fits ? undefined : 'a hit has other fields than its declaration';
}

function tableProblem({ type, values, stage }: TableDecl): string | undefined {
  if (type === 'bool') return 'a table of bools';
  if (values.length === 0) return 'a table without values';
  if (stage > ValueStage.job) return 'a table of values that are not known before the launch';
  return undefined;
}

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
  return fits && convertsWell(node)
    ? undefined
    : `${op}(${args.map((arg) => arg.type).join(', ')}) -> ${type} is not an operation`;
}

/** For operations whose own type is that of the result: nothing else determines it. */
function convertsWell({ op, type, args, detail }: Node): boolean {
  const from = args[0]?.type ?? type;
  if (op === 'cast') return type !== from;
  if (op === 'bits') return type !== 'bool' && type !== from && bytesOf[type] === bytesOf[from];
  return op !== 'lookup' || detail.table?.type === type;
}
