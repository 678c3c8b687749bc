import type { Type } from '../../../../kernel/index.js';
import type { Random } from '../../model/random.js';
import type { FunctionRecipe, Operand, RecipeStep } from '../recipe.js';

/** The generator's functions for a function. */
export interface FunctionContext {
  readonly random: Random;
  /** The types that this kernel favours. */
  readonly types: readonly Type[];
  id(): number;
  /** Draws the steps of a body that sees these parameters, and a result of each type from what they made. */
  body(
    params: FunctionRecipe['params'],
    types: readonly Type[],
  ): { readonly body: readonly RecipeStep[]; readonly values: readonly Operand[] };
}

/** Draws the functions of a kernel: none for half of them. */
export function randomFunctions(
  { random, types, id, body }: FunctionContext,
  add: (made: FunctionRecipe) => void,
): void {
  const count = random.chance(0.5) ? 0 : 1 + random.below(3);
  for (let k = 0; k < count; k++) {
    const params = Array.from({ length: random.below(5) }, () => ({ id: id(), type: random.pick(types) }));
    const results = Array.from({ length: 1 + random.below(random.chance(0.5) ? 1 : 4) }, () => random.pick(types));
    add({ kind: 'function', id: id(), params, types: results, ...body(params, results) });
  }
}

/** Draws a call of one of the functions. */
export function randomCall(
  functions: readonly FunctionRecipe[],
  { random, id }: Pick<FunctionContext, 'random' | 'id'>,
  operand: (type: Type) => Operand,
): RecipeStep {
  const { id: number, params, types } = random.pick(functions);
  const result = random.below(types.length);
  const args = params.map(({ type }) => operand(type));
  return { kind: 'call', id: id(), function: number, result, type: types[result] ?? 'u32', args };
}
