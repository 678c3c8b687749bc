import { MillraceError } from '../../../kernel/error.js';
import { doubleHash } from '../../mining/double-hash.js';
import { isProbablePrime, nextPrime } from './reference-primes.js';

/**
 * Gapcoin's proof of work, in bigints and bit for bit: a header's hash H gives the numbers H·2^shift + adder; one of them
 * must be a prime that a long gap follows. Real numbers are fixed point with 48 fractional bits, in which 1 is 2^48.
 */
export function difficultyOf(work: ProofOfWork): bigint {
  const start = startOf(work);
  if (start === undefined || !isProbablePrime(start, PRIME_ROUNDS)) return 0n;
  return difficulty(start, nextPrime(start));
}

export interface ProofOfWork {
  readonly hash: bigint;
  readonly shift: number;
  readonly adder: bigint;
}

/** The first prime of a proof of work; undefined if hash, shift or adder break the rules. */
export function startOf({ hash, shift, adder }: ProofOfWork): bigint | undefined {
  const isSound = shift >= MIN_SHIFT && shift <= MAX_SHIFT && bitsOf(hash) === HASH_BITS;
  return isSound && adder >= 0n && bitsOf(adder) <= shift ? (hash << BigInt(shift)) + adder : undefined;
}

export const isValid = (work: ProofOfWork, target: bigint): boolean => difficultyOf(work) >= target;

export const MIN_SHIFT = 14;
export const MAX_SHIFT = 1024;
const HASH_BITS = 256;
/** Miller–Rabin rounds that nodes require for a start. */
export const PRIME_ROUNDS = 25;

export const ONE = 1n << 48n;
/** log2(e) with 112 and with 64 fractional bits, ln(150) with 48: the constants of the chain's rules. */
const LOG2_E_112 = 0x171547652b82fe1777d0ffda0d23an;
const LOG2_E_64 = 0x171547652b82fe177n;
const LN_150 = 0x502b8fea053a6n;

/**
 * The binary logarithm with `accuracy` fractional bits by repeated squaring. Each step truncates, and the truncation is
 * part of the chain's rules: a better logarithm would be wrong.
 */
export function log2(n: bigint, accuracy: number): bigint {
  const whole = bitsOf(n) - 1;
  const scale = BigInt(accuracy + whole);
  let result = BigInt(whole) << BigInt(accuracy);
  let x = n << BigInt(accuracy);
  for (let k = 0; ; ) {
    while (x >> scale < 2n && k <= accuracy) {
      x = (x * x) >> scale;
      k++;
    }
    if (k > accuracy) return result;
    result += 1n << BigInt(accuracy - k);
    x >>= 1n;
  }
}

/** gap / ln p. */
export const merit = (start: bigint, end: bigint): bigint => ((end - start) * LOG2_E_112) / log2(start, 64);

/** A pseudo-random number from 0 to 2^64 − 1, derived from both primes. */
export function rand(start: bigint, end: bigint): bigint {
  const digest = Buffer.from(doubleHash(Buffer.concat([littleEndian(start), littleEndian(end)])));
  return [0, 8, 16, 24].reduce((sum, at) => sum ^ digest.readBigUInt64LE(at), 0n);
}

/** The merit plus a pseudo-random part, less than the merit of 2. */
export function difficulty(start: bigint, end: bigint): bigint {
  return merit(start, end) + (rand(start, end) % ((2n * LOG2_E_112) / log2(start, 64)));
}

/** The length of a gap of a given merit. */
export const targetSize = (start: bigint, target: bigint): bigint => (log2(start, 64) * target) / LOG2_E_112;

/** The smallest gap that can have a given difficulty: lengths are even, and the pseudo-random part adds less than 2. */
export const minGapForTarget = (start: bigint, target: bigint): number => Number(targetSize(start, target) & ~1n);

/** The work that a block of a given difficulty stands for: the expected number of primes to try. */
export const targetWork = (target: bigint): bigint => BigInt(Math.floor(Math.exp(Number(target) / 2 ** 48)));

