import type { Origin } from '../language/origin.js';
import type { Scalar, Type, Value } from '../language/types.js';
import type { PureOp } from './ops.js';
import type { PrintCall } from './prints.js';

/**
 * The typed IR. A program is a tree of blocks; a block is a list of statements; a pure value is a `Node`, and the statement
 * `let` marks where the node is computed. A fresh trace holds a `let` for each node in the order of creation, so that it can
 * be run directly (`interpret.ts`). Passes rewrite one program into another.
 */

/** The time when a value becomes known. Order matters: the stage of an operation is the latest stage of its operands. */
export const ValueStage = { constant: 0, job: 1, chunk: 2, varying: 3 } as const;
export type ValueStage = (typeof ValueStage)[keyof typeof ValueStage];

/** A value that comes from outside the expression. */
export type LeafOp =
  | 'const' // detail.value
  | 'job' // detail.field, detail.element: a value of the job
  | 'chunk' // likewise, of one launch
  | 'param' // after `hoist`: detail.word, the first parameter word
  | 'length' // u64: the number of elements, of detail.element bytes each, of the buffer in slot detail.field
  | 'item' // u32: the item's number within the launch, from 0
  | 'active' // bool: true if this lane has an item (false in the tail of a gang)
  | 'local'; // the result of a statement: a load, a cell's snapshot, an atomic, a loop index, a native body

/** A leaf, or a row of `ir/ops.ts`. */
export type Op = LeafOp | PureOp;

export interface NodeDetail {
  readonly value?: Value;
  readonly field?: number;
  readonly element?: number;
  readonly word?: number;
  /** Parameters: the name in the generated text. */
  readonly name?: string;
  readonly table?: TableDecl;
  /** logic3: bit (a<<2 | b<<1 | c) of this byte is the result. */
  readonly truth?: number;
}

export interface Node {
  readonly id: number;
  readonly op: Op;
  readonly type: Scalar;
  readonly args: readonly Node[];
  readonly stage: ValueStage;
  readonly detail: NodeDetail;
  /** Where the kernel's author wrote the value. */
  readonly origin: Origin;
}

/** A read-only array of constants or job values, looked up by a varying index. */
export interface TableDecl {
  readonly id: number;
  readonly type: Scalar;
  readonly values: readonly Node[];
  /** The latest stage of the values. Constant tables are part of the text, job tables are passed with the job. */
  readonly stage: ValueStage;
  /** After `hoist`, for job tables: the first parameter word. */
  readonly word?: number;
}

/** `near` belongs to a tile; `array` to an item, or to an index of a region. */
export type BufferKind = 'read' | 'rw' | 'atomic' | 'near' | 'array';

export interface BufferDecl {
  readonly name: string;
  readonly kind: BufferKind;
  readonly type: Exclude<Scalar, 'bool'>;
  /** Position among the program's bindings; for a near array, among the near arrays; for an array, among the arrays. */
  readonly slot: number;
  /** Elements of a near array or an array. */
  readonly length?: number;
  /** The buffer of `print`: its calls, by number. */
  readonly prints?: readonly PrintCall[];
}

export interface CellDecl {
  readonly id: number;
  readonly type: Scalar;
}

/** What the calls of a function need to know of it: its name, and the types of its parameters and results. */
export interface FunctionDecl {
  readonly id: number;
  readonly name: string;
  readonly params: readonly Scalar[];
  readonly results: readonly Scalar[];
}

/** The address of a buffer's element. `base` is a slice's first quad (four elements); a quad access counts in quads. */
export interface Place {
  readonly buffer: BufferDecl;
  readonly base?: Node;
  readonly index: Node;
}

/** All but `store` have the previous value as their result. */
export type AtomicOp =
  | 'add'
  | 'sub'
  | 'and'
  | 'or'
  | 'xor'
  | 'min'
  | 'max'
  | 'exchange'
  | 'compareExchange'
  | 'load'
  | 'store';

/** Lanes and names of arguments and results for the target text that replaces a std function's generic body. */
export interface NativeShape {
  readonly lanes: number;
  readonly args: readonly string[];
  readonly results: readonly string[];
  /**
   * True if names are those of rows (`NativeBody.quads`). Four words of a gang are then four rows: row j has, for each group
   * of four lanes, the words of lane j in their order.
   */
  readonly rows?: boolean;
}
export interface NativeBody {
  readonly name: string;
  /** Text placed once before the function; it is also its own key. */
  readonly prelude?: string;
  /** The gang size that suits this body best; 4 by default. */
  readonly lanes?: number | 'widest';
  /**
   * True if the body works on 16 bytes of one lane at a time. Arguments and results, all u32, come in fours, and as rows if
   * possible.
   */
  readonly quads?: boolean;
  text(shape: NativeShape): string;
}

