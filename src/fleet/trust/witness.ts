import type { PlainValue } from '../manifest/index.js';

/**
 * Witnesses are near-misses: indices that meet a weaker condition, which about one in 2^bits indices does. A worker reports
 * them beside its hits. Each is checked, so they cannot be invented, and they cannot be known without doing the work.
 */

/** Witnesses that are expected in a lease of full length. */
export const WITNESSES = 16;
const LEASE_MS = 30_000;
/** For the first lease, whose 1,024 indices then have 16. */
const FIRST_BITS = 6;

/** The bits for leases of a worker of this rate. Changes only when the rate has changed by a lot: each is a run of its own. */
export function witnessBits(perMs: number | undefined, before: number | undefined): number {
  if (perMs === undefined) return before ?? FIRST_BITS;
  const exact = Math.max(0, Math.min(MAX_BITS, Math.log2((perMs * LEASE_MS) / WITNESSES)));
  return before !== undefined && Math.abs(exact - before) <= SLACK ? before : Math.floor(exact);
}

export const MAX_BITS = 120;
const SLACK = 2;

/** The probability of `count` or fewer events where `mean` are expected, by Poisson's law. */
export function poissonTail(count: number, mean: number): number {
  // Logarithms: e^-mean is 0 in a double beyond 745.
  let term = -mean;
  let sum = Math.exp(term);
  for (let k = 1; k <= count; k++) {
    term += Math.log(mean / k);
    sum += Math.exp(term);
  }
  return Math.min(1, sum);
}

/** How many witnesses and hits there are per index, learned from ranges on which workers have agreed. */
export class Density {
  #items = 0;
  #indices = 0;

  static of(stored: PlainValue): Density {
    const [items, indices] = Array.isArray(stored) ? stored : [];
    const density = new Density();
    density.add(Number(items ?? 0), Number(indices ?? 0));
    return density;
  }

  /** For `of`. */
  get plain(): PlainValue {
    return [this.#items, this.#indices];
  }

  add(items: number, indices: number): void {
    this.#items += items;
    this.#indices += indices;
  }

  /** Expected in a range. 0 until enough is known: then nothing less than an audit of everything tells anything. */
  expected(indices: number): number {
    return this.#items < WITNESSES ? 0 : (this.#items / this.#indices) * indices;
  }

  /** How likely an honest worker finds this few. The estimate's own error counts in its favour. */
  likelihood(items: number, indices: number): number {
    const expected = this.expected(indices) * (1 - 1 / Math.sqrt(Math.max(1, this.#items)));
    return expected === 0 ? 1 : poissonTail(items, expected);
  }
}
