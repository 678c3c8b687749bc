import type { Numeric, Scalar } from '../../../kernel/index.js';
import type { Random } from '../model/random.js';
import type { Palette } from './palette.js';
import type { Operand, Step } from './recipe.js';
import { MOST, type NearRecipe } from './tile-recipe.js';

/** What the generator of steps lends to this one, for the place where a step is wanted. */
export interface Lender {
  readonly random: Random;
  readonly palette: Palette;
  id(): number;
  operand(type: Scalar): Operand;
  /** A block inside, and the values it makes. */
  block(more: { readonly region: boolean }): {
    readonly steps: Step[];
    readonly values: readonly { readonly id: number; readonly type: Scalar }[];
  };
}

export function anyNear(random: Random, { numeric }: Palette): NearRecipe[] {
  return Array.from({ length: 1 + random.below(4) }, () => ({
    type: random.chance(0.5) ? 'u32' : random.pick(numeric),
    length: random.pick([1, 2, 3, 4, 8, 13, 16, 32, 37, 64, 100]),
  }));
}

/** A step that only tiles have, or none; `inside` a region or between them. */
export function tileStep(near: readonly NearRecipe[], inside: boolean, lend: Lender): Step | undefined {
  const { random } = lend;
  const dice = random.below(100);
  const which = random.below(near.length);
  const { type, length } = near[which] as NearRecipe;
  if (dice < 6) return { kind: 'nearAt', id: lend.id(), near: which, type, index: lend.operand('u32') };
  if (dice < 8) {
    const from = random.pick(lend.palette.numeric);
    return { kind: 'far', id: lend.id(), type: from, index: lend.operand('u32'), slot: random.below(4) };
  }
  if (inside) {
    if (dice < 12) return change(which, type, lend.operand(type), lend);
    return undefined;
  }
  if (dice < 18 && type === 'u32')
    return { kind: 'scan', id: lend.id(), near: which, length: 1 + random.below(length) };
  if (dice < 40) return each(near, lend);
  if (dice < 50) return sum(lend);
  if (dice < 55) {
    const { steps, values } = lend.block({ region: true });
    return { kind: 'once', body: [...steps, ...kept(near, values, lend)] };
  }
  return undefined;
}

/** What arrays hold in the end goes to where it is compared; what stands between regions is done once. */
export function tileTail(near: readonly NearRecipe[], tail: readonly Step[], id: () => number): Step[] {
  const dumps = near.map(({ type, length }, k): Step => {
    const read = id();
    const value: Operand = { kind: 'value', id: read };
    const body: Step[] = [
      { kind: 'nearAt', id: read, near: k, type, index: { kind: 'item' } },
      { kind: 'store', type, slot: k % 4, value },
    ];
    return { kind: 'each', rounds: { kind: 'literal', value: length }, most: length, flip: 0, body };
  });
  return [{ kind: 'once', body: tail }, ...dumps];
}

function each(near: readonly NearRecipe[], lend: Lender): Step {
  const { random } = lend;
  const { rounds, most } = count(lend);
  const { steps, values } = lend.block({ region: true });
  const body = [...steps, ...kept(near, values, lend)];
  if (random.chance(0.15)) {
    const condition = values.findLast(({ type }) => type === 'bool');
    body.push({
      kind: 'when',
      condition: condition ? { kind: 'value', id: condition.id } : lend.operand('bool'),
      body: [{ kind: 'emit', values: lend.palette.scalars.map((type) => pick(values, type, lend)) }],
      otherwise: [],
    });
  }
  return { kind: 'each', rounds, most, flip: random.chance(0.5) ? random.below(64) : 0, body };
}

function sum(lend: Lender): Step {
  const { random, palette } = lend;
  const { rounds, most } = count(lend);
  const { steps, values } = lend.block({ region: true });
  const last = values.findLast((value) => palette.sums.includes(value.type as Numeric));
  const type = (random.chance(0.7) && last ? last.type : random.pick(palette.sums)) as Numeric;
  return { kind: 'sum', id: lend.id(), type, rounds, most, body: steps, value: pick(values, type, lend) };
}

/** Mostly few, now and then more than there are partial sums; half of the time just so many. */
function count({ random, operand }: Lender): { rounds: Operand; most: number } {
  const dice = random.below(10);
  const most = random.below(dice < 2 ? MOST + 1 : dice < 5 ? 80 : 20);
  return { rounds: random.chance(0.6) ? { kind: 'literal', value: most } : operand('u32'), most };
}

/** Writes some of the latest values, or a region would do nothing. */
function kept(
  near: readonly NearRecipe[],
  values: readonly { readonly id: number; readonly type: Scalar }[],
  lend: Lender,
): Step[] {
  const { random } = lend;
  const steps: Step[] = [];
  for (let n = 1 + random.below(3); n > 0; n--) {
    if (random.chance(0.6)) {
      const which = random.below(near.length);
      const { type } = near[which] as NearRecipe;
      steps.push(change(which, type, pick(values, type, lend), lend));
      continue;
    }
    const type = values.findLast((value) => value.type !== 'bool')?.type ?? 'u32';
    steps.push({
      kind: 'store',
      type: type as Numeric,
      slot: random.below(4),
      value: pick(values, type, lend),
    });
  }
  return steps;
}

function change(near: number, type: Numeric, value: Operand, { random, operand }: Lender): Step {
  const index = random.chance(0.5) ? ({ kind: 'item' } as const) : operand('u32');
  return type === 'u32' && random.chance(0.4)
    ? { kind: 'nearTotal', near, op: random.chance(0.5) ? 'add' : 'or', index, value }
    : { kind: 'nearSet', near, type, index, value };
}

/** One of the latest values of the type, where there is one. */
function pick(values: readonly { readonly id: number; readonly type: Scalar }[], type: Scalar, lend: Lender): Operand {
  const fitting = values.filter((value) => value.type === type).slice(-3);
  return fitting.length > 0 ? { kind: 'value', id: lend.random.pick(fitting).id } : lend.operand(type);
}
