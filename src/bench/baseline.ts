import { readFileSync } from 'node:fs';
import { MillraceError } from '../kernel/error.js';
import type { Spread } from './measure.js';
import type { Figure } from './suite.js';

/** Figures of an earlier time, as `millrace bench --save` wrote them: to be held against today's. */
export interface Baseline {
  readonly machine: { readonly devices: readonly { readonly id: string; readonly name: string }[] };
  readonly figures: readonly Figure[];
}

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
 * The figures that both have, of devices of the same name: a figure of another card says nothing. Lost is what fell by
 * more than a tenth, where not even the best run of today reaches the worst one of then.
 */
export function verdictsOf(
  figures: readonly Figure[],
  nameOf: (device: string) => string | undefined,
  baseline: Baseline,
): Verdict[] {
  const names = new Map(baseline.machine.devices.map(({ id, name }) => [id, name]));
  return figures.flatMap((now) => {
    const { workload, name, device } = now;
    const before = baseline.figures.find(
      (one) =>
        one.workload === workload &&
        one.name === name &&
        kindOf(one.device) === kindOf(device) &&
        names.get(one.device) === nameOf(device),
    );
    if (!before) return [];
    const ratio = now.rate.median / before.rate.median;
    const isLost = isBelow(now.rate, before.rate);
    return [{ workload, name, device, before: before.rate.median, now: now.rate.median, ratio, isLost }];
  });
}

export const isBelow = (now: Spread, before: Spread): boolean =>
  now.median < (1 - MOST_LOSS) * before.median && now.max < before.min;

/** `cuda` of `cuda:1`. */
const kindOf = (device: string): string => device.replace(/:.*/, '');

export function readBaseline(path: string): Baseline {
  try {
    const given = JSON.parse(readFileSync(path, 'utf8')) as Partial<Baseline>;
    if (Array.isArray(given.figures) && Array.isArray(given.machine?.devices)) return given as Baseline;
  } catch (cause) {
    throw new MillraceError({
      code: 'usage',
      message: `figures to compare with cannot be read from ${path}: ${(cause as Error).message}`,
      asked: `--compare ${path}`,
      advice: 'give a file that `millrace bench --save FILE` has written',
    });
  }
  throw new MillraceError({
    code: 'usage',
    message: `${path} holds no figures`,
    asked: `--compare ${path}`,
    advice: 'give a file that `millrace bench --save FILE` has written',
  });
}
