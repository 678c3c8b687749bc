import type { Kernel, Program } from '../../../kernel/index.js';
import type { CompileOptions, Device } from '../../device.js';
import { type CaseResult, inParallel, type Totals } from '../case.js';
import { Random } from '../random.js';
import { build } from './build.js';
import { generate } from './generate.js';
import { inTwoWords, passesDifference, wayNames } from './passes.js';
import { print } from './print.js';
import { blocksOf, type Recipe } from './recipe.js';
import { shrink } from './shrink.js';
import { sumsU64 } from './tile-recipe.js';
import { anyInputs, anyTileInputs, deviceOutputs, difference, type Inputs, interpreted, showInputs } from './trial.js';

export interface FuzzOptions {
  /** The first kernel's seed; the next has the next. */
  readonly seed: number;
  readonly seconds?: number;
  readonly count?: number;
  readonly onResult?: (result: CaseResult) => void;
  /** Kernels of one kind only; else they take turns. */
  readonly kind?: Kind;
  /** Kernels under way at a time: compilers run beside each other. */
  readonly atOnce?: number;
}

export type Kind = 'items' | 'tiles';

export type FuzzTotals = Totals & { readonly firstFailure?: string };

/** Random kernels on a device against the interpreter. */
export function fuzzDevice(device: Device, options: FuzzOptions): Promise<FuzzTotals> {
  return repeat({ atOnce: 2, ...options }, (seed, kind) => deviceTrial(device, seed, kind));
}

/** Random kernels through the passes, interpreted before and after. Needs no device. */
export function fuzzPasses(options: FuzzOptions): Promise<FuzzTotals> {
  return repeat({ atOnce: 1, ...options }, passesTrial);
}

type Trial = (seed: number, kind: Kind) => Promise<string | undefined>;

async function repeat(
  {
    seed,
    seconds = Number.POSITIVE_INFINITY,
    count = Number.POSITIVE_INFINITY,
    kind,
    onResult,
    atOnce = 1,
  }: FuzzOptions,
  trial: Trial,
): Promise<FuzzTotals> {
  if (seconds === Number.POSITIVE_INFINITY && count === Number.POSITIVE_INFINITY)
    throw new RangeError('give seconds or a count');
  const end = performance.now() + seconds * 1000;
  const totals = { passed: 0, failed: 0, skipped: 0 };
  let firstFailure: string | undefined;
  let next = 0;
  const one = async (own: number): Promise<void> => {
    const started = performance.now();
    const which = kind ?? (own % 2 === 0 ? 'items' : 'tiles');
    const reason = await trial(own, which);
    totals[reason === undefined ? 'passed' : 'failed']++;
    firstFailure ??= reason;
    const result = { name: `seed ${own} (${which})`, ms: performance.now() - started };
    onResult?.(reason === undefined ? { ...result, status: 'passed' } : { ...result, status: 'failed', reason });
  };
  await inParallel(atOnce, () => (next < count && performance.now() < end ? one(seed + next++) : undefined));
  return firstFailure === undefined ? totals : { ...totals, firstFailure };
}

/** How often a failure is run again to make it smaller: a compilation each on a device, a millisecond or so without. */
const DEVICE_TRIES = 150;
const PASSES_TRIES = 3000;
const LAUNCHES = 3;

export async function deviceTrial(device: Device, seed: number, kind: Kind = 'items'): Promise<string | undefined> {
  const random = new Random(seed);
  const recipe = generate(random, kind);
  const options = anyOptions(random, device, !sumsU64(recipe.steps, blocksOf));
  const inputs = Array.from({ length: LAUNCHES }, () => (kind === 'tiles' ? anyTileInputs : anyInputs)(random));
  const find = async (candidate: Recipe, given: readonly Inputs[]): Promise<Found | undefined> => {
    const kernel = tracedOnce(build(candidate));
    const expected = given.map((one) => interpreted(kernel.trace(), one));
    try {
      const actual = await deviceOutputs(device, kernel, given, options);
      for (const [i, one] of given.entries()) {
        const text = difference(one, expected[i] as never, actual[i] as never);
        if (text) return { text, inputs: one };
      }
    } catch (error) {
      return { text: error instanceof Error ? error.message : String(error), inputs: given[0] };
    }
    return undefined;
  };
  return examine(
    `${seed} (${kind})`,
    recipe,
    inputs,
    `${device.info.id} with ${JSON.stringify(options)}`,
    find,
    DEVICE_TRIES,
  );
}

