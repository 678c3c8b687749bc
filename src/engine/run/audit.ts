import type { Chunk } from '../feed/chunk.js';
import type { Lane } from '../feed/lane.js';
import type { Canary } from '../job.js';
import { awaitCanary, failCanary, isCanaryDue, loseCanary, passCanary, sendCanary, type Verdict } from './canary.js';

/** A chunk whose hits were checked and are right. It may still have missed hits. */
export interface Held {
  readonly chunk: Chunk;
  readonly result: unknown;
  readonly release: () => void;
}

/** Holds results until their device has found a canary. Then they count. */
export class Audits {
  readonly #canaries: readonly Canary<unknown>[];
  readonly #held = new Map<number, Held>();
  readonly #hitsIn: ((result: unknown) => number) | undefined;
  readonly #hits = new Map<Lane, number>();
  #sent = 0;
  #items = 0n;

  constructor(canaries: readonly Canary<unknown>[] = [], hitsIn?: (result: unknown) => number) {
    this.#canaries = canaries;
    this.#hitsIn = hitsIn;
  }

  /** Indices whose results wait for a canary. */
  get items(): bigint {
    return this.#items;
  }

  /** Returns the number of a device's hits that wait for its next canary. */
  hitsOf(lane: Lane): number {
    return this.#hits.get(lane) ?? 0;
  }

  /** True if the job has no canaries: every device is trusted. */
  get areNone(): boolean {
    return this.#canaries.length === 0;
  }

  /** Returns the canary to send to a device now, if one is due. `isIdle`: the device has no other work. */
  due(lane: Lane, isIdle: boolean): Canary<unknown> | undefined {
    const canary = this.#canaries[this.#sent % this.#canaries.length];
    if (canary === undefined || !isCanaryDue(lane.audit, canary.piece.count, isIdle, lane.perMs)) return undefined;
    this.#sent++;
    lane.audit = sendCanary(lane.audit, canary.piece.count);
    return canary;
  }

  hold(held: Held): void {
    const { id, lane, piece } = held.chunk;
    lane.audit = awaitCanary(lane.audit, id, piece.count);
    this.#held.set(id, held);
    this.#items += BigInt(piece.count);
    this.#hits.set(lane, this.hitsOf(lane) + (this.#hitsIn?.(held.result) ?? 0));
  }

  /** Records that the canary was found. Returns the results that count now. */
  pass(lane: Lane): Held[] {
    return this.#settle(lane, passCanary(lane.audit));
  }

  /** Records that the device is not trusted. Returns the results that never count. */
  fail(lane: Lane): Held[] {
    return this.#settle(lane, failCanary(lane.audit));
  }

  /** Records that the canary was cancelled or failed. Another will be sent. */
  lose(lane: Lane): void {
    lane.audit = loseCanary(lane.audit);
  }

  #settle(lane: Lane, { audit, chunks }: Verdict): Held[] {
    lane.audit = audit;
    return chunks.flatMap((id) => {
      const held = this.#held.get(id);
      this.#held.delete(id);
      if (held) {
        this.#items -= BigInt(held.chunk.piece.count);
        this.#hits.set(lane, this.hitsOf(lane) - (this.#hitsIn?.(held.result) ?? 0));
      }
      return held ?? [];
    });
  }
}
