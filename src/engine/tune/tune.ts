import type { Device, DeviceInfo } from '../../device/device.js';
import { median } from '../../device/median.js';
import type { Kernel } from '../../kernel/index.js';
import { contest, disagreement, type Entrant, type Sample, type Standing, unfitness } from './contest.js';

/** What is set for a workload on a device, as plain data; nothing of it is the device's own choice. */
export type Setting = Readonly<Record<string, unknown>>;

/** A workload that can be tuned: what there is to choose from, and how a choice is tried on real work. */
export interface Tunable<S extends Setting = Setting> {
  readonly name: string;
  /** What is counted: `H`. */
  readonly unit: string;
  /** Kernels that stand for all that is tried: when their text changes, what was measured no longer counts. */
  kernels(info: DeviceInfo): readonly Kernel[];
  /** What can be chosen on a device, the most important first. One after the other, each with the best so far. */
  axes(info: DeviceInfo): readonly Axis<S>[];
  /**
   * Does work whose results are known and holds them against the reference; gives what stands for all of them, which is
   * the same for all candidates. Throws `device-memory`, `device-compile` and the like where the device cannot work so.
   */
  audit(device: Device, setting: S): Promise<string>;
  /** Gets ready to work so; throws as `audit` does. */
  open(device: Device, setting: S, measured: Measured): Promise<Trial>;
  /** A trial takes all of a device's memory: only one is open at a time. */
  readonly isAlone?: boolean;
}

/** One thing to choose. */
export interface Axis<S extends Setting = Setting> {
  /** `workgroup`. */
  readonly name: string;
  /** What each candidate sets, beside what is set already. */
  readonly changes: readonly S[];
  /** It is about how the device is fed: then the engine feeds it, and its clock counts. Default: launches alone. */
  readonly measured?: Measured;
}

/** What a run is: launches, by the device's clock; or a job that the engine feeds, by the host's. */
export type Measured = 'launches' | 'job';

export interface Trial {
  /** What really runs: two trials with the same identity are one. */
  readonly identity?: string;
  run(round: number): Promise<Sample>;
  close(): Promise<void> | void;
}

export interface TuneOptions {
  /** Seconds that it should take at most; what is not decided by then stays as it is. Default without end. */
  readonly seconds?: number;
  readonly rounds?: number;
  /** Seconds since some moment. */
  readonly clock?: () => number;
  readonly signal?: AbortSignal;
  readonly onStep?: (step: TuneStep) => void;
}

/** What happens, for whoever watches. */
export interface TuneStep {
  readonly axis: string;
  /** Rounds done, and how many candidates took part in the last one. */
  readonly round: number;
  readonly candidates: number;
}

/** What is kept of a tuning: the choice, and every timing that led to it. */
export interface TuningRecord<S extends Setting = Setting> {
  readonly unit: string;
  /** Empty: the device's own choices were the best. */
  readonly setting: S;
  /** The rate with it over the rate without, as jobs have it; 1 where nothing is set. */
  readonly gain: number;
  /** Units a second with the setting, the median. */
  readonly rate: number;
  /** False where the time was over before everything had been tried. */
  readonly isWhole: boolean;
  readonly axes: readonly AxisRecord<S>[];
}

export interface AxisRecord<S extends Setting = Setting> {
  readonly name: string;
  readonly measured: Measured;
  readonly rounds: number;
  readonly winner: number;
  /** The first is what was set before. */
  readonly candidates: readonly (Standing & { readonly setting: S })[];
}

/** The axis at the end: what was chosen against nothing. */
export const PROOF = 'tuned against untuned';

/**
 * Finds what suits a workload on a device. Each axis is a contest between what is set and its candidates; at the end all
 * that was chosen has to be better than nothing, as jobs run, or nothing is set. Throws `device-failed` with the name of a
 * candidate that does not agree with the others.
 */
export async function tune<S extends Setting>(
  device: Device,
  tunable: Tunable<S>,
  options: TuneOptions = {},
): Promise<TuningRecord<S>> {
  const { seconds = Number.POSITIVE_INFINITY, clock = () => performance.now() / 1000, signal } = options;
  const end = clock() + seconds;
  // The proof at the end needs its part of the time.
  const isOver = (share: number) => clock() > end - seconds * share;
  const none = {} as S;
  let setting = none;
  let isWhole = true;
  const audited: Audited = { names: new Set() };
  const axes: AxisRecord<S>[] = [];
  for (const axis of tunable.axes(device.info)) {
    signal?.throwIfAborted();
    if (isOver(PROOF_SHARE)) {
      isWhole = false;
      break;
    }
    const tried = [setting, ...axis.changes.map((change) => ({ ...setting, ...change }))];
    const measured = axis.measured ?? 'launches';
    const record = await among(device, tunable, axis.name, tried, measured, options, audited, () =>
      isOver(PROOF_SHARE),
    );
    axes.push(record);
    setting = tried[record.winner] ?? setting;
  }
  if (Object.keys(setting).length > 0) {
    const proof = await among(device, tunable, PROOF, [none, setting], 'job', options, audited, () => isOver(0));
    axes.push(proof);
    if (proof.winner === 0) setting = none;
  }
  return { unit: tunable.unit, setting, isWhole, axes, ...gainOf(axes) };
}

