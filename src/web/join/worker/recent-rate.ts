/** Indices per second over the last seconds. */
export class RecentRate {
  #samples: { readonly items: bigint; readonly atMs: number }[] = [];

  /** `items` counts from 0 whenever work begins anew. */
  add(items: bigint, atMs: number): number {
    if (items < (this.#samples.at(-1)?.items ?? 0n)) this.#samples = [];
    this.#samples.push({ items, atMs });
    this.#samples = this.#samples.filter((sample) => atMs - sample.atMs <= WINDOW_MS);
    const [first] = this.#samples;
    return first && atMs > first.atMs ? (Number(items - first.items) * 1000) / (atMs - first.atMs) : 0;
  }
}

const WINDOW_MS = 5_000;
