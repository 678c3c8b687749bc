import type { Device, DeviceInfo } from '../../device/device.js';
import { median } from '../../device/median.js';
import type { Kernel } from '../../kernel/index.js';
import {
  disagreementError,
  type Entrant,
  type EntrantResult,
  runContest,
  type Sample,
  unsupportedReason,
} from './contest.js';

/** Settings of a workload on a device, as plain data. A setting that is absent is the device's choice. */
export type Setting = Readonly<Record<string, unknown>>;

/** A workload that can be tuned: its candidate settings, and how to measure one on real work. */
export interface Tunable<S extends Setting = Setting> {
  readonly name: string;
  /** Unit of work: `H`. */
  readonly unit: string;
  /** Kernels that represent all candidates. If their text changes, stored measurements are invalid. */
  kernels(info: DeviceInfo): readonly Kernel[];
  /**
   * Returns the axes of a device, the most important first. They are tuned in order, each with the best setting so far.
   */
  axes(info: DeviceInfo): readonly Axis<S>[];
  /**
   * Does work with known results and compares them with the reference. Returns a digest of all results, which is equal
   * for all candidates. Throws `device-memory`, `device-compile` or a similar error if the device does not support the
   * setting.
   */
  audit(device: Device, setting: S): Promise<string>;
  /** Prepares a trial of a setting. Throws as `audit` does. */
  open(device: Device, setting: S, measured: MeasureMode): Promise<Trial>;
  /** True if a trial takes all of a device's memory: only one is open at a time. */
  readonly isExclusive?: boolean;
}

/** One dimension of the settings. */
export interface Axis<S extends Setting = Setting> {
  /** For example `workgroup`. */
  readonly name: string;
  /** The setting that each candidate adds to the best so far. */
  readonly changes: readonly S[];
  /** `job` for an axis about streams and slots: the engine runs it and the host's clock counts. Default `launches`. */
  readonly measured?: MeasureMode;
}

/** What a run measures: launches, by the device's clock; or a job run by the engine, by the host's clock. */
export type MeasureMode = 'launches' | 'job';

export interface Trial {
  /** Identifies what actually runs: two trials with the same identity are the same. */
  readonly identity?: string;
  run(round: number): Promise<Sample>;
  close(): Promise<void> | void;
}

export interface TuneOptions {
  /** Time limit in seconds. Axes not decided by then keep their setting. Default: none. */
  readonly seconds?: number;
  readonly rounds?: number;
  /** Seconds from an arbitrary origin. */
  readonly clock?: () => number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: TuneProgress) => void;
}

/** Progress of a tuning, for display. */
export interface TuneProgress {
  readonly axis: string;
  /** Rounds done, and the number of candidates in the last one. */
  readonly round: number;
  readonly candidates: number;
}

/** The stored result of a tuning: the setting, and every timing that led to it. */
export interface TuningRecord<S extends Setting = Setting> {
  readonly unit: string;
  /** Empty if the device's defaults were the fastest. */
  readonly setting: S;
  /** Rate with the setting divided by the rate without, measured on jobs. 1 if nothing is set. */
  readonly gain: number;
  /** Median units per second with the setting. */
  readonly rate: number;
  /** False if the time limit was reached before everything was tried. */
  readonly isWhole: boolean;
  readonly axes: readonly AxisRecord<S>[];
}

export interface AxisRecord<S extends Setting = Setting> {
  readonly name: string;
  readonly measured: MeasureMode;
  readonly rounds: number;
  readonly winner: number;
  /** The first candidate is the setting before this axis. */
  readonly candidates: readonly (EntrantResult & { readonly setting: S })[];
}

/** The last axis: the chosen setting against the defaults. */
export const PROOF_AXIS = 'tuned against untuned';

/**
 * Finds the fastest setting of a workload on a device. Each axis is a contest between the present setting and its
 * candidates. At the end the whole setting must be faster than the defaults, measured on jobs, or nothing is set.
 * Throws `device-failed` with the name of a candidate whose results differ from the others'.
 */
export async function tune<S extends Setting>(
  device: Device,
  tunable: Tunable<S>,
  options: TuneOptions = {},
): Promise<TuningRecord<S>> {
  const { seconds = Number.POSITIVE_INFINITY, clock = () => performance.now() / 1000, signal } = options;
  const end = clock() + seconds;
  // Part of the time is reserved for the proof at the end.
  const isOver = (share: number) => clock() > end - seconds * share;
  const none = {} as S;
  let setting = none;
  let isWhole = true;
  const audited: AuditedCandidates = { names: new Set() };
  const axes: AxisRecord<S>[] = [];
  for (const axis of tunable.axes(device.info)) {
    signal?.throwIfAborted();
    if (isOver(PROOF_SHARE)) {
      isWhole = false;
      break;
    }
    const tried = [setting, ...axis.changes.map((change) => ({ ...setting, ...change }))];
    const measured = axis.measured ?? 'launches';
    const record = await runAxis(device, tunable, axis.name, tried, measured, options, audited, () =>
      isOver(PROOF_SHARE),
    );
    axes.push(record);
    setting = tried[record.winner] ?? setting;
  }
  if (Object.keys(setting).length > 0) {
    const proof = await runAxis(device, tunable, PROOF_AXIS, [none, setting], 'job', options, audited, () => isOver(0));
    axes.push(proof);
    if (proof.winner === 0) setting = none;
  }
  return { unit: tunable.unit, setting, isWhole, axes, ...gainOf(axes) };
}

const PROOF_SHARE = 0.2;

