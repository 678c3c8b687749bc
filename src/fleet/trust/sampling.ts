/**
 * Which of a worker's results are audited. The choice is made when they are all here, so a worker cannot know it while it
 * works: there is nothing to be honest about only sometimes.
 */

/** A result as the choice sees it. */
export interface Measured {
  readonly indices: number;
  /** Witnesses and hits that an honest worker finds on average; 0 if that is not known. */
  readonly expected: number;
  /** How likely an honest worker finds as few as were reported. */
  readonly likelihood: number;
}

/** Results of a trusted worker are settled together when this many witnesses were expected in them: 100 leases. */
export const EPOCH_EVIDENCE = 1600;
/** Witnesses that random audits compare: who skips a tenth of each range passes them with e^-7.2 = 0.0007. */
export const SAMPLE_EVIDENCE = 72;
/** The results with the fewest witnesses are audited too: who skips few ranges, but much of them, has those. */
const LOWEST = 3;
const MAX_LOWEST = 5;
const UNLIKELY = 0.005;

/** Returns the places of the results to audit. All of them, if they prove too little. */
export function sample(results: readonly Measured[], random: () => number): ReadonlySet<number> {
  const total = results.reduce((sum, { expected }) => sum + expected, 0);
  if (total <= SAMPLE_EVIDENCE) return new Set(results.keys());
  const chosen = new Set<number>();
  const byLikelihood = [...results.entries()].sort(([, a], [, b]) => a.likelihood - b.likelihood);
  for (const [at, { likelihood }] of byLikelihood.slice(0, MAX_LOWEST))
    if (chosen.size < LOWEST || likelihood < UNLIKELY) chosen.add(at);
  let evidence = 0;
  while (evidence < SAMPLE_EVIDENCE && chosen.size < results.length) {
    const at = drawByLength(results, chosen, random);
    chosen.add(at);
    evidence += results[at]?.expected ?? 0;
  }
  return chosen;
}

/** Draws one that is not chosen: each index is as likely as another. */
function drawByLength(results: readonly Measured[], chosen: ReadonlySet<number>, random: () => number): number {
  const left = [...results.entries()].filter(([at]) => !chosen.has(at));
  let place = random() * left.reduce((sum, [, { indices }]) => sum + indices, 0);
  for (const [at, { indices }] of left) {
    place -= indices;
    if (place < 0) return at;
  }
  return left.at(-1)?.[0] ?? 0;
}
