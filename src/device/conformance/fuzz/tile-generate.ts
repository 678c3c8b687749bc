import type { Numeric, Type } from '../../../kernel/index.js';
import type { Random } from '../model/random.js';
import type { Palette } from './palette.js';
import type { Operand, RecipeStep } from './recipe.js';
import { MAX_ROUNDS, type NearRecipe } from './tile-recipe.js';

/** Functions of the step generator that this generator uses, at the position of the new step. */
export interface StepSource {
  readonly random: Random;
  readonly palette: Palette;
  id(): number;
  operand(type: Type): Operand;
  /** Generates an inner block; returns it and the values that it defines. */
  block(more: { readonly isInRegion: boolean }): {
    readonly steps: RecipeStep[];
    readonly values: readonly { readonly id: number; readonly type: Type }[];
  };
}

export function randomNearArrays(random: Random, { numeric }: Palette): NearRecipe[] {
  return Array.from({ length: 1 + random.below(4) }, () => ({
    type: random.chance(0.5) ? 'u32' : random.pick(numeric),
    length: random.pick([1, 2, 3, 4, 8, 13, 16, 32, 37, 64, 100]),
  }));
}

/** Returns a step that only tiles have, or undefined. `inside` is true in a region, false between regions. */
export function tileStep(near: readonly NearRecipe[], inside: boolean, source: StepSource): RecipeStep | undefined {
  const { random } = source;
  const dice = random.below(100);
  const which = random.below(near.length);
  const { type, length } = near[which] as NearRecipe;
  if (dice < 6) return { kind: 'nearAt', id: source.id(), near: which, type, index: source.operand('u32') };
  if (dice < 8) {
    const from = random.pick(source.palette.numeric);
    return { kind: 'far', id: source.id(), type: from, index: source.operand('u32'), slot: random.below(4) };
  }
  if (inside) {
    if (dice < 12) return nearWrite(which, type, source.operand(type), source);
    return undefined;
  }
  if (dice < 18 && type === 'u32')
    return { kind: 'scan', id: source.id(), near: which, length: 1 + random.below(length) };
  if (dice < 40) return each(near, source);
  if (dice < 50) return sum(source);
  if (dice < 55) {
    const { steps, values } = source.block({ isInRegion: true });
    return { kind: 'once', body: [...steps, ...writeSomeValues(near, values, source)] };
  }
  return undefined;
}

/** Runs `tail` in `once`, and stores the final contents of the near arrays in buffers, which are compared. */
export function tileTail(near: readonly NearRecipe[], tail: readonly RecipeStep[], id: () => number): RecipeStep[] {
  const dumps = near.map(({ type, length }, k): RecipeStep => {
    const read = id();
    const value: Operand = { kind: 'value', id: read };
    const body: RecipeStep[] = [
      { kind: 'nearAt', id: read, near: k, type, index: { kind: 'item' } },
      { kind: 'store', type, slot: k % 4, value },
    ];
    return { kind: 'each', rounds: { kind: 'literal', value: length }, maxRounds: length, flip: 0, body };
  });
  return [{ kind: 'once', body: tail }, ...dumps];
}

function each(near: readonly NearRecipe[], source: StepSource): RecipeStep {
  const { random } = source;
  const { rounds, maxRounds } = randomRounds(source);
  const { steps, values } = source.block({ isInRegion: true });
  const body = [...steps, ...writeSomeValues(near, values, source)];
  if (random.chance(0.15)) {
    const condition = values.findLast(({ type }) => type === 'bool');
    body.push({
      kind: 'when',
      condition: condition ? { kind: 'value', id: condition.id } : source.operand('bool'),
      body: [{ kind: 'emit', values: source.palette.scalars.map((type) => recentValue(values, type, source)) }],
      otherwise: [],
    });
  }
  return { kind: 'each', rounds, maxRounds, flip: random.chance(0.5) ? random.below(64) : 0, body };
}

function sum(source: StepSource): RecipeStep {
  const { random, palette } = source;
  const { rounds, maxRounds } = randomRounds(source);
  const { steps, values } = source.block({ isInRegion: true });
  const last = values.findLast((value) => palette.sums.includes(value.type as Numeric));
  const type = (random.chance(0.7) && last ? last.type : random.pick(palette.sums)) as Numeric;
  return {
    kind: 'sum',
    id: source.id(),
    type,
    rounds,
    maxRounds,
    body: steps,
    value: recentValue(values, type, source),
  };
}

/** Mostly few rounds, sometimes more than there are partial sums; usually exactly `maxRounds`. */
function randomRounds({ random, operand }: StepSource): { rounds: Operand; maxRounds: number } {
  const dice = random.below(10);
  const maxRounds = random.below(dice < 2 ? MAX_ROUNDS + 1 : dice < 5 ? 80 : 20);
  return { rounds: random.chance(0.6) ? { kind: 'literal', value: maxRounds } : operand('u32'), maxRounds };
}

/** Writes some of the latest values; otherwise a region would have no effect. */
function writeSomeValues(
  near: readonly NearRecipe[],
  values: readonly { readonly id: number; readonly type: Type }[],
  source: StepSource,
): RecipeStep[] {
  const { random } = source;
  const steps: RecipeStep[] = [];
  for (let n = 1 + random.below(3); n > 0; n--) {
    if (random.chance(0.6)) {
      const which = random.below(near.length);
      const { type } = near[which] as NearRecipe;
      steps.push(nearWrite(which, type, recentValue(values, type, source), source));
      continue;
    }
    const type = values.findLast((value) => value.type !== 'bool')?.type ?? 'u32';
    steps.push({
      kind: 'store',
      type: type as Numeric,
      slot: random.below(4),
      value: recentValue(values, type, source),
    });
  }
  return steps;
}

function nearWrite(near: number, type: Numeric, value: Operand, { random, operand }: StepSource): RecipeStep {
  const index = random.chance(0.5) ? ({ kind: 'item' } as const) : operand('u32');
  return type === 'u32' && random.chance(0.4)
    ? { kind: 'nearTotal', near, op: random.chance(0.5) ? 'add' : 'or', index, value }
    : { kind: 'nearSet', near, type, index, value };
}

/** Returns one of the latest values of the type, or another operand if there is none. */
function recentValue(
  values: readonly { readonly id: number; readonly type: Type }[],
  type: Type,
  source: StepSource,
): Operand {
  const fitting = values.filter((value) => value.type === type).slice(-3);
  return fitting.length > 0 ? { kind: 'value', id: source.random.pick(fitting).id } : source.operand(type);
}
