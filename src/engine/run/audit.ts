import type { Chunk } from '../feed/chunk.js';
import type { Lane } from '../feed/lane.js';
import type { Canary } from '../job.js';
import { awaitCanary, failCanary, isCanaryDue, loseCanary, passCanary, sendCanary, type Verdict } from './canary.js';

/** A chunk whose result is right as far as it goes. */
export interface Held {
  readonly chunk: Chunk;
  readonly result: unknown;
  readonly release: () => void;
}

/** Results that count once a canary has vouched for their device. */
export class Audits {
  readonly #canaries: readonly Canary<unknown>[];
  readonly #held = new Map<number, Held>();
  readonly #hitsIn: (result: unknown) => number;
  readonly #hits = new Map<Lane, number>();
  #sent = 0;
  #items = 0n;

  constructor(canaries: readonly Canary<unknown>[] = [], hitsIn: (result: unknown) => number = () => 0) {
    this.#canaries = canaries;
    this.#hitsIn = hitsIn;
  }

  /** Indices whose results wait for a canary. */
  get items(): bigint {
    return this.#items;
  }

  /** Hits of a device that wait for its next canary. */
  hitsOf(lane: Lane): number {
    return this.#hits.get(lane) ?? 0;
  }

  /** Without canaries every device is trusted. */
  get areNone(): boolean {
    return this.#canaries.length === 0;
  }

  /** The canary that a device should be sent now. `isIdle`: the device has nothing else to do. */
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
    this.#hits.set(lane, this.hitsOf(lane) + this.#hitsIn(held.result));
  }

  /** The canary was found: these count. */
  pass(lane: Lane): Held[] {
    return this.#settle(lane, passCanary(lane.audit));
  }

  /** The device is not trusted: these never count. */
  fail(lane: Lane): Held[] {
    return this.#settle(lane, failCanary(lane.audit));
  }

  /** The canary was stopped on its way: another will be sent. */
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
        this.#hits.set(lane, this.hitsOf(lane) - this.#hitsIn(held.result));
      }
      return held ?? [];
    });
  }
}
