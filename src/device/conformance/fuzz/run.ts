import { firstLine } from '../../../kernel/error.js';
import { type Kernel, MillraceError, type Program } from '../../../kernel/index.js';
import type { CompileOptions, Device, DeviceProgram } from '../../device.js';
import { withTimeout } from '../../timeout.js';
import { type CaseResult, inParallel, Skip, type Totals } from '../case.js';
import { Random } from '../model/random.js';
import { Rig } from '../rig.js';
import { runsGangs } from '../streams/behaviour.js';
import { build } from './build.js';
import { cancelDifference, endlessInputs, supportsCancel } from './cancel.js';
import { generate } from './generate.js';
import { fullPalette, paletteOf } from './palette.js';
import { passesDifference, passSequenceNames } from './passes.js';
import { print } from './print.js';
import { hasStep, hasWideAtomics, type Recipe } from './recipe.js';
import { shrink } from './shrink.js';
import {
  deviceOutput,
  difference,
  type Inputs,
  interpretInputs,
  type Output,
  randomInputs,
  randomTileInputs,
  showInputs,
} from './trial.js';

export interface FuzzOptions {
  /** The seed of the first kernel; each next kernel has the next seed. */
  readonly seed: number;
  readonly seconds?: number;
  readonly count?: number;
  /** Called when a kernel's trial begins: names without a result show which kernel hangs. */
  readonly onStart?: (name: string) => void;
  readonly onResult?: (result: CaseResult) => void;
  /** Restricts kernels to one kind; by default the kinds alternate. */
  readonly kind?: KernelKind;
  /** The number of kernels that run at a time, since compilers run in parallel. */
  readonly parallelKernels?: number;
  /** A kernel that takes longer ends the run with a failure that names its seed: a hung device cannot continue. */
  readonly timeoutMs?: number;
}

export type KernelKind = 'items' | 'tiles';

export type FuzzTotals = Totals & { readonly firstFailure?: string };

/** Compares random kernels on a device with the interpreter. */
export function fuzzDevice(device: Device, options: FuzzOptions): Promise<FuzzTotals> {
  const { timeoutMs = TIMEOUT_MS } = options;
  return repeat({ parallelKernels: 2, ...options }, (seed, kind) => deviceTrial(device, seed, kind, timeoutMs));
}

/** Runs random kernels through the passes and interprets them before and after. Needs no device. */
export function fuzzPasses(options: FuzzOptions): Promise<FuzzTotals> {
  return repeat({ parallelKernels: 1, ...options }, passesTrial);
}

/** A description of the failure; undefined if there is none; `Skip` if the device need not run the kernel. */
type Outcome = string | undefined | Skip;
/** Tries a kernel while others are tried. Returns the rest of the trial if that must run alone. */
type Trial = (seed: number, kind: KernelKind) => Promise<Outcome | (() => Promise<Outcome>)>;

/** Kernels that are tried before the rests of their trials, for each kernel that runs at a time. */
const KERNELS_PER_ROUND = 8;

async function repeat(
  {
    seed,
    seconds = Number.POSITIVE_INFINITY,
    count = Number.POSITIVE_INFINITY,
    kind,
    onStart,
    onResult,
    parallelKernels = 1,
  }: FuzzOptions,
  trial: Trial,
): Promise<FuzzTotals> {
  if (seconds === Number.POSITIVE_INFINITY && count === Number.POSITIVE_INFINITY)
    throw new RangeError('fuzzing needs a number of seconds or a count');
  const end = performance.now() + seconds * 1000;
  const totals = { passed: 0, failed: 0, skipped: 0 };
  let firstFailure: string | undefined;
  let next = 0;
  let hung = false;
  const mayStart = (): boolean => !hung && next < count && performance.now() < end;
  const runOne = async (kernelSeed: number, rests: (() => Promise<void>)[]): Promise<void> => {
    const kernelKind = kind ?? (kernelSeed % 2 === 0 ? 'items' : 'tiles');
    const name = `seed ${kernelSeed} (${kernelKind})`;
    let ms = 0;
    const timed = async <T>(work: () => Promise<T>): Promise<T | string> => {
      const started = performance.now();
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof DeviceHung)) throw error;
        hung = true;
        return `${name}: ${error.message}; the run ends here`;
      } finally {
        ms += performance.now() - started;
      }
    };
    const report = (outcome: Outcome): void => {
      const status = outcome === undefined ? 'passed' : outcome instanceof Skip ? 'skipped' : 'failed';
      totals[status]++;
      if (typeof outcome === 'string') firstFailure ??= outcome;
      const reason = outcome instanceof Skip ? outcome.message : outcome;
      const result = { name, status, ms } as const;
      onResult?.(reason === undefined ? result : { ...result, reason });
    };
    onStart?.(name);
    const tried = await timed(() => trial(kernelSeed, kernelKind));
    if (typeof tried === 'function') rests.push(async () => report(await timed(tried)));
    else report(tried);
  };
  while (mayStart()) {
    const rests: (() => Promise<void>)[] = [];
    let left = KERNELS_PER_ROUND * parallelKernels;
    await inParallel(parallelKernels, () => (left-- > 0 && mayStart() ? runOne(seed + next++, rests) : undefined));
    for (const rest of rests) if (!hung) await rest();
  }
  return firstFailure === undefined ? totals : { ...totals, firstFailure };
}

