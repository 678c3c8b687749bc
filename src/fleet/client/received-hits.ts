import type { FleetHit } from './fleet-search.js';

/** Tells hits apart from those that came before. A coordinator that was started later sends all hits again. */
export class ReceivedHits {
  readonly #received = new Map<string, number>();
  #passed = new Map<string, number>();

  /** The coordinator begins with its first hit. */
  restart(): void {
    this.#passed = new Map();
  }

  /** Several hits of one index may have equal values: they are counted. */
  isNew(hit: FleetHit): boolean {
    const text = hitText(hit);
    const nth = (this.#passed.get(text) ?? 0) + 1;
    this.#passed.set(text, nth);
    if (nth <= (this.#received.get(text) ?? 0)) return false;
    this.#received.set(text, nth);
    return true;
  }
}

/** Equal hits have equal texts. */
export const hitText = (hit: FleetHit): string =>
  JSON.stringify(hit, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
