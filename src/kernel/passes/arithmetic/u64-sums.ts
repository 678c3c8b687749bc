import {
  type Block,
  type BufferDecl,
  type CellDecl,
  type HoistedProgram,
  type Node,
  type Op,
  type Statement,
  SUM_PARTIALS,
  ValueStage,
} from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import { literal, type Scalar } from '../../language/types.js';
import { rewriteStatement } from '../rewrite.js';

/**
 * Expands sums of u64 for `splitU64`: a region in which each index adds up one partial in a near array, then rounds that
 * add the upper half to the lower. Integer sums do not depend on the order; this is the order of `SUM_PARTIALS`.
 */
export function expandU64Sums(program: HoistedProgram): HoistedProgram {
  const near: BufferDecl[] = [...program.near];
  const block = (body: Block): Block => body.flatMap(statement);
  const statement = (one: Statement): Statement[] => {
    const inner = rewriteStatement(one, { read: same, define: same, block });
    if (inner.kind !== 'sum' || inner.result.type !== 'u64') return [inner];
    const slot = near.length;
    const partials: BufferDecl = { name: `sum${slot}`, kind: 'near', type: 'u64', slot, length: SUM_PARTIALS };
    near.push(partials);
    return expandSum(inner, partials);
  };
  const body = block(program.body);
  return { ...program, body, near };
}

const same = (node: Node): Node => node;

function expandSum(sum: Extract<Statement, { kind: 'sum' }>, partials: BufferDecl): Statement[] {
  const { origin, count, index, value, result } = sum;
  const make = new LooseNodeMaker(origin);
  const [p, q, round, before, low, high] = [make.local(), make.local(), make.local(), ...make.locals('u64', 3)];
  const at: CellDecl = { id: FIRST_CELL_ID + 2 * partials.slot, type: 'u32' };
  const total: CellDecl = { id: FIRST_CELL_ID + 2 * partials.slot + 1, type: 'u64' };
  const element = (i: Node) => ({ buffer: partials, index: i });
  // The elements i ≡ p; none if p is past the end.
  const others = make.op(
    'shr',
    'u32',
    make.op('sub', 'u32', make.op('sub', 'u32', count, make.u32(1)), p),
    make.u32(8),
  );
  const rounds = make.op('select', 'u32', make.op('lt', 'bool', p, count), make.plus(others, make.u32(1)), make.u32(0));
  const half = make.op('shr', 'u32', make.u32(SUM_PARTIALS / 2), round);
  const each: Block = [
    { kind: 'cell', origin, cell: at, value: p },
    { kind: 'cell', origin, cell: total, value: make.constant('u64', 0n) },
    {
      kind: 'loop',
      origin,
      count: rounds,
      index: make.local(),
      body: [
        { kind: 'get', origin, cell: at, result: index },
        ...sum.body,
        { kind: 'get', origin, cell: total, result: before },
        { kind: 'set', origin, cell: total, value: make.op('add', 'u64', before, value) },
        { kind: 'set', origin, cell: at, value: make.plus(index, make.u32(SUM_PARTIALS)) },
      ],
    },
  ];
  const sumOfPart = make.local('u64');
  return [
    {
      kind: 'each',
      origin,
      count: make.u32(SUM_PARTIALS),
      index: p,
      body: [
        ...each,
        { kind: 'get', origin, cell: total, result: sumOfPart },
        { kind: 'store', origin, place: element(p), values: [sumOfPart] },
      ],
    },
    {
      kind: 'loop',
      origin,
      count: make.u32(Math.log2(SUM_PARTIALS)),
      index: round,
      body: [
        {
          kind: 'each',
          origin,
          count: half,
          index: q,
          body: [
            { kind: 'load', origin, place: element(q), results: [low] },
            { kind: 'load', origin, place: element(make.plus(q, half)), results: [high] },
            { kind: 'store', origin, place: element(q), values: [make.op('add', 'u64', low, high)] },
          ],
        },
      ],
    },
    { kind: 'load', origin, place: element(make.u32(0)), results: [result] },
  ];
}

/** Greater than the cell ids of kernels, smaller than those that `splitU64` assigns. */
const FIRST_CELL_ID = 1 << 21;

/** Makes nodes outside any graph: `splitU64` makes all of them again. */
class LooseNodeMaker {
  readonly #origin: Origin;

  constructor(origin: Origin) {
    this.#origin = origin;
  }

  op(op: Op, type: Scalar, ...args: Node[]): Node {
    return { id: 0, op, type, args, stage: ValueStage.varying, detail: {}, origin: this.#origin };
  }
  plus(a: Node, b: Node): Node {
    return this.op('add', 'u32', a, b);
  }
  local(type: Scalar = 'u32'): Node {
    return this.op('local', type);
  }
  locals(type: Scalar, count: 3): [Node, Node, Node] {
    return Array.from({ length: count }, () => this.local(type)) as [Node, Node, Node];
  }
  constant(type: Scalar, value: number | bigint): Node {
    return { ...this.op('const', type), stage: ValueStage.constant, detail: { value: literal(type, value) } };
  }
  u32(value: number): Node {
    return this.constant('u32', value);
  }
}
