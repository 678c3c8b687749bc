import type { ApiCall } from '../../device.js';
import { median } from '../../median.js';

/** Times calls of a runtime's functions. If off, returns the functions unchanged. */
export class CallTimer {
  readonly #tallies: CallStats[] | undefined;
  readonly #now: () => number;

  /** `now` returns nanoseconds. */
  constructor(isEnabled: boolean, now: () => number = () => performance.now() * 1e6) {
    this.#tallies = isEnabled ? [] : undefined;
    this.#now = now;
  }

  get on(): boolean {
    return this.#tallies !== undefined;
  }

  /** Returns the same functions, each timed under its name. */
  wrap<T extends object>(functions: T): T {
    if (!this.#tallies) return functions;
    const timed = Object.entries(functions).map(([name, value]) => [
      name,
      typeof value === 'function' ? this.#timed(name, value as Callable) : value,
    ]);
    return Object.fromEntries(timed) as T;
  }

  /** Returns the timings, longest total first, without functions that were never called. */
  table(): ApiCall[] {
    return (this.#tallies ?? [])
      .filter(({ calls }) => calls > 0)
      .map((tally) => tally.row())
      .sort((a, b) => b.totalNs - a.totalNs);
  }

  #timed(name: string, callable: Callable): Callable {
    const tally = new CallStats(name);
    this.#tallies?.push(tally);
    const now = this.#now;
    return function (this: unknown, ...args) {
      const began = now();
      try {
        return callable.apply(this, args);
      } finally {
        tally.add(now() - began);
      }
    };
  }
}

type Callable = (...args: unknown[]) => unknown;

/** How many times are kept exactly (128 KiB); further ones are only counted in the histogram. */
const MAX_EXACT_TIMES = 2 ** 14;
/** Eight steps per doubling: the median is accurate to 9 %, from 1 ns to an hour in 336 counts. */
const STEPS = 8;
const COUNTS = 42 * STEPS;

/** The timings of one function. */
class CallStats {
  readonly name: string;
  calls = 0;
  #total = 0;
  /**
   * Welford's algorithm: the mean so far and the sum of squares around it, which stays precise if times are long and
   * alike.
   */
  #mean = 0;
  #squares = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = 0;
  #times = new Float64Array(64);
  readonly #counts = new Uint32Array(COUNTS);

  constructor(name: string) {
    this.name = name;
  }

  add(ns: number): void {
    const time = Math.max(ns, 1);
    if (this.calls < MAX_EXACT_TIMES) this.#keep(time);
    this.calls++;
    this.#total += time;
    const off = time - this.#mean;
    this.#mean += off / this.calls;
    this.#squares += off * (time - this.#mean);
    this.#min = Math.min(this.#min, time);
    this.#max = Math.max(this.#max, time);
    const step = Math.min(COUNTS - 1, Math.floor(Math.log2(time) * STEPS));
    this.#counts[step] = (this.#counts[step] ?? 0) + 1;
  }

  row(): ApiCall {
    return {
      name: this.name,
      calls: this.calls,
      totalNs: this.#total,
      medianNs: this.#median(),
      minNs: this.#min,
      maxNs: this.#max,
      // Sample deviation, as nsys reports it: 0 for one call.
      deviationNs: this.calls < 2 ? 0 : Math.sqrt(this.#squares / (this.calls - 1)),
    };
  }

  #keep(time: number): void {
    if (this.calls === this.#times.length) {
      const larger = new Float64Array(2 * this.#times.length);
      larger.set(this.#times);
      this.#times = larger;
    }
    this.#times[this.calls] = time;
  }

  #median(): number {
    if (this.calls <= MAX_EXACT_TIMES) return median(this.#times.subarray(0, this.calls));
    let before = 0;
    for (let step = 0; step < COUNTS; step++) {
      before += this.#counts[step] ?? 0;
      // The middle of the step, but never outside the observed range.
      if (before * 2 >= this.calls) return Math.min(this.#max, Math.max(this.#min, 2 ** ((step + 0.5) / STEPS)));
    }
    return this.#max;
  }
}
