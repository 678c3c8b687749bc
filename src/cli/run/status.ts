import { duration, percent, rate } from '../../console/format.js';
import type { DeviceStatus } from '../../engine/index.js';
import { count, type Meter, rateOver, rateOverall, startMeter, WINDOWS_MS } from '../../engine/rates.js';
import { shareOf } from '../../engine/space.js';

/** How far a search is: what a line on a terminal and a `progress` event are made from. */
export interface Status {
  readonly done: bigint;
  /** Of the space, 0 to 1. */
  readonly fraction: number;
  /** Indices per second over the last 10 s, or since the start before that. */
  readonly perSecond: number | undefined;
  readonly etaSeconds: number | undefined;
  readonly devices: readonly { readonly id: string; readonly fed: number | undefined }[];
}

/** Watches a search of so many indices from now on. */
export class Watch {
  readonly #total: bigint;
  readonly #startedMs: number;
  #meter: Meter;
  #done = 0n;

  constructor(total: bigint, nowMs = performance.now()) {
    this.#total = total;
    this.#startedMs = nowMs;
    this.#meter = startMeter(nowMs);
  }

  look(done: bigint, devices: readonly DeviceStatus[], nowMs = performance.now()): Status {
    this.#meter = count(this.#meter, nowMs, done - this.#done);
    this.#done = done;
    const recent = rateOver(this.#meter, nowMs, WINDOWS_MS.tenSeconds);
    const perSecond = recent ?? rateOverall(this.#meter, this.#startedMs, nowMs);
    const left = Number(this.#total - done);
    return {
      done,
      fraction: shareOf(done, this.#total),
      perSecond,
      etaSeconds: perSecond === undefined || perSecond <= 0 ? undefined : left / perSecond,
      devices: devices.map(({ info: { id }, fed }) => ({ id, fed })),
    };
  }
}

/** `22.9 M/s  12.5 %  3.21 s left  native fed 99.8 %` */
export function statusLine({ perSecond, fraction, etaSeconds, devices }: Status): string {
  const fed = devices.map(({ id, fed: share }) => `${id}${share === undefined ? '' : ` fed ${percent(share)}`}`);
  return [
    ...(perSecond === undefined ? [] : [rate(perSecond, '')]),
    percent(fraction),
    ...(etaSeconds === undefined ? [] : [`${duration(etaSeconds)} left`]),
    ...fed,
  ].join('  ');
}
