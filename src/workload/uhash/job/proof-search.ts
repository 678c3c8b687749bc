import { workerUrl } from '../../../device/pool/threads/threads.js';
import type { CheckModule } from '../../../engine/verify/verify.js';
import { hashNonce, meets, type Proof } from '../kernel/reference.js';
import type { Challenge } from './flow.js';

export const NONCES = 1n << 64n;
/**
 * The end of the nonces that devices try. For the last three the right digest is not certain (nonce + chain passes 2^64);
 * the host hashes them, as version 0.2.8 of the original does.
 */
export const DEVICE_NONCES = NONCES - 3n;

/** Finds the first proof among those nonces that only the host hashes. */
export function hostProof(
  { header, difficulty }: Challenge,
  start: bigint,
  end: bigint,
  signal?: AbortSignal,
): { readonly proof: Proof | undefined; readonly hashes: bigint } {
  let hashes = 0n;
  for (let nonce = start > DEVICE_NONCES ? start : DEVICE_NONCES; nonce < end; nonce++) {
    signal?.throwIfAborted();
    hashes++;
    const hash = hashNonce(header, nonce);
    if (meets(hash, difficulty)) return { proof: { nonce, hash }, hashes };
  }
  return { proof: undefined, hashes };
}

/** Checks proofs by the reference, which takes 60 ms, in a thread. */
export const proofCheck = ({ header, difficulty }: Challenge): CheckModule => ({
  module: workerUrl(import.meta.url, '../kernel/reference.js'),
  name: 'checkFound',
  data: { header, difficulty },
});

/** Capacity for four times the expected number of proofs in a batch, and at least 64, for lucky batches. */
export const proofRing = (difficulty: number, batch = 4096): number =>
  Math.max(64, Math.ceil(4 * Math.max(batch, 4096) * 2 ** -difficulty));
