import { firstLine } from '../../../kernel/error.js';
import { type Kernel, MillraceError, type Program } from '../../../kernel/index.js';
import type { CompileOptions, Device } from '../../device.js';
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
  const lock = new SharedLock();
  return repeat({ parallelKernels: 2, ...options }, (seed, kind) => {
    const trial = () => deviceTrial(device, seed, kind, timeoutMs);
    return needsCancel(device, seed, kind) ? lock.runExclusive(trial) : lock.runShared(trial);
  });
}

/**
 * True if a trial has a launch that only `cancel()` ends. While it runs, nothing else may use the device: CUDA loads and
 * frees other programs when running kernels have ended, and its thread, which waits for that, could not send the cancel.
 */
function needsCancel(device: Device, seed: number, kind: KernelKind): boolean {
  const { steps } = generate(new Random(seed), kind, paletteOf(device));
  return supportsCancel(device) && hasStep(steps, 'hold');
}

/** A lock: shared work runs in parallel, exclusive work alone, in the order of the calls. */
class SharedLock {
  #exclusive: Promise<unknown> = Promise.resolve();
  #shared: Promise<unknown>[] = [];

  runShared<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#exclusive.then(work);
    this.#shared.push(done.catch(() => undefined));
    return done;
  }

  runExclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = Promise.all([this.#exclusive, ...this.#shared]).then(work);
    this.#exclusive = done.catch(() => undefined);
    this.#shared = [];
    return done;
  }
}

/** Runs random kernels through the passes and interprets them before and after. Needs no device. */
export function fuzzPasses(options: FuzzOptions): Promise<FuzzTotals> {
  return repeat({ parallelKernels: 1, ...options }, passesTrial);
}

/** Returns a description of the failure; `Skip` if the device need not run the kernel. */
type Trial = (seed: number, kind: KernelKind) => Promise<string | undefined | Skip>;

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
  const runOne = async (kernelSeed: number): Promise<void> => {
    const started = performance.now();
    const kernelKind = kind ?? (kernelSeed % 2 === 0 ? 'items' : 'tiles');
    const name = `seed ${kernelSeed} (${kernelKind})`;
    onStart?.(name);
    const outcome = await trial(kernelSeed, kernelKind).catch((error) => {
      if (!(error instanceof DeviceHung)) throw error;
      hung = true;
      return `${name}: ${error.message}; the run ends here`;
    });
    const status = outcome === undefined ? 'passed' : outcome instanceof Skip ? 'skipped' : 'failed';
    totals[status]++;
    if (typeof outcome === 'string') firstFailure ??= outcome;
    const reason = outcome instanceof Skip ? outcome.message : outcome;
    const result = { name, status, ms: performance.now() - started } as const;
    onResult?.(reason === undefined ? result : { ...result, reason });
  };
  await inParallel(parallelKernels, () =>
    !hung && next < count && performance.now() < end ? runOne(seed + next++) : undefined,
  );
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
  const find = async (candidate: Recipe, launches: readonly Inputs[]): Promise<FuzzFailure | undefined> => {
    const kernel = withCachedTrace(build(candidate));
    const expected = launches.map((one) => interpretInputs(kernel.trace(), one));
    const compare = async (rig: Rig): Promise<FuzzFailure | undefined> => {
      const program = await device.compile(kernel, options);
      for (const [i, one] of launches.entries()) {
        const text = difference(one, expected[i] as never, await deviceOutput(rig, program, one));
        if (text) return { text, inputs: one };
      }
      const [first] = launches;
      if (!first || !hasStep(candidate.steps, 'hold') || !supportsCancel(device)) return undefined;
      const held = endlessInputs(first);
      const text = cancelDifference(kernel, program, held, await deviceOutput(rig, program, held, cancelAfterMs));
      return text === undefined ? undefined : { text, inputs: first };
    };
    try {
      const late = (): never => {
        throw new DeviceHung(`no result within ${timeoutMs / 1000} s`);
      };
      return await withTimeout(Rig.with(device, compare), timeoutMs, late);
    } catch (error) {
      if (error instanceof DeviceHung) throw error;
      if (isUnsupported(error)) throw new Skip(firstLine(error));
      return { text: error instanceof Error ? error.message : String(error), inputs: launches[0] };
    }
  };
  const where = `${device.info.id} with ${JSON.stringify(options)}`;
  try {
    return await runAndMinimize(`${seed} (${kind})`, recipe, inputs, where, find, MAX_DEVICE_TRIES);
  } catch (error) {
    if (error instanceof Skip) return error;
    throw error;
  }
}

/** True if a kernel needs more statements, bindings or workgroup memory than the device has. A device may refuse it. */
const isUnsupported = (error: unknown): error is MillraceError =>
  error instanceof MillraceError && (error.code === 'device-capability' || error.code === 'kernel-budget');

async function passesTrial(seed: number, kind: KernelKind = 'items'): Promise<string | undefined> {
  const random = new Random(seed);
  const recipe = generate(random, kind);
  // There are no lanes here: few items are enough.
  const inputs = Array.from({ length: 2 }, () =>
    (kind === 'tiles' ? randomTileInputs : randomInputs)(random, fullPalette, kind === 'tiles' ? 3 : 9),
  );
  const sequences = passSequenceNames.filter((_, i) => i === 0 || random.chance(0.4));
  const find = async (candidate: Recipe, launches: readonly Inputs[]): Promise<FuzzFailure | undefined> => {
    const kernel = withCachedTrace(build(candidate));
    const text = passesDifference(
      kernel,
      sequences,
      launches,
      launches.map((one) => interpretInputs(kernel.trace(), one)),
    );
    return text === undefined ? undefined : { text, inputs: launches[0] };
  };
  return runAndMinimize(`${seed} (${kind})`, recipe, inputs, 'the passes', find, MAX_PASSES_TRIES);
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
type FindFailure = (recipe: Recipe, inputs: readonly Inputs[]) => Promise<FuzzFailure | undefined>;

/** Runs a recipe. If it fails, minimizes it and returns a report. */
async function runAndMinimize(
  seed: string,
  recipe: Recipe,
  inputs: readonly Inputs[],
  where: string,
  find: FindFailure,
  tries: number,
): Promise<string | undefined> {
  let found: FuzzFailure | undefined;
  try {
    found = await find(recipe, inputs);
  } catch (error) {
    if (error instanceof Skip || error instanceof DeviceHung) throw error;
    return `seed ${seed}: the interpreter itself failed: ${error instanceof Error ? error.stack : String(error)}\n${print(recipe)}`;
  }
  if (!found) return undefined;
  // A failure that a single launch shows is minimized with that launch alone.
  const alone = found.inputs ? [found.inputs] : [];
  const retry = (candidate: Recipe, launches: readonly Inputs[]) =>
    find(candidate, launches).catch((error) => {
      if (error instanceof DeviceHung) throw error;
      return undefined;
    });
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
