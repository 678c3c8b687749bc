import type { ShareBase, Verdict } from './source.js';

/** Counts the results of mining. */
export class MiningStats {
  readonly counts = { accepted: 0, rejected: 0, stale: 0, lost: 0, blocks: 0 };
  /** Tries, in the coin's unit: hashes, or integers. */
  tries = 0n;
  /** Counts by reason. Past `MAX_REASONS` different ones, new reasons count as `other`. */
  readonly reasons = new Map<string, number>();
  /** Milliseconds from the arrival of new work to its first chunk: the last value, and the longest. */
  switchMs: number | undefined;
  longestSwitchMs: number | undefined;

  addTries(tries: bigint): void {
    this.tries += tries;
  }

  recordVerdict({ isBlock }: ShareBase, { state, reason = 'no reason given' }: Verdict): void {
    this.counts[state] += 1;
    if (state === 'accepted') {
      if (isBlock) this.counts.blocks += 1;
      return;
    }
    const known = this.reasons.has(reason) || this.reasons.size < MAX_REASONS ? reason : 'other';
    this.reasons.set(known, (this.reasons.get(known) ?? 0) + 1);
  }

  recordSwitch(ms: number): void {
    this.switchMs = ms;
    this.longestSwitchMs = Math.max(this.longestSwitchMs ?? 0, ms);
  }
}

const MAX_REASONS = 16;
