// # Reduce a space to one value
//
// `reduce` runs a kernel over a space and combines its results. A kernel that writes a buffer gives one part per chunk: an
// array that is zero at the start of the chunk. A kernel that emits hits gives its hits. `combine` gets the parts in
// ascending order of index.

import assert from 'node:assert';
import { atomic, f64, items, reduce, tiles, u32, when } from 'millrace';

// How many pairs (x, y) with 0 ≤ x, y < 1000 are in a quarter of a circle: about 1000² π / 4.
const inside = items('inside', { buffers: { count: atomic() } }, ({ index, buffers }) => {
  const [x, y] = [index.lo.rem(1000), index.lo.div(1000)];
  when(x.mul(x).add(y.mul(y)).lt(1_000_000), () => void buffers.count.add(0, 1));
});
const count = await reduce(inside, { devices: 'wasm', space: 1e6, initial: 0, combine: (sum, [n = 0]) => sum + n });
let expected = 0;
for (let x = 0; x < 1000; x++) for (let y = 0; y < 1000; y++) if (x * x + y * y < 1_000_000) expected++;
assert.equal(count, expected);
assert.equal(((4 * count) / 1e6).toFixed(2), '3.15');

// The smallest of 100,000 values. Without `initial` the first hit is the first total.
const best = items('best', { hit: { value: u32 } }, ({ index, emit }) => {
  const value = index.lo.add(1).mul(0x9e3779b9);
  when(value.lt(0x0010_0000), () => emit({ value }));
});
const least = await reduce(best, { devices: 'wasm', space: 1e5, combine: (a, b) => (a.value < b.value ? a : b) });
const values = Array.from({ length: 1e5 }, (_, k) => Math.imul(k + 1, 0x9e3779b9) >>> 0);
assert.equal(least?.value, Math.min(...values.slice(0, 5e4), ...values.slice(5e4)));

// Leibniz's series for π: one hit per tile of 4096 terms. Floats are added in a fixed order, so the bits are the same on
// all devices.
const leibniz = tiles('leibniz', { hit: { part: f64 } }, ({ index, sum, once, emit }) => {
  const part = sum(f64, 4096, (i) => {
    const k = index.lo.mul(4096).add(i);
    const sign = k.and(1).mul(2).to(f64).neg().add(1);
    return sign.div(k.mul(2).add(1).to(f64));
  });
  once(() => emit({ part }));
});
const pi = await reduce(leibniz, { devices: 'wasm', space: 256, initial: 0, combine: (sum, { part }) => sum + part });
assert.equal((4 * pi).toFixed(5), '3.14159');
