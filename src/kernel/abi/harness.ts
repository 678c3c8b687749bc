import {
  type Block,
  type BufferDecl,
  type Field,
  innerBlocks,
  type Node,
  type NodeDetail,
  type Op,
  type Program,
  type Statement,
  ValueStage,
} from '../ir/program.js';
import type { Origin } from '../language/origin.js';
import { type Scalar, wordsOf } from '../language/types.js';
import { rewriteStatement } from '../passes/rewrite.js';

/**
 * The `range` harness, which is launched around a kernel. A launch processes items [0, count), stores hits in a ring, and
 * regularly checks whether it was cancelled. (The other harness, a resident grid that is fed with ranges, is in
 * `resident-abi.ts`.)
 */

/**
 * Fields that every launch has: the index of item 0 as two words, the ring's capacity in records, and 1 (see
 * `balancePipes`). Their names begin with a dot, so that they cannot clash with a kernel's fields.
 */
export const implicitChunkFields = [
  { name: '.base', type: 'u32', length: 2, array: true },
  { name: '.ringCapacity', type: 'u32', length: 1, array: false },
  { name: '.one', type: 'u32', length: 1, array: false },
] as const satisfies readonly Field[];

export const RING_CAPACITY_FIELD = 1;
export const ONE_FIELD = 2;

/** Returns the values of the implicit fields for a launch. */
export function implicitValues(
  base: bigint,
  capacity: number,
): Readonly<Record<(typeof implicitChunkFields)[number]['name'], number | readonly number[]>> {
  return { '.base': [Number(base & 0xffff_ffffn), Number(base >> 32n)], '.ringCapacity': capacity, '.one': 1 };
}

/** Word 0 counts hits; the other three are unused, so that records are aligned to 16 bytes. */
export const RING_HEADER_WORDS = 4;

/** Items between two reads of the cancel word, per thread. */
export const CANCEL_CHECK_INTERVAL = 1024;

export interface RingLayout {
  readonly headerWords: number;
  readonly recordWords: number;
}

/** A record is the item's number, then the hit's fields, each in the format of `toWords`. */
export function ringLayout(program: Pick<Program, 'hit'>): RingLayout {
  const recordWords = program.hit.reduce((words, field) => words + field.length * wordsOf(field.type), 1);
  return { headerWords: RING_HEADER_WORDS, recordWords };
}

/** Returns the number of records that fit a ring of `bytes` bytes. */
export function ringCapacity(program: Pick<Program, 'hit'>, bytes: number): number {
  const { headerWords, recordWords } = ringLayout(program);
  return Math.max(0, Math.min(0xffff_ffff, Math.floor((bytes / 4 - headerWords) / recordWords)));
}

/**
 * Replaces `emit` by its implementation: take the next slot of the ring, count it, and write the record if the ring is
 * not full. The ring is the last binding of every program, even of one without hits.
 */
export function withRing(program: Program): Program {
  const ring: BufferDecl = { name: 'ring', kind: 'atomic', type: 'u32', slot: program.buffers.length };
  const { recordWords } = ringLayout(program);
  let next = 1 << 27; // greater than any id that tracing assigns
  const make = (
    op: Op,
    type: Scalar,
    args: readonly Node[],
    detail: NodeDetail,
    origin: Origin,
    stage: ValueStage = ValueStage.varying,
  ): Node => ({ id: next++, op, type, args, stage, detail, origin });

  const lower = (emit: Extract<Statement, { kind: 'emit' }>): Statement[] => {
    const { origin } = emit;
    const number = (value: number) => make('const', 'u32', [], { value }, origin, ValueStage.constant);
    const capacity = make('chunk', 'u32', [], { field: RING_CAPACITY_FIELD, element: 0 }, origin, ValueStage.chunk);
    const item = make('item', 'u32', [], {}, origin);
    const slot = make('local', 'u32', [], {}, origin);
    const inside = make('lt', 'bool', [slot, capacity], {}, origin);
    const lets: Statement[] = [];
    const define = (node: Node): Node => {
      lets.push({ kind: 'let', node, origin });
      return node;
    };
    const start = define(
      make(
        'add',
        'u32',
        [define(make('mul', 'u32', [slot, number(recordWords)], {}, origin)), number(RING_HEADER_WORDS)],
        {},
        origin,
      ),
    );
    const words = [
      item,
      ...emit.values.flatMap((value) => hitWords(value, (op, type, arg) => define(make(op, type, [arg], {}, origin)))),
    ];
    const stores = words.map((value, k): Statement => {
      const index = define(make('add', 'u32', [start, number(k)], {}, origin));
      return { kind: 'atomic', op: 'store', place: { buffer: ring, index }, value, origin };
    });
    return [
      { kind: 'atomic', op: 'add', place: { buffer: ring, index: number(0) }, value: number(1), result: slot, origin },
      { kind: 'let', node: inside, origin },
      { kind: 'when', condition: inside, body: [...lets, ...stores], otherwise: [], origin },
    ];
  };
  const same = (node: Node) => node;
  const block = (old: Block): Block =>
    old.flatMap((statement) => {
      if (statement.kind === 'emit') return lower(statement);
      return innerBlocks(statement).length === 0
        ? statement
        : rewriteStatement(statement, { read: same, define: same, block });
    });
  return { ...program, buffers: [...program.buffers, ring], body: block(program.body) };
}

/** Returns a hit's value as words, low word first. */
function hitWords(value: Node, make: (op: Op, type: Scalar, arg: Node) => Node): Node[] {
  switch (value.type) {
    case 'u32':
      return [value];
    case 'bool':
      return [make('cast', 'u32', value)];
    case 'i32':
    case 'f32':
      return [make('bits', 'u32', value)];
    case 'u64':
      return [make('cast', 'u32', value), make('hi', 'u32', value)];
    case 'f64': {
      const bits = make('bits', 'u64', value);
      return [make('cast', 'u32', bits), make('hi', 'u32', bits)];
    }
  }
}
