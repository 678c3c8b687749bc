import { Intervals } from '../../engine/work/intervals.js';
import { endOf, type Range } from '../../engine/work/space.js';
import type { PlainRecord } from '../manifest/index.js';
import type { Identity } from './standing.js';

/** A hit or a witness. */
export interface Item {
  readonly index: bigint;
  readonly fields: PlainRecord;
}

/** What a worker reports of ranges: everything in it was checked. */
export interface Report {
  readonly ranges: readonly Range[];
  readonly hits: readonly Item[];
  readonly witnesses: readonly Item[];
}

/** A range that one worker has done, with everything that it found there. It counts once it is settled. */
export interface Contribution {
  readonly worker: Identity;
  readonly range: Range;
  /** The weaker condition of its witnesses; undefined if none were asked for. */
  readonly bits: number | undefined;
  readonly hits: readonly Item[];
  readonly witnesses: readonly Item[];
}

/** What has come in of a lease so far. */
export class Collected {
  #done = Intervals.none;
  readonly #hits: Item[] = [];
  readonly #witnesses: Item[] = [];

  get done(): Intervals {
    return this.#done;
  }

  /** Adds a report. Ranges that are known already are left out, with what was found there. */
  add({ ranges, hits, witnesses }: Report): void {
    const fresh = ranges.flatMap((range) => [...this.#done.missing(range)]);
    this.#hits.push(...itemsIn(hits, fresh));
    this.#witnesses.push(...itemsIn(witnesses, fresh));
    for (const range of fresh) this.#done = this.#done.add(range);
  }

  /** What was found in a range. */
  within(range: Range): Pick<Contribution, 'hits' | 'witnesses'> {
    return { hits: itemsIn(this.#hits, [range]), witnesses: itemsIn(this.#witnesses, [range]) };
  }
}

/** A contribution, as far as it lies in a range. */
export const partOf = (contribution: Contribution, range: Range): Contribution => ({
  ...contribution,
  range,
  hits: itemsIn(contribution.hits, [range]),
  witnesses: itemsIn(contribution.witnesses, [range]),
});

export const itemsIn = (items: readonly Item[], ranges: readonly Range[]): Item[] =>
  items.filter(({ index }) => ranges.some((range) => index >= range.start && index < endOf(range)));

/** Says what each of two reports of one range lacks. As everything in them was checked, a gap is a proof. */
export function compare(
  one: Pick<Contribution, 'hits' | 'witnesses'>,
  other: Pick<Contribution, 'hits' | 'witnesses'>,
): Comparison {
  const oneLacks = lacking(one, other);
  const otherLacks = lacking(other, one);
  return { oneLacks, otherLacks, evidence: one.hits.length + one.witnesses.length };
}

export interface Comparison {
  /** The lowest index that it should have reported. */
  readonly oneLacks: bigint | undefined;
  readonly otherLacks: bigint | undefined;
  /** Hits and witnesses that were compared. */
  readonly evidence: number;
}

function lacking(
  report: Pick<Contribution, 'hits' | 'witnesses'>,
  known: Pick<Contribution, 'hits' | 'witnesses'>,
): bigint | undefined {
  const hits = new Set(report.hits.map(({ index }) => index));
  const all = new Set([...hits, ...report.witnesses.map(({ index }) => index)]);
  let least: bigint | undefined;
  const note = (index: bigint): void => {
    if (least === undefined || index < least) least = index;
  };
  // A hit that is reported as a witness is a hit that was left out.
  for (const { index } of known.hits) if (!hits.has(index)) note(index);
  for (const { index } of known.witnesses) if (!all.has(index)) note(index);
  return least;
}
