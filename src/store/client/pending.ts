import type { DoneRange } from '../thread/progress.js';
import type { PackedHits } from './packed-hits.js';

/**
 * Finished work that is not written yet. Adjacent ranges are merged as they arrive, in constant time: a second of chunks
 * from several devices becomes a few ranges, and nothing has to be sorted before a write (sorting 2,000 chunks took the
 * main thread some milliseconds).
 */
export class Pending {
  readonly hits: PackedHits[] = [];
  readonly told: { readonly index: bigint; readonly nth: number }[] = [];
  readonly #byStart = new Map<bigint, DoneRange>();
  readonly #byPast = new Map<bigint, DoneRange>();

  add(range: DoneRange): void {
    const below = this.#byPast.get(range.start);
    const above = this.#byStart.get(range.past);
    let merged = range;
    if (below) {
      this.#take(below);
      merged = { start: below.start, past: merged.past, hits: below.hits + merged.hits };
    }
    if (above) {
      this.#take(above);
      merged = { start: merged.start, past: above.past, hits: merged.hits + above.hits };
    }
    this.#byStart.set(merged.start, merged);
    this.#byPast.set(merged.past, merged);
  }

  get done(): DoneRange[] {
    return [...this.#byStart.values()];
  }

  #take({ start, past }: DoneRange): void {
    this.#byStart.delete(start);
    this.#byPast.delete(past);
  }
}
