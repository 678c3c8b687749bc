import type { Sensors } from '../../device/device.js';
import {
  countIndices,
  type RateMeter,
  rateOver,
  rateOverall,
  startRateMeter,
  WINDOWS_MS,
} from '../../engine/feed/throughput.js';
import type { DeviceStatus } from '../../engine/index.js';
import { type Energy, NO_ENERGY, perJoule } from '../../engine/telemetry/energy.js';
import type { WorkCoverage } from '../../engine/work/bins.js';
import { endOf, maxBigint, type Range, shareOf } from '../../engine/work/space.js';
import type { StripCoverage } from '../live/live-task.js';

/**
 * A job's progress: the source of the screen, the lines of a log and `progress` events. An unknown value is undefined.
 */
export interface Status {
  readonly name: string;
  /** The unit of one index, as in H/s. */
  readonly unit: string;
  readonly state: 'running' | 'paused' | 'stopping';
  /** Since this run began. */
  readonly seconds: number;
  /** Indices tried, including earlier runs. */
  readonly done: bigint;
  readonly length: bigint | undefined;
  /** Share of the space, 0 to 1. */
  readonly fraction: number | undefined;
  /** Current indices per second: over 10 s, or since the start before that. */
  readonly perSecond: number | undefined;
  readonly rates: Rates;
  /** The highest rate over 10 s so far. */
  readonly maxPerSecond: number | undefined;
  /** Until everything has been tried. A search that ends with a hit takes at most this long. */
  readonly etaSeconds: number | undefined;
  readonly hits: number;
  /** Only for a search that ends with a hit. */
  readonly odds: Odds | undefined;
  /** The lowest and the highest index on a device now, the end exclusive; undefined if it is not known where indices are. */
  readonly current: { readonly from: bigint; readonly to: bigint } | 'none' | undefined;
  /** What a run that starts now would find done; undefined if nothing is stored. */
  readonly restorePoint: RestorePoint | undefined;
  readonly devices: readonly DeviceProgress[];
  /** Additional lines of the job. */
  readonly notes: readonly Note[];
}

/** Over 10 s, 60 s and 15 min: undefined until the job has run that long. */
export interface Rates {
  readonly tenSeconds: number | undefined;
  readonly minute: number | undefined;
  readonly quarterHour: number | undefined;
}

export interface RestorePoint {
  /** Indices in the ledger. */
  readonly done: bigint;
  /** Since they were written. */
  readonly secondsAgo: number;
}

export interface Odds {
  /** Mean time until the next hit; undefined if none is expected in the remaining indices. */
  readonly expectedSeconds: number | undefined;
  /** Mean number of hits in the indices tried. */
  readonly expectedHits: number;
  /** Hits found divided by hits expected: 2 is twice the average. */
  readonly luck: number | undefined;
}

export interface DeviceProgress {
  readonly id: string;
  readonly perSecond: number | undefined;
  readonly rates: Rates;
  /** Its part of the indices that all devices have tried since the start, 0 to 1. */
  readonly share: number | undefined;
  readonly chunkMs: number | undefined;
  /** Threads of a workgroup or lanes of a gang, and items of a chunk. */
  readonly lanes: number | undefined;
  readonly items: number | undefined;
  readonly fed: number | undefined;
  /** Chunks on the device, and streams that have some. */
  readonly queueDepth: number | undefined;
  readonly activeStreams: number | undefined;
  /** The share of the device's threads that a launch occupies, 0 to 1. */
  readonly occupancy: number | undefined;
  /** Indices per joule. */
  readonly perJoule: number | undefined;
  readonly temperatureC: number | undefined;
  readonly powerW: number | undefined;
  /** Memory of the device that is in use, by all programs. */
  readonly memoryBytes: number | undefined;
  /** Energy since the start. */
  readonly joules: number | undefined;
  /** Why the device is paused. */
  readonly held: string | undefined;
}

export interface Note {
  readonly label: string;
  readonly text: string;
}

/** A job to monitor. */
export interface MonitoredJob {
  readonly name: string;
  readonly unit: string;
  /** Number of indices of the space; omitted if it is unbounded. */
  readonly length?: bigint;
  /** The first index of the space. Default: 0. */
  readonly start?: bigint;
  /** Where the indices are, if that is known. */
  coverage?(): WorkCoverage | undefined;
  /** For pages: the same in a space that is not `start` and `length`. Default: `coverage`. */
  strip?(): StripCoverage | undefined;
  /** The text of the kernel's file, for the playground. */
  readonly code?: string | undefined;
  /** Done by earlier runs. */
  readonly before?: bigint;
  /** Indices of this run that count, and those that wait for a canary check. Undefined until the job has started. */
  progress(): { readonly done: bigint; readonly held?: bigint } | undefined;
  devices(): readonly DeviceStatus[];
  hits(): number;
  /** Upper bound of the remaining indices, if that is not the rest of the length. */
  left?(): number;
  /** Probability that an index is a hit, in a search that ends with a hit. */
  readonly chance?: number | undefined;
  notes?(): readonly Note[];
}

/** More about a device. */
export interface DeviceConditions {
  readonly sensors: Sensors | undefined;
  readonly energy?: Energy;
  readonly pauseReason: string | undefined;
}

/** Measures a job from now on. */
export class StatusMeter {
  readonly #job: MonitoredJob;
  readonly #startedMs: number;
  readonly #devices = new Map<string, RateCounter>();
  readonly #total: RateCounter;
  #maxPerSecond: number | undefined;

  constructor(job: MonitoredJob, nowMs = performance.now()) {
    this.#job = job;
    this.#startedMs = nowMs;
    this.#total = new RateCounter(nowMs);
  }

