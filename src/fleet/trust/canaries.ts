import { between, endOf, minBigint } from '../../engine/work/space.js';
import { type Contribution, partOf } from './contribution.js';
import type { Identity } from './standing.js';
import {
  canaryKey,
  plainContribution,
  readContribution,
  type StoredChanges,
  type StoredValues,
  storedUnder,
} from './stored.js';

/** Contributions whose witnesses are known to be all: they test other workers. */
export class Canaries {
  readonly #random: () => number;
  #known: Contribution[] = [];

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Takes up what an earlier coordinator has stored. */
  restore(stored: StoredValues): void {
    for (const [, value] of storedUnder(stored, 'canary')) this.#known.push(readContribution(value));
  }

  /** Keeps a contribution, in the place of another if there are enough. Adds to `changes` what has to be stored. */
  add(contribution: Contribution, changes: StoredChanges): void {
    if (contribution.bits === undefined) return;
    const isFull = this.#known.length >= MAX_KNOWN;
    const at = isFull ? Math.floor(this.#random() * MAX_KNOWN) : this.#known.length;
    this.#known[at] = contribution;
    this.#store(at, changes);
  }

  /** The worker is not believed any more. */
  forget(worker: Identity, changes: StoredChanges): void {
    this.#known = this.#known.filter((known) => known.worker !== worker);
    for (let at = 0; at < MAX_KNOWN; at++) this.#store(at, changes);
  }

  /** Draws a part of at most `length` indices that another worker has done, for a share of calls. To `worker` it is a range like any other. */
  draw(worker: Identity, length: bigint): Contribution | undefined {
    if (this.#random() >= CANARIES) return undefined;
    const known = this.#known.filter((one) => one.worker !== worker);
    const drawn = known[Math.floor(this.#random() * known.length)];
    if (drawn === undefined) return undefined;
    const { range } = drawn;
    const size = minBigint(length, range.length);
    // Rounding may pass the last place.
    const place = range.start + BigInt(Math.floor(this.#random() * Number(range.length - size + 1n)));
    const start = minBigint(place, endOf(range) - size);
    return partOf(drawn, between(start, start + size));
  }

  #store(at: number, changes: StoredChanges): void {
    const known = this.#known[at];
    changes.set(canaryKey(at), known && plainContribution(known));
  }
}

const MAX_KNOWN = 16;
/** The share of a new worker's leases that are canaries. */
const CANARIES = 0.5;
