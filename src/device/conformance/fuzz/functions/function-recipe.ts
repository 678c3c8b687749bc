import type { RecipeStep, TableRecipe } from '../recipe.js';

const ownSteps: ReadonlySet<RecipeStep['kind']> = new Set([
  ...(['operation', 'lookup', 'cell', 'get', 'set', 'array', 'arrayAt', 'arraySet', 'call'] as const),
  ...(['when', 'choose', 'loop', 'while', 'break'] as const),
]);

/** True if a function may have the step: it touches no memory but its own, and tables of constants. */
export const isFunctionStep = (step: RecipeStep, tables: readonly TableRecipe[]): boolean =>
  ownSteps.has(step.kind) && (step.kind !== 'lookup' || isConstant(tables[step.table]));

/** A sum of two literals is a value of the kernel. */
const isConstant = (table: TableRecipe | undefined): boolean =>
  table !== undefined && table.plus === undefined && table.entries.every(({ kind }) => kind === 'literal');
