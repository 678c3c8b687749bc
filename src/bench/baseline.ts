import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { DeviceInfo } from '../device/device.js';
import { MAX_LOSS } from './frozen/gate.js';
import { rankSumBelow } from './frozen/rank.js';
import { spreadOf } from './measure.js';
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
  /** Now over before, of the medians: of rates, or of ratios to the frozen kernel. */
  readonly ratio: number;
  /** Both were measured beside the frozen kernel. */
  readonly isPaired: boolean;
  readonly isLost: boolean;
}

/**
 * The figures that both have, of devices of the same class: a figure of another card says nothing. A rank test decides
 * what is lost: today's runs, with `MAX_LOSS` forgiven, lie below those of then by more than chance. Where both were
 * measured beside a frozen kernel, the ratios to it are compared, which a busy machine does not move.
 */
export function verdictsOf(
  figures: readonly Figure[],
  devices: readonly KnownDevice[],
  baselines: readonly Baseline[],
): Verdict[] {
  return figures.flatMap((now) => {
    const { workload, name, device } = now;
    const own = deviceClass(devices, device);
    const [before] = baselines.flatMap(({ machine, figures: saved }) =>
      saved.filter(
        (one) => one.workload === workload && one.name === name && deviceClass(machine.devices, one.device) === own,
      ),
    );
    if (!before || own === undefined) return [];
    const isPaired = now.frozenRatios !== undefined && before.frozenRatios !== undefined;
    const [runs, earlier] = isPaired ? [ratiosOf(now), ratiosOf(before)] : [ratesOf(now), ratesOf(before)];
    const ratio = spreadOf(runs).median / spreadOf(earlier).median;
    return [
      {
        workload,
        name,
        device,
        before: before.rate.median,
        now: now.rate.median,
        ratio,
        isPaired,
        isLost: isSlower(runs, earlier),
      },
    ];
  });
}

const ratiosOf = ({ frozenRatios = [] }: Figure): readonly number[] => frozenRatios;

/** Reports of 0.1.0 keep three numbers of each figure. */
const ratesOf = ({ rates, rate }: Figure): readonly number[] => rates ?? [rate.min, rate.median, rate.max];

function isSlower(now: readonly number[], before: readonly number[]): boolean {
  const forgiven = before.map((one) => one * (1 - MAX_LOSS));
  return spreadOf(now).median < spreadOf(forgiven).median && rankSumBelow(now, forgiven) < MAX_CHANCE;
}

/** Of a wrong alarm. Five runs against three, all of them below, come to 0.037. */
const MAX_CHANCE = 0.05;

type KnownDevice = Pick<DeviceInfo, 'id' | 'name' | 'units'>;

/** `cuda, NVIDIA H200, 132 units`: what a figure is one of. Cards are numbered anyhow, and CPUs share their names. */
function deviceClass(devices: readonly KnownDevice[], id: string): string | undefined {
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
