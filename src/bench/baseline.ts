import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { DeviceInfo } from '../device/device.js';
import type { Spread } from './measure.js';
import { readSaved, type SavedReport } from './saved.js';
import type { Figure } from './suite.js';

/** Figures of an earlier time: to be held against today's. */
export type Baseline = Pick<SavedReport, 'machine' | 'figures'>;

/** What has become of one figure. */
export interface Verdict {
  readonly workload: string;
  readonly name: string;
  readonly device: string;
  readonly before: number;
  readonly now: number;
  /** Now over before, of the medians. */
  readonly ratio: number;
  readonly isLost: boolean;
}

/** A tenth is noise on many machines; so is what lies inside both spreads. */
const MOST_LOSS = 0.1;

/**
 * The figures that both have, of devices of the same class: a figure of another card says nothing. Lost is what fell by
 * more than a tenth, where not even the best run of today reaches the worst one of then.
 */
export function verdictsOf(
  figures: readonly Figure[],
  devices: readonly Known[],
  baselines: readonly Baseline[],
): Verdict[] {
  return figures.flatMap((now) => {
    const { workload, name, device } = now;
    const own = classOf(devices, device);
    const [before] = baselines.flatMap(({ machine, figures: saved }) =>
      saved.filter(
        (one) => one.workload === workload && one.name === name && classOf(machine.devices, one.device) === own,
      ),
    );
    if (!before || own === undefined) return [];
    const ratio = now.rate.median / before.rate.median;
    const isLost = isBelow(now.rate, before.rate);
    return [{ workload, name, device, before: before.rate.median, now: now.rate.median, ratio, isLost }];
  });
}

export const isBelow = (now: Spread, before: Spread): boolean =>
  now.median < (1 - MOST_LOSS) * before.median && now.max < before.min;

type Known = Pick<DeviceInfo, 'id' | 'name' | 'units'>;

/** `cuda, NVIDIA H200, 132 units`: what a figure is one of. Cards are numbered anyhow, and CPUs share their names. */
function classOf(devices: readonly Known[], id: string): string | undefined {
  const found = devices.find((one) => one.id === id);
  return found && `${id.replace(/:.*/, '')}, ${found.name}, ${found.units} units`;
}

/** The reports that come with the package, one for each machine that was measured. */
export function committedBaselines(): SavedReport[] {
  const folder = join(dirname(createRequire(import.meta.url).resolve('millrace/package.json')), REPORTS);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readSaved(join(folder, name)));
}

const REPORTS = 'docs/measurements/reports';