interface StatementBase {
  readonly origin: Origin;
  /** Gangs: the lanes that execute this statement; absent if all do. */
  readonly mask?: Node;
}
export type Statement = StatementBase &
  (
    | { readonly kind: 'let'; readonly node: Node }
    | { readonly kind: 'cell'; readonly cell: CellDecl; readonly value: Node }
    | { readonly kind: 'get'; readonly cell: CellDecl; readonly result: Node }
    | { readonly kind: 'set'; readonly cell: CellDecl; readonly value: Node }
    /** Makes an array: one value per element, or none if all are zero. Loads and stores of single elements access it. */
    | { readonly kind: 'array'; readonly array: BufferDecl; readonly values: readonly Node[] }
    /** One result is an element, four are a quad. */
    | { readonly kind: 'load'; readonly place: Place; readonly results: readonly Node[] }
    | { readonly kind: 'store'; readonly place: Place; readonly values: readonly Node[] }
    | { readonly kind: 'prefetch'; readonly place: Place }
    | {
        readonly kind: 'atomic';
        readonly op: AtomicOp;
        readonly place: Place;
        readonly value?: Node;
        /** compareExchange: `value` is stored only if this is the previous value. */
        readonly expected?: Node;
        readonly result?: Node;
      }
    | { readonly kind: 'when'; readonly condition: Node; readonly body: Block; readonly otherwise: Block }
    /** A long loop checks before each round whether its launch was cancelled, and if so leaves the item. */
    | {
        readonly kind: 'loop';
        readonly count: Node;
        readonly index: Node;
        readonly body: Block;
        readonly isLong?: boolean;
      }
    /** `test` runs before each round; the round happens while `condition` holds. */
    | {
        readonly kind: 'while';
        readonly test: Block;
        readonly condition: Node;
        readonly body: Block;
        readonly isLong?: boolean;
      }
    /** Leaves the nearest loop. */
    | { readonly kind: 'break'; readonly condition: Node }
    /** Ends the item. `lowerReturns` replaces it. */
    | { readonly kind: 'return' }
    | { readonly kind: 'emit'; readonly values: readonly Node[] }
    /** Tiles: runs `body` for all indices below `count` in parallel. All threads see its stores afterwards. */
    | { readonly kind: 'each'; readonly count: Node; readonly index: Node; readonly body: Block }
    /** Tiles: the sum of `value` over all indices, in the order given at `SUM_PARTIALS`. */
    | {
        readonly kind: 'sum';
        readonly count: Node;
        readonly index: Node;
        readonly body: Block;
        readonly value: Node;
        readonly result: Node;
      }
    /** Tiles: replaces the first `length` words of a near array by their exclusive prefix sums; `result` is the total. */
    | { readonly kind: 'scan'; readonly near: BufferDecl; readonly length: number; readonly result: Node }
    /** Tiles: runs `body` once, on any thread. */
    | { readonly kind: 'once'; readonly body: Block }
    | {
        readonly kind: 'native';
        readonly body: NativeBody;
        readonly args: readonly Node[];
        readonly results: readonly Node[];
      }
    /**
     * Defines a function, in the outermost block and before its calls. Its body begins with `parameters` and ends with
     * `results`. It computes with these values alone, in cells and arrays of its own: a call has no other effect. Passes treat
     * it as any inner block.
     */
    | { readonly kind: 'function'; readonly callee: FunctionDecl; readonly body: Block }
    | { readonly kind: 'parameters'; readonly nodes: readonly Node[] }
    | { readonly kind: 'results'; readonly values: readonly Node[] }
    /** Calls a function of the program. */
    | {
        readonly kind: 'invoke';
        readonly callee: FunctionDecl;
        readonly args: readonly Node[];
        readonly results: readonly Node[];
      }
  );

export type Block = readonly Statement[];

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
/** A statement that is about to be added to a trace. */
export type NewStatement = DistributiveOmit<Statement, 'origin'>;

/**
 * A sum over a tile has the same order on every device: element i goes to partial i mod 256. Each partial starts at zero and
 * adds its elements in order of i. Then the upper half of the partials is added to the lower half until one is left.
 */
export const SUM_PARTIALS = 256;

/** A named value, or `length` of them, in a signature. */
export interface Field {
  readonly name: string;
  readonly type: Type;
  readonly length: number;
  /** Declared as `[type, n]`: an array even if n is 1. */
  readonly array: boolean;
}

