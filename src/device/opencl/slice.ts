/**
 * How a long launch is cut on a CPU, whose platform runs one kernel at a time to its end: nothing of any other stream
 * moves meanwhile, not even a mark. The pure part.
 */

/** What one slice is to take: 5 ms are some hundred times what it costs to launch one (30 µs on PoCL). */
const SLICE_NS = 5e6;
/**
 * So much more than the one before, at most: items may not all take the same time. And a launch's first slice is so much
 * smaller: what its items took in the launch before may have been for another job.
 */
const GROWTH = 8;

export interface SliceState {
  /** Items of the launch that are not in any slice yet. */
  readonly left: number;
  /** Items of the launch's slice before; 0: there was none. */
  readonly last: number;
  /** What an item took; undefined: not known yet. */
  readonly itemNs: number | undefined;
  /** Items that keep all cores busy, each workgroup once. */
  readonly wave: number;
  /** A slice begins on a multiple of this. */
  readonly unit: number;
}

/** Items of the next slice. */
export function nextSlice({ left, last, itemNs, wave, unit }: SliceState): number {
  const wanted = itemNs === undefined ? wave : SLICE_NS / Math.max(itemNs, 1e-3);
  const most = last === 0 ? Math.max(wave, wanted / GROWTH) : GROWTH * last;
  const items = unit * Math.max(1, Math.floor(Math.min(wanted, most) / unit));
  // What would be left is no slice of its own.
  return left <= 1.5 * items ? left : items;
}
