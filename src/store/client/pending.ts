import type { DoneRange } from '../thread/progress.js';
import type { PackedHits } from './packed-hits.js';

/**
 * Finished work that is not written yet. Adjacent ranges are merged as they arrive, in constant time: a second of chunks
 * from several devices becomes a few ranges, and nothing has to be sorted before a write (sorting 2,000 chunks took the
 * main thread some milliseconds).
 */
export class PendingWork {
  readonly hits: PackedHits[] = [];
  readonly notified: { readonly index: bigint; readonly nth: number }[] = [];
  readonly #byStart = new Map<bigint, DoneRange>();
  readonly #byEnd = new Map<bigint, DoneRange>();

  add(range: DoneRange): void {
    const below = this.#byEnd.get(range.start);
    const above = this.#byStart.get(range.end);
    let merged = range;
    if (below) {
      this.#remove(below);
      merged = { start: below.start, end: merged.end, hits: below.hits + merged.hits };
    }
    if (above) {
      this.#remove(above);
      merged = { start: merged.start, end: above.end, hits: merged.hits + above.hits };
    }
    this.#byStart.set(merged.start, merged);
    this.#byEnd.set(merged.end, merged);
  }

  get done(): DoneRange[] {
    return [...this.#byStart.values()];
  }

  #remove({ start, end }: DoneRange): void {
    this.#byStart.delete(start);
    this.#byEnd.delete(end);
  }
}