export interface Program {
  readonly name: string;
  /**
   * `items`: each index is processed on its own. `tiles`: a workgroup processes each index, and `item` is the tile's
   * number.
   */
  readonly kind: 'items' | 'tiles';
  readonly job: readonly Field[];
  /** The implicit fields of every launch come first (see `harness.ts`). */
  readonly chunk: readonly Field[];
  readonly hit: readonly Field[];
  readonly buffers: readonly BufferDecl[];
  readonly tables: readonly TableDecl[];
  /** Arrays that belong to a tile. */
  readonly near: readonly BufferDecl[];
  readonly body: Block;
}

/** A value that the host computes and the body reads as parameter words starting at `word`. */
export interface Param {
  readonly node: Node;
  readonly word: number;
  /** The name in the generated text. */
  readonly name: string;
}

/**
 * A program after `hoist`, with the values that the host computes. Parameter words of the job come first, then those of its
 * tables, then those of the chunk.
 */
export interface HoistedProgram extends Program {
  /** Nodes that the host evaluates, operands before users, job nodes before chunk nodes. */
  readonly host: readonly Node[];
  readonly params: readonly Param[];
  readonly jobWords: number;
  readonly chunkWords: number;
}

/** Returns the blocks directly inside a statement. */
export function innerBlocks(statement: Statement): readonly Block[] {
  switch (statement.kind) {
    case 'when':
      return [statement.body, statement.otherwise];
    case 'loop':
    case 'each':
    case 'sum':
    case 'once':
    case 'function':
      return [statement.body];
    case 'while':
      return [statement.test, statement.body];
    default:
      return [];
  }
}

/**
 * Returns the values that a statement itself reads (for a `let`, its node's operands), without those of its inner blocks.
 */
export function readNodes(statement: Statement): readonly Node[] {
  const own = ownReads(statement);
  return statement.mask ? [...own, statement.mask] : own;
}

function ownReads(statement: Statement): readonly Node[] {
  const addressNodes = (place: Place): Node[] => (place.base ? [place.index, place.base] : [place.index]);
  switch (statement.kind) {
    case 'let':
      return statement.node.args;
    case 'cell':
    case 'set':
      return [statement.value];
    case 'get':
      return [];
    case 'load':
    case 'prefetch':
      return addressNodes(statement.place);
    case 'store':
      return [...addressNodes(statement.place), ...statement.values];
    case 'atomic':
      return [...addressNodes(statement.place), ...operandsOf(statement)];
    case 'when':
    case 'break':
      return [statement.condition];
    case 'loop':
    case 'each':
    case 'sum':
      return [statement.count]; // the value of a sum is read at the end of its body
    case 'scan':
    case 'once':
    case 'return':
    case 'function':
    case 'parameters':
      return [];
    case 'while':
      return []; // the condition is read at the end of `test`
    case 'array':
    case 'emit':
    case 'results':
      return statement.values;
    case 'native':
    case 'invoke':
      return statement.args;
  }
}

/** Returns the values that an atomic access takes, in their order on all targets. */
export function operandsOf({ expected, value }: Extract<Statement, { kind: 'atomic' }>): readonly Node[] {
  return value ? (expected ? [expected, value] : [value]) : [];
}

/** Returns the locals that a statement defines in its block (a loop's index belongs to the loop's body). */
export function definedNodes(statement: Statement): readonly Node[] {
  switch (statement.kind) {
    case 'let':
      return [statement.node];
    case 'get':
      return [statement.result];
    case 'load':
    case 'native':
    case 'invoke':
      return statement.results;
    case 'parameters':
      return statement.nodes;
    case 'atomic':
      return statement.result ? [statement.result] : [];
    case 'sum':
    case 'scan':
      return [statement.result];
    default:
      return [];
  }
}

/** Returns the node that is read at the end of an inner block: a loop's condition or a sum's value. */
export function nodeReadAtEnd(statement: Statement): { readonly block: Block; readonly node: Node } | undefined {
  if (statement.kind === 'while') return { block: statement.test, node: statement.condition };
  return statement.kind === 'sum' ? { block: statement.body, node: statement.value } : undefined;
}

/** Returns the index of a loop or region, which belongs to its body. */
export function loopIndex(statement: Statement): Node | undefined {
  return statement.kind === 'loop' || statement.kind === 'each' || statement.kind === 'sum'
    ? statement.index
    : undefined;
}

export type FunctionStatement = Extract<Statement, { kind: 'function' }>;

/** Returns the functions of a program. Each comes before its callers. */
export const functionsOf = ({ body }: Pick<Program, 'body'>): FunctionStatement[] =>
  body.filter((statement) => statement.kind === 'function');

/** True if the statement's body runs more than once. */
export function isRepeating(statement: Statement): boolean {
  return (
    statement.kind === 'loop' || statement.kind === 'while' || statement.kind === 'each' || statement.kind === 'sum'
  );
}
