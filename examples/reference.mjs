// Checks hits of examples/search.mjs with Node's own SHA-256.

import { createHash } from 'node:crypto';

/**
 * @param {{ index: bigint, digest: readonly number[] }} hit
 * @param {{ name: string, bits: number }} job
 */
export function isVanity({ index, digest }, { name, bits }) {
  const message = Buffer.alloc(name.length + 4);
  message.write(name);
  message.writeUInt32BE(Number(index), name.length);
  const right = createHash('sha256').update(message).digest();
  return digest.every((word, at) => word === right.readUInt32BE(4 * at)) && right.readUInt32BE(0) >>> (32 - bits) === 0;
}
