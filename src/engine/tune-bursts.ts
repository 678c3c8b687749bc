import type { Completion, Device, Report } from '../device/device.js';
import { MillraceError } from '../kernel/error.js';
import { type Measured, nameOf, type Setting, type Trial, type Tunable, type TuningRecord, tune } from './tune.js';
import type { Sample } from './tune-contest.js';
import { keepTuning } from './tune-known.js';

/** Devices are not tuned for jobs that last a moment: milliseconds of work before it begins. */
const BEGIN_MS = 10_000;
/** The most of a device's time that goes to what may be slower. */
const SHARE = 0.05;
/** What one run of a candidate is: long enough to tell 1 %, short enough not to be missed. */
const BURST_MS = 300;
const BURST_CHUNKS = 3;
const ROUNDS = 5;

/** Who is told of tunings that end while jobs go on. */
export interface LiveListener {
  tuned?(device: Device, workload: string, record: TuningRecord): void;
  /** A candidate gave wrong results, or the like. The job goes on as it began. */
  failed?(device: Device, workload: string, error: unknown): void;
}

/** A job's flow on the device in all the ways that are being tried. */
export interface Variants {
  add(setting: Setting): Promise<void>;
}

/** Chunks in a row that run one way. */
interface Burst {
  readonly setting: Setting;
  /** Chunks of before are done: what ends from now on had the device to itself. */
  isClean: boolean;
  items: number;
  ms: number;
  chunks: number;
  done(): void;
}

interface Flying {
  readonly burst: Burst | undefined;
  /** It may take longer than it had to. */
  readonly isTrial: boolean;
}

/** The tuning of one workload on one device, over all of its jobs: what they are doing now, and what is to be tried. */
export class LiveTuning {
  readonly #device: Device;
  readonly #tunable: Tunable;
  readonly #listener: () => LiveListener | undefined;
  readonly #flows = new Set<Variants>();
  readonly #flying = new Set<Flying>();
  readonly #trials = new Set<Setting>();
  /** How chunks are submitted now; the default until something better is known. */
  #current: Setting = {};
  #best: Setting = this.#current;
  #burst: Burst | undefined;
  #lastEndNs = 0n;
  #workedMs = 0;
  #triedMs = 0;
  #isBegun = false;
  #waiting: (() => void)[] = [];

  constructor(device: Device, tunable: Tunable, listener: () => LiveListener | undefined) {
    this.#device = device;
    this.#tunable = tunable;
    this.#listener = listener;
  }

  get best(): Setting {
    return this.#best;
  }

  get current(): Setting {
    return this.#current;
  }

  /** A job comes to the device: it gets what is being tried as well. */
  attach(flow: Variants): void {
    this.#flows.add(flow);
    for (const setting of this.#trials) void flow.add(setting).catch(() => undefined); // then it works as ever
  }

  detach(flow: Variants): void {
    this.#flows.delete(flow);
  }

  /** A chunk goes to the device as `setting` says. */
  submitted(setting: Setting, count: number, completion: Completion): void {
    const burst = this.#burst?.setting === setting ? this.#burst : undefined;
    const flying: Flying = { burst, isTrial: burst !== undefined && setting !== this.#best };
    this.#flying.add(flying);
    completion.done.then(
      (report) => this.#landed(flying, count, report),
      () => this.#flying.delete(flying),
    );
  }

  #landed(flying: Flying, count: number, { startedNs, endedNs, complete }: Report): void {
    this.#flying.delete(flying);
    const from = startedNs > this.#lastEndNs ? startedNs : this.#lastEndNs;
    const ms = Math.max(0, Number(endedNs - from) / 1e6);
    if (endedNs > this.#lastEndNs) this.#lastEndNs = endedNs;
    this.#workedMs += ms;
    if (flying.isTrial) this.#triedMs += ms;
    const burst = this.#burst;
    if (burst && burst === flying.burst && complete) this.#note(burst, count, ms);
    if (!this.#isBegun && this.#workedMs >= BEGIN_MS) this.#begin();
    if (this.#mayTry) for (const go of this.#waiting.splice(0)) go();
  }

  #note(burst: Burst, count: number, ms: number): void {
    const hasOthers = [...this.#flying].some((one) => one.burst !== burst);
    // The first to end alone began beside others.
    if (burst.isClean) {
      burst.items += count;
      burst.ms += ms;
      burst.chunks++;
    } else if (!hasOthers) burst.isClean = true;
    if (burst.ms >= BURST_MS && burst.chunks >= BURST_CHUNKS) burst.done();
  }

  get #mayTry(): boolean {
    return this.#triedMs <= SHARE * this.#workedMs;
  }

  #begin(): void {
    this.#isBegun = true;
    const { name, unit, kernels, axes } = this.#tunable;
    const launches: Tunable = {
      name,
      unit,
      kernels,
      axes: (info) => axes(info).filter(({ measured = 'launches' }) => measured === 'launches'),
      audit: async (device, setting) => {
        await this.#allowed();
        return this.#charged(() => this.#tunable.audit(device, setting));
      },
      open: (_device: Device, setting: Setting, _measured: Measured) => this.#open(setting),
    };
    void tune(this.#device, launches, { rounds: ROUNDS }).then(
      (record) => this.#end(record),
      (error) => this.#fail(error),
    );
  }

  /** How jobs are fed was not tried: `millrace tune` does. */
  async #end(record: TuningRecord): Promise<void> {
    const kept = { ...record, isWhole: false };
    const setting = [...this.#trials].find((tried) => nameOf(tried) === nameOf(record.setting)) ?? this.#best;
    this.#best = setting;
    this.#current = setting;
    for (const tried of this.#trials) if (tried !== setting) this.#trials.delete(tried);
    this.#listener()?.tuned?.(this.#device, this.#tunable.name, kept);
    await keepTuning(this.#device, this.#tunable, kept).catch(() => undefined); // then it is found out again
  }

  #fail(error: unknown): void {
    this.#current = this.#best;
    // The jobs are over, and their devices closed.
    if (error instanceof MillraceError && error.code === 'device-closed') return;
    this.#listener()?.failed?.(this.#device, this.#tunable.name, error);
  }

  async #open(setting: Setting): Promise<Trial> {
    const isBest = nameOf(setting) === nameOf(this.#best);
    const own = isBest ? this.#best : setting;
    if (!isBest) {
      await this.#charged(() => Promise.all([...this.#flows].map((flow) => flow.add(own))));
      this.#trials.add(own);
    }
    return { run: () => this.#run(own), close: () => undefined };
  }

  async #run(setting: Setting): Promise<Sample> {
    if (setting !== this.#best) await this.#allowed();
    const burst = await new Promise<Burst>((resolve) => {
      const made: Burst = { setting, isClean: false, items: 0, ms: 0, chunks: 0, done: () => resolve(made) };
      this.#burst = made;
      this.#current = setting;
    });
    this.#burst = undefined;
    this.#current = this.#best;
    return { work: burst.items, seconds: burst.ms / 1000, digest: '' };
  }

  /** Resolves when what was tried so far is little beside the work that was done. */
  #allowed(): Promise<void> {
    return this.#mayTry ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** A compiler takes one of a CPU's processors from the work; a GPU does not notice. */
  async #charged<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await work();
    } finally {
      const { processor, units } = this.#device.info;
      if (processor === 'cpu') this.#triedMs += (performance.now() - start) / units;
    }
  }
}
