// # Let a workgroup share an index
//
// In a kernel made by `tiles` the threads of a workgroup work together on one index. `near` is memory that they share;
// `each` runs a region on all threads, `sum` adds over them, `once` runs on one. A region sees what the region before stored.

import assert from 'node:assert';
import { generate, rw, tiles, u32 } from 'millrace';

// Row t: the sum of the squares of 256 t to 256 t + 255.
const sums = tiles('sums', { buffers: { out: rw(u32) } }, ({ tile, index, near, each, sum, once, buffers }) => {
  const squares = near(u32, 256);
  each(256, (i) => {
    const n = index.lo.mul(256).add(i);
    squares.set(i, n.mul(n));
  });
  const total = sum(u32, 256, (i) => squares.at(i));
  once(() => buffers.out.set(tile, total));
});
const rows: number[] = [];
for await (const batch of generate(sums, { devices: 'wasm', space: 3, rowBytes: 4 })) {
  rows.push(...new Uint32Array(batch.bytes.slice().buffer));
  batch.release();
}
const squaresBelow = (n: number) => ((n - 1) * n * (2 * n - 1)) / 6;
assert.deepEqual(
  rows,
  [0, 1, 2].map((t) => squaresBelow(256 * (t + 1)) - squaresBelow(256 * t)),
);
