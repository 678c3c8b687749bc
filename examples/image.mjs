// The Mandelbrot set as a picture: `node examples/image.mjs mandelbrot.pgm 1920 1080 cuda:0`. One launch, one item per pixel; the
// kernel is in `playground/image.mjs`. PGM is a header and one byte per pixel; most viewers show it.

import { writeFileSync } from 'node:fs';
import { run } from 'millrace';
import task, { ROUNDS } from './playground/image.mjs';

const [, , file = 'mandelbrot.pgm', columns = '960', rows = '640', devices = 'auto'] = process.argv;
const [width, height] = [Number(columns), Number(rows)];
const scale = 2.4 / height;
const { rounds } = await run(task.kernel, {
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
