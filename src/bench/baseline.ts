import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { DeviceInfo } from '../device/device.js';
import { MillraceError } from '../kernel/error.js';
import { MAX_LOSS } from './frozen/gate.js';
import { rankSumBelow } from './frozen/rank.js';
import { spreadOf } from './measure.js';
import { readSaved, type SavedReport } from './saved.js';
import type { Figure } from './suite.js';

/** Earlier figures, to compare today's with. */
export type Baseline = Pick<SavedReport, 'machine' | 'figures'>;

/** How one figure compares with the earlier one. */
export interface Verdict {
  readonly workload: string;
  readonly name: string;
  readonly device: string;
  readonly before: number;
  readonly now: number;
  /** The median now divided by the median before: of rates, or of ratios to the frozen kernel. */
  readonly ratio: number;
  /** True if both were measured in alternation with the frozen kernel. */
  readonly isPaired: boolean;
  readonly isLost: boolean;
}

/**
 * Compares figures with earlier ones of devices of the same class: a figure of another card says nothing. A figure is
 * lost if a rank test finds that today's runs are below the earlier runs less `MAX_LOSS` by more than chance. If both
 * have ratios to a frozen kernel, the ratios are compared instead: a busy machine does not change them.
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
        (figure) =>
          figure.workload === workload && figure.name === name && deviceClass(machine.devices, figure.device) === own,
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

/** Reports of 0.1.0 have three rates per figure. */
const ratesOf = ({ rates, rate }: Figure): readonly number[] => rates ?? [rate.min, rate.median, rate.max];

function isSlower(now: readonly number[], before: readonly number[]): boolean {
  const tolerated = before.map((rate) => rate * (1 - MAX_LOSS));
  return spreadOf(now).median < spreadOf(tolerated).median && rankSumBelow(now, tolerated) < MAX_CHANCE;
}

/** Maximum probability of a false alarm. Five runs that are all below three others have 0.037. */
const MAX_CHANCE = 0.05;

type KnownDevice = Pick<DeviceInfo, 'id' | 'name' | 'units'>;

/** Returns `cuda, NVIDIA H200, 132 units`. The number of a card is arbitrary, and CPUs of different sizes share names. */
function deviceClass(devices: readonly KnownDevice[], id: string): string | undefined {
  const found = devices.find((device) => device.id === id);
  return found && `${id.replace(/:.*/, '')}, ${found.name}, ${found.units} units`;
}

/** Returns the reports that the repository has, one per measured machine. The package has none. */
export function committedBaselines(): SavedReport[] {
  const folder = join(dirname(createRequire(import.meta.url).resolve('millrace/package.json')), REPORTS);
  if (!existsSync(folder)) {
    throw new MillraceError({
      code: 'io',
      message: 'the reports of measured machines are in the repository, not in the package',
      asked: '--compare without a file',
      advice: 'give --compare a file that `millrace bench --save` wrote, or run it in a clone',
    });
  }
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readSaved(join(folder, name)));
}

const REPORTS = 'docs/measurements/reports';