/** The difficulty of the block after one of difficulty `last`, which came `seconds` after its predecessor. */
export function nextDifficulty(last: bigint, seconds: number, isTestnet = false): bigint {
  const actual = log2(BigInt(Math.max(1, seconds)), 112) / LOG2_E_64;
  const shift = actual > LN_150 ? 6n : 8n; // the difficulty falls faster than it rises
  const next = last + (LN_150 >> shift) - (actual >> shift);
  const clamped = next > last + ONE ? last + ONE : next < last - ONE ? last - ONE : next;
  const minDifficulty = isTestnet ? ONE : 16n * ONE;
  return clamped < minDifficulty ? minDifficulty : clamped;
}

/** The hashed part of a block header, and the proof. Hashes are as explorers show them. */
export interface Header {
  readonly version: number;
  readonly previousHash: string;
  readonly merkleRoot: string;
  readonly time: number;
  /** The chain's target. */
  readonly difficulty: bigint;
  readonly nonce: number;
  readonly shift: number;
  readonly adder: bigint;
}

/** Parses a header of at least 80 bytes; missing fields are 0. After the first 84 bytes come the shift and the adder. */
export function parseHeader(hex: string): Header {
  const bytes = Buffer.from(hex, 'hex');
  const isHex = /^([0-9a-fA-F]{2})*$/.test(hex);
  if (!isHex || bytes.length < 80) {
    throw new MillraceError({
      code: 'input-format',
      message: `not a block header: expected at least 80 bytes of hex, got ${isHex ? bytes.length : 'other characters'}`,
      asked: `${hex.length} characters`,
      advice: 'give the whole header in hex',
    });
  }
  const whole = Buffer.concat([bytes, Buffer.alloc(Math.max(0, HEADER_BYTES + 2 - bytes.length))]);
  return {
    version: whole.readUInt32LE(0),
    previousHash: display(whole.subarray(4, 36)),
    merkleRoot: display(whole.subarray(36, 68)),
    time: whole.readUInt32LE(68),
    difficulty: whole.readBigUInt64LE(72),
    nonce: whole.readUInt32LE(80),
    shift: whole.readUInt16LE(84),
    adder: fromLittleEndian(bytes.subarray(HEADER_BYTES + 2)),
  };
}

/** The 84 bytes that are hashed. */
export function headerBytes(header: Omit<Header, 'shift' | 'adder'>): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt32LE(header.version, 0);
  bytes.set(Buffer.from(header.previousHash, 'hex').reverse(), 4);
  bytes.set(Buffer.from(header.merkleRoot, 'hex').reverse(), 36);
  bytes.writeUInt32LE(header.time, 68);
  bytes.writeBigUInt64LE(header.difficulty, 72);
  bytes.writeUInt32LE(header.nonce, 80);
  return bytes;
}

/** The format for submission: header, shift and adder, without a length between. */
export const submission = (header: Header): string =>
  Buffer.concat([headerBytes(header), shiftBytes(header.shift), littleEndian(header.adder)]).toString('hex');

/** The format that nodes send and store: the adder's length stands before it. */
export function networkHeader(header: Header): string {
  const adder = littleEndian(header.adder);
  const parts = [headerBytes(header), shiftBytes(header.shift), Buffer.from([adder.length]), adder];
  return Buffer.concat(parts).toString('hex');
}

/** The number that a header gives; only those of 256 bits are valid. */
export const hashOf = (header: Omit<Header, 'shift' | 'adder'>): bigint =>
  fromLittleEndian(doubleHash(headerBytes(header)));

/** The first nonce from `header.nonce` on whose hash has 256 bits: every second one has. */
export function withUsableNonce<H extends Omit<Header, 'shift' | 'adder'>>(header: H): H {
  for (let nonce = header.nonce; ; nonce++) {
    const tried = { ...header, nonce };
    if (bitsOf(hashOf(tried)) === HASH_BITS) return tried;
  }
}

const HEADER_BYTES = 84;

export const bitsOf = (n: bigint): number => (n === 0n ? 0 : n.toString(2).length);

/** Least significant byte first, without leading zeros, at least one byte. */
function littleEndian(n: bigint): Buffer {
  const hex = n.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').reverse();
}

const fromLittleEndian = (bytes: Uint8Array): bigint =>
  bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);

const display = (bytes: Uint8Array): string => Buffer.from(bytes).reverse().toString('hex');

function shiftBytes(shift: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(shift);
  return bytes;
}
