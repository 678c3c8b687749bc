import type { ChunkRecord } from './record.js';

/** An interval of time, in nanoseconds. */
export interface Span {
  readonly startedNs: bigint;
  readonly endedNs: bigint;
}

/**
 * How much of copying and computing happened at the same time. Each time is that of a union: overlapping intervals
 * count once.
 */
export interface Overlap {
  readonly copyNs: number;
  readonly computeNs: number;
  readonly overlappedNs: number;
  /** From the first start to the last end. */
  readonly spanNs: number;
  /** Share of the shorter of the two that is hidden by the other, 0 to 1. At 1 it costs nothing. */
  readonly hidden: number;
  /** Share of the span, 0 to 1. */
  readonly copyBusy: number;
  readonly computeBusy: number;
}

export function overlapOf(copies: readonly Span[], computes: readonly Span[]): Overlap {
  const copied = union(copies);
  const computed = union(computes);
  const all = union([...copied, ...computed]);
  const [first] = all;
  const last = all.at(-1);
  const spanNs = first && last ? Number(last.endedNs - first.startedNs) : 0;
  const copyNs = lengthOf(copied);
  const computeNs = lengthOf(computed);
  // The intersection is the sum less the union.
  const overlappedNs = copyNs + computeNs - lengthOf(all);
  const shorter = Math.min(copyNs, computeNs);
  return {
    copyNs,
    computeNs,
    overlappedNs,
    spanNs,
    hidden: shorter === 0 ? 0 : overlappedNs / shorter,
    copyBusy: spanNs === 0 ? 0 : copyNs / spanNs,
    computeBusy: spanNs === 0 ? 0 : computeNs / spanNs,
  };
}

/**
 * Returns the figure that other tools call overlap: the ratio of the lengths of a chunk's copies and launches. It does
 * not measure what happened at the same time (two steps of equal length, one after the other, give 1). It is here for
 * comparison.
 */
export function lengthRatio(copy: number, compute: number): number {
  const longer = Math.max(copy, compute);
  return longer === 0 ? 0 : Math.min(copy, compute) / longer;
}

/** Returns the copies and the launches of a chunk. Undefined if the device does not report them separately. */
export function phasesOf(
  record: ChunkRecord,
): { readonly copies: readonly Span[]; readonly compute: Span } | undefined {
  const { startedNs, computeStartedNs, computeEndedNs, endedNs } = record;
  if (computeStartedNs === 0n) return undefined;
  const before = { startedNs, endedNs: computeStartedNs };
  const after = { startedNs: computeEndedNs, endedNs };
  return {
    copies: [before, after].filter((span) => span.endedNs > span.startedNs),
    compute: { startedNs: computeStartedNs, endedNs: computeEndedNs },
  };
}

/** Merges intervals into sorted ones that do not touch. */
export function union(spans: readonly Span[]): Span[] {
  const sorted = spans
    .filter(({ startedNs, endedNs }) => endedNs > startedNs)
    .sort((a, b) => (a.startedNs < b.startedNs ? -1 : a.startedNs > b.startedNs ? 1 : 0));
  const joined: { startedNs: bigint; endedNs: bigint }[] = [];
  for (const { startedNs, endedNs } of sorted) {
    const last = joined.at(-1);
    if (last === undefined || startedNs > last.endedNs) joined.push({ startedNs, endedNs });
    else if (endedNs > last.endedNs) last.endedNs = endedNs;
  }
  return joined;
}

export const lengthOf = (spans: readonly Span[]): number =>
  spans.reduce((sum, { startedNs, endedNs }) => sum + Number(endedNs - startedNs), 0);
