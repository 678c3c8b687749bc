import type { FoundHit } from '../protocol/index.js';

/**
 * Hits that wait for the check of the job's submitter, whose `verify` is code and does not travel. Without a submitter that
 * checks, or when it is gone, they wait no longer: the coordinator has computed them again.
 */
export class SubmitterChecks {
  readonly #pending = new Map<number, PendingCheck>();
  #last = 0;
  /** Set while a submitter that checks hits is there. */
  #gone: ReturnType<typeof setTimeout> | undefined;

  /** The check that has waited longest. */
  get next(): PendingCheck | undefined {
    return this.#pending.values().next().value;
  }

  /** A submitter that checks hits has just been heard. */
  meet(): void {
    clearTimeout(this.#gone);
    this.#gone = setTimeout(() => this.leave(), GONE_MS).unref();
  }

  /** The submitter checks no more. */
  leave(): void {
    clearTimeout(this.#gone);
    this.#gone = undefined;
    for (const { number } of [...this.#pending.values()]) this.answer(number, undefined);
  }

  /** Resolves with what is wrong with the hits. Undefined if nothing is, or there is no submitter. */
  check(hits: readonly FoundHit[]): Promise<string | undefined> {
    if (this.#gone === undefined || hits.length === 0) return Promise.resolve(undefined);
    const number = ++this.#last;
    return new Promise((resolve) => this.#pending.set(number, { number, hits, resolve }));
  }

  answer(number: number, wrong: string | undefined): void {
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    pending?.resolve(wrong);
  }
}

export interface PendingCheck {
  readonly number: number;
  readonly hits: readonly FoundHit[];
  resolve(wrong: string | undefined): void;
}

/** A submitter asks several times a second, unless its check keeps its process busy. */
const GONE_MS = 15_000;
