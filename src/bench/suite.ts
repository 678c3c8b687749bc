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
  /** Of each run, in order. */
  readonly rates: readonly number[];
  /** The same over the rate of the workload's frozen kernel, which ran in turn: unlike a rate, it is the same on a busy machine. */
  readonly frozenRatios: readonly number[] | undefined;
  readonly seconds: Spread;
  readonly checkedBy: string;
  readonly digest: string;
  readonly bytesPerSecond: number | undefined;
  /** What bounds it on this device, and how much of that it reaches. */
  readonly bound: { readonly limit: Limit; readonly perSecond: number; readonly share: number } | undefined;
  /** The share of the time that the device had work. */
  readonly fed: number | undefined;
  readonly perJoule: number | undefined;
  /** The most memory that this process has had by then, and what the card said was taken. */
  readonly hostBytes: number;
  readonly deviceBytes: number | undefined;
}

/** No figure, and why. `isWrong`: the device gave wrong results. */
export interface NoFigure {
  readonly workload: string;
  readonly name: string;
  readonly device: string;
  readonly reason: string;
  readonly isWrong: boolean;
}

/** All cases on all devices, one after the other; limits are measured once per device, when a case first asks. */
export async function* runSuite(
  benched: readonly WorkloadBench[],
  devices: readonly Device[],
  options: CaseOptions,
): AsyncGenerator<Figure | NoFigure> {
  for (const device of devices) {
    const limits = new Map<Limit, number>();
    for (const { workload, cases } of benched) {
      for (const one of cases) {
        if (one.isLong && !options.isFull) continue;
        yield await figureOf(workload, one, device, options, limits);
      }
    }
  }
}

export const isFigure = (one: Figure | NoFigure): one is Figure => 'rate' in one;

async function figureOf(
  workload: string,
  one: BenchCase,
  device: Device,
  options: CaseOptions,
  limits: Map<Limit, number>,
): Promise<Figure | NoFigure> {
  const about = { workload, name: one.name, device: device.info.id };
  const lacks = one.unsupportedReason?.(device.info);
  if (lacks !== undefined) return { ...about, reason: lacks, isWrong: false };
  let open: OpenCase | undefined;
  let frozen: Awaited<ReturnType<typeof frozenCandidate>>;
  try {
    open = await one.open(device, options);
    const energy = new EnergyMeter(device);
    frozen = await frozenCandidate(workload, device);
    const { measurements } = await compare([energy.wrap(open), ...(frozen ? [frozen] : [])]);
    const [own, beside] = measurements;
    if (own === undefined) throw new Error('compare() gives one measurement per candidate');
    const { unit, runs, rate, rates, seconds, digest } = own;
    const { unitBytes } = one;
    return {
      ...about,
      unit,
      runs,
      rate,
      rates,
      frozenRatios: beside && rates.map((one, at) => one / (beside.rates[at] ?? Number.NaN)),
      seconds,
      checkedBy: one.checkedBy,
      digest,
      bytesPerSecond: unitBytes === undefined ? undefined : rate.median * unitBytes,
      bound: await boundOf(one, device, rate.median, limits),
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
  // What is passed is no limit: the kernel that measures it did worse than the work, as on WebGPU it may.
  return share > MAX_SHARE ? undefined : { limit, perSecond, share };
}

/** Both scatter by some per cent. */
const MAX_SHARE = 1.05;

/** Work and joules over the runs, warm-up included: sensors are slow, and seconds of work make them even. */
class EnergyMeter {
  readonly #device: Device;
  #energy = NO_ENERGY;
  #work = 0;
  last: Sensors | undefined;

  constructor(device: Device) {
    this.#device = device;
  }

  wrap(open: OpenCase): OpenCase {
    // The clock around it would count the sensors' time too.
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
