import type { Origin } from '../language/origin.js';
import { type FieldValues, fieldValues } from '../language/params.js';
import type { Value } from '../language/types.js';
import { evaluate } from './evaluate.js';
import {
  type Block,
  type BufferDecl,
  innerBlocks,
  type Node,
  type Place,
  type Program,
  type Statement,
} from './program.js';

/** One item of a launch, as far as the host knows it. */
export interface KnownItem {
  readonly job: FieldValues;
  /** The item's index in the space. Its lower 64 bits are used. */
  readonly index: bigint;
  /** The item's number within its launch, if that is known. */
  readonly item?: number;
}

/** An access that an item makes on every path, and the last element that it touches. */
export interface CertainAccess {
  readonly buffer: BufferDecl;
  readonly element: bigint;
  readonly origin: Origin;
}

/**
 * Returns the accesses that an item is certain to make at addresses that follow from the job's values and the item's
 * index alone. Accesses in loops, in branches that depend on memory, and at addresses read from memory are left out.
 */
export function certainAccesses(program: Program, known: KnownItem): CertainAccess[] {
  const walk = new Walk(fieldValues(program.name, 'job', program.job, known.job), known);
  walk.block(program.body);
  return walk.accesses;
}

class Walk {
  readonly accesses: CertainAccess[] = [];
  readonly #values = new Map<Node, Value>();
  readonly #job: readonly Value[][];
  readonly #index: bigint;
  readonly #item: number | undefined;

  constructor(job: readonly Value[][], { index, item }: KnownItem) {
    this.#job = job;
    this.#index = BigInt.asUintN(64, index);
    this.#item = item;
  }

  /** False if what follows the block may not be executed. */
  block(statements: Block): boolean {
    return statements.every((statement) => this.#statement(statement));
  }

  #statement(statement: Statement): boolean {
    switch (statement.kind) {
      case 'let':
        this.#define(statement.node);
        return true;
      case 'load':
        this.#access(statement, statement.place, statement.results.length);
        return true;
      case 'store':
        this.#access(statement, statement.place, statement.values.length);
        return true;
      case 'atomic':
        this.#access(statement, statement.place, 1);
        return true;
      case 'once':
        return this.block(statement.body);
      case 'when': {
        const condition = this.#value(statement.condition);
        if (condition === undefined) return endsNormally(statement);
        return this.block(condition ? statement.body : statement.otherwise);
      }
      default:
        return endsNormally(statement);
    }
  }

  #define(node: Node): void {
    const value = isIndexLow(node) ? Number(this.#index & 0xffff_ffffn) : this.#evaluate(node);
    if (value !== undefined) this.#values.set(node, value);
  }

  #evaluate(node: Node): Value | undefined {
    const args = node.args.map((arg) => this.#value(arg));
    if (args.includes(undefined)) return undefined;
    if (node.op !== 'lookup') return evaluate(node, args as Value[]);
    const entry = node.detail.table?.values[Number(args[0])];
    return entry && this.#value(entry);
  }

  #value(node: Node): Value | undefined {
    const { field = 0, element = 0 } = node.detail;
    switch (node.op) {
      case 'const':
        return node.detail.value;
      case 'item':
        return this.#item;
      case 'job':
        return this.#job[field]?.[element];
      case 'chunk':
        return field === BASE_FIELD ? this.#base(element) : undefined;
      default:
        return this.#values.get(node);
    }
  }

  #base(element: number): number | undefined {
    if (element === 1) return Number(this.#index >> 32n);
    return this.#item === undefined ? undefined : Number(BigInt.asUintN(32, this.#index - BigInt(this.#item)));
  }

  #access({ origin }: Statement, { buffer, base, index }: Place, width: number): void {
    const at = this.#value(index);
    const slice = base === undefined ? 0n : this.#value(base);
    if (at === undefined || slice === undefined || buffer.kind === 'near' || buffer.kind === 'array') return;
    const element = BigInt(slice) * 4n + BigInt(at) * BigInt(width) + BigInt(width - 1);
    this.accesses.push({ buffer, element, origin });
  }
}

/** The implicit chunk field that holds the index of item 0 (`abi/harness.ts`). */
const BASE_FIELD = 0;

/** True for the lower word of `index`, which is known even where neither the launch's base nor the item is. */
function isIndexLow({ op, type, args: [first, second] }: Node): boolean {
  const { field, element } = first?.detail ?? {};
  return (
    op === 'add' &&
    type === 'u32' &&
    first?.op === 'chunk' &&
    field === BASE_FIELD &&
    element === 0 &&
    second?.op === 'item'
  );
}

/** Statements after which the next one is executed. A statement that could end the item is none of them. */
const CONTINUING: ReadonlySet<Statement['kind']> = new Set<Statement['kind']>([
  ...(['let', 'cell', 'get', 'set', 'load', 'store', 'prefetch', 'atomic', 'when', 'loop', 'while', 'break'] as const),
  ...([
    'array',
    'emit',
    'each',
    'sum',
    'scan',
    'once',
    'native',
    'function',
    'parameters',
    'results',
    'invoke',
  ] as const),
]);

const endsNormally = (statement: Statement): boolean =>
  CONTINUING.has(statement.kind) && innerBlocks(statement).every((block) => block.every(endsNormally));
