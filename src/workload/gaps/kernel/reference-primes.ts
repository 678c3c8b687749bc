import { firstPrimes } from './prime-table.js';

/**
 * Primality in bigints, for the final check of what a device found. Nothing here is shared with the kernels.
 *
 * No composite is known that passes `isProbablePrime`, and none exists below 2^64.
 */
export function isProbablePrime(n: bigint, rounds = 0): boolean {
  if (n < 2n) return false;
  for (const p of SMALL_PRIMES) {
    if (n === p) return true;
    if (n % p === 0n) return false;
  }
  if (n < LARGEST_SMALL_PRIME * LARGEST_SMALL_PRIME) return true;
  if (!isStrongProbablePrime(n, 2n) || !isStrongLucasProbablePrime(n)) return false;
  return SMALL_PRIMES.slice(1, rounds + 1).every((base) => isStrongProbablePrime(n, base));
}

/** 2^(n−1) mod n = 1: the test that devices run on an odd n. */
export const passesFermat = (n: bigint): boolean => n > 2n && power(2n, n - 1n, n) === 1n;

/** The first probable prime above n. */
export function nextPrime(n: bigint): bigint {
  if (n < 2n) return 2n;
  const first = (n + 1n) | 1n;
  if (bitsOf(n) < 64) for (let m = first; ; m += 2n) if (isProbablePrime(m)) return m;
  for (let from = first; ; from += BigInt(2 * SPAN)) {
    for (const at of candidates(from)) {
      const m = from + BigInt(2 * at);
      if (isProbablePrime(m)) return m;
    }
  }
}

/** Indices of the odd numbers from `from` on, among `SPAN`, that no prime below 20,000 divides. */
function* candidates(from: bigint): Generator<number> {
  const isComposite = new Uint8Array(SPAN);
  for (const p of firstPrimes(SIEVE_PRIMES).subarray(1)) {
    const rest = (p - Number(from % BigInt(p))) % p; // from + rest is a multiple, from + rest + p the next
    for (let at = rest % 2 === 0 ? rest / 2 : (rest + p) / 2; at < SPAN; at += p) isComposite[at] = 1;
  }
  for (const [at, composite] of isComposite.entries()) if (composite === 0) yield at;
}
const SPAN = 2048;
const SIEVE_PRIMES = 2262;

/** The last probable prime below n; undefined if there is none. */
export function previousPrime(n: bigint): bigint | undefined {
  if (n <= 2n) return undefined;
  if (n === 3n) return 2n;
  for (let m = (n - 2n) | 1n; m > 1n; m -= 2n) if (isProbablePrime(m)) return m;
  return undefined;
}

export function power(base: bigint, exponent: bigint, n: bigint): bigint {
  const bits = exponent.toString(2);
  const factor = base % n;
  let x = 1n % n;
  for (const bit of bits) {
    x = (x * x) % n;
    // A product with 2 is cheaper than one with a long number; half of the products of a test to base 2 are by 2.
    if (bit === '1') x = (x * factor) % n;
  }
  return x;
}

/** The Miller–Rabin test to one base, for odd n above 2. */
export function isStrongProbablePrime(n: bigint, base: bigint): boolean {
  const { odd, twos } = withoutTwos(n - 1n);
  let x = power(base, odd, n);
  if (x === 1n || x === n - 1n) return true;
  for (let k = 1; k < twos; k++) {
    x = (x * x) % n;
    if (x === n - 1n) return true;
  }
  return false;
}

/** The strong Lucas test with Selfridge's parameters: the first D of 5, −7, 9, … with (D/n) = −1, P = 1, Q = (1 − D)/4. */
export function isStrongLucasProbablePrime(n: bigint): boolean {
  if (isSquare(n)) return false; // no D exists
  let d = 5n;
  for (let symbol = jacobi(d, n); symbol !== -1; symbol = jacobi(d, n)) {
    if (symbol === 0 && (d < 0n ? -d : d) % n !== 0n) return false;
    d = d > 0n ? -(d + 2n) : -(d - 2n);
  }
  const q = (1n - d) / 4n;
  const { odd, twos } = withoutTwos(n + 1n);
  let [u, v, power] = lucas(d, q, odd, n);
  if (u === 0n || v === 0n) return true;
  for (let k = 1; k < twos; k++) {
    v = mod(v * v - 2n * power, n);
    if (v === 0n) return true;
    power = mod(power * power, n);
  }
  return false;
}

/** U, V and Q^k of index k modulo n, with P = 1. */
function lucas(d: bigint, q: bigint, k: bigint, n: bigint): [bigint, bigint, bigint] {
  const half = (x: bigint): bigint => mod((x & 1n) === 0n ? x / 2n : (x + n) / 2n, n);
  let [u, v, power] = [1n, 1n, mod(q, n)];
  for (const bit of k.toString(2).slice(1)) {
    u = mod(u * v, n);
    v = mod(v * v - 2n * power, n);
    power = mod(power * power, n);
    if (bit === '0') continue;
    [u, v] = [half(mod(u + v, n)), half(mod(d * u + v, n))];
    power = mod(power * q, n);
  }
  return [u, v, power];
}

/** The Jacobi symbol for odd n. */
function jacobi(of: bigint, n: bigint): -1 | 0 | 1 {
  let a = mod(of, n);
  let m = n;
  let sign: -1 | 1 = 1;
  const flipSign = (): void => {
    sign = sign === 1 ? -1 : 1;
  };
  while (a !== 0n) {
    while ((a & 1n) === 0n) {
      a >>= 1n;
      const rest = m & 7n;
      if (rest === 3n || rest === 5n) flipSign();
    }
    [a, m] = [m, a];
    if ((a & 3n) === 3n && (m & 3n) === 3n) flipSign();
    a %= m;
  }
  return m === 1n ? sign : 0;
}

function isSquare(n: bigint): boolean {
  let root = 1n << BigInt(Math.ceil(n.toString(2).length / 2));
  for (let next = (root + n / root) >> 1n; next < root; next = (root + n / root) >> 1n) root = next;
  return root * root === n;
}

function withoutTwos(n: bigint): { odd: bigint; twos: number } {
  let [odd, twos] = [n, 0];
  for (; (odd & 1n) === 0n; odd >>= 1n) twos++;
  return { odd, twos };
}

const bitsOf = (n: bigint): number => n.toString(2).length;

const mod = (x: bigint, n: bigint): bigint => {
  const rest = x % n;
  return rest < 0n ? rest + n : rest;
};

/** Primes below 1,000: they reveal five of six odd composites for a hundredth of the cost of a power. */
const SMALL_PRIMES: readonly bigint[] = Array.from({ length: 998 }, (_, i) => i + 2)
  .filter((n) => Array.from({ length: 30 }, (_, i) => i + 2).every((d) => d * d > n || n % d !== 0))
  .map(BigInt);
const LARGEST_SMALL_PRIME = SMALL_PRIMES.at(-1) ?? 2n;
