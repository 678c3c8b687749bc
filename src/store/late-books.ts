import type { Indexed } from '../engine/hits.js';
import { Intervals } from '../engine/intervals.js';
import type { Range } from '../engine/space.js';
import { type Books, hitsWithin } from './books.js';

/**
 * Books of a job that begins before its ledger is open. What is done and found meanwhile is remembered, and goes to the
 * ledger when it is there; a process that is killed before loses it, which is why this is for the first second only.
 */
export class LateBooks<T extends Indexed> implements Books<T> {
  readonly completed = Intervals.none;
  readonly found: readonly T[] = [];
  #early: { readonly range: Range | undefined; readonly hits: readonly T[] }[] = [];
  #books: Books<T> | undefined;
  #isKept = true;

  /** Nothing is remembered that the ledger does not have. */
  get isEmpty(): boolean {
    return this.#early.length === 0;
  }

  add(range: Range | undefined, hits: readonly T[], when?: 'at once' | 'soon'): Promise<void> | undefined {
    if (this.#books) return this.#write(this.#books, range, hits, when);
    if (this.#isKept) this.#early.push({ range, hits });
    return undefined;
  }

  /** From now on it is written there. Resolves when all that was remembered is on disk. */
  async open(books: Books<T>): Promise<void> {
    this.#books = books;
    const early = this.#early;
    this.#early = [];
    await Promise.all(early.map(({ range, hits }) => this.#write(books, range, hits)));
  }

  /** There will be no ledger: nothing needs to be remembered. */
  drop(): void {
    this.#isKept = false;
    this.#early = [];
  }

  /** What the ledger turns out to have already is not done twice. */
  #write(
    books: Books<T>,
    range: Range | undefined,
    hits: readonly T[],
    when?: 'at once' | 'soon',
  ): Promise<void> | undefined {
    if (range === undefined || books.completed.isEmpty) return books.add(range, hits, when);
    const ascending = [...hits].sort((a, b) => (a.index < b.index ? -1 : a.index > b.index ? 1 : 0));
    const waits = [...books.completed.missing(range)].map((rest) => books.add(rest, hitsWithin(ascending, rest), when));
    const last = waits.filter((wait) => wait !== undefined);
    return last.length === 0 ? undefined : Promise.all(last).then(() => undefined);
  }
}
