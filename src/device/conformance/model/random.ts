/** A small seeded generator (xorshift over 128 bits): the same seed gives the same tests on every machine. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = 0x9e3779b9;
    this.#c = Math.floor(seed / 2 ** 32) >>> 0;
    this.#d = 0x85ebca6b;
    for (let i = 0; i < 16; i++) this.u32(); // similar seeds begin alike: the first words are skipped
  }

  u32(): number {
    let t = this.#a ^ (this.#a << 11);
    t ^= t >>> 8;
    this.#a = this.#b;
    this.#b = this.#c;
    this.#c = this.#d;
    this.#d = (this.#d ^ (this.#d >>> 19) ^ t) >>> 0;
    return this.#d;
  }

  u64(): bigint {
    return (BigInt(this.u32()) << 32n) | BigInt(this.u32());
  }

  /** Returns a whole number from 0 to n − 1. */
  below(n: number): number {
    return Math.floor((this.u32() / 2 ** 32) * n);
  }

  chance(probability: number): boolean {
    return this.u32() / 2 ** 32 < probability;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('nothing to pick from');
    return list[this.below(list.length)] as T;
  }
}
