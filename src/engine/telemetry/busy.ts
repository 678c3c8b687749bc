import { clockNs } from '../../device/clock.js';
import {
  type Average,
  type Busy,
  busyFrom,
  excuse,
  fedShare,
  NO_AVERAGE,
  observe,
  startBusy,
} from '../feed/throughput.js';

/** How well a device is fed: the time that it had work, and how long a chunk takes. A pause is nobody's fault. */
export class Fed {
  #busy: Busy | undefined;
  #pausedNs: bigint | undefined;
  #chunkMs: Average = NO_AVERAGE;

  get isPaused(): boolean {
    return this.#pausedNs !== undefined;
  }

  /** Milliseconds of a chunk on the device, on average. */
  get chunkMs(): number | undefined {
    return this.#chunkMs.value;
  }

  /** The device is given a chunk. */
  begin(): void {
    this.#busy ??= startBusy(clockNs());
  }

  worked(startedNs: bigint, endedNs: bigint): void {
    this.#busy = this.#busy && busyFrom(this.#busy, startedNs, endedNs);
    this.#chunkMs = observe(this.#chunkMs, Number(endedNs - startedNs) / 1e6);
  }

  pause(): void {
    this.#pausedNs ??= clockNs();
  }

  resume(): void {
    this.#busy = this.#excused(clockNs());
    this.#pausedNs = undefined;
  }

  /** The share of the time since its first chunk, or of the last `windowNs`, that the device had work. */
  share(windowNs?: bigint): number | undefined {
    const nowNs = clockNs();
    const busy = this.#excused(nowNs);
    return busy && fedShare(busy, nowNs, windowNs);
  }

  #excused(nowNs: bigint): Busy | undefined {
    return this.#busy && this.#pausedNs !== undefined ? excuse(this.#busy, this.#pausedNs, nowNs) : this.#busy;
  }
}
