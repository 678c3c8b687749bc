import type { Mined, Verdict } from './source.js';

/** Counts the results of mining. */
export class Tally {
  readonly counts = { accepted: 0, rejected: 0, stale: 0, lost: 0, blocks: 0 };
  /** Tries, in the coin's unit: hashes, or integers. */
  tries = 0n;
  /** Counts by reason. Past `MOST_REASONS` different ones, new reasons count as `other`. */
  readonly reasons = new Map<string, number>();
  /** Milliseconds from the arrival of new work to its first chunk: the last value, and the longest. */
  switchMs: number | undefined;
  longestSwitchMs: number | undefined;

  tried(tries: bigint): void {
    this.tries += tries;
  }

  judged({ isBlock }: Mined, { state, reason = 'no reason given' }: Verdict): void {
    this.counts[state] += 1;
    if (state === 'accepted') {
      if (isBlock) this.counts.blocks += 1;
      return;
    }
    const known = this.reasons.has(reason) || this.reasons.size < MOST_REASONS ? reason : 'other';
    this.reasons.set(known, (this.reasons.get(known) ?? 0) + 1);
  }

  switched(ms: number): void {
    this.switchMs = ms;
    this.longestSwitchMs = Math.max(this.longestSwitchMs ?? 0, ms);
  }
}

const MOST_REASONS = 16;
