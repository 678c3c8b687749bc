// # Mine a block header
//
// `mineHeader` finds the smallest nonce with which a header's double SHA-256 is below a target, or null. `targetFromBits`
// and `merkleRoot` follow Bitcoin's rules.

import assert from 'node:assert';
import { createHash } from 'node:crypto';
import { merkleRoot, mineHeader, targetFromBits } from 'millrace';

// Bitcoin's first block has one transaction, whose id is the root of the tree.
const transaction = '4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b';
const header = Buffer.alloc(80);
header.writeUInt32LE(1, 0); // version
header.set(merkleRoot([transaction]), 36);
header.writeUInt32LE(1231006505, 68); // time
header.writeUInt32LE(0x1d00ffff, 72); // bits
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

const easy = targetFromBits(0x1f00ffff); // one nonce in 65,536; the block's own target takes 2^32 tries
const found = await mineHeader(header, easy, { devices: 'wasm' });
assert(found);
assert.equal(sha256(sha256(found.header)).reverse().toString('hex'), found.hash);
assert(BigInt(`0x${found.hash}`) < easy);
