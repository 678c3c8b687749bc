// # Make rows, or rows from rows
//
// `generate` computes a row of bytes for each index. `transform` computes rows from rows of an iterable, in the same order.
// `read` and `rw` declare a kernel's buffers. `batch.as(u32)` is a view of a batch's bytes, which are reused after `release`.

import assert from 'node:assert';
import { generate, items, read, rw, transform, u32 } from 'millrace';

const squares = items('squares', { buffers: { out: rw(u32) } }, ({ item, index, buffers }) => {
  buffers.out.set(item, index.lo.mul(index.lo));
});
const rows: number[] = [];
for await (const batch of generate(squares, { devices: 'wasm', space: 1000, rowBytes: 4 })) {
  rows.push(...batch.as(u32));
  batch.release();
}
assert.deepEqual(rows.slice(0, 4), [0, 1, 4, 9]);

const doubled = items('doubled', { buffers: { x: read(u32), y: rw(u32) } }, ({ item, buffers }) => {
  buffers.y.set(item, buffers.x.at(item).mul(2));
});
const sums: number[] = [];
for await (const batch of transform(doubled, [Uint32Array.of(1, 2), Uint32Array.of(3)], {
  devices: 'wasm',
  inputBytes: 4,
  rowBytes: 4,
})) {
  sums.push(...batch.as(u32));
  batch.release();
}
assert.deepEqual(sums, [2, 4, 6]);
