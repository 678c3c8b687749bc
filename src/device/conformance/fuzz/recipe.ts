import type { Numeric, Type, Unsigned, Value } from '../../../kernel/index.js';
import type { NearRecipe, TileStep } from './tile-recipe.js';

/**
 * A random kernel as data: a tree of steps that `build.ts` turns into a kernel. Values are identified by numbers. A
 * number without a value stands for a literal, so that a recipe stays valid whatever is removed.
 */
export interface Recipe {
  /** The types in use: of job and chunk values, buffers and hits. */
  readonly types: readonly Type[];
  readonly tables: readonly TableRecipe[];
  readonly steps: readonly RecipeStep[];
  /** The near arrays; only in recipes of `tiles` kernels. */
  readonly near?: readonly NearRecipe[];
}

export interface TableRecipe {
  readonly type: Numeric;
  /** Literals and job values; `plus` adds a literal to each. */
  readonly entries: readonly Operand[];
  readonly plus: Value | undefined;
}

export type Operand =
  | { readonly kind: 'value'; readonly id: number }
  | { readonly kind: 'literal'; readonly value: Value }
  /** The item's number in the type needed: the item for u32, the index for u64, its lowest bit for bool. */
  | { readonly kind: 'item' }
  | { readonly kind: 'job'; readonly at: 0 | 1 }
  | { readonly kind: 'chunk' };

export type SharedAtomic = 'add' | 'sub' | 'and' | 'or' | 'xor' | 'min' | 'max';
export type OwnAtomic = SharedAtomic | 'exchange' | 'compareExchange' | 'load' | 'store';

export type RecipeStep =
  /** One operation of `operations.ts`, by its name. */
  | { readonly kind: 'operation'; readonly id: number; readonly name: string; readonly args: readonly Operand[] }
  /** An element of an input buffer; `guard` tests the index instead of wrapping it. */
  | {
      readonly kind: 'load';
      readonly id: number;
      readonly type: Numeric;
      readonly index: Operand;
      readonly guard: boolean;
    }
  /** Four elements, one of which is kept; the view begins at quad `base`. */
  | {
      readonly kind: 'loadQuad';
      readonly id: number;
      readonly type: Numeric;
      readonly base: Operand;
      readonly index: Operand;
      readonly part: number;
    }
  | { readonly kind: 'byte'; readonly id: number; readonly index: Operand }
  /** The length of an input buffer from quad `base` on. */
  | { readonly kind: 'length'; readonly id: number; readonly type: Numeric; readonly base: Operand }
  | {
      readonly kind: 'lookup';
      readonly id: number;
      readonly table: number;
      readonly index: Operand;
      readonly guard: boolean;
    }
  /** An element of the item's own quad in a writable buffer. */
  | { readonly kind: 'own'; readonly id: number; readonly type: Numeric; readonly slot: number }
  | { readonly kind: 'store'; readonly type: Numeric; readonly slot: number; readonly value: Operand }
  | { readonly kind: 'storeQuad'; readonly type: Numeric; readonly values: readonly Operand[] }
  | { readonly kind: 'cell'; readonly id: number; readonly type: Type; readonly value: Operand }
  | { readonly kind: 'get'; readonly id: number; readonly cell: number; readonly type: Type }
  | { readonly kind: 'set'; readonly cell: number; readonly type: Type; readonly value: Operand }
  /** An array of the item: of zeros if there are no values. Indices are wrapped, or tested if there is a `guard`. */
  | {
      readonly kind: 'array';
      readonly id: number;
      readonly type: Type;
      readonly length: number;
      readonly values: readonly Operand[];
    }
  | {
      readonly kind: 'arrayAt';
      readonly id: number;
      readonly array: number;
      readonly type: Type;
      readonly index: Operand;
      readonly guard: boolean;
    }
  | {
      readonly kind: 'arraySet';
      readonly array: number;
      readonly type: Type;
      readonly index: Operand;
      readonly value: Operand;
    }
  /** On a word that all items share and that only this operation changes: the order does not matter. */
  | { readonly kind: 'tally'; readonly type: Unsigned; readonly op: SharedAtomic; readonly value: Operand }
  /** On one of the item's own two words. */
  | {
      readonly kind: 'atomic';
      readonly id: number;
      readonly type: Unsigned;
      readonly op: OwnAtomic;
      readonly word: 0 | 1;
      readonly value: Operand;
      /** Of compareExchange. Where its lowest bit is 1, the word's own value is expected instead. */
      readonly expected: Operand;
    }
  | { readonly kind: 'emit'; readonly values: readonly Operand[] }
  | {
      readonly kind: 'when';
      readonly condition: Operand;
      readonly body: readonly RecipeStep[];
      readonly otherwise: readonly RecipeStep[];
    }
  | { readonly kind: 'choose'; readonly which: Operand; readonly cases: readonly (readonly RecipeStep[])[] }
  /** At most `maxRounds` rounds, so that every kernel ends. */
  | {
      readonly kind: 'loop';
      readonly id: number;
      readonly rounds: Operand;
      readonly maxRounds: number;
      readonly body: readonly RecipeStep[];
    }
  | {
      readonly kind: 'while';
      readonly test: readonly RecipeStep[];
      readonly condition: Operand;
      readonly maxRounds: number;
      readonly body: readonly RecipeStep[];
      readonly isLong: boolean;
    }
  /** An empty long loop: endless if the job value `hold` is not 0, as in the launch that is cancelled. Items only. */
  | { readonly kind: 'hold' }
  | { readonly kind: 'break'; readonly condition: Operand }
  /** Items only. */
  | { readonly kind: 'return'; readonly condition: Operand }
  | FunctionStep
  | TileStep;

