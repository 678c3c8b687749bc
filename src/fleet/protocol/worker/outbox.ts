import type { ResultMessage } from '../messages.js';

/** Results that are not committed. They are kept, and sent again, until they are. */
export class Outbox {
  /** The longest unsent first. */
  readonly #entries = new Map<number, OutboxEntry>();
  #contribution: Contribution = { ranges: 0, indices: 0n, hits: 0 };
  #results = 0;

  get size(): number {
    return this.#entries.size;
  }

  /** True if no more results should be made before some are committed. */
  get isFull(): boolean {
    return this.size >= MAX_OUTBOX;
  }

  /** What was done and is confirmed. */
  get contribution(): Contribution {
    return this.#contribution;
  }

  /** When the result was sent that has waited longest. */
  get oldestAt(): number | undefined {
    const [oldest] = this.#entries.values();
    return oldest?.sentAt;
  }

  /** The number of the next result. */
  nextNumber(): number {
    return ++this.#results;
  }

  /** The result is sent now. */
  add(result: ResultMessage, now: number): void {
    this.#entries.set(result.number, { result, sentAt: now });
  }

  /** Returns results that have to be sent again; `add` follows for each. */
  *due(now: number, resendMs: number): Generator<ResultMessage> {
    for (const [number, { result, sentAt }] of this.#entries) {
      if (sentAt + resendMs > now) return;
      this.#entries.delete(number);
      yield result;
    }
  }

  /** Removes a result that is committed. */
  commit(number: number): ResultMessage | undefined {
    const result = this.remove(number);
    if (result === undefined) return undefined;
    const { ranges, hits } = this.#contribution;
    this.#contribution = {
      ranges: ranges + result.ranges.length,
      indices: result.ranges.reduce((sum, { length }) => sum + length, this.#contribution.indices),
      hits: hits + result.hits.length,
    };
    return result;
  }

  /** Removes a result that was refused. */
  remove(number: number): ResultMessage | undefined {
    const entry = this.#entries.get(number);
    this.#entries.delete(number);
    return entry?.result;
  }
}

/** What a worker has done: ranges and their indices, and hits in them. */
export interface Contribution {
  readonly ranges: number;
  readonly indices: bigint;
  readonly hits: number;
}

interface OutboxEntry {
  readonly result: ResultMessage;
  readonly sentAt: number;
}

/** While this many results wait for their commit, no lease is asked for. */
const MAX_OUTBOX = 64;
