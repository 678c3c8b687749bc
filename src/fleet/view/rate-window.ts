/** The rate of a count over the last 10 s. It is asked once a second or so; a count that is not read costs nothing. */
export class RateWindow {
  #samples: { readonly at: number; readonly count: number }[] = [];

  /** Per second. 0 until there are two readings. */
  rate(count: number, now: number): number {
    const last = this.#samples.at(-1);
    if (last === undefined || now - last.at >= STEP_MS) this.#samples.push({ at: now, count });
    while (this.#samples.length > 1 && (this.#samples[1]?.at ?? now) <= now - WINDOW_MS) this.#samples.shift();
    const [first] = this.#samples;
    return first === undefined || now <= first.at ? 0 : ((count - first.count) * 1000) / (now - first.at);
  }
}

const WINDOW_MS = 10_000;
const STEP_MS = 500;