/** Steps about functions: their definitions, at the top level, and their calls. */
export type FunctionStep =
  | {
      readonly kind: 'function';
      readonly id: number;
      readonly params: readonly { readonly id: number; readonly type: Type }[];
      readonly body: readonly RecipeStep[];
      readonly types: readonly Type[];
      /** The results, of these types. */
      readonly values: readonly Operand[];
    }
  /** One result of a call is kept. */
  | {
      readonly kind: 'call';
      readonly id: number;
      readonly function: number;
      readonly result: number;
      readonly type: Type;
      readonly args: readonly Operand[];
    };

export type FunctionRecipe = Extract<FunctionStep, { kind: 'function' }>;

/** Returns the fields of a hit: one of each type. */
export const hitFields = (types: readonly Type[]): Record<string, Type> =>
  Object.fromEntries(types.map((type) => [`hit-${type}`, type]));

/** Elements of each input buffer and bytes of the byte buffer; a power of two. */
export const INPUT_LENGTH = 64;
/** The elements of a tally that all items share: one per operation. Each item's own two follow. */
export const SHARED_ATOMICS: readonly SharedAtomic[] = ['add', 'sub', 'and', 'or', 'xor', 'min', 'max'];

export function blocksOf(step: RecipeStep): readonly (readonly RecipeStep[])[] {
  switch (step.kind) {
    case 'when':
      return [step.body, step.otherwise];
    case 'choose':
      return step.cases;
    case 'loop':
    case 'each':
    case 'sum':
    case 'once':
    case 'function':
      return [step.body];
    case 'while':
      return [step.test, step.body];
    default:
      return [];
  }
}

/** Returns the step with its inner blocks replaced. */
export function withBlocks(step: RecipeStep, blocks: readonly (readonly RecipeStep[])[]): RecipeStep {
  const [first = [], second = []] = blocks;
  switch (step.kind) {
    case 'when':
      return { ...step, body: first, otherwise: second };
    case 'choose':
      return { ...step, cases: blocks };
    case 'loop':
    case 'each':
    case 'sum':
    case 'once':
    case 'function':
      return { ...step, body: first };
    case 'while':
      return { ...step, test: first, body: second };
    default:
      return step;
  }
}

/** True if one of the steps, or a step inside them, is of this kind. */
export const hasStep = (steps: readonly RecipeStep[], kind: RecipeStep['kind']): boolean =>
  steps.some((step) => step.kind === kind || blocksOf(step).some((block) => hasStep(block, kind)));

/** True if one of the steps, or a step inside them, is an atomic access to u64. */
export const hasWideAtomics = (steps: readonly RecipeStep[]): boolean =>
  steps.some(
    (step) =>
      ((step.kind === 'tally' || step.kind === 'atomic') && step.type === 'u64') || blocksOf(step).some(hasWideAtomics),
  );

export const stepCount = (steps: readonly RecipeStep[]): number =>
  steps.reduce((sum, step) => sum + 1 + blocksOf(step).reduce((inner, block) => inner + stepCount(block), 0), 0);
