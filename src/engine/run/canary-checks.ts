import type { Chunk } from '../feed/chunk.js';
import type { Lane } from '../feed/lane.js';
import type { Canary } from '../job.js';
import {
  awaitCanary,
  type CanaryVerdict,
  failCanary,
  isCanaryDue,
  passCanary,
  resetCanary,
  sendCanary,
} from './canary.js';

/** A chunk whose hits were checked and are right. It may still have missed hits. */
export interface UnprovenResult {
  readonly chunk: Chunk;
  readonly result: unknown;
  readonly release: () => void;
}

/** Holds results until their device has found a canary. Then they count. */
export class CanaryChecks {
  readonly #canaries: readonly Canary<unknown>[];
  readonly #held = new Map<number, UnprovenResult>();
  readonly #hitsIn: ((result: unknown) => number) | undefined;
  readonly #hits = new Map<Lane, number>();
  #sent = 0;
  #items = 0n;

  constructor(canaries: readonly Canary<unknown>[] = [], hitsIn?: (result: unknown) => number) {
    this.#canaries = canaries;
    this.#hitsIn = hitsIn;
  }

  /** Indices whose results wait for a canary. */
  get heldItems(): bigint {
    return this.#items;
  }

  /** Returns the number of a device's hits that wait for its next canary. */
  heldHits(lane: Lane): number {
    return this.#hits.get(lane) ?? 0;
  }

  /** True if the job has no canaries: every device is trusted. */
  get hasNoCanaries(): boolean {
    return this.#canaries.length === 0;
  }

  /** Returns the canary to send to a device now, if one is due. `isIdle`: the device has no other work. */
  nextCanary(lane: Lane, isIdle: boolean): Canary<unknown> | undefined {
    const canary = this.#canaries[this.#sent % this.#canaries.length];
    if (canary === undefined || !isCanaryDue(lane.canaryState, canary.piece.count, isIdle, lane.perMs))
      return undefined;
    this.#sent++;
    lane.canaryState = sendCanary(lane.canaryState, canary.piece.count);
    return canary;
  }

  hold(held: UnprovenResult): void {
    const { id, lane, piece } = held.chunk;
    lane.canaryState = awaitCanary(lane.canaryState, id, piece.count);
    this.#held.set(id, held);
    this.#items += BigInt(piece.count);
    this.#hits.set(lane, this.heldHits(lane) + (this.#hitsIn?.(held.result) ?? 0));
  }

  /** Records that the canary was found. Returns the results that count now. */
  pass(lane: Lane): UnprovenResult[] {
    return this.#settle(lane, passCanary(lane.canaryState));
  }

  /** Records that the device is not trusted. Returns the results that never count. */
  fail(lane: Lane): UnprovenResult[] {
    return this.#settle(lane, failCanary(lane.canaryState));
  }

  /** Records that the canary was cancelled or failed. Another will be sent. */
  reset(lane: Lane): void {
    lane.canaryState = resetCanary(lane.canaryState);
  }

  #settle(lane: Lane, { state, chunks }: CanaryVerdict): UnprovenResult[] {
    lane.canaryState = state;
    return chunks.flatMap((id) => {
      const held = this.#held.get(id);
      this.#held.delete(id);
      if (held) {
        this.#items -= BigInt(held.chunk.piece.count);
        this.#hits.set(lane, this.heldHits(lane) - (this.#hitsIn?.(held.result) ?? 0));
      }
      return held ?? [];
    });
  }
}
