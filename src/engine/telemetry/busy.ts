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

/** Measures how much of the time a device had work, and how long a chunk takes. Pauses do not count. */
export class Fed {
  #busy: Busy | undefined;
  #pausedNs: bigint | undefined;
  #chunkMs: Average = NO_AVERAGE;

  get isPaused(): boolean {
    return this.#pausedNs !== undefined;
  }

  /** Average milliseconds of a chunk on the device. */
  get chunkMs(): number | undefined {
    return this.#chunkMs.value;
  }

  /** Starts the measurement with the device's first chunk. */
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

  /** Returns the share of the time the device had work, since its first chunk or over the last `windowNs`. */
  share(windowNs?: bigint): number | undefined {
    const nowNs = clockNs();
    const busy = this.#excused(nowNs);
    return busy && fedShare(busy, nowNs, windowNs);
  }

  #excused(nowNs: bigint): Busy | undefined {
    return this.#busy && this.#pausedNs !== undefined ? excuse(this.#busy, this.#pausedNs, nowNs) : this.#busy;
  }
}
