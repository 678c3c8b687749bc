import type { Contribution } from './contribution.js';
import type { Measured } from './sampling.js';
import { densityKey, type StoredChanges, type StoredValues, storedUnder } from './stored.js';
import { Density } from './witness.js';

/** How many witnesses and hits a job has per index, by the bits of its witnesses. */
export class Densities {
  readonly #all = new Map<number | undefined, Density>();

  /** Takes up what an earlier coordinator has stored. */
  restore(stored: StoredValues): void {
    for (const [bits, value] of storedUnder(stored, 'density'))
      this.#all.set(bits === 'none' ? undefined : Number(bits), Density.of(value));
  }

  /** Two workers have found the same number of items in a range. Adds to `changes` what has to be stored. */
  add(bits: number | undefined, items: number, indices: number, changes: StoredChanges): void {
    const density = this.#of(bits);
    density.add(items, indices);
    changes.set(densityKey(bits), density.plain);
  }

  /** How much of a contribution was to be expected. */
  measure({ bits, range, hits, witnesses }: Contribution): Measured {
    const indices = Number(range.length);
    const density = this.#of(bits);
    const items = hits.length + witnesses.length;
    return { indices, expected: density.expected(indices), likelihood: density.likelihood(items, indices) };
  }

  #of(bits: number | undefined): Density {
    const density = this.#all.get(bits) ?? new Density();
    this.#all.set(bits, density);
    return density;
  }
}
