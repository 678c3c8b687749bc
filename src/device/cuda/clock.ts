import { type CudaApi, Out } from './api.js';
import type { CudaErrors } from './errors.js';
import type { Events } from './events.js';

/** When a mark's work was sent and when it was seen to be done, on the host's clock: the device did it in between. */
export interface Seen {
  readonly sentNs: bigint;
  readonly doneNs: bigint;
}

/**
 * Times of events on the host's monotonic clock. The driver tells only how far two events are apart, in a 32-bit float
 * of milliseconds: half a microsecond's truth up to 8 s, 62 µs after a quarter of an hour. So the base moves on: an event
 * whose time is known becomes the next base after a second.
 *
 * The two clocks drift (tens of microseconds a second at worst), so a time that lies before the work was sent or after
 * it was seen to be done moves the base by as much.
 */
export class Clock {
  readonly #api: CudaApi;
  readonly #errors: CudaErrors;
  readonly #events: Events;
  readonly #out = new Out();
  #base: number;
  #baseNs: bigint;

  /** Records the first base on an idle stream and waits for it, some 10 µs. `events` have times. */
  constructor(api: CudaApi, errors: CudaErrors, events: Events, stream: number) {
    this.#api = api;
    this.#errors = errors;
    this.#events = events;
    // The first of a stream brings things up that take milliseconds.
    const warm = events.record(stream);
    errors.check('cuEventSynchronize', api.cuEventSynchronize(warm), 'the first event');
    events.give(warm);
    const before = process.hrtime.bigint();
    this.#base = events.record(stream);
    errors.check('cuEventSynchronize', api.cuEventSynchronize(this.#base), 'the base of the clock');
    this.#baseNs = (before + process.hrtime.bigint()) / 2n;
  }

  /** When the work between two passed events began and ended. Takes `end` over where it becomes the base. */
  times(start: number, end: number, seen: Seen): { startedNs: bigint; endedNs: bigint; kept: boolean } {
    const far = this.between(this.#base, start);
    let startedNs = this.#baseNs + far;
    let endedNs = startedNs + this.between(start, end);
    const shift = drift(startedNs, endedNs, seen);
    startedNs += shift;
    endedNs += shift;
    this.#baseNs += shift;
    const kept = endedNs - this.#baseNs > REBASE_NS;
    if (kept) {
      this.#events.give(this.#base);
      this.#base = end;
      this.#baseNs = endedNs;
    }
    return { startedNs, endedNs, kept };
  }

  /** Nanoseconds from one event to another; less than 0 where the second was first. */
  between(from: number, to: number): bigint {
    if (from === to) return 0n;
    const code = this.#api.cuEventElapsedTime(this.#out.at, from, to);
    this.#errors.check('cuEventElapsedTime', code);
    return BigInt(Math.round(this.#out.float() * 1e6));
  }
}

const REBASE_NS = 1_000_000_000n;

/** By how much times have to move to lie where they must. */
export function drift(startedNs: bigint, endedNs: bigint, { sentNs, doneNs }: Seen): bigint {
  if (endedNs > doneNs) return doneNs - endedNs;
  if (startedNs < sentNs && endedNs + (sentNs - startedNs) <= doneNs) return sentNs - startedNs;
  return 0n;
}
