// # Run a kernel once
//
// `run` copies arrays to a device, launches a kernel for `count` items, and returns the arrays that the kernel has written.
// A buffer is an array, or a number of elements that are zero.

import assert from 'node:assert';
import { atomic, f32, items, read, run, rw, u32 } from 'millrace';

// a·x + y
const saxpy = items('saxpy', { job: { a: f32 }, buffers: { x: read(f32), y: rw(f32) } }, ({ job, item, buffers }) => {
  buffers.y.set(item, job.a.mul(buffers.x.at(item)).add(buffers.y.at(item)));
});
const { y } = await run(saxpy, {
  devices: 'wasm',
  count: 4,
  job: { a: 2 },
  buffers: { x: Float32Array.of(1, 2, 3, 4), y: Float32Array.of(0.5, 0.5, 0.5, 0.5) },
});
assert.deepEqual([...y], [2.5, 4.5, 6.5, 8.5]);

// How often each digit occurs in an array
const histogram = items('histogram', { buffers: { digits: read(u32), counts: atomic() } }, ({ item, buffers }) => {
  buffers.counts.add(buffers.digits.at(item), 1);
});
const digits = Uint32Array.from('31415926535897932384626433832795', Number);
const { counts } = await run(histogram, { devices: 'wasm', count: digits.length, buffers: { digits, counts: 10 } });
assert.deepEqual([...counts], [0, 2, 4, 7, 3, 4, 3, 2, 3, 4]);
