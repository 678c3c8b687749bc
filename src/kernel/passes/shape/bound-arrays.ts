import {
  type Block,
  innerBlocks,
  type Node,
  type Op,
  type Place,
  type Program,
  type Statement,
  ValueStage,
} from '../../ir/program.js';
import type { Scalar } from '../../language/types.js';
import { rewriteStatement } from '../rewrite.js';

/**
 * Keeps accesses to arrays inside, for builds without checks: an index that is not known to be below the length becomes
 * another one that is. An array is next to the item's other values; a store outside would destroy them. Runs on floating
 * programs.
 */
export function boundArrays<P extends Program>(program: P): P {
  if (!hasArrays(program.body)) return program;
  const bounds = new Bounds();
  let next = FIRST_NODE_ID;
  const bounded = (place: Place): Place => {
    const { buffer, index } = place;
    const { length = 0 } = buffer;
    if (buffer.kind !== 'array' || bounds.largest(index) < length) return place;
    const { origin } = index;
    const make = (op: Op, type: Scalar, ...args: Node[]): Node => {
      return { id: next++, op, type, args, stage: index.stage, detail: {}, origin };
    };
    const word = (value: number): Node => {
      return { id: next++, op: 'const', type: 'u32', args: [], stage: ValueStage.constant, detail: { value }, origin };
    };
    const isPowerOfTwo = (length & (length - 1)) === 0;
    const inside = isPowerOfTwo
      ? make('and', 'u32', index, word(length - 1))
      : make('select', 'u32', make('lt', 'bool', index, word(length)), index, word(length - 1));
    return { ...place, index: inside };
  };
  const block = (old: Block): Block => old.map(statement);
  const statement = (old: Statement): Statement => {
    if (old.kind === 'load' || old.kind === 'store') {
      const place = bounded(old.place);
      return place === old.place ? old : { ...old, place };
    }
    if (innerBlocks(old).length === 0) return old;
    // The index of a region has no bound: in the last gang, lanes without an index have numbers past the count.
    if (old.kind === 'loop') bounds.setIndex(old.index, old.count);
    return rewriteStatement(old, { read: same, define: same, block });
  };
  return { ...program, body: block(program.body) };
}

/** Greater than any id of a floating program, smaller than those of `makeGang`. */
const FIRST_NODE_ID = 1 << 26;

const same = (node: Node): Node => node;

const hasArrays = (block: Block): boolean =>
  block.some((statement) => statement.kind === 'array' || innerBlocks(statement).some(hasArrays));

const MAX_WORD = 2 ** 32 - 1;
/** How many operations back a bound is looked for. */
const MAX_DEPTH = 6;

/** Upper bounds of u32 values, from the operations that made them. */
class Bounds {
  readonly #indices = new Map<Node, number>();

  /** Records the index of a loop: it is smaller than the count. */
  setIndex(index: Node, count: Node): void {
    this.#indices.set(index, Math.max(0, this.largest(count) - 1));
  }

  largest(node: Node, depth = MAX_DEPTH): number {
    if (node.type !== 'u32') return MAX_WORD;
    if (node.op === 'const') return Number(node.detail.value);
    const known = this.#indices.get(node);
    if (known !== undefined || depth === 0) return known ?? MAX_WORD;
    const of = (k: number): number => {
      const arg = node.args[k];
      return arg ? this.largest(arg, depth - 1) : MAX_WORD;
    };
    const constant = (k: number): number | undefined =>
      node.args[k]?.op === 'const' ? Number(node.args[k].detail.value) : undefined;
    switch (node.op) {
      case 'and':
        return Math.min(of(0), of(1));
      case 'or':
      case 'xor':
        return 2 ** bitsIn(Math.max(of(0), of(1))) - 1;
      case 'add':
        return wordOr(of(0) + of(1));
      case 'mul':
        return wordOr(of(0) * of(1));
      case 'rem': {
        const by = of(1);
        return by === 0 ? 0 : Math.min(of(0), by - 1);
      }
      case 'shr':
        return Math.floor(of(0) / 2 ** ((constant(1) ?? 0) % 32));
      case 'shl': {
        const by = constant(1);
        return by === undefined ? MAX_WORD : wordOr(of(0) * 2 ** (by % 32));
      }
      case 'select':
        return Math.max(of(1), of(2));
      case 'cast':
        return node.args[0]?.type === 'bool' ? 1 : MAX_WORD;
      default:
        return MAX_WORD;
    }
  }
}

/** A sum or product that may have wrapped can be any word. */
const wordOr = (value: number): number => (value > MAX_WORD ? MAX_WORD : value);
const bitsIn = (value: number): number => 32 - Math.clz32(value);
