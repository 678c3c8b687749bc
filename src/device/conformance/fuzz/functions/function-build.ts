import { type Expr, fn, type KernelFunction, type Type } from '../../../../kernel/index.js';
import type { FunctionRecipe } from '../recipe.js';

/** A function of a recipe: it takes its arguments as `p0`, `p1` and so on, and returns a list. */
export type BuiltFunction = KernelFunction<Record<string, Type>, readonly Expr<Type>[]>;

/** Makes the function of a recipe. `trace` traces its body and returns its results. */
export function buildFunction(
  { id, params }: FunctionRecipe,
  trace: (values: ReadonlyMap<number, Expr<Type>>) => readonly Expr<Type>[],
): BuiltFunction {
  const types = Object.fromEntries(params.map(({ type }, i) => [`p${i}`, type]));
  return fn(`made-${id}`, types, (given) => {
    const own = params.map(({ id: param }, i) => [param, given[`p${i}`] as Expr<Type>] as const);
    return trace(new Map(own));
  });
}
