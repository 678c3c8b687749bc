import { evaluate } from '../../ir/evaluate.js';
import { ops, type PureOp, resultType } from '../../ir/ops.js';
import type { Node, NodeDetail, Op } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import {
  bitsOf,
  type Integer,
  isFloat,
  isInteger,
  literal,
  type Scalar,
  type Value,
  wrap,
} from '../../language/types.js';
import type { Graph } from '../graph.js';

/** Makes an operation, or a simpler one that is equal for every input. */
export class Simplifier {
  readonly #graph: Graph;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  make(op: Op, type: Scalar, args: readonly Node[], detail: NodeDetail, origin: Origin): Node {
    const known = constants(args);
    const plain = () => this.#graph.operation(op, type, args, detail, origin);
    if (op === 'any') return plain();
    if (op === 'lookup') return constantEntry(args[0], detail) ?? plain();
    if (known) {
      const shape = { op, type, args, detail } as unknown as Node;
      return this.#graph.constant(type, evaluate(shape, known), origin);
    }
    const build: NodeBuilder = {
      op: (nextOp, ...nextArgs) =>
        this.make(nextOp, resultType({ op: nextOp, type, args: nextArgs }), nextArgs, {}, origin),
      lit: (litType, value) => this.#graph.constant(litType, literal(litType, value), origin),
    };
    return simplify(op, type, args, build) ?? plain();
  }
}

/** Returns the entry of a look-up with a constant index. */
function constantEntry(index: Node | undefined, { table }: NodeDetail): Node | undefined {
  return index?.op === 'const' ? table?.values[Number(index.detail.value)] : undefined;
}

interface NodeBuilder {
  op(op: Op, ...args: Node[]): Node;
  lit(type: Scalar, value: Value): Node;
}

function constants(args: readonly Node[]): Value[] | undefined {
  const values: Value[] = [];
  for (const arg of args) {
    if (arg.op !== 'const') return undefined;
    values.push(arg.detail.value as Value);
  }
  return args.length > 0 ? values : undefined;
}

const constantOf = (node: Node): Value | undefined => (node.op === 'const' ? node.detail.value : undefined);
const isConstant = (node: Node, value: 0 | 1 | -1): boolean => {
  const known = constantOf(node);
  return known !== undefined && !isFloat(node.type) && known === numberOf(node.type, value);
};
const isZero = (node: Node) => isConstant(node, 0);

/** Returns 0, 1 or all ones, as a value of an integer type or a bool. */
const numberOf = (type: Scalar, value: 0 | 1 | -1): Value =>
  type === 'bool' ? value !== 0 : isInteger(type) ? wrap(type, BigInt(value)) : value;

function simplify(op: Op, type: Scalar, args: readonly Node[], build: NodeBuilder): Node | undefined {
  const [x, y, z] = args as [Node, Node, Node];
  const row = ops[op as PureOp];
  const { identity, absorbing, same } = row;
  // The rules expect constants on the right.
  if (row.commutes && (identity ?? same) !== undefined && x.op === 'const') return build.op(op, y, x);
  // Exact, and compilers would do it too, so it must be the printers' own negation (see neg_f32 in render/c/forms.ts).
  if (isFloat(type) && (op === 'mul' || op === 'div') && constantOf(y) === -1) return build.op('neg', x);
  // Because of −0, NaN and rounding, floats are computed as written.
  if (isFloat(row.class === 'comparisons' ? x.type : type) && op !== 'select' && op !== 'bits') return undefined;
  if (identity !== undefined && isConstant(y, identity)) return x;
  if (absorbing !== undefined && isConstant(y, absorbing)) return y;
  if (same !== undefined && x === y) return same === 'x' ? x : build.lit(type, numberOf(type, same));
  if (row.isInvolution && x.op === op) return x.args[0];
  switch (op) {
    case 'add':
      if (x.op === 'neg' && isConstant(y, -1)) return build.op('not', x.args[0] as Node);
      return x.op === 'add' && y.op === 'const' && x.args[1]?.op === 'const'
        ? build.op('add', x.args[0] as Node, build.op('add', x.args[1], y))
        : undefined;
    case 'sub':
      if (isConstant(x, -1)) return build.op('not', y);
      return y.op === 'const' ? build.op('add', x, build.op('neg', y)) : undefined;
    case 'mul':
      return simplifyProduct(type as Integer & Scalar, x, y, build);
    case 'div':
    case 'rem':
      return simplifyDivision(op, type as Integer & Scalar, x, y, build);
    case 'xor':
      return isConstant(y, -1) ? build.op('not', x) : undefined;
    case 'eq':
    case 'ne':
      return simplifyEquality(op, x, y, build);
    case 'not':
      return simplifyNot(x, build);
    case 'shl':
    case 'shr':
    case 'rotl':
    case 'rotr':
      return simplifyShift(op, type as Integer & Scalar, x, y, build);
    case 'cast':
      if (type === 'u32' && x.op === 'pack') return x.args[0];
      return type === 'u32' && x.op === 'cast' && x.args[0]?.type === 'u32' && x.type === 'u64' ? x.args[0] : undefined;
    case 'hi':
      if (x.op === 'pack') return x.args[1];
      return x.op === 'cast' && x.args[0]?.type === 'u32' ? build.lit('u32', 0) : undefined;
    case 'pack':
      return x.op === 'cast' && y.op === 'hi' && x.args[0] === y.args[0] && x.args[0]?.type === 'u64'
        ? x.args[0]
        : undefined;
    case 'bits':
      return x.op === 'bits' && x.args[0]?.type === type ? x.args[0] : undefined;
    case 'select':
      if (x.op === 'const') return constantOf(x) ? y : z;
      if (y === z) return y;
      return x.op === 'not' ? build.op('select', x.args[0] as Node, z, y) : undefined;
    case 'bitSelect':
      if (isZero(x)) return z;
      return isConstant(x, -1) || y === z ? y : undefined;
    case 'funnel':
      if (x === y) return build.op('rotr', x, z);
      return z.op === 'const' && Number(constantOf(z)) % 32 === 0 ? y : undefined;
    case 'carry':
    case 'borrow':
      return isZero(y) && isZero(z) ? y : undefined;
    default:
      return undefined;
  }
}

