// # Prove work with UniversalHash
//
// `createProver` keeps scratchpads on the devices. `uhash` is the hash itself, computed on the host, and `verifyProof`
// recomputes a proof.

import assert from 'node:assert';
import { createProver, openDevice, uhash, verifyProof } from 'millrace';

const header = Buffer.from('a challenge of any length');
const device = await openDevice('wasm');
const prover = createProver(device, { batch: 4 });
const { proof } = await prover.find({ start: 0n, count: 64n, challenge: { header, difficulty: 2 } });
await prover.close();
await device.close();

assert(proof);
const nonce = Buffer.alloc(8);
nonce.writeBigUInt64LE(proof.nonce);
assert.deepEqual(Buffer.from(uhash(Buffer.concat([header, nonce]))), Buffer.from(proof.hash));
assert(verifyProof(header, proof, 2).difficultyMet);
