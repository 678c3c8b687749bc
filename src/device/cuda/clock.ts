import { OutParameters } from '../gpu/native/api.js';
import { HostClock, type HostInterval } from '../gpu/native/host-clock.js';
import type { Events } from './events.js';
import type { CudaApi } from './runtime/api.js';
import type { CudaErrors } from './runtime/errors.js';

/**
 * Times of events on the host's monotonic clock. The driver reports only the time between two events, as a 32-bit float
 * of milliseconds: precise to half a microsecond up to 8 s, to 62 µs after a quarter of an hour. So the base advances:
 * after a second, an event whose time is known becomes the next base.
 */
export class EventClock {
  readonly #api: CudaApi;
  readonly #errors: CudaErrors;
  readonly #events: Events;
  readonly #out = new OutParameters();
  readonly #host = new HostClock();
  #base: number;
  /** The time of the base relative to the first one. */
  #baseNs = 0n;

  /** Records the first base on an idle stream and waits for it, some 10 µs. `events` have times. */
  constructor(api: CudaApi, errors: CudaErrors, events: Events, stream: number) {
    this.#api = api;
    this.#errors = errors;
    this.#events = events;
    // The first event of a stream initializes things for milliseconds.
    const warm = events.record(stream);
    errors.check('cuEventSynchronize', api.cuEventSynchronize(warm), 'the first event');
    events.release(warm);
    const sentNs = process.hrtime.bigint();
    this.#base = events.record(stream);
    errors.check('cuEventSynchronize', api.cuEventSynchronize(this.#base), 'the base of the clock');
    this.#host.times(0n, 0n, { sentNs, doneNs: process.hrtime.bigint() });
  }

  /**
   * Returns when the work between two completed events began and ended. `end` may become the base: then it must not be
   * released.
   */
  times(start: number, end: number, seen: HostInterval): { startedNs: bigint; endedNs: bigint } {
    const startedNs = this.#baseNs + this.elapsedNs(this.#base, start);
    const endedNs = startedNs + this.elapsedNs(start, end);
    if (endedNs - this.#baseNs > REBASE_NS) {
      this.#events.release(this.#base);
      this.#base = end;
      this.#baseNs = endedNs;
    }
    return this.#host.times(startedNs, endedNs, seen);
  }

  isBase(event: number): boolean {
    return event === this.#base;
  }

  /** Returns the nanoseconds from one event to another; negative if the second was first. */
  elapsedNs(from: number, to: number): bigint {
    if (from === to) return 0n;
    const code = this.#api.cuEventElapsedTime(this.#out.address, from, to);
    this.#errors.check('cuEventElapsedTime', code);
    return BigInt(Math.round(this.#out.float() * 1e6));
  }
}

const REBASE_NS = 1_000_000_000n;
