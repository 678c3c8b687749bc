/** The first `count` primes. */
export function firstPrimes(count: number): Uint32Array {
  const bound = count < 6 ? 13 : Math.ceil(count * (Math.log(count) + Math.log(Math.log(count)))) + 1;
  const isComposite = new Uint8Array((bound >> 1) + 1); // of 2i + 1
  for (let i = 1; (2 * i + 1) ** 2 <= bound; i++) {
    if (isComposite[i] === 1) continue;
    const p = 2 * i + 1;
    for (let at = (p * p) >> 1; at < isComposite.length; at += p) isComposite[at] = 1;
  }
  const primes = new Uint32Array(count);
  if (count > 0) primes[0] = 2;
  for (let i = 1, to = 1; to < count; i++) if (isComposite[i] === 0) primes[to++] = 2 * i + 1;
  return primes;
}
