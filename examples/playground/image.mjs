// The Mandelbrot set: rounds until a point of a small picture leaves the circle. One item per pixel.

import { cell, f32, items, rw, u32, whileTrue } from 'millrace';

export const ROUNDS = 255;

const mandelbrot = items(
  'mandelbrot',
  { job: { width: u32, scale: f32, left: f32, top: f32 }, buffers: { rounds: rw(u32) } },
  ({ job, item, index2d, buffers }) => {
    const { x, y } = index2d(job.width);
    const [cx, cy] = [x.to(f32).mul(job.scale).add(job.left), y.to(f32).mul(job.scale).add(job.top)];
    const [zx, zy, rounds] = [cell(f32, 0), cell(f32, 0), cell(u32, 0)];
    whileTrue(
      () => zx.mul(zx).add(zy.mul(zy)).lt(4).and(rounds.lt(ROUNDS)),
      () => {
        const next = zx.mul(zx).sub(zy.mul(zy)).add(cx);
        zy.set(zx.mul(zy).mul(2).add(cy));
        zx.set(next);
        rounds.set(rounds.add(1));
      },
    );
    buffers.rounds.set(item, rounds);
  },
);

const [width, height] = [32, 24];
export default {
  kernel: mandelbrot,
  job: { width, scale: 0.125, left: -2.5, top: -1.5 },
  space: width * height,
  buffers: { rounds: width * height },
};
