// The SHA-256 digests of the numbers from 0 on, 32 bytes each, on standard output:
// `node examples/generate.mjs 1000000 > digests`.

import { once } from 'node:events';
import { generate, items, rw, sha256, u32 } from 'millrace';

const digests = items('digests', { buffers: { out: rw(u32) } }, ({ index, item, buffers }) => {
  const words = sha256.hash([index.lo]).map((word) => word.byteSwap());
  buffers.out.set4(item.mul(2), words.slice(0, 4));
  buffers.out.set4(item.mul(2).add(1), words.slice(4));
});

const [, , count = '1000', devices = 'auto'] = process.argv;

for await (const batch of generate(digests, { devices, space: BigInt(count), rowBytes: 32 })) {
  // The bytes are a view of memory that the device fills again after the release.
  if (!process.stdout.write(batch.bytes)) await once(process.stdout, 'drain');
  batch.release();
}
