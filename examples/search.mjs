// Numbers whose SHA-256, together with a name, begins with 20 zero bits: the first ones below 2^32, in ascending order.
// Runs on the best device; `node examples/search.mjs cuda:0,cpu` runs on these two.

import { items, search, sha256, u32, when } from 'millrace';

const vanity = items('vanity', { job: { name: [u32, 2] }, hit: { digest: [u32, 8] } }, ({ job, index, emit }) => {
  const digest = sha256.hash([...job.name, index.lo]);
  when(digest[0].shr(12).eq(0), () => emit({ digest }));
});

const name = Buffer.from('millrace');
const [, , devices = 'auto'] = process.argv;
let left = 5;

for await (const { index, digest } of search(vanity, {
  devices,
  space: 2n ** 32n,
  job: { name: [name.readUInt32BE(0), name.readUInt32BE(4)] },
  // Every hit is recomputed in another thread, by code that shares nothing with the kernel.
  verify: {
    module: new URL('./reference.mjs', import.meta.url),
    name: 'isVanity',
    data: { name: 'millrace', bits: 20 },
  },
})) {
  console.log(`${index} ${digest.map((word) => word.toString(16).padStart(8, '0')).join('')}`);
  left -= 1;
  if (left === 0) break; // ends the search and cancels work in flight
}
