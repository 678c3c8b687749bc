import { blocksOf, type Operand, type Recipe, type RecipeStep, stepCount, withBlocks } from './recipe.js';

/**
 * Makes a failing recipe smaller while it still fails: removes steps, replaces branches and loops by their contents, and
 * operands by simple ones. Calls `fails` at most `tries` times.
 */
export async function shrink(
  recipe: Recipe,
  fails: (candidate: Recipe) => Promise<boolean> | boolean,
  tries: number,
): Promise<Recipe> {
  let best = recipe;
  let left = tries;
  const accept = async (candidate: Recipe): Promise<boolean> => {
    if (left-- <= 0 || !(await fails(candidate))) return false;
    best = candidate;
    return true;
  };
  for (let before = -1; left > 0 && before !== size(best); ) {
    before = size(best);
    await dropSteps(() => best, accept);
    await inlineBlocks(() => best, accept);
    await simplifyOperands(() => best, accept);
  }
  return best;
}

type Accept = (candidate: Recipe) => Promise<boolean>;

/** Fewer steps are better, then fewer operands that are not literals. */
const size = ({ steps }: Recipe): number =>
  stepCount(steps) * 1000 + operandCount(steps, ({ kind }) => kind !== 'literal');

/** Removes runs of steps, long ones first. Steps are numbered in order through the whole tree. */
async function dropSteps(best: () => Recipe, accept: Accept): Promise<void> {
  for (let run = Math.max(1, stepCount(best().steps) >> 1); run >= 1; run = run === 1 ? 0 : run >> 1) {
    for (let at = 0; at < stepCount(best().steps); ) {
      const gone = await accept(withSteps(best(), (n) => (n >= at && n < at + run ? [] : undefined)));
      if (!gone) at += run;
    }
  }
}

/** Replaces a branch or loop by one of its blocks. */
async function inlineBlocks(best: () => Recipe, accept: Accept): Promise<void> {
  for (let at = 0; at < stepCount(best().steps); at++) {
    for (let which = 0; which < 3; which++) {
      await accept(withSteps(best(), (n, step) => (n === at ? (blocksOf(step)[which] ?? [step]) : undefined)));
    }
  }
}

async function simplifyOperands(best: () => Recipe, accept: Accept): Promise<void> {
  const total = () => operandCount(best().steps, () => true);
  for (let at = 0; at < total(); at++) {
    // No value has the id -1: the builder uses 1 or true of the type needed.
    const simple: Operand[] = [{ kind: 'value', id: -1 }, { kind: 'item' }, { kind: 'job', at: 0 }];
    for (const operand of simple) {
      let n = 0;
      let changed = false;
      const candidate = mapOperands(best(), (old) => {
        if (n++ !== at || rank(old) <= rank(operand)) return old;
        changed = true;
        return operand;
      });
      if (changed && (await accept(candidate))) break;
    }
  }
}

const rank = (operand: Operand): number => {
  if (operand.kind === 'value') return operand.id === -1 ? 0 : 5;
  return { item: 1, job: 2, chunk: 3, literal: 4 }[operand.kind];
};

/** Returns the recipe with each step, numbered in order, replaced by the result of `change`; undefined keeps it. */
function withSteps(recipe: Recipe, change: (n: number, step: RecipeStep) => readonly RecipeStep[] | undefined): Recipe {
  let n = 0;
  const block = (steps: readonly RecipeStep[]): RecipeStep[] =>
    steps.flatMap((step) => {
      const changed = change(n, step);
      n++;
      if (changed) {
        n += stepCount([step]) - 1;
        return changed;
      }
      return [withBlocks(step, blocksOf(step).map(block))];
    });
  return { ...recipe, steps: block(recipe.steps) };
}

function mapOperands(recipe: Recipe, change: (operand: Operand) => Operand): Recipe {
  const one = (step: RecipeStep): RecipeStep => {
    const entries = Object.entries(step).map(([key, value]) => [
      key,
      operandKeys.has(key) ? (Array.isArray(value) ? value.map(change) : change(value as Operand)) : value,
    ]);
    const changed = Object.fromEntries(entries) as RecipeStep;
    return withBlocks(
      changed,
      blocksOf(changed).map((steps) => steps.map(one)),
    );
  };
  return { ...recipe, steps: recipe.steps.map(one) };
}

/** The keys of steps that hold operands. */
const operandKeys: ReadonlySet<string> = new Set([
  'args',
  'index',
  'base',
  'value',
  'expected',
  'values',
  'condition',
  'which',
  'rounds',
]);

function operandCount(steps: readonly RecipeStep[], isCounted: (operand: Operand) => boolean): number {
  let total = 0;
  mapOperands({ types: [], tables: [], steps }, (operand) => {
    if (isCounted(operand)) total++;
    return operand;
  });
  return total;
}