/** Returns a setting as text: `lanes 512, turns`. An empty setting is `default`. */
export function settingText(setting: Setting): string {
  const parts = Object.entries(setting).map(([name, value]) => {
    if (value === true) return name;
    return `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`;
  });
  return parts.length === 0 ? 'default' : parts.join(', ');
}

async function runAxis<S extends Setting>(
  device: Device,
  tunable: Tunable<S>,
  name: string,
  settings: readonly S[],
  measured: MeasureMode,
  options: TuneOptions,
  audited: AuditedCandidates,
  isOver: () => boolean,
): Promise<AxisRecord<S>> {
  const trials = new Trials(device, tunable, measured, audited);
  try {
    // Compiled one after the other, before any run: compilers must not take processors from a run.
    for (const setting of settings) {
      options.signal?.throwIfAborted();
      await trials.add(setting);
    }
    const result = await runContest(
      trials.entrants.map((entrant) => ({
        ...entrant,
        run: async (round) => {
          options.signal?.throwIfAborted();
          return entrant.run(round);
        },
      })),
      {
        isOver,
        // The proof decides how jobs will run, so it uses all rounds, unless the setting loses.
        ...(name === PROOF_AXIS && { minRounds: Number.POSITIVE_INFINITY }),
        ...(options.rounds !== undefined && { rounds: options.rounds }),
        onRound: (round, candidates) => options.onProgress?.({ axis: name, round, candidates }),
      },
    );
    const candidates = [
      ...result.standings.map((standing, at) => ({ ...standing, setting: trials.settings[at] as S })),
      ...trials.refused,
    ];
    const winner = settings.indexOf(trials.settings[result.winner] as S);
    const inOrder = settings.flatMap((setting) => candidates.find((candidate) => candidate.setting === setting) ?? []);
    return { name, measured, rounds: result.rounds, winner, candidates: inOrder };
  } finally {
    await trials.close();
  }
}

/** Candidates that gave the right results for known work. */
interface AuditedCandidates {
  readonly names: Set<string>;
  first?: { readonly name: string; readonly digest: string };
}

/** The candidates of one contest, opened. */
class Trials<S extends Setting> {
  readonly settings: S[] = [];
  readonly entrants: Entrant[] = [];
  readonly refused: (EntrantResult & { readonly setting: S })[] = [];
  readonly #device: Device;
  readonly #tunable: Tunable<S>;
  readonly #measured: MeasureMode;
  readonly #identities = new Map<string, string>();
  readonly #openTrials = new Set<Trial>();
  readonly #audited: AuditedCandidates;

  constructor(device: Device, tunable: Tunable<S>, measured: MeasureMode, audited: AuditedCandidates) {
    this.#device = device;
    this.#tunable = tunable;
    this.#measured = measured;
    this.#audited = audited;
  }

  /**
   * Adds a candidate. A setting that the device does not support is recorded; but the first, which is in use now, must
   * work.
   */
  async add(setting: S): Promise<void> {
    const name = settingText(setting);
    try {
      await this.#audit(name, setting);
      const trial = await this.#openTrial(setting);
      const same = trial.identity === undefined ? undefined : this.#identities.get(trial.identity);
      if (same !== undefined) {
        await this.#close(trial);
        this.#refuse(setting, `the same as ${same}`);
        return;
      }
      if (trial.identity !== undefined) this.#identities.set(trial.identity, name);
      if (this.#tunable.isExclusive) await this.#close(trial);
      this.settings.push(setting);
      this.entrants.push({ name, run: (round) => this.#run(setting, trial, round) });
    } catch (error) {
      const why = unsupportedReason(error);
      if (why === undefined || this.settings.length === 0) throw error;
      this.#refuse(setting, why);
    }
  }

  async close(): Promise<void> {
    for (const trial of this.#openTrials) await this.#close(trial);
  }

  /** Checks the candidate's results, once per candidate: a fast wrong answer must not win. */
  async #audit(name: string, setting: S): Promise<void> {
    const { names, first } = this.#audited;
    if (names.has(name)) return;
    const digest = await this.#tunable.audit(this.#device, setting);
    if (first && first.digest !== digest) throw disagreementError(first.name, name, first.digest, digest);
    this.#audited.first ??= { name, digest };
    names.add(name);
  }

  async #run(setting: S, trial: Trial, round: number): Promise<Sample> {
    if (!this.#tunable.isExclusive) return trial.run(round);
    const again = await this.#openTrial(setting);
    try {
      return await again.run(round);
    } finally {
      await this.#close(again);
    }
  }

  async #openTrial(setting: S): Promise<Trial> {
    const trial = await this.#tunable.open(this.#device, setting, this.#measured);
    this.#openTrials.add(trial);
    return trial;
  }

  async #close(trial: Trial): Promise<void> {
    this.#openTrials.delete(trial);
    await trial.close();
  }

  #refuse(setting: S, unfit: string): void {
    this.refused.push({ name: settingText(setting), samples: [], gain: undefined, unfit, setting });
  }
}

/** Returns gain and rate from the last contest, in which the whole setting took part. */
function gainOf(axes: readonly AxisRecord[]): { readonly gain: number; readonly rate: number } {
  const last = axes.at(-1);
  const winner = last?.candidates[last.winner];
  const { samples = [] } = winner ?? {};
  const gain = last?.name === PROOF_AXIS ? (winner?.gain ?? 1) : 1;
  return { gain, rate: samples.length === 0 ? 0 : median(samples.map(([work, seconds]) => work / seconds)) };
}
