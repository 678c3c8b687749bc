/**
 * How long launches are split into dispatches: the pure part. WebGPU cannot stop a dispatch, so cancelling works
 * between them, and a driver's watchdog (2 s on Windows) never sees a long one. Work is counted in workgroups of the
 * launch's blocks, or in tiles; times are in milliseconds of the device.
 */

/** The target time of a slice: ten times the cost of starting one, and short enough for a user who cancels. */
export const TARGET_MS = 15;
/** A launch that is only a little longer is not split. */
const MAX_UNSPLIT_MS = 1.5 * TARGET_MS;
/** The first slice of a long launch: its job may be heavier than those measured. */
const TRIAL_MS = TARGET_MS / 4;
/**
 * The first slice of an unmeasured program, in workgroups: what a GPU runs side by side, so that they take no longer
 * than one; on a CPU a single one might already take a second.
 */
export const FIRST_GROUPS = { gpu: 64, cpu: 1 } as const;
/** The assumed time of a slice with unknown pace, when slices in flight are added up. */
export const UNKNOWN_MS = 5;
/** Shorter times measure the start rather than the work. */
const MIN_MS = 0.02;
/** A pace rises by at most this factor at a time, and falls at once. */
const MAX_RISE = 4;
/**
 * A slice that takes more than this factor of its share was too small for the device, or its work is heavier than
 * before.
 */
const DOUBT_FACTOR = 2;
/** Times within this factor of each other count as equal. */
const EQUAL_FACTOR = 1.5;

export interface Slice {
  readonly groups: number;
  /** The expected time; undefined if unknown. */
  readonly expectedMs: number | undefined;
}

/**
 * The speed of a program's workgroups, from the slices that have ended. A GPU runs many side by side, so a small slice
 * may take as long as one of ten times as many: its time is then no reason to make the next one smaller still.
 */
export class Pace {
  readonly #firstGroups: number;
  /** The slice that the pace is derived from. */
  #measured: { readonly groups: number; readonly ms: number } | undefined;
  /** The time of even a small slice. */
  #minMs = 0;
  /** Groups of the last slice, if it took far more than its share: because of its size, or because its work is heavier. */
  #doubtfulGroups: number | undefined;

  constructor(firstGroups: number, perMs?: number) {
    this.#firstGroups = firstGroups;
    this.#measured = perMs === undefined ? undefined : { groups: perMs, ms: 1 };
  }

  get isKnown(): boolean {
    return this.#measured !== undefined;
  }

  /** Returns the next slice of a launch with `left` workgroups to go; `begun`: it is not the launch's first. */
  slice(left: number, begun: boolean): Slice {
    const first = Math.min(left, this.#firstGroups);
    if (this.#measured === undefined) return { groups: first, expectedMs: undefined };
    // Fewer groups were measured than run side by side: all of those take no longer.
    if (this.#measured.groups < first) return { groups: first, expectedMs: this.#measured.ms };
    const rate = this.#measured.groups / this.#measured.ms;
    const maxGroups =
      this.#doubtfulGroups === undefined ? Number.POSITIVE_INFINITY : DOUBT_FACTOR * this.#doubtfulGroups;
    const goal = Math.max(TARGET_MS, DOUBT_FACTOR * this.#minMs);
    if (left / rate <= Math.max(MAX_UNSPLIT_MS, goal) && left <= maxGroups)
      return { groups: left, expectedMs: left / rate };
    // Half of it, so that a device that could work with less shows that.
    const size = rate * (begun ? goal : Math.max(TRIAL_MS, this.#minMs / DOUBT_FACTOR));
    const groups = Math.min(left, Math.max(1, Math.floor(Math.min(size, maxGroups))));
    return { groups, expectedMs: groups / rate };
  }

  learn(groups: number, measuredMs: number): void {
    const ms = Math.max(measuredMs, MIN_MS);
    const seen = this.#measured;
    if (seen === undefined || seen.groups < Math.min(groups, this.#firstGroups)) {
      this.#measured = { groups, ms };
      return;
    }
    const rate = seen.groups / seen.ms;
    const isDoubtful = ms > (DOUBT_FACTOR * groups) / rate && groups < seen.groups && ms <= EQUAL_FACTOR * seen.ms;
    this.#doubtfulGroups = isDoubtful ? groups : undefined;
    if (isDoubtful || ms < this.#minMs) this.#minMs = ms;
    // A smaller slice that took no longer does not show how many could be done in that time.
    const saysNothing = groups < seen.groups && groups / ms < rate && ms <= EQUAL_FACTOR * seen.ms;
    if (!saysNothing) this.#measured = { groups, ms: Math.max(ms, groups / (MAX_RISE * rate)) };
  }

  /** Learns only if the measured pace is slower than the known one: some of the work may not have existed. */
  learnSlower(groups: number, ms: number): void {
    const { groups: known, ms: knownMs } = this.#measured ?? { groups: 0, ms: 1 };
    if (groups / Math.max(ms, MIN_MS) < known / knownMs) this.learn(groups, ms);
  }

  /** Returns a copy for one launch, which learns separately. */
  copy(): Pace {
    const copy = new Pace(this.#firstGroups);
    copy.#measured = this.#measured;
    copy.#minMs = this.#minMs;
    return copy;
  }
}

/** One launch and its progress through slices. */
export class SlicedLaunch {
  readonly #pace: Pace;
  readonly #shared: Pace;
  readonly #counted: boolean;
  #remaining: number;
  #next = 0;
  /** Slices in flight. */
  #inFlight = 0;

  /**
   * `counted`: the number of items is known only on the device. Slices past that number are empty, and their effect on
   * the pace stays within the launch.
   */
  constructor(groups: number, pace: Pace, counted: boolean) {
    this.#remaining = groups;
    this.#shared = pace;
    this.#counted = counted;
    this.#pace = counted ? pace.copy() : pace;
  }

  get isDone(): boolean {
    return this.#remaining === 0;
  }

  /** Returns the next slice and its first group; undefined while the first slice of an unknown program is running. */
  next(): (Slice & { readonly first: number }) | undefined {
    if (!this.#pace.isKnown && this.#inFlight > 0) return undefined;
    return { ...this.#pace.slice(this.#remaining, this.#next > 0), first: this.#next };
  }

  /** Records that the slice was submitted. The returned function must be called when it has ended. */
  submitted(groups: number): (ms: number | undefined) => void {
    this.#remaining -= groups;
    this.#next += groups;
    this.#inFlight++;
    return (ms) => {
      this.#inFlight--;
      if (ms === undefined) return;
      this.#pace.learn(groups, ms);
      if (this.#counted) this.#shared.learnSlower(groups, ms);
    };
  }
}
