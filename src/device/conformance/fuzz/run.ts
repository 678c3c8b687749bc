import type { Kernel, Program } from '../../../kernel/index.js';
import type { CompileOptions, Device } from '../../device.js';
import { type CaseResult, inParallel, type Totals } from '../case.js';
import { Random } from '../random.js';
import { build } from './build.js';
import { generate } from './generate.js';
import { passesDifference, wayNames } from './passes.js';
import { print } from './print.js';
import type { Recipe } from './recipe.js';
import { shrink } from './shrink.js';
import { anyInputs, deviceOutputs, difference, type Inputs, interpreted, showInputs } from './trial.js';

export interface FuzzOptions {
  /** The first kernel's seed; the next has the next. */
  readonly seed: number;
  readonly seconds?: number;
  readonly count?: number;
  readonly onResult?: (result: CaseResult) => void;
  /** Kernels under way at a time: compilers run beside each other. */
  readonly atOnce?: number;
}

export type FuzzTotals = Totals & { readonly firstFailure?: string };

/** Random kernels on a device against the interpreter. */
export function fuzzDevice(device: Device, options: FuzzOptions): Promise<FuzzTotals> {
  return repeat({ atOnce: 2, ...options }, (seed) => deviceTrial(device, seed));
}

/** Random kernels through the passes, interpreted before and after. Needs no device. */
export function fuzzPasses(options: FuzzOptions): Promise<FuzzTotals> {
  return repeat({ atOnce: 1, ...options }, (seed) => passesTrial(seed));
}

type Trial = (seed: number) => Promise<string | undefined>;

async function repeat(
  { seed, seconds = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY, onResult, atOnce = 1 }: FuzzOptions,
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
    const reason = await trial(own);
    totals[reason === undefined ? 'passed' : 'failed']++;
    firstFailure ??= reason;
    const result = { name: `seed ${own}`, ms: performance.now() - started };
    onResult?.(reason === undefined ? { ...result, status: 'passed' } : { ...result, status: 'failed', reason });
  };
  await inParallel(atOnce, () => (next < count && performance.now() < end ? one(seed + next++) : undefined));
  return firstFailure === undefined ? totals : { ...totals, firstFailure };
}

/** How often a failure is run again to make it smaller: a compilation each on a device, a millisecond or so without. */
const DEVICE_TRIES = 150;
const PASSES_TRIES = 3000;
const LAUNCHES = 3;

export async function deviceTrial(device: Device, seed: number): Promise<string | undefined> {
  const random = new Random(seed);
  const recipe = generate(random);
  const options = anyOptions(random, device);
  const inputs = Array.from({ length: LAUNCHES }, () => anyInputs(random));
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
  return examine(seed, recipe, inputs, `${device.info.id} with ${JSON.stringify(options)}`, find, DEVICE_TRIES);
}

export async function passesTrial(seed: number): Promise<string | undefined> {
  const random = new Random(seed);
  const recipe = generate(random);
  const inputs = Array.from({ length: 2 }, () => anyInputs(random, 9)); // no lanes: few items show all there is
  const ways = wayNames.filter((_, i) => i === 0 || random.chance(0.4));
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
  return examine(seed, recipe, inputs, 'the passes', find, PASSES_TRIES);
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
  seed: number,
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
function anyOptions(random: Random, device: Device): CompileOptions {
  const { lanes } = device.info.limits;
  return {
    lanes: random.chance(0.3) ? 1 : random.chance(0.4) ? lanes : random.pick([2, 4, 4, 4, 8]),
    hoist: random.chance(0.8),
    checked: random.chance(0.4),
  };
}