export async function passesTrial(seed: number, kind: Kind = 'items'): Promise<string | undefined> {
  const random = new Random(seed);
  const recipe = generate(random, kind);
  // No lanes: few items show all there is.
  const inputs = Array.from({ length: 2 }, () => (kind === 'tiles' ? anyTileInputs(random, 3) : anyInputs(random, 9)));
  const refusesWords = sumsU64(recipe.steps, blocksOf);
  const ways = wayNames
    .filter((_, i) => i === 0 || random.chance(0.4))
    .filter((name) => !refusesWords || !inTwoWords(name));
  const find = async (candidate: Recipe, given: readonly Inputs[]): Promise<Found | undefined> => {
    const kernel = tracedOnce(build(candidate));
    const text = passesDifference(
      kernel,
      ways,
      given,
      given.map((one) => interpreted(kernel.trace(), one)),
    );
    return text === undefined ? undefined : { text, inputs: given[0] };
  };
  return examine(`${seed} (${kind})`, recipe, inputs, 'the passes', find, PASSES_TRIES);
}

/** Tracing takes longer than most of what is done with a trace here. */
function tracedOnce(kernel: Kernel): Kernel {
  let program: Program | undefined;
  const trace = () => {
    program ??= kernel.trace();
    return program;
  };
  return { ...kernel, trace };
}

interface Found {
  readonly text: string;
  readonly inputs: Inputs | undefined;
}
type Find = (recipe: Recipe, inputs: readonly Inputs[]) => Promise<Found | undefined>;

/** Runs a recipe; where it fails, makes it small and tells everything. */
async function examine(
  seed: string,
  recipe: Recipe,
  inputs: readonly Inputs[],
  where: string,
  find: Find,
  tries: number,
): Promise<string | undefined> {
  let found: Found | undefined;
  try {
    found = await find(recipe, inputs);
  } catch (error) {
    return `seed ${seed}: the interpreter itself failed: ${error instanceof Error ? error.stack : String(error)}\n${print(recipe)}`;
  }
  if (!found) return undefined;
  // A failure that one launch shows is made smaller with that launch alone.
  const alone = found.inputs ? [found.inputs] : [];
  const given = alone.length > 0 && (await find(recipe, alone).catch(() => undefined)) ? alone : inputs;
  const small = await shrink(
    recipe,
    async (candidate) => (await find(candidate, given).catch(() => undefined)) !== undefined,
    tries,
  );
  const last = (await find(small, given)) ?? found;
  return [
    `seed ${seed}, on ${where}:`,
    last.text,
    print(small),
    ...(last.inputs ? [showInputs(last.inputs)] : []),
  ].join('\n');
}

/** One lane, the hardware's width, and narrower gangs, which compile sooner and differ in their forms only. */
function anyOptions(random: Random, device: Device, mayBeWide: boolean): CompileOptions {
  const { lanes } = device.info.limits;
  return {
    lanes: random.chance(0.3)
      ? 1
      : random.chance(0.4)
        ? random.pick([lanes, 'auto' as const])
        : random.pick([2, 4, 4, 4, 8]),
    hoist: random.chance(0.8),
    checked: random.chance(0.4),
    wide: random.chance(0.2) && mayBeWide,
    pipes: random.chance(0.2) ? 0.5 : 0,
  };
}