  measure(
    state: Status['state'],
    conditionsOf: (device: string) => DeviceConditions | undefined = () => undefined,
    nowMs = performance.now(),
    restorePoint?: RestorePoint,
  ): Status {
    const { name, unit, length, before = 0n, chance } = this.#job;
    const { done: counted = 0n, held = 0n } = this.#job.progress() ?? {};
    const now = counted + held;
    this.#total.update(now, nowMs);
    const perSecond = this.#total.perSecond(nowMs);
    const rates = this.#total.rates(nowMs);
    if (rates.tenSeconds !== undefined) this.#maxPerSecond = Math.max(this.#maxPerSecond ?? 0, rates.tenSeconds);
    const hits = this.#job.hits();
    const done = before + now;
    const isMoving = state !== 'paused' && perSecond !== undefined && perSecond > 0;
    const left = this.#job.left?.() ?? (length === undefined ? undefined : Number(length - done));
    const speed = isMoving ? perSecond : undefined;
    return {
      name,
      unit,
      state,
      seconds: (nowMs - this.#startedMs) / 1000,
      done,
      length,
      fraction: length === undefined ? undefined : shareOf(done, length),
      perSecond,
      rates,
      maxPerSecond: this.#maxPerSecond,
      etaSeconds: speed === undefined || left === undefined ? undefined : left / speed,
      hits,
      odds: chance === undefined ? undefined : oddsOf(chance, hits, Number(now), left, speed),
      current: currentOf(this.#job.coverage?.()),
      restorePoint,
      devices: this.#deviceProgress(conditionsOf, nowMs),
      notes: this.#job.notes?.() ?? [],
    };
  }

  #deviceProgress(
    conditionsOf: (device: string) => DeviceConditions | undefined,
    nowMs: number,
  ): readonly DeviceProgress[] {
    const all = this.#job.devices().map((device) => {
      const { id } = device.info;
      const counter = this.#devices.get(id) ?? new RateCounter(this.#startedMs);
      this.#devices.set(id, counter);
      counter.update(device.items, nowMs);
      return { device, counter, conditions: conditionsOf(id) };
    });
    const total = all.reduce((sum, { counter }) => sum + counter.counted, 0n);
    return all.map(({ device, counter, conditions }) => progressOf(device, counter, total, conditions, nowMs));
  }
}

function progressOf(
  { info, chunkMs, launchSize, fed, queueDepth, activeStreams, occupancy, fault }: DeviceStatus,
  counter: RateCounter,
  total: bigint,
  conditions: DeviceConditions | undefined,
  nowMs: number,
): DeviceProgress {
  const perSecond = counter.perSecond(nowMs);
  const { sensors, energy = NO_ENERGY, pauseReason } = conditions ?? {};
  return {
    id: info.id,
    perSecond,
    rates: counter.rates(nowMs),
    share: total === 0n ? undefined : shareOf(counter.counted, total),
    chunkMs,
    lanes: launchSize?.lanes,
    items: launchSize?.items,
    fed,
    queueDepth,
    activeStreams,
    occupancy,
    perJoule: perJoule(perSecond, sensors?.powerW),
    temperatureC: sensors?.temperatureC,
    powerW: sensors?.powerW,
    memoryBytes: sensors?.memoryUsedBytes,
    joules: energy.joules || undefined,
    held: fault === undefined ? pauseReason : 'no longer used',
  };
}

function currentOf(coverage: WorkCoverage | undefined): Status['current'] {
  if (coverage === undefined) return undefined;
  let [first, last]: (Range | undefined)[] = [undefined, undefined];
  for (const range of coverage.onDevice) {
    first ??= range;
    last = range;
  }
  return first && last ? { from: first.start, to: endOf(last) } : 'none';
}

function oddsOf(chance: number, hits: number, done: number, left = Number.POSITIVE_INFINITY, perSecond?: number): Odds {
  const expectedHits = chance * done;
  const hitsLeft = chance * left;
  const isKnown = perSecond !== undefined && hitsLeft >= MIN_HITS_LEFT;
  return {
    // The search ends with a hit or with its last index.
    expectedSeconds: isKnown ? -Math.expm1(-hitsLeft) / (chance * perSecond) : undefined,
    expectedHits,
    // No hit before the first is expected says nothing about luck.
    luck: hits === 0 && expectedHits < 1 ? undefined : hits / expectedHits,
  };
}

/** With fewer expected hits left, a search most likely ends without one. */
const MIN_HITS_LEFT = 0.5;

/** Rates of indices over time, from their running sum. */
class RateCounter {
  readonly #startedMs: number;
  #meter: RateMeter;
  #sum: bigint | undefined;
  #counted = 0n;

  constructor(nowMs: number) {
    this.#startedMs = nowMs;
    this.#meter = startRateMeter(nowMs);
  }

  update(sum: bigint, nowMs: number): void {
    // A device may have worked on other jobs before this one.
    const added = sum - (this.#sum ?? sum);
    // The work of a faulty device is subtracted from the sum.
    this.#meter = countIndices(this.#meter, nowMs, added < 0n ? 0n : added);
    this.#counted += added;
    this.#sum = sum;
  }

  /** Indices since the first sum. */
  get counted(): bigint {
    return maxBigint(this.#counted, 0n);
  }

  rates(nowMs: number): Rates {
    const over = (ms: number) => rateOver(this.#meter, nowMs, ms);
    const { tenSeconds, minute, quarterHour } = WINDOWS_MS;
    return { tenSeconds: over(tenSeconds), minute: over(minute), quarterHour: over(quarterHour) };
  }

  perSecond(nowMs: number): number | undefined {
    return this.rates(nowMs).tenSeconds ?? rateOverall(this.#meter, this.#startedMs, nowMs);
  }
}
