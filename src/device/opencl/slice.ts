/**
 * How a long launch is split on a CPU, whose platform runs one kernel at a time to its end: no other stream advances
 * meanwhile, not even a mark. The pure part.
 */

/** The target time of a slice: 5 ms are some hundred times the cost of a launch (30 µs on PoCL). */
const SLICE_NS = 5e6;
/**
 * The largest growth from slice to slice: items may not all take the same time. A launch's first slice is smaller by
 * this factor: the measured time may be from another job.
 */
const GROWTH = 8;

export interface SliceState {
  /** Items of the launch that are not in any slice yet. */
  readonly left: number;
  /** Items of the launch's previous slice; 0: there was none. */
  readonly last: number;
  /** The time of an item; undefined: not known yet. */
  readonly itemNs: number | undefined;
  /** Items that keep all cores busy, each workgroup once. */
  readonly wave: number;
  /** A slice begins on a multiple of this. */
  readonly unit: number;
}

/** Returns the items of the next slice. */
export function nextSlice({ left, last, itemNs, wave, unit }: SliceState): number {
  const wanted = itemNs === undefined ? wave : SLICE_NS / Math.max(itemNs, 1e-3);
  const max = last === 0 ? Math.max(wave, wanted / GROWTH) : GROWTH * last;
  const items = unit * Math.max(1, Math.floor(Math.min(wanted, max) / unit));
  // A small rest is added to this slice.
  return left <= 1.5 * items ? left : items;
}
