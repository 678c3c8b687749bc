/**
 * The miners' sieve, one index per integer: a bit is set if a prime of the table divides. The devices' results are
 * compared with it.
 */
export class ReferenceSieve {
  /** From 2 on. */
  readonly primes: Uint32Array;
  readonly size: number;
  /** For each prime, the offset of its first odd multiple in the next window; 0 for the prime 2, which has none. */
  readonly starts: Uint32Array;

  /** `start` is even. */
  constructor(start: bigint, primes: Uint32Array, size: number) {
    this.primes = primes;
    this.size = size;
    this.starts = startsOf(start, primes);
  }

  /** The offsets in the next window that no prime of the table divides, ascending. */
  survivors(): Uint32Array {
    const { primes, size, starts } = this;
    const isComposite = new Uint8Array(size);
    let left = 0;
    for (let k = 1; k < primes.length; k++) {
      const step = 2 * (primes[k] as number);
      let at = starts[k] as number;
      for (; at < size; at += step) isComposite[at] = 1;
      starts[k] = at - size;
    }
    for (let at = 1; at < size; at += 2) left += 1 - (isComposite[at] as number);
    const found = new Uint32Array(left);
    for (let at = 1, to = 0; at < size; at += 2) if (isComposite[at] === 0) found[to++] = at;
    return found;
  }
}

/** The offset of each prime's first odd multiple from `start` on. */
export function startsOf(start: bigint, primes: Uint32Array): Uint32Array {
  return primes.map((p, k) => {
    if (k === 0) return 0;
    const rest = Number(start % BigInt(p));
    const to = rest === 0 ? 0 : p - rest;
    return to % 2 === 0 ? to + p : to;
  });
}
