import type { Sensors } from '../../device/device.js';
import { count, type Meter, rateOver, rateOverall, startMeter, WINDOWS_MS } from '../../engine/feed/throughput.js';
import type { DeviceStatus } from '../../engine/index.js';
import { perJoule } from '../../engine/telemetry/energy.js';
import { shareOf } from '../../engine/work/space.js';

/** How far a job is: what the screen, the lines of a log and `progress` events are made from. Unknown is undefined. */
export interface Status {
  readonly name: string;
  /** What one index is called, as in H/s. */
  readonly unit: string;
  readonly state: 'running' | 'paused' | 'stopping';
  /** Since this run began. */
  readonly seconds: number;
  /** Indices that have been tried, those of earlier runs included. */
  readonly done: bigint;
  readonly length: bigint | undefined;
  /** Of the space, 0 to 1. */
  readonly fraction: number | undefined;
  /** Indices per second, lately: over 10 s, or since the start before that. */
  readonly perSecond: number | undefined;
  readonly rates: Rates;
  /** Until everything has been tried. A search that ends with a hit takes at most this long. */
  readonly etaSeconds: number | undefined;
  readonly hits: number;
  /** Of a search that ends with a hit. */
  readonly odds: Odds | undefined;
  readonly devices: readonly DeviceLine[];
  /** More that the job says of itself. */
  readonly notes: readonly Note[];
}

/** Over 10 s, 60 s and 15 min: undefined until the job has run that long. */
export interface Rates {
  readonly tenSeconds: number | undefined;
  readonly minute: number | undefined;
  readonly quarterHour: number | undefined;
}

export interface Odds {
  /** Until the next hit, on average; undefined where a hit is not to be expected in what is left. */
  readonly expectedSeconds: number | undefined;
  /** How many hits this many indices have on average. */
  readonly expectedHits: number;
  /** Hits by those expected: 2 is twice as lucky as the average. */
  readonly luck: number | undefined;
}

export interface DeviceLine {
  readonly id: string;
  readonly perSecond: number | undefined;
  readonly chunkMs: number | undefined;
  /** Threads of a workgroup or lanes of a gang, and items of a chunk. */
  readonly lanes: number | undefined;
  readonly items: number | undefined;
  readonly fed: number | undefined;
  /** Chunks on it, and streams that have some. */
  readonly queueDepth: number | undefined;
  readonly activeStreams: number | undefined;
  /** The share of its threads that a launch keeps there, 0 to 1. */
  readonly occupancy: number | undefined;
  /** Indices for each joule. */
  readonly perJoule: number | undefined;
  readonly temperatureC: number | undefined;
  readonly powerW: number | undefined;
  /** Why it does nothing just now. */
  readonly held: string | undefined;
}

export interface Note {
  readonly label: string;
  readonly text: string;
}

/** A job that is watched. */
export interface Watched {
  readonly name: string;
  readonly unit: string;
  /** Indices of the space; left out where it has no end. */
  readonly length?: bigint;
  /** Done by earlier runs. */
  readonly before?: bigint;
  /** Indices that count, and those that wait for a canary, of this run. Undefined until it has begun. */
  progress(): { readonly done: bigint; readonly held?: bigint } | undefined;
  devices(): readonly DeviceStatus[];
  hits(): number;
  /** Indices that are left at most, where that is not the rest of the length. */
  left?(): number;
  /** How likely an index is to hit, in a search that ends with a hit. */
  readonly chance?: number | undefined;
  notes?(): readonly Note[];
}

/** What else is known of a device. */
export interface DeviceState {
  readonly sensors: Sensors | undefined;
  readonly held: string | undefined;
}

/** Watches a job from now on. */
export class Watch {
  readonly #watched: Watched;
  readonly #startedMs: number;
  readonly #devices = new Map<string, Counter>();
  readonly #total: Counter;

  constructor(watched: Watched, nowMs = performance.now()) {
    this.#watched = watched;
    this.#startedMs = nowMs;
    this.#total = new Counter(nowMs);
  }

  look(
    state: Status['state'],
    of: (device: string) => DeviceState | undefined = () => undefined,
    nowMs = performance.now(),
  ): Status {
    const { name, unit, length, before = 0n, chance } = this.#watched;
    const { done: counted = 0n, held = 0n } = this.#watched.progress() ?? {};
    const now = counted + held;
    this.#total.see(now, nowMs);
    const perSecond = this.#total.perSecond(nowMs);
    const hits = this.#watched.hits();
    const done = before + now;
    const isMoving = state !== 'paused' && perSecond !== undefined && perSecond > 0;
    const left = this.#watched.left?.() ?? (length === undefined ? undefined : Number(length - done));
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
      rates: this.#total.rates(nowMs),
      etaSeconds: speed === undefined || left === undefined ? undefined : left / speed,
      hits,
      odds: chance === undefined ? undefined : oddsOf(chance, hits, Number(now), left, speed),
      devices: this.#watched.devices().map((device) => this.#line(device, of(device.info.id), nowMs)),
      notes: this.#watched.notes?.() ?? [],
    };
  }

  #line(
    { info, items, chunkMs, tuning, fed, queueDepth, activeStreams, occupancy, fault }: DeviceStatus,
    state: DeviceState | undefined,
    nowMs: number,
  ): DeviceLine {
    const counter = this.#devices.get(info.id) ?? new Counter(this.#startedMs);
    this.#devices.set(info.id, counter);
    counter.see(items, nowMs);
    const perSecond = counter.perSecond(nowMs);
    return {
      id: info.id,
      perSecond,
      chunkMs,
      lanes: tuning?.lanes,
      items: tuning?.items,
      fed,
      queueDepth,
      activeStreams,
      occupancy,
      perJoule: perJoule(perSecond, state?.sensors?.powerW),
      temperatureC: state?.sensors?.temperatureC,
      powerW: state?.sensors?.powerW,
      held: fault === undefined ? state?.held : 'not used any longer',
    };
  }
}

function oddsOf(chance: number, hits: number, done: number, left = Number.POSITIVE_INFINITY, perSecond?: number): Odds {
  const expectedHits = chance * done;
  const hitsLeft = chance * left;
  const isKnown = perSecond !== undefined && hitsLeft >= LEAST_HITS_LEFT;
  return {
    // The search ends with a hit or with its last index.
    expectedSeconds: isKnown ? -Math.expm1(-hitsLeft) / (chance * perSecond) : undefined,
    expectedHits,
    // Before the first is due, nothing found says nothing.
    luck: hits === 0 && expectedHits < 1 ? undefined : hits / expectedHits,
  };
}

/** With fewer to come on average a search most likely ends without one. */
const LEAST_HITS_LEFT = 0.5;

/** Indices over time, from their sum. */
class Counter {
  readonly #startedMs: number;
  #meter: Meter;
  #sum: bigint | undefined;

  constructor(nowMs: number) {
    this.#startedMs = nowMs;
    this.#meter = startMeter(nowMs);
  }

  see(sum: bigint, nowMs: number): void {
    // A device may have worked on other jobs before this one.
    const added = sum - (this.#sum ?? sum);
    // The work of a device that turns out to be faulty is taken back.
    this.#meter = count(this.#meter, nowMs, added < 0n ? 0n : added);
    this.#sum = sum;
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
