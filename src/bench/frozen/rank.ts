/**
 * Wilcoxon's signed-rank test: the probability of values this low or lower if their distribution is symmetric around
 * zero. Zeros are left out and ties share their ranks. Uses the normal approximation, which is good from about 10 values
 * on.
 */
export function signedRankBelow(values: readonly number[]): number {
  const sizes = values.filter((value) => value !== 0).sort((a, b) => Math.abs(a) - Math.abs(b));
  const n = sizes.length;
  if (n === 0) return 1;
  let positive = 0;
  let ties = 0;
  for (let from = 0; from < n; ) {
    let to = from + 1;
    while (to < n && Math.abs(sizes[to] as number) === Math.abs(sizes[from] as number)) to++;
    const rank = (from + 1 + to) / 2;
    ties += (to - from) ** 3 - (to - from);
    for (let at = from; at < to; at++) if ((sizes[at] as number) > 0) positive += rank;
    from = to;
  }
  const mean = (n * (n + 1)) / 4;
  const variance = (n * (n + 1) * (2 * n + 1)) / 24 - ties / 48;
  return normalCdf((positive + 0.5 - mean) / Math.sqrt(variance));
}

/** The Mann–Whitney test: the probability that `now` is this far below `before` if both have the same distribution. */
export function rankSumBelow(now: readonly number[], before: readonly number[]): number {
  const [n, m] = [now.length, before.length];
  if (n === 0 || m === 0) return 1;
  let above = 0;
  for (const a of now) for (const b of before) above += a > b ? 1 : a === b ? 0.5 : 0;
  return normalCdf((above + 0.5 - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12));
}

/** The normal distribution function at `z`: Abramowitz and Stegun 26.2.17, with an error below 1e-7. */
function normalCdf(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * series;
  return z < 0 ? tail : 1 - tail;
}
