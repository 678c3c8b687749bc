// The SHA-256 digests of the numbers from 0 on, 32 bytes each

import { type Expr, items, rw, sha256, u32 } from 'millrace';

const digests = items('digests', { buffers: { out: rw(u32) } }, ({ index, item, buffers }) => {
  const words: Expr<'u32'>[] = sha256.hash([index.lo]).map((word) => word.byteSwap());
  buffers.out.set4(item.mul(2), words.slice(0, 4));
  buffers.out.set4(item.mul(2).add(1), words.slice(4));
});

const count = 100;
export default { kernel: digests, space: count, buffers: { out: 8 * count } };
