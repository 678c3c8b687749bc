import { readFileSync } from 'node:fs';
import { MillraceError } from '../kernel/error.js';
import type { Machine } from './machine.js';
import type { Comparison, Measurement, Spread } from './measure.js';
import type { Fit, Point } from './scaling.js';
import type { Figure, NoFigure } from './suite.js';
import type { Timeline } from './timeline.js';

/** All results of one `millrace bench`, as `--save` writes them: for later comparisons and for documents. */
export interface SavedReport {
  /** `0.2.0+1a2b3c4d5e6f`. */
  readonly version: string;
  readonly date: string;
  /** The command that made it. */
  readonly command: string;
  readonly machine: Machine;
  readonly figures: readonly Figure[];
  readonly missing: readonly NoFigure[];
  readonly peers: readonly SavedPeers[];
  readonly scaling: readonly Scaling[];
  readonly several: readonly SeveralDevices[];
  readonly timelines: readonly Timeline[];
}

/** Millrace first, then the programs that did the same work in alternation. */
export interface SavedPeers {
  readonly workload: string;
  readonly title: string;
  readonly rows: readonly (Measurement & { readonly ratio: Spread | undefined })[];
  readonly absent: readonly string[];
}

export interface Scaling {
  readonly workload: string;
  readonly device: string;
  readonly unit: string;
  readonly points: readonly Point[];
  readonly fit: Fit;
}

/** The same work on one, two and more devices. `isVirtual`: they are virtual devices made from one. */
export interface SeveralDevices {
  readonly workload: string;
  readonly isVirtual: boolean;
  readonly unit: string;
  readonly found: readonly { readonly devices: number; readonly perSecond: number }[];
}

export const savedPeers = (
  workload: string,
  title: string,
  { measurements, ratios }: Comparison,
  absent: readonly string[],
): SavedPeers => ({
  workload,
  title,
  rows: measurements.map((one, at) => ({ ...one, ratio: ratios[at] })),
  absent,
});

export function readSaved(path: string): SavedReport {
  let report: Partial<SavedReport> | undefined;
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as Partial<SavedReport>;
  } catch (cause) {
    throw unreadable(path, `cannot read figures from ${path}: ${(cause as Error).message}`);
  }
  if (Array.isArray(report.figures) && Array.isArray(report.machine?.devices))
    return { ...EMPTY, ...report } as SavedReport;
  throw unreadable(path, `${path} has no figures`);
}

/** Defaults of fields that a report of an earlier version, or one written by hand, may lack. */
const EMPTY = { missing: [], peers: [], scaling: [], several: [], timelines: [] };

const unreadable = (path: string, message: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message,
    asked: `--compare ${path}`,
    advice: 'give a file that `millrace bench --save FILE` has written',
  });
