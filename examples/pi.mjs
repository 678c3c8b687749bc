// π by Monte Carlo: the share of random points of a square that are inside the circle. The numbers depend on the index and the
// seed alone, so every device gives the same answer: `node examples/pi.mjs 100000 cuda:0,cpu`.

import { atomic, cell, f32, items, loop, random, reduce, u32 } from 'millrace';

/** Each index draws this many blocks of four random words, which are two points each. */
const BLOCKS = 256;

/** @param {import('millrace').Expr<'u32'>} a @param {import('millrace').Expr<'u32'>} b */
function pointIsInside(a, b) {
  const [x, y] = [random.uniform(f32, a), random.uniform(f32, b)];
  return x.mul(x).add(y.mul(y)).lt(1);
}

const inside = items('inside', { job: { seed: u32 }, buffers: { hits: atomic() } }, ({ job, index, buffers }) => {
  const count = cell(u32, 0);
  loop(BLOCKS, (block) => {
    const [a, b, c, d] = random.philox4x32([index.lo, index.hi, block, 0], [job.seed, 0]);
    const points = pointIsInside(a, b).to(u32).add(pointIsInside(c, d).to(u32));
    count.set(count.get().add(points));
  });
  buffers.hits.add(0, count.get());
});

const [, , indices = '10000', devices = 'auto'] = process.argv;
const hits = await reduce(inside, {
  devices,
  space: BigInt(indices),
  job: { seed: 26 },
  initial: 0,
  combine: (sum, [count = 0]) => sum + count,
  max: 2 ** 32 / (4 * BLOCKS), // so that the hits of a chunk fit a u32
});
const points = Number(indices) * BLOCKS * 2;
console.log(`${hits} of ${points} points: π is about ${((4 * hits) / points).toFixed(5)}`);