function simplifyEquality(op: 'eq' | 'ne', x: Node, y: Node, build: NodeBuilder): Node | undefined {
  if (y.op !== 'const') return undefined;
  if (x.type === 'bool') return (constantOf(y) === true) === (op === 'eq') ? x : build.op('not', x);
  const [inner, constant] = x.args;
  // x + c == k  →  x == k − c: an early test then needs no addition
  if (x.op === 'add' && inner && constant?.op === 'const') return build.op(op, inner, build.op('sub', y, constant));
  if (x.op === 'xor' && inner && constant?.op === 'const') return build.op(op, inner, build.op('xor', y, constant));
  if (x.op === 'byteSwap' && inner) return build.op(op, inner, build.op('byteSwap', y));
  return undefined;
}

function simplifyNot(x: Node, build: NodeBuilder): Node | undefined {
  const [a, b] = x.args as [Node, Node];
  if (x.type !== 'bool') return undefined;
  if (x.op === 'eq') return build.op('ne', a, b);
  if (x.op === 'ne') return build.op('eq', a, b);
  const total = a !== undefined && !isFloat(a.type); // with a NaN neither order holds
  if (x.op === 'lt' && total) return build.op('le', b, a);
  return x.op === 'le' && total ? build.op('lt', b, a) : undefined;
}

function simplifyShift(op: Op, type: Integer & Scalar, x: Node, y: Node, build: NodeBuilder): Node | undefined {
  if (y.op !== 'const') return undefined;
  const width = bitsOf(type);
  const count = Number(constantOf(y)) % width;
  if (count === 0) return x;
  if (op === 'rotl') return build.op('rotr', x, build.lit('u32', width - count));
  return count === Number(constantOf(y)) ? undefined : build.op(op, x, build.lit('u32', count));
}

function simplifyProduct(type: Integer & Scalar, x: Node, y: Node, build: NodeBuilder): Node | undefined {
  const power = y.op === 'const' ? log2(type, constantOf(y) as Value) : undefined;
  return power === undefined ? undefined : build.op('shl', x, build.lit('u32', power));
}

/** Division by a constant becomes shifts, or for u32 a multiplication by its scaled inverse. */
function simplifyDivision(
  op: 'div' | 'rem',
  type: Integer & Scalar,
  x: Node,
  y: Node,
  build: NodeBuilder,
): Node | undefined {
  if (y.op !== 'const') return undefined;
  if (isZero(y)) return op === 'div' ? x : y;
  if (isConstant(y, 1)) return build.op('sub', x, x);
  if (type === 'i32') return undefined;
  const divisor = constantOf(y) as Value;
  const power = log2(type, divisor);
  if (power !== undefined) {
    return op === 'div'
      ? build.op('shr', x, build.lit('u32', power))
      : build.op('and', x, build.op('sub', y, build.lit(type, type === 'u64' ? 1n : 1)));
  }
  if (op === 'rem') return build.op('sub', x, build.op('mul', build.op('div', x, y), y));
  return type === 'u32' ? divideByInverse(x, Number(divisor), build) : undefined;
}

/**
 * x / d for a u32 x: m = ceil(2^(32+s) / d) with s = ceil(log2 d) is 33 bits wide; its upper bit is an addition of x, done
 * without overflow as ((x − t) / 2 + t). If a 32-bit m is exact for all x, the short form is used.
 */
function divideByInverse(x: Node, divisor: number, build: NodeBuilder): Node {
  const d = BigInt(divisor);
  const s = BigInt(Math.ceil(Math.log2(divisor)));
  for (let shift = 0n; shift <= s; shift++) {
    const scale = 1n << (32n + shift);
    const m = (scale + d - 1n) / d;
    // exact for every x < 2^32 if the error m·d − scale is within scale / 2^32
    if (m < 1n << 32n && m * d - scale <= 1n << shift) {
      return build.op('shr', build.op('mulHi', x, build.lit('u32', Number(m))), build.lit('u32', Number(shift)));
    }
  }
  const m = ((1n << (32n + s)) + d - 1n) / d - (1n << 32n);
  const t = build.op('mulHi', x, build.lit('u32', Number(m)));
  const half = build.op('shr', build.op('sub', x, t), build.lit('u32', 1));
  return build.op('shr', build.op('add', half, t), build.lit('u32', Number(s) - 1));
}

function log2(type: Integer & Scalar, value: Value): number | undefined {
  const big = BigInt.asUintN(bitsOf(type), BigInt(value as bigint));
  return big !== 0n && (big & (big - 1n)) === 0n ? big.toString(2).length - 1 : undefined;
}
