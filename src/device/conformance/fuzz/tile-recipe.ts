import type { Numeric, Type } from '../../../kernel/index.js';
import type { Operand, RecipeStep } from './recipe.js';

/**
 * Steps that only recipes of `tiles` kernels have. Inside a region, `item` is the region's index, and each index has its
 * own memory, as an item has. The slots that a step may touch are decided when the kernel is built (`regionWrites`), from
 * everything the region does, so a recipe has no races, whatever is removed from it.
 */
export type TileStep =
  /** All i below `rounds`, at most `maxRounds`. Near arrays of 2^k elements are written at i xor `flip`. */
  | {
      readonly kind: 'each';
      readonly rounds: Operand;
      readonly maxRounds: number;
      readonly flip: number;
      readonly body: readonly RecipeStep[];
    }
  | {
      readonly kind: 'sum';
      readonly id: number;
      readonly type: Numeric;
      readonly rounds: Operand;
      readonly maxRounds: number;
      readonly body: readonly RecipeStep[];
      readonly value: Operand;
    }
  | { readonly kind: 'scan'; readonly id: number; readonly near: number; readonly length: number }
  | { readonly kind: 'once'; readonly body: readonly RecipeStep[] }
  /** Any slot of an array that the region does not write; its own slot of one that it does. */
  | {
      readonly kind: 'nearAt';
      readonly id: number;
      readonly near: number;
      readonly type: Numeric;
      readonly index: Operand;
    }
  /** The index's own slot; in `once`, any. */
  | {
      readonly kind: 'nearSet';
      readonly near: number;
      readonly type: Numeric;
      readonly index: Operand;
      readonly value: Operand;
    }
  /** Indices update the same word: the order does not matter, and the word is not read before the region's end. */
  | {
      readonly kind: 'nearTotal';
      readonly near: number;
      readonly op: 'add' | 'or';
      readonly index: Operand;
      readonly value: Operand;
    }
  /** Another index's element of a writable buffer. */
  | {
      readonly kind: 'far';
      readonly id: number;
      readonly type: Numeric;
      readonly index: Operand;
      readonly slot: number;
    };

export interface NearRecipe {
  readonly type: Numeric;
  readonly length: number;
}

/** The largest count of a region. */
export const MAX_ROUNDS = 300;
/** Indices per tile that have their own memory: those of regions, and one for `once` and the code between regions. */
export const INDICES_PER_TILE = MAX_ROUNDS + 1;

const tileStepKinds: ReadonlySet<string> = new Set<TileStep['kind']>([
  'each',
  'sum',
  'scan',
  'once',
  'nearAt',
  'nearSet',
  'nearTotal',
  'far',
]);
export const isTileStep = (step: RecipeStep): step is TileStep => tileStepKinds.has(step.kind);

/** How a region changes an array; other writes to the array in that region are left out of the kernel. */
export type WriteKind = 'set' | 'add' | 'or';

/** Keyed by the number of the near array and by the type of the writable buffer. The first write decides. */
export interface RegionWrites {
  readonly near: ReadonlyMap<number, WriteKind>;
  readonly own: ReadonlySet<Numeric>;
}

export function regionWrites(
  steps: readonly RecipeStep[],
  blocksOf: (step: RecipeStep) => readonly (readonly RecipeStep[])[],
): RegionWrites {
  const near = new Map<number, WriteKind>();
  const own = new Set<Numeric>();
  const visit = (step: RecipeStep): void => {
    if (step.kind === 'nearSet' && !near.has(step.near)) near.set(step.near, 'set');
    if (step.kind === 'nearTotal' && !near.has(step.near)) near.set(step.near, step.op);
    if (step.kind === 'store' || step.kind === 'storeQuad') own.add(step.type);
    for (const block of blocksOf(step)) block.forEach(visit);
  };
  steps.forEach(visit);
  return { near, own };
}

/** Returns the value that a step defines for later steps. */
export function tileDefinition(step: TileStep): { id: number; type: Type } | undefined {
  if (step.kind === 'scan') return { id: step.id, type: 'u32' };
  return 'id' in step ? { id: step.id, type: step.type } : undefined;
}

/** Returns the near arrays that steps use. */
export function usedNearArrays(
  steps: readonly RecipeStep[],
  blocksOf: (step: RecipeStep) => readonly (readonly RecipeStep[])[],
): ReadonlySet<number> {
  return new Set(
    steps.flatMap((step) => [
      ...('near' in step ? [step.near] : []),
      ...blocksOf(step).flatMap((block) => [...usedNearArrays(block, blocksOf)]),
    ]),
  );
}
