// The Mandelbrot set as a picture: `node examples/image.mjs mandelbrot.pgm 1920 1080 cuda:0`. One launch, one item per pixel.
// PGM is a header and one byte per pixel; most viewers show it.

import { writeFileSync } from 'node:fs';
import { cell, f64, items, run, rw, u32, whileTrue } from 'millrace';

const ROUNDS = 255;

const mandelbrot = items(
  'mandelbrot',
  { job: { width: u32, scale: f64, left: f64, top: f64 }, buffers: { rounds: rw(u32) } },
  ({ job, item, index2d, buffers }) => {
    const { x, y } = index2d(job.width);
    const [cx, cy] = [x.to(f64).mul(job.scale).add(job.left), y.to(f64).mul(job.scale).add(job.top)];
    const [zx, zy, rounds] = [cell(f64, 0), cell(f64, 0), cell(u32, 0)];
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

const [, , file = 'mandelbrot.pgm', columns = '960', rows = '640', devices = 'auto'] = process.argv;
const [width, height] = [Number(columns), Number(rows)];
const scale = 2.4 / height;
const { rounds } = await run(mandelbrot, {
  devices,
  count: width * height,
  job: { width, scale, left: -0.7 - (scale * width) / 2, top: -1.2 },
  buffers: { rounds: width * height },
});
writeFileSync(
  file,
  Buffer.concat([Buffer.from(`P5 ${width} ${height} 255\n`), Uint8Array.from(rounds, (n) => 255 - n)]),
);
const inside = rounds.reduce((sum, n) => sum + (n === ROUNDS ? 1 : 0), 0);
console.log(`${file}: ${width} × ${height}, ${((100 * inside) / rounds.length).toFixed(1)} % inside`);
