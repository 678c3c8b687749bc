import { createHash } from 'node:crypto';
import { numberOf, sha256d } from './transactions.js';

/** Gapcoin's proof of work by its rules. Shares no code with src. */

const SMALL = Array.from({ length: 2000 }, (_, n) => n).filter((n) => {
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return n > 1;
});

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus;
    if (bit === '1') result = (result * base) % modulus;
  }
  return result;
}

/** The Miller–Rabin test to the first five primes, and to two bases derived from the number itself. */
export function isPrime(n: bigint): boolean {
  for (const p of SMALL) if (n % BigInt(p) === 0n) return n === BigInt(p);
  let [odd, twos] = [n - 1n, 0];
  while (odd % 2n === 0n) {
    odd /= 2n;
    twos++;
  }
  const drawn = createHash('sha256').update(n.toString()).digest();
  const own = [0, 8].map((at) => drawn.readBigUInt64LE(at) + 41n);
  return [...SMALL.slice(0, 5).map(BigInt), ...own].every((base) => {
    let x = power(base, odd, n);
    if (x === 1n || x === n - 1n) return true;
    for (let i = 1; i < twos; i++) {
      x = (x * x) % n;
      if (x === n - 1n) return true;
    }
    return false;
  });
}

/** Sieves with small primes, then tests the numbers that are left. */
function primeAfter(n: bigint): bigint {
  for (let from = n + 1n; ; from += BigInt(STRETCH)) {
    const isStruck = new Uint8Array(STRETCH);
    for (const p of SMALL) {
      for (let at = (p - Number(from % BigInt(p))) % p; at < STRETCH; at += p) isStruck[at] = 1;
    }
    for (const [at, struck] of isStruck.entries())
      if (struck === 0 && isPrime(from + BigInt(at))) return from + BigInt(at);
  }
}
const STRETCH = 4096;

/** The binary logarithm, one bit per truncated squaring. */
export function log2(n: bigint, bits: number): bigint {
  const whole = n.toString(2).length - 1;
  const scale = BigInt(bits + whole);
  let [x, result] = [n << BigInt(bits), BigInt(whole)];
  for (let bit = 0; bit < bits; bit++) {
    x = (x * x) >> scale;
    const isTwo = x >> scale >= 2n;
    if (isTwo) x >>= 1n;
    result = 2n * result + (isTwo ? 1n : 0n);
  }
  return result;
}

const E112 = 0x171547652b82fe1777d0ffda0d23an;
const E64 = 0x171547652b82fe177n;
const LN150 = 0x502b8fea053a6n;

const bytesOf = (n: bigint): Buffer => {
  const hex = n.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').reverse();
};

/** The difficulty of an 84-byte header with shift and adder, or the reason why it is invalid. */
export function judgeProof(header: Buffer, shift: number, adder: Buffer): bigint | string {
  const hash = numberOf(sha256d(header));
  if (shift < 14 || shift > 1024) return 'bad-shift';
  if (hash >> 255n !== 1n) return 'hash-too-small';
  if (adder.length === 0 || (adder.length > 1 && adder.at(-1) === 0)) return 'adder-not-minimal';
  const added = BigInt(`0x${Buffer.from(adder).reverse().toString('hex')}`);
  if (added >> BigInt(shift) !== 0n) return 'adder-too-large';
  const start = (hash << BigInt(shift)) | added;
  if (!isPrime(start)) return 'not-prime';
  const end = primeAfter(start);
  const digest = sha256d(Buffer.concat([bytesOf(start), bytesOf(end)]));
  const rand = [0, 8, 16, 24].map((at) => digest.readBigUInt64LE(at)).reduce((a, b) => a ^ b);
  const log = log2(start, 64);
  return ((end - start) * E112) / log + (rand % ((2n * E112) / log));
}

/** The difficulty of the next block; `seconds` is the time between the last two. */
export function retarget(last: bigint, seconds: number, min: bigint): bigint {
  const actual = log2(BigInt(Math.max(1, seconds)), 112) / E64;
  const by = actual > LN150 ? 6n : 8n;
  const next = last + (LN150 >> by) - (actual >> by);
  return next < min ? min : next;
}
