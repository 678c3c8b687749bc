// # Search a space
//
// A kernel made by `items` runs once for each index. `search` tries every index and yields the hits in
// ascending order. `verify` checks each hit on the host before it is yielded.

import assert from 'node:assert';
import { createHash } from 'node:crypto';
import { items, search, sha256, u32, when } from 'millrace';

const kernel = items('zeros', { job: { bits: u32 }, hit: { digest: [u32, 8] } }, ({ job, index, emit }) => {
  const digest = sha256.hash([index.lo]);
  when(digest[0].shr(job.bits.neg().add(32)).eq(0), () => emit({ digest }));
});

const hashOf = (index: bigint | number) =>
  createHash('sha256').update(Buffer.from([0, 0, Number(index) >> 8, Number(index) & 255]));
const found: number[] = [];
for await (const { index } of search(kernel, {
  devices: 'wasm',
  space: 20_000,
  job: { bits: 12 },
  verify: ({ index, digest }) => hashOf(index).digest().readUInt32BE() === digest[0],
})) {
  found.push(Number(index));
}
const expected = Array.from({ length: 20_000 }, (_, k) => k).filter((k) => hashOf(k).digest().readUInt32BE() < 2 ** 20);
assert.deepEqual(found, expected);
