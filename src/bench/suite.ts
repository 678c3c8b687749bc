import type { Device, Sensors } from '../device/device.js';
import { addEnergySample, NO_ENERGY } from '../engine/telemetry/energy.js';
import { firstLine, MillraceError } from '../kernel/error.js';
import type { BenchCase, CaseOptions, OpenCase, WorkloadBench } from './case.js';
import { frozenCandidate } from './frozen/candidate.js';
import { type Limit, measureLimit } from './limits.js';
import { compare, type Spread } from './measure.js';

/** One line of the report. */
export interface Figure {
  readonly workload: string;
  readonly name: string;
  readonly device: string;
  readonly unit: string;
  readonly runs: number;
  readonly rate: Spread;
  /** The rate of each run, in order. */
  readonly rates: readonly number[];
  /**
   * Rates divided by those of the workload's frozen kernel, which ran in alternation. Unlike a rate, a ratio is the same
   * on a busy machine.
   */
  readonly frozenRatios: readonly number[] | undefined;
  readonly seconds: Spread;
  readonly checkedBy: string;
  readonly digest: string;
  readonly bytesPerSecond: number | undefined;
  /** The limit that bounds it on this device, and the share of the limit that it reaches. */
  readonly bound: { readonly limit: Limit; readonly perSecond: number; readonly share: number } | undefined;
  /** Share of the time that the device had work. */
  readonly fed: number | undefined;
  readonly perJoule: number | undefined;
  /** Peak memory of this process so far, and the memory in use that the card reported. */
  readonly hostBytes: number;
  readonly deviceBytes: number | undefined;
}

/** Why there is no figure. `isWrong`: the device gave wrong results. */
export interface NoFigure {
  readonly workload: string;
  readonly name: string;
  readonly device: string;
  readonly reason: string;
  readonly isWrong: boolean;
}

/** Runs all cases on all devices, one after the other. A limit is measured once per device, when a case first needs it. */
export async function* runSuite(
  workloads: readonly WorkloadBench[],
  devices: readonly Device[],
  options: CaseOptions,
): AsyncGenerator<Figure | NoFigure> {
  for (const device of devices) {
    const limits = new Map<Limit, number>();
    for (const { workload, cases } of workloads) {
      for (const benchCase of cases) {
        if (benchCase.isLong && !options.isFull) continue;
        yield await figureOf(workload, benchCase, device, options, limits);
      }
    }
  }
}

export const isFigure = (one: Figure | NoFigure): one is Figure => 'rate' in one;

async function figureOf(
  workload: string,
  benchCase: BenchCase,
  device: Device,
  options: CaseOptions,
  limits: Map<Limit, number>,
): Promise<Figure | NoFigure> {
  const about = { workload, name: benchCase.name, device: device.info.id };
  const unsupported = benchCase.unsupportedReason?.(device.info);
  if (unsupported !== undefined) return { ...about, reason: unsupported, isWrong: false };
  let open: OpenCase | undefined;
  let frozen: Awaited<ReturnType<typeof frozenCandidate>>;
  try {
    open = await benchCase.open(device, options);
    const energy = new EnergyMeter(device);
    frozen = await frozenCandidate(workload, device);
    const { measurements } = await compare([energy.wrap(open), ...(frozen ? [frozen] : [])]);
    const [own, frozenRuns] = measurements;
    if (own === undefined) throw new Error('compare() must return one measurement per candidate');
    const { unit, runs, rate, rates, seconds, digest } = own;
    const { unitBytes } = benchCase;
    return {
      ...about,
      unit,
      runs,
      rate,
      rates,
      frozenRatios: frozenRuns && rates.map((value, run) => value / (frozenRuns.rates[run] ?? Number.NaN)),
      seconds,
      checkedBy: benchCase.checkedBy,
      digest,
      bytesPerSecond: unitBytes === undefined ? undefined : rate.median * unitBytes,
      bound: await boundOf(benchCase, device, rate.median, limits),
      fed: open.fed?.(),
      perJoule: energy.perJoule,
      hostBytes: process.resourceUsage().maxRSS * 1024,
      deviceBytes: energy.last?.memoryUsedBytes,
    };
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return { ...about, reason: firstLine(error), isWrong: error.code === 'device-failed' };
  } finally {
    frozen?.close();
    await open?.close();
  }
}

async function boundOf({ bound }: BenchCase, device: Device, rate: number, limits: Map<Limit, number>) {
  if (!bound) return undefined;
  const { limit, perUnit } = bound;
  const perSecond = limits.get(limit) ?? (await measureLimit(device, limit));
  limits.set(limit, perSecond);
  const share = (rate * perUnit) / perSecond;
  // A rate above the limit disproves the limit: its kernel was slower than the work, which happens on WebGPU.
  return share > MAX_SHARE ? undefined : { limit, perSecond, share };
}

/** Both the rate and the limit scatter by some per cent. */
const MAX_SHARE = 1.05;

/** Sums work and joules over all runs, including the warm-up: sensors are slow, so seconds of work are needed. */
class EnergyMeter {
  readonly #device: Device;
  #energy = NO_ENERGY;
  #work = 0;
  last: Sensors | undefined;

  constructor(device: Device) {
    this.#device = device;
  }

  wrap(open: OpenCase): OpenCase {
    // Timed here: the clock around `run` would include the time of the sensors.
    const run = async () => {
      await this.#readSensors();
      const begun = performance.now();
      const done = await open.run();
      const seconds = done.seconds ?? (performance.now() - begun) / 1000;
      await this.#readSensors();
      this.#work += done.work;
      return { ...done, seconds };
    };
    return { ...open, run };
  }

  get perJoule(): number | undefined {
    return this.#energy.joules > 0 ? this.#work / this.#energy.joules : undefined;
  }

  async #readSensors(): Promise<void> {
    this.last = await this.#device.sensors?.();
    this.#energy = addEnergySample(this.#energy, this.last, performance.now());
  }
}