/** One compilation and a few launches: seconds with the slowest compiler. */
const TIMEOUT_MS = 120_000;

/** Thrown if a device hangs. No further results can be expected of it. */
class DeviceHung extends Error {}

/** Maximum number of runs to minimize a failure. Each takes a compilation on a device, about a millisecond without. */
const MAX_DEVICE_TRIES = 150;
const MAX_PASSES_TRIES = 3000;
const LAUNCHES = 3;

/**
 * Compiles a kernel and compares its launches. The rest, which runs alone, is a launch that only `cancel()` ends, and the
 * search for a small kernel that fails. CUDA loads and frees other programs when running kernels have ended, and its thread,
 * which waits for that, could not send the cancel.
 */
async function deviceTrial(
  device: Device,
  seed: number,
  kind: KernelKind = 'items',
  timeoutMs = TIMEOUT_MS,
): ReturnType<Trial> {
  const random = new Random(seed);
  const palette = paletteOf(device);
  const recipe = generate(random, kind, palette);
  const options = randomOptions(random, device, kind, hasWideAtomics(recipe.steps));
  const inputs = Array.from({ length: LAUNCHES }, () =>
    (kind === 'tiles' ? randomTileInputs : randomInputs)(random, palette),
  );
  const cancelAfterMs = random.below(8);
  const onRig = async <T>(work: (rig: Rig) => Promise<T>, first: Inputs | undefined): Promise<T | FuzzFailure> => {
    try {
      const late = (): never => {
        throw new DeviceHung(`no result within ${timeoutMs / 1000} s`);
      };
      return await withTimeout(Rig.with(device, work), timeoutMs, late);
    } catch (error) {
      if (error instanceof DeviceHung) throw error;
      if (isUnsupported(error)) throw new Skip(firstLine(error));
      return { text: error instanceof Error ? error.message : String(error), inputs: first };
    }
  };
  const begin = async (candidate: Recipe, launches: readonly Inputs[]): Promise<BegunTrial> => {
    const kernel = withCachedTrace(build(candidate));
    const expected = launches.map((one) => interpretInputs(kernel.trace(), one));
    const [first] = launches;
    const held = first && hasStep(candidate.steps, 'hold') && supportsCancel(device) ? endlessInputs(first) : undefined;
    return onRig(async (rig) => {
      const program = await device.compile(kernel, options);
      const failure = await firstDifference(rig, program, launches, expected);
      if (failure || !held) {
        program.close();
        return failure;
      }
      return () =>
        onRig(async (alone) => {
          const output = await deviceOutput(alone, program, held, cancelAfterMs);
          program.close();
          const text = cancelDifference(kernel, program, held, output);
          return text === undefined ? undefined : { text, inputs: first };
        }, first);
    }, first);
  };
  const where = `${device.info.id} with ${JSON.stringify(options)}`;
  return tryAndMinimize(`${seed} (${kind})`, recipe, inputs, where, begin, MAX_DEVICE_TRIES);
}

/** Launches a program once for each of the inputs, until the results of one differ. */
async function firstDifference(
  rig: Rig,
  program: DeviceProgram,
  launches: readonly Inputs[],
  expected: readonly Output[],
): Promise<FuzzFailure | undefined> {
  for (const [i, inputs] of launches.entries()) {
    const text = difference(inputs, expected[i] as Output, await deviceOutput(rig, program, inputs));
    if (text) return { text, inputs };
  }
  return undefined;
}

/** True if a kernel needs more statements, bindings or workgroup memory than the device has. A device may refuse it. */
const isUnsupported = (error: unknown): error is MillraceError =>
  error instanceof MillraceError && (error.code === 'device-capability' || error.code === 'kernel-budget');

