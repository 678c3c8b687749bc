/**
 * How many items a worker takes at once. Pure, so that it can be simulated.
 *
 * A slice aims at 2 ms: long enough that the cost of taking it (about 2 µs) is negligible, short enough that cancel,
 * close and process.exit, which all wait for running slices, are prompt. A program's speed is unknown at first, so it
 * begins with one gang, continues with an estimated 100 µs, then at most doubles from slice to slice. Near the end of a
 * launch slices shrink, so that all threads finish together, but not below 100 µs, where waking another thread costs
 * more than it gains.
 */
export const TARGET_NS = 2e6;
export const MIN_NS = 1e5;

export interface SliceState {
  /** Nanoseconds per item, 0 if unknown. */
  readonly nsPerItem: number;
  /** Items of the last slice, 0 if there was none. */
  readonly lastSlice: number;
}

/** Returns the items of the next slice: a multiple of `lanes`, or all that remain. */
export function nextSlice(state: SliceState, remaining: number, lanes: number, threads: number): number {
  let wanted = lanes;
  if (state.nsPerItem > 0) {
    const floor = MIN_NS / state.nsPerItem;
    wanted = Math.min(
      TARGET_NS / state.nsPerItem,
      Math.max(2 * state.lastSlice, floor),
      Math.max(remaining / (2 * threads), floor),
    );
  }
  const gangs = Math.max(1, Math.floor(wanted / lanes));
  return Math.min(remaining, gangs * lanes);
}

/**
 * Updates the state after a slice of `items` items in `nanoseconds`. A small slice at the end does not undo the
 * doubling.
 */
export function updatedRate(state: SliceState, items: number, nanoseconds: number): SliceState {
  const measured = Math.max(nanoseconds, 1) / items;
  return {
    nsPerItem: state.nsPerItem === 0 ? measured : (state.nsPerItem + measured) / 2,
    lastSlice: Math.max(items, state.lastSlice),
  };
}

/**
 * The state at a launch's start. Items of another job may be much slower than those of the last launch, so the first
 * slice is an eighth of the last one's size, and the doubling begins there.
 */
export const atLaunchStart = (state: SliceState): SliceState => ({ ...state, lastSlice: state.lastSlice / 16 });
