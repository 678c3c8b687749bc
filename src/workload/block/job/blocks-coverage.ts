import type { StripCoverage } from '../../../console/live/live-task.js';
import type { Search } from '../../../engine/index.js';
import { Intervals } from '../../../engine/work/intervals.js';
import { endOf, type Range } from '../../../engine/work/space.js';
import type { FoundNonce } from '../kernel/nonce-flow.js';

/** The running search of a block. */
export type BlockSearch = Pick<Search<FoundNonce>, 'coverage'>;

/**
 * Where the nonces of many blocks are. As in the ledger, an index is block · nonces + nonce, counted from the first nonce
 * that is tried. The nonces of a solved block that were not tried are skipped.
 */
export class BlocksCoverage {
  readonly #blocks: number;
  readonly #nonces: Range;
  readonly #running = new Map<number, BlockSearch>();
  #isKnown = false;
  #done = Intervals.none;
  #skipped = Intervals.none;

  constructor(blocks: number, nonces: Range) {
    this.#blocks = blocks;
    this.#nonces = nonces;
  }

  started(at: number, search: BlockSearch): void {
    this.#running.set(at, search);
  }

  ended(at: number): void {
    const search = this.#running.get(at);
    if (!search) return;
    this.#isKnown = true;
    this.#done = this.#added(this.#done, at, search.coverage?.done ?? []);
    this.#running.delete(at);
    const { length } = this.#nonces;
    const block = { start: BigInt(at) * length, length };
    for (const range of this.#done.missing(block)) this.#skipped = this.#skipped.add(range);
  }

  /** Undefined if no search was started here: a fleet's are elsewhere. */
  get strip(): StripCoverage | undefined {
    const { length } = this.#nonces;
    if (!this.#isKnown && this.#running.size === 0) return undefined;
    let [done, onDevice, unconfirmed, redone] = [this.#done, Intervals.none, Intervals.none, Intervals.none];
    for (const [at, { coverage }] of this.#running) {
      if (!coverage) continue;
      done = this.#added(done, at, coverage.done);
      onDevice = this.#added(onDevice, at, coverage.onDevice);
      unconfirmed = this.#added(unconfirmed, at, coverage.unconfirmed ?? []);
      redone = this.#added(redone, at, coverage.redone);
    }
    const space = { start: 0n, length: BigInt(this.#blocks) * length };
    return {
      ...{ space, done, onDevice, unconfirmed, redone },
      skipped: this.#skipped,
      of: `nonces of ${this.#blocks} blocks`,
    };
  }

  /** Adds ranges of a block's nonces to a set of indices. */
  #added(set: Intervals, at: number, ranges: Iterable<Range>): Intervals {
    const offset = BigInt(at) * this.#nonces.length - this.#nonces.start;
    let all = set;
    for (const range of ranges) {
      if (endOf(range) > range.start) all = all.add({ start: range.start + offset, length: range.length });
    }
    return all;
  }
}
