import type { DoneRange } from '../thread/progress.js';
import type { PackedHits } from './packed-hits.js';

/**
 * What is done and not written yet. Ranges that touch are merged as they come, in constant time: a second of chunks of
 * several devices comes down to a few ranges, and nothing is left to be sorted when it is time to write (2,000 chunks took
 * the main thread some milliseconds).
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
