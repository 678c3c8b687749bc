/**
 * SHA-256 (FIPS 180-4), by Node's own code where there is Node. Pages compute it here: what browsers offer is not synchronous.
 */
export function sha256(bytes: Uint8Array): Uint8Array {
  digest ??= fastestDigest();
  return digest(bytes);
}

let digest: ((bytes: Uint8Array) => Uint8Array) | undefined;

function fastestDigest(): (bytes: Uint8Array) => Uint8Array {
  const { process } = globalThis as { process?: Partial<NodeJS.Process> };
  const node = process?.getBuiltinModule?.('node:crypto');
  return node ? (bytes) => node.createHash('sha256').update(bytes).digest() : digestInPage;
}

export const sha256Hex = (bytes: Uint8Array): string => toHex(sha256(bytes));

export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += HEX_BYTES[byte] ?? '';
  return text;
}

const HEX_BYTES: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Reads an even number of hex digits, which the caller has checked. */
export const fromHex = (text: string): Uint8Array =>
  Uint8Array.from(text.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));

/** Reads base64 or base64url. Throws if the text is neither. */
export const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));

/** Exported for its test. */
export function digestInPage(bytes: Uint8Array): Uint8Array {
  constants ??= makeConstants();
  const state = Uint32Array.from(constants.initial);
  const whole = bytes.length - (bytes.length % BLOCK);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < whole; at += BLOCK) compress(state, constants.rounds, view, at);
  // The rest, a one bit, zeros, and the length in bits: one block, or two.
  const rest = bytes.length - whole;
  const last = new Uint8Array(rest + 9 > BLOCK ? 2 * BLOCK : BLOCK);
  last.set(bytes.subarray(whole));
  last[rest] = 0x80;
  const tail = new DataView(last.buffer);
  tail.setBigUint64(last.length - 8, BigInt(bytes.length) * 8n);
  for (let at = 0; at < last.length; at += BLOCK) compress(state, constants.rounds, tail, at);
  const made = new DataView(new ArrayBuffer(32));
  for (const [at, word] of state.entries()) made.setUint32(4 * at, word);
  return new Uint8Array(made.buffer);
}

function compress(state: Uint32Array, rounds: readonly number[], block: DataView, at: number): void {
  const words = new Uint32Array(64);
  for (let t = 0; t < 16; t++) words[t] = block.getUint32(at + 4 * t);
  for (let t = 16; t < 64; t++) {
    const [early, late] = [words[t - 15] ?? 0, words[t - 2] ?? 0];
    const s0 = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const s1 = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    words[t] = (words[t - 16] ?? 0) + s0 + (words[t - 7] ?? 0) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let t = 0; t < 64; t++) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const sum = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + (rounds[t] ?? 0) + (words[t] ?? 0);
    const next = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + sum) >>> 0, c, b, a, (sum + next) >>> 0];
  }
  for (const [n, word] of [a, b, c, d, e, f, g, h].entries()) state[n] = (state[n] ?? 0) + word;
}

const turn = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

const BLOCK = 64;

interface Constants {
  readonly initial: readonly number[];
  readonly rounds: readonly number[];
}

/** Made when they are first needed, which is never in Node. */
let constants: Constants | undefined;

/** The first 32 bits of the fractions of roots of the first primes: square roots for the state, cube roots for rounds. */
function makeConstants(): Constants {
  const primes = firstPrimes(64);
  return {
    initial: primes.slice(0, 8).map((prime) => fractionOfRoot(prime, 2n)),
    rounds: primes.map((prime) => fractionOfRoot(prime, 3n)),
  };
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes;
}

/** The largest r with r^degree <= prime * 2^(32 degree), by halving; its low 32 bits are the fraction. */
function fractionOfRoot(prime: number, degree: bigint): number {
  const power = BigInt(prime) << (32n * degree);
  let root = 0n;
  for (let bit = 1n << 37n; bit > 0n; bit >>= 1n) if ((root + bit) ** degree <= power) root += bit;
  return Number(BigInt.asUintN(32, root));
}
