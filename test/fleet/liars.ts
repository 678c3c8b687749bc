import { Intervals } from '../../src/engine/work/intervals.js';
import { between, endOf, type Range } from '../../src/engine/work/space.js';
import type { ResultMessage } from '../../src/fleet/protocol/index.js';

/** Changes a worker's results. `heard` are the results of others, the last ones first. */
export type Lie = (honest: ResultMessage, heard: readonly ResultMessage[]) => ResultMessage | undefined;

/** Workers that lie, one of each kind. Each call makes another one. */
export const liars: Readonly<Record<string, () => Lie>> = {
  'leaves hits out': () => (result) => ({ ...result, hits: [] }),

  'skips a tenth of every range': () => (result) => without(result, (range) => [tail(range, 10n)]),

  'skips every tenth lease': () => {
    const skipped = new Map<string, boolean>();
    return (result) => {
      const { id } = result.claim;
      skipped.set(id, skipped.get(id) ?? skipped.size % 10 === 7);
      return skipped.get(id) ? without(result, (range) => [range]) : result;
    };
  },

  'does nothing and forges witnesses': () => (result) => {
    const { ranges, claim } = result;
    const witnesses = ranges.map(({ start }) => ({ index: start, fields: {} }));
    return { ...result, hits: [], ...(claim.bits !== undefined && { witnesses }) };
  },

  'invents hits': () => (result) => {
    const [first] = result.ranges;
    return first ? { ...result, hits: [{ index: first.start, fields: { twice: 1n } }, ...result.hits] } : result;
  },

  /** Says what others have said of the same indices; where they have said nothing, that nothing is there. */
  "repeats others' results": () => (result, heard) => {
    const inside = ({ index }: { readonly index: bigint }): boolean =>
      result.ranges.some((range) => index >= range.start && index < endOf(range));
    const same = heard.filter(({ claim, worker }) => worker !== result.worker && claim.job === result.claim.job);
    const unique = <T extends { readonly index: bigint }>(all: readonly T[]): T[] => [
      ...new Map(all.filter(inside).map((one) => [one.index, one])).values(),
    ];
    return {
      ...result,
      hits: unique(same.flatMap(({ hits }) => hits)),
      ...(result.claim.bits !== undefined && {
        witnesses: unique(
          same.filter(({ claim }) => claim.bits === result.claim.bits).flatMap((one) => one.witnesses ?? []),
        ),
      }),
    };
  },

  "sends others' results as its own": () => (result, heard) => {
    const other = heard.find(({ worker }) => worker !== result.worker);
    return other ? { ...other, worker: result.worker, number: result.number } : result;
  },

  /** Takes what lies below the highest range so far for a canary, and what asks for other witnesses than usual. */
  'is honest only on what it takes for canaries': () => {
    let highest = 0n;
    let usual: number | undefined;
    const canaries = new Set<string>();
    return (result) => {
      const { id, range, bits } = result.claim;
      if (range.start < highest && bits !== usual) canaries.add(id);
      if (endOf(range) > highest) [highest, usual] = [endOf(range), bits];
      return canaries.has(id) ? result : without(result, (part) => [tail(part, 4n)]);
    };
  },

  /** Honest until it is trusted. */
  'begins to skip a tenth after 30 leases': () => {
    const leases = new Set<string>();
    return (result) =>
      leases.add(result.claim.id).size > 30 ? without(result, (range) => [tail(range, 10n)]) : result;
  },

  /** Two of them leave out the same, so that they agree. */
  'colludes with another': () => (result) => without(result, sharedTenth),
  'colludes with the other': () => (result) => without(result, sharedTenth),
};

/** Leaves out what was found in some parts of a result's ranges. */
export function without(result: ResultMessage, parts: (range: Range) => readonly Range[]): ResultMessage {
  const skipped = Intervals.of(result.ranges.flatMap((range) => [...parts(range)].filter(({ length }) => length > 0n)));
  const isDone = ({ index }: { readonly index: bigint }): boolean => !skipped.has({ start: index, length: 1n });
  return {
    ...result,
    hits: result.hits.filter(isDone),
    ...(result.witnesses && { witnesses: result.witnesses.filter(isDone) }),
  };
}

/** The last nth of a range. */
export const tail = (range: Range, n: bigint): Range => between(endOf(range) - range.length / n, endOf(range));

/** Every tenth of equal parts of all indices. */
function sharedTenth(range: Range): Range[] {
  const size = 1n << 16n;
  const found: Range[] = [];
  for (let block = range.start / (10n * size); block * 10n * size < endOf(range); block++) {
    const start = block * 10n * size;
    const from = start > range.start ? start : range.start;
    const to = start + size < endOf(range) ? start + size : endOf(range);
    if (to > from) found.push(between(from, to));
  }
  return found;
}
