import { fromHex, toHex } from '../../../fleet/digest.js';
import { MillraceError } from '../../../kernel/error.js';
import { doubleHash } from '../../mining/double-hash.js';

/**
 * Checks a nonce without the kernel language: SHA-256 comes from node:crypto, or in a page from code for that alone; numbers
 * are bigints. Nothing here is shared with the kernel, so an error would have to be made twice to go unseen.
 */
export function checkNonce(prefix: Uint8Array, target: bigint, nonce: number): NonceCheck {
  const digest = hashHeader(prefix, nonce);
  return { valid: numberOf(digest) < target, hash: displayOf(digest) };
}

export interface NonceCheck {
  /** Strictly below the target: the rule of the course's files (consensus itself also accepts equality). */
  readonly valid: boolean;
  /** The header's hash in display order, leading zeros first. */
  readonly hash: string;
}

/** A block as a file describes it. Hashes are lower-case hex in display order. */
export interface Block {
  readonly version: number;
  readonly previousHash: string;
  readonly time: number;
  /** The compact target. */
  readonly bits: number;
  readonly transactions: readonly string[];
}

/** The first 76 bytes of the header: all but the nonce. */
export function headerPrefix(block: Block): Uint8Array {
  const bytes = new Uint8Array(76);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, block.version, true);
  bytes.set(fromDisplay(block.previousHash), 4);
  bytes.set(merkleRoot(block.transactions), 36);
  view.setUint32(68, block.time, true);
  view.setUint32(72, block.bits, true);
  return bytes;
}

/** The whole header, 80 bytes. */
export function header(prefix: Uint8Array, nonce: number): Uint8Array {
  const bytes = new Uint8Array(80);
  bytes.set(prefix, 0);
  new DataView(bytes.buffer).setUint32(76, nonce, true);
  return bytes;
}

export const hashHeader = (prefix: Uint8Array, nonce: number): Uint8Array => doubleHash(header(prefix, nonce));

/**
 * The merkle root of transaction ids. The ids are given as block explorers show them; the root is in header byte
 * order. On every level an odd node is paired with itself; a single transaction is its own root.
 */
export function merkleRoot(transactions: readonly string[]): Uint8Array {
  const bad = transactions.findIndex((id) => !/^[0-9a-fA-F]{64}$/.test(id));
  if (bad >= 0) throw invalid(`transaction ${bad + 1} is not 64 hex digits`, 'a merkle root', 'give transaction ids');
  let level = transactions.map(fromDisplay);
  while (level.length > 1) {
    const above: Uint8Array[] = [];
    for (const [at, left] of level.entries()) {
      if (at % 2 === 0) above.push(doubleHash(Uint8Array.of(...left, ...(level[at + 1] ?? left))));
    }
    level = above;
  }
  const [root] = level;
  if (root === undefined)
    throw invalid('no merkle root: the list of transactions is empty', 'a merkle root', 'give at least one id');
  return root;
}

/**
 * The target of a compact `bits` value, by Bitcoin's rule: the top byte is a length in bytes, the rest a signed
 * mantissa. Throws if the target is negative, zero or has more than 256 bits.
 */
export function targetFromBits(bits: number): bigint {
  if (!Number.isInteger(bits) || bits < 0 || bits > 0xffffffff)
    throw invalid(`not a compact target: expected a whole number of 32 bits, got ${bits}`, 'a target');
  const asked = `the target of nbits ${hex32(bits)}`;
  const exponent = bits >>> 24;
  const mantissa = BigInt(bits & 0x007fffff);
  const target = exponent <= 3 ? mantissa >> BigInt(8 * (3 - exponent)) : mantissa << BigInt(8 * (exponent - 3));
  if (target === 0n) throw invalid(`nbits ${hex32(bits)} is a target of zero, which no hash is below`, asked);
  if ((bits & 0x00800000) !== 0) throw invalid(`nbits ${hex32(bits)} is a negative target`, asked);
  if (target >> 256n !== 0n) throw invalid(`nbits ${hex32(bits)} is a target of more than 256 bits`, asked);
  return target;
}

/** A digest as a number: its bytes are little-endian. */
export const numberOf = (digest: Uint8Array): bigint => BigInt(`0x${displayOf(digest)}`);

/** Bytes as hex in display order, which is the reverse of header order. */
export const displayOf = (bytes: Uint8Array): string => toHex(Uint8Array.from(bytes).reverse());

/** A target as 64 hex digits, most significant first. */
export const targetText = (target: bigint): string => target.toString(16).padStart(64, '0');

const fromDisplay = (hex: string): Uint8Array => fromHex(hex).reverse();

/** Eight hex digits. */
export const hex32 = (value: number): string => value.toString(16).padStart(8, '0');

function invalid(message: string, asked: string, advice = BITS): MillraceError {
  return new MillraceError({ code: 'input-format', message, asked, advice });
}
const BITS = 'take the value from the block it describes, for example 1d00ffff for difficulty 1';
