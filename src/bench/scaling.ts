import type { Device } from '../device/device.js';

/** Work of any size, with which scaling is measured. */
export interface ScalableWork {
  readonly unit: string;
  /** Units per item of its kernel. If known, the speed of virtual devices can be set in units. */
  readonly perItem?: number;
  /** The largest size: some tenths of a second to some seconds of work on its devices. */
  readonly maxWork: number;
  /** Does `work` units and checks the results. Returns the seconds. */
  run(work: number): Promise<number>;
  close(): void | Promise<void>;
}

/** One size, by the fastest of some runs: other load on the machine can only add time. */
export interface Point {
  readonly work: number;
  readonly seconds: number;
  /** Memory of this process after the runs. */
  readonly residentBytes: number;
}

/** `seconds = fixed + work / perSecond`. `off` is the largest relative error of a point. */
export interface Fit {
  readonly fixed: number;
  readonly perSecond: number;
  readonly off: number;
}

const DECADES = 4;
const RUNS = 3;

/** Returns the smallest power of ten that takes 1/3 s more than twice the time of one unit; at most `limit`. */
export async function findMaxWork(run: (work: number) => Promise<number>, limit: number): Promise<number> {
  const fixed = await run(1);
  for (let work = 10_000; ; work *= 10) {
    if (work * 10 > limit || (await run(work)) > 2 * fixed + 1 / 3) return work;
  }
}

/** Measures cost against work, from a ten-thousandth of `maxWork` to all of it. */
export async function measurePoints(sized: ScalableWork): Promise<Point[]> {
  const points: Point[] = [];
  for (let decade = DECADES; decade >= 0; decade--) {
    const work = Math.max(1, Math.round(sized.maxWork / 10 ** decade));
    let seconds = Number.POSITIVE_INFINITY;
    for (let run = 0; run < RUNS; run++) seconds = Math.min(seconds, await sized.run(work));
    points.push({ work, seconds, residentBytes: process.memoryUsage.rss() });
  }
  return points;
}

/** Fits a line by least squares of the relative errors: each decade has the same weight. */
export function fitPoints(points: readonly Point[]): Fit {
  let [ww, w1, w0, s1, s0] = [0, 0, 0, 0, 0];
  for (const { work, seconds } of points) {
    const weight = 1 / seconds ** 2;
    w0 += weight;
    w1 += weight * work;
    ww += weight * work * work;
    s0 += weight * seconds;
    s1 += weight * seconds * work;
  }
  const determinant = w0 * ww - w1 * w1;
  const slope = (w0 * s1 - w1 * s0) / determinant;
  const fixed = (s0 * ww - s1 * w1) / determinant;
  const off = Math.max(...points.map(({ work, seconds }) => Math.abs(fixed + slope * work - seconds) / seconds));
  return { fixed, perSecond: 1 / slope, off };
}

/** Measures the rates of the same work on the first one, two, four … of the devices. */
export async function measureDevicesScaling(
  devices: readonly Device[],
  sizedOn: (devices: readonly Device[]) => Promise<ScalableWork>,
): Promise<{ readonly devices: number; readonly perSecond: number }[]> {
  const found = [];
  for (let count = 1; count <= devices.length; count *= 2) {
    const sized = await sizedOn(devices.slice(0, count));
    try {
      let seconds = Number.POSITIVE_INFINITY;
      for (let run = 0; run < RUNS; run++) seconds = Math.min(seconds, await sized.run(sized.maxWork));
      found.push({ devices: count, perSecond: sized.maxWork / seconds });
    } finally {
      await sized.close();
    }
  }
  return found;
}
