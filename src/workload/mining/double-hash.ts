import { sha256 } from '../../fleet/digest.js';

/** SHA-256 twice, by node:crypto where there is Node: the hash of blocks, transactions and merkle nodes. */
export const doubleHash = (bytes: Uint8Array): Uint8Array => sha256(sha256(bytes));
