// π by Monte Carlo: the share of random points of a square that are inside the circle

import { atomic, cell, type Expr, f32, items, loop, random, u32 } from 'millrace';

/** Each index draws this many blocks of four random words, which are two points each. */
const BLOCKS = 16;

function pointIsInside(a: Expr<'u32'>, b: Expr<'u32'>): Expr<'bool'> {
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

// Of 100 · 16 · 2 points, π/4 are inside.
export default { kernel: inside, job: { seed: 26 }, space: 100, buffers: { hits: 1 } };