const PROOF_SHARE = 0.2;

/** As people read it: `lanes 512, turns`. Nothing set is the default. */
export function nameOf(setting: Setting): string {
  const parts = Object.entries(setting).map(([name, value]) => {
    if (value === true) return name;
    return `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`;
  });
  return parts.length === 0 ? 'default' : parts.join(', ');
}

async function among<S extends Setting>(
  device: Device,
  tunable: Tunable<S>,
  name: string,
  settings: readonly S[],
  measured: Measured,
  options: TuneOptions,
  audited: Audited,
  isOver: () => boolean,
): Promise<AxisRecord<S>> {
  const trials = new Trials(device, tunable, measured, audited);
  try {
    // Compiled one after the other: the compilers take processors from nobody's run.
    for (const setting of settings) {
      options.signal?.throwIfAborted();
      await trials.add(setting);
    }
    const result = await contest(
      trials.entrants.map((entrant) => ({
        ...entrant,
        run: async (round) => {
          options.signal?.throwIfAborted();
          return entrant.run(round);
        },
      })),
      {
        isOver,
        // What comes last is what jobs will do from now on: it takes all the rounds there are, unless it loses.
        ...(name === PROOF && { least: Number.POSITIVE_INFINITY }),
        ...(options.rounds !== undefined && { rounds: options.rounds }),
        onRound: (round, candidates) => options.onStep?.({ axis: name, round, candidates }),
      },
    );
    const candidates = [
      ...result.standings.map((standing, at) => ({ ...standing, setting: trials.settings[at] as S })),
      ...trials.refused,
    ];
    const winner = settings.indexOf(trials.settings[result.winner] as S);
    const inOrder = settings.flatMap((setting) => candidates.find((one) => one.setting === setting) ?? []);
    return { name, measured, rounds: result.rounds, winner, candidates: inOrder };
  } finally {
    await trials.close();
  }
}

/** Who has given the right results for known work. */
interface Audited {
  readonly names: Set<string>;
  first?: { readonly name: string; readonly digest: string };
}

/** The candidates of one contest, opened. */
class Trials<S extends Setting> {
  readonly settings: S[] = [];
  readonly entrants: Entrant[] = [];
  readonly refused: (Standing & { readonly setting: S })[] = [];
  readonly #device: Device;
  readonly #tunable: Tunable<S>;
  readonly #measured: Measured;
  readonly #identities = new Map<string, string>();
  readonly #open = new Set<Trial>();
  readonly #audited: Audited;

  constructor(device: Device, tunable: Tunable<S>, measured: Measured, audited: Audited) {
    this.#device = device;
    this.#tunable = tunable;
    this.#measured = measured;
    this.#audited = audited;
  }

  /** What the device refuses is written down; but the first is how it works now, and must. */
  async add(setting: S): Promise<void> {
    const name = nameOf(setting);
    try {
      await this.#audit(name, setting);
      const trial = await this.#opened(setting);
      const same = trial.identity === undefined ? undefined : this.#identities.get(trial.identity);
      if (same !== undefined) {
        await this.#close(trial);
        this.#refuse(setting, `the same as ${same}`);
        return;
      }
      if (trial.identity !== undefined) this.#identities.set(trial.identity, name);
      if (this.#tunable.isAlone) await this.#close(trial);
      this.settings.push(setting);
      this.entrants.push({ name, run: (round) => this.#run(setting, trial, round) });
    } catch (error) {
      const why = unfitness(error);
      if (why === undefined || this.settings.length === 0) throw error;
      this.#refuse(setting, why);
    }
  }

  async close(): Promise<void> {
    for (const trial of this.#open) await this.#close(trial);
  }

  /** A fast wrong answer is no candidate. Each is asked once. */
  async #audit(name: string, setting: S): Promise<void> {
    const { names, first } = this.#audited;
    if (names.has(name)) return;
    const digest = await this.#tunable.audit(this.#device, setting);
    if (first && first.digest !== digest) throw disagreement(first.name, name, first.digest, digest);
    this.#audited.first ??= { name, digest };
    names.add(name);
  }

  async #run(setting: S, trial: Trial, round: number): Promise<Sample> {
    if (!this.#tunable.isAlone) return trial.run(round);
    const again = await this.#opened(setting);
    try {
      return await again.run(round);
    } finally {
      await this.#close(again);
    }
  }

  async #opened(setting: S): Promise<Trial> {
    const trial = await this.#tunable.open(this.#device, setting, this.#measured);
    this.#open.add(trial);
    return trial;
  }

  async #close(trial: Trial): Promise<void> {
    this.#open.delete(trial);
    await trial.close();
  }

  #refuse(setting: S, unfit: string): void {
    this.refused.push({ name: nameOf(setting), samples: [], gain: undefined, unfit, setting });
  }
}

/** Of the last contest, which everything that was chosen has been through. */
function gainOf(axes: readonly AxisRecord[]): { readonly gain: number; readonly rate: number } {
  const last = axes.at(-1);
  const winner = last?.candidates[last.winner];
  const { samples = [] } = winner ?? {};
  const gain = last?.name === PROOF ? (winner?.gain ?? 1) : 1;
  return { gain, rate: samples.length === 0 ? 0 : median(samples.map(([work, seconds]) => work / seconds)) };
}
