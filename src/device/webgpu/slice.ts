/**
 * How long launches are cut into dispatches: the pure part. WebGPU cannot stop a dispatch, so cancelling works between
 * them, and a driver's watchdog (2 s on Windows) never sees a long one. Work is counted in workgroups of the launch's
 * blocks, or in tiles; times are in milliseconds of the device.
 */

/** What a slice should take: ten times what starting one costs, and short enough for a person who cancels. */
export const TARGET_MS = 15;
/** A launch that is only a little longer stays in one piece. */
const WHOLE_MS = 1.5 * TARGET_MS;
/** The first slice of a long launch: its job may be heavier than those that the pace was learnt from. */
const TRIAL_MS = TARGET_MS / 4;
/**
 * The first slice of a program that nothing is known about, in workgroups: what a GPU does side by side, so that they take
 * no longer than one; on a CPU one might take a second already.
 */
export const FIRST_GROUPS = { gpu: 64, cpu: 1 } as const;
/** What a slice without a known pace is taken to last, where slices in flight are added up. */
export const UNKNOWN_MS = 5;
/** Below this a time says more about starting than about the work. */
const LEAST_MS = 0.02;
/** A pace rises by this much at a time, and falls at once. */
const RISE = 4;

export interface Slice {
  readonly groups: number;
  /** What it should take; undefined where nothing is known. */
  readonly expectedMs: number | undefined;
}

/** How fast a program's workgroups go, from the slices that have ended. */
export class Pace {
  readonly #firstGroups: number;
  #perMs: number | undefined;

  constructor(firstGroups: number, perMs?: number) {
    this.#firstGroups = firstGroups;
    this.#perMs = perMs;
  }

  get known(): boolean {
    return this.#perMs !== undefined;
  }

  /** The next slice of a launch with `left` workgroups to go; `begun`: it is not the launch's first. */
  slice(left: number, begun: boolean): Slice {
    const rate = this.#perMs;
    if (rate === undefined) return { groups: Math.min(left, this.#firstGroups), expectedMs: undefined };
    const whole = left / rate <= WHOLE_MS;
    const groups = whole ? left : Math.max(1, Math.floor(rate * (begun ? TARGET_MS : TRIAL_MS)));
    return { groups, expectedMs: groups / rate };
  }

  learn(groups: number, ms: number): void {
    const rate = groups / Math.max(ms, LEAST_MS);
    this.#perMs = Math.min(rate, (this.#perMs ?? Number.POSITIVE_INFINITY) * RISE);
  }

  /** What was seen is slower than what is known: the only thing to learn from work that may not have been there at all. */
  learnSlower(groups: number, ms: number): void {
    if (groups / Math.max(ms, LEAST_MS) < (this.#perMs ?? 0)) this.learn(groups, ms);
  }

  /** For one launch: learns on its own. */
  copy(): Pace {
    return new Pace(this.#firstGroups, this.#perMs);
  }
}

/** One launch on its way through slices. */
export class Run {
  readonly #pace: Pace;
  readonly #shared: Pace;
  readonly #counted: boolean;
  #left: number;
  #next = 0;
  /** Slices that have not ended. */
  #flying = 0;

  /**
   * `counted`: how many items there are is only known on the device. Slices past that number are empty, and what they
   * teach about the pace stays within the launch.
   */
  constructor(groups: number, pace: Pace, counted: boolean) {
    this.#left = groups;
    this.#shared = pace;
    this.#counted = counted;
    this.#pace = counted ? pace.copy() : pace;
  }

  get done(): boolean {
    return this.#left === 0;
  }

  /** What comes next, from which group on; undefined while the first slice of an unknown program is under way. */
  next(): (Slice & { readonly first: number }) | undefined {
    if (!this.#pace.known && this.#flying > 0) return undefined;
    return { ...this.#pace.slice(this.#left, this.#next > 0), first: this.#next };
  }

  /** That slice has been submitted. What it gives is to be called when it has ended. */
  submitted(groups: number): (ms: number | undefined) => void {
    this.#left -= groups;
    this.#next += groups;
    this.#flying++;
    return (ms) => {
      this.#flying--;
      if (ms === undefined) return;
      this.#pace.learn(groups, ms);
      if (this.#counted) this.#shared.learnSlower(groups, ms);
    };
  }
}
