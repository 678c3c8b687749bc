import type { Block } from './reference.js';

/**
 * Bitcoin's first block: the known answer for tour and bench. All 2^32 nonces were tried once: exactly 2083236893,
 * the one on the chain, and 3197545707 are valid.
 */
export const genesis: Block = {
  version: 1,
  previousHash: '0'.repeat(64),
  time: 0x495fab29,
  bits: 0x1d00ffff,
  transactions: ['4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b'],
};

export const GENESIS_NONCES: readonly number[] = [2083236893, 3197545707];
export const GENESIS_NONCE = 2083236893;

/** A range of `count` nonces with the genesis block's in the middle. */
export function genesisWindow(count: number): { readonly base: number; readonly count: number } {
  const base = Math.min(Math.max(GENESIS_NONCE - Math.floor(count / 2), 0), 2 ** 32 - count);
  return { base, count };
}

/** An easy target for the genesis header, with the number of valid nonces among the first 2^16. */
export const EASY_SCAN = { target: 1n << 248n, count: 2 ** 16, hits: 231 };