async function passesTrial(seed: number, kind: KernelKind = 'items'): ReturnType<Trial> {
  const random = new Random(seed);
  const recipe = generate(random, kind);
  // There are no lanes here: few items are enough.
  const inputs = Array.from({ length: 2 }, () =>
    (kind === 'tiles' ? randomTileInputs : randomInputs)(random, fullPalette, kind === 'tiles' ? 3 : 9),
  );
  const sequences = passSequenceNames.filter((_, i) => i === 0 || random.chance(0.4));
  const begin = async (candidate: Recipe, launches: readonly Inputs[]): Promise<BegunTrial> => {
    const kernel = withCachedTrace(build(candidate));
    const text = passesDifference(
      kernel,
      sequences,
      launches,
      launches.map((one) => interpretInputs(kernel.trace(), one)),
    );
    return text === undefined ? undefined : { text, inputs: launches[0] };
  };
  return tryAndMinimize(`${seed} (${kind})`, recipe, inputs, 'the passes', begin, MAX_PASSES_TRIES);
}

/** Caches the trace: tracing takes longer than most uses of the trace here. */
function withCachedTrace(kernel: Kernel): Kernel {
  let program: Program | undefined;
  const trace = () => {
    program ??= kernel.trace();
    return program;
  };
  return { ...kernel, trace };
}

interface FuzzFailure {
  readonly text: string;
  readonly inputs: Inputs | undefined;
}
/** What failed; undefined if nothing did; or the part of the trial that runs alone. */
type BegunTrial = FuzzFailure | undefined | (() => Promise<FuzzFailure | undefined>);

/** Runs a recipe. If it fails, minimizes it and returns a report. */
async function tryAndMinimize(
  seed: string,
  recipe: Recipe,
  inputs: readonly Inputs[],
  where: string,
  begin: (recipe: Recipe, inputs: readonly Inputs[]) => Promise<BegunTrial>,
  tries: number,
): ReturnType<Trial> {
  const orOutcome = async <T>(work: () => Promise<T>): Promise<T | string | Skip> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Skip) return error;
      if (error instanceof DeviceHung) throw error;
      return `seed ${seed}: the interpreter itself failed: ${error instanceof Error ? error.stack : String(error)}\n${print(recipe)}`;
    }
  };
  const begun = await orOutcome(() => begin(recipe, inputs));
  if (begun === undefined || typeof begun === 'string' || begun instanceof Skip) return begun;
  return async () => {
    const found = typeof begun === 'function' ? await orOutcome(begun) : begun;
    if (found === undefined || typeof found === 'string' || found instanceof Skip) return found;
    return minimized(found);
  };

  async function minimized(found: FuzzFailure): Promise<string> {
    const retry = async (candidate: Recipe, launches: readonly Inputs[]): Promise<FuzzFailure | undefined> => {
      try {
        const again = await begin(candidate, launches);
        return typeof again === 'function' ? await again() : again;
      } catch (error) {
        if (error instanceof DeviceHung) throw error;
        return undefined;
      }
    };
    // A failure that a single launch shows is minimized with that launch alone.
    const alone = found.inputs ? [found.inputs] : [];
    const launches = alone.length > 0 && (await retry(recipe, alone)) ? alone : inputs;
    const small = await shrink(recipe, async (candidate) => (await retry(candidate, launches)) !== undefined, tries);
    const last = (await retry(small, launches)) ?? found;
    return [
      `seed ${seed}, on ${where}:`,
      last.text,
      print(small),
      ...(last.inputs ? [showInputs(last.inputs)] : []),
    ].join('\n');
  }
}

function randomOptions(random: Random, device: Device, kind: KernelKind, wideAtomics: boolean): CompileOptions {
  return {
    lanes: runsGangs(device) ? randomGang(random, device) : randomWorkgroup(random, device, kind),
    hoist: random.chance(0.8),
    checked: random.chance(0.4),
    wide: random.chance(0.2) && !wideAtomics, // which cannot be split into words
    pipes: random.chance(0.2) ? 0.5 : 0,
  };
}

/** One lane, the hardware's width, and narrower gangs, which compile sooner and differ in their forms only. */
function randomGang(random: Random, { info }: Device): number | 'auto' {
  if (random.chance(0.3)) return 1;
  return random.chance(0.4) ? random.pick([info.limits.lanes, 'auto' as const]) : random.pick([2, 4, 4, 4, 8]);
}

/**
 * PoCL 3.1 miscompiles code between barriers if it turns the threads of a workgroup into loops. With 'auto' the device
 * chooses a safe number of threads.
 */
function randomWorkgroup(random: Random, { info }: Device, kind: KernelKind): number | 'auto' {
  if (kind === 'tiles' && info.kind === 'opencl' && info.processor === 'cpu') return 'auto';
  const sizes = [1, 8, 32, 64, 256].filter((threads) => threads <= info.limits.lanes);
  return random.chance(0.5) ? 'auto' : random.pick(sizes);
}
