// π by Monte Carlo: the share of random points of a square that are inside the circle. The numbers depend on the index and the
// seed alone, so every device gives the same answer: `node examples/pi.mjs 100000 cuda:0,cpu`.

import { cell, f32, generate, items, loop, random, rw, u32 } from 'millrace';

/** Each index draws this many blocks of four random words, which are two points each. */
const BLOCKS = 256;

/** @param {import('millrace').Expr<'u32'>} a @param {import('millrace').Expr<'u32'>} b */
function pointIsInside(a, b) {
  const [x, y] = [random.uniform(f32, a), random.uniform(f32, b)];
  return x.mul(x).add(y.mul(y)).lt(1);
}

const inside = items('inside', { job: { seed: u32 }, buffers: { out: rw(u32) } }, ({ job, index, item, buffers }) => {
  const count = cell(u32, 0);
  loop(BLOCKS, (block) => {
    const [a, b, c, d] = random.philox4x32([index.lo, index.hi, block, 0], [job.seed, 0]);
    const points = pointIsInside(a, b).to(u32).add(pointIsInside(c, d).to(u32));
    count.set(count.get().add(points));
  });
  buffers.out.set(item, count.get());
});

const [, , rows = '10000', devices = 'auto'] = process.argv;
let hits = 0;
for await (const batch of generate(inside, { devices, space: BigInt(rows), rowBytes: 4, job: { seed: 26 } })) {
  const counts = new Uint32Array(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.length / 4);
  for (const count of counts) hits += count;
  batch.release();
}
const points = Number(rows) * BLOCKS * 2;
console.log(`${hits} of ${points} points: π is about ${((4 * hits) / points).toFixed(5)}`);
