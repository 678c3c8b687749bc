/**
 * Returns the first `bits` fractional bits of the square or cube roots of the first `count` primes: the constants of SHA-2.
 */
export function primeRootFractions(power: 2 | 3, count: number, bits: number): bigint[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((p) => n % p !== 0)) primes.push(n);
  return primes.map((p) => BigInt.asUintN(bits, integerRoot(BigInt(p) << BigInt(power * bits), power)));
}

/** Returns the integer part of a square or cube root, by Newton's method from above. */
export function integerRoot(value: bigint, power: 2 | 3): bigint {
  if (value === 0n) return 0n;
  const n = BigInt(power);
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / power));
  for (;;) {
    const next = ((n - 1n) * root + value / root ** (n - 1n)) / n;
    if (next >= root) return root;
    root = next;
  }
}
