import { clockNs } from '../../device/clock.js';
import {
  type Average,
  addBusy,
  addPause,
  type BusyTime,
  busyShare,
  NO_AVERAGE,
  observe,
  startBusyTime,
} from '../feed/throughput.js';

/** Measures how much of the time a device had work, and how long a chunk takes. Pauses do not count. */
export class Utilization {
  #busyTime: BusyTime | undefined;
  #pausedAtNs: bigint | undefined;
  #chunkMs: Average = NO_AVERAGE;

  get isPaused(): boolean {
    return this.#pausedAtNs !== undefined;
  }

  /** Average milliseconds of a chunk on the device. */
  get chunkMs(): number | undefined {
    return this.#chunkMs.value;
  }

  /** Starts the measurement with the device's first chunk. */
  start(): void {
    this.#busyTime ??= startBusyTime(clockNs());
  }

  addChunk(startedNs: bigint, endedNs: bigint): void {
    this.#busyTime = this.#busyTime && addBusy(this.#busyTime, startedNs, endedNs);
    this.#chunkMs = observe(this.#chunkMs, Number(endedNs - startedNs) / 1e6);
  }

  pause(): void {
    this.#pausedAtNs ??= clockNs();
  }

  resume(): void {
    this.#busyTime = this.#withCurrentPause(clockNs());
    this.#pausedAtNs = undefined;
  }

  /** Returns the share of the time the device had work, since its first chunk or over the last `windowNs`. */
  share(windowNs?: bigint): number | undefined {
    const nowNs = clockNs();
    const busy = this.#withCurrentPause(nowNs);
    return busy && busyShare(busy, nowNs, windowNs);
  }

  #withCurrentPause(nowNs: bigint): BusyTime | undefined {
    return this.#busyTime && this.#pausedAtNs !== undefined
      ? addPause(this.#busyTime, this.#pausedAtNs, nowNs)
      : this.#busyTime;
  }
}
