import { createHash } from 'node:crypto';

/** SHA-256 twice, by node:crypto: the hash of blocks, transactions and merkle nodes. */
export function doubleHash(bytes: Uint8Array): Buffer {
  const once = createHash('sha256').update(bytes).digest();
  return createHash('sha256').update(once).digest();
}
