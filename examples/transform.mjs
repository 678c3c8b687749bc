// The brightness of pixels: red, green, blue, alpha in, one word out. Pixels come in blocks of any size, as a camera or a
// file would give them; results come in the same order.

import { items, read, rw, transform, u32 } from 'millrace';

const brightness = items('brightness', { buffers: { pixels: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
  const pixel = buffers.pixels.at(item);
  const red = pixel.and(255);
  const green = pixel.shr(8).and(255);
  const blue = pixel.shr(16).and(255);
  buffers.out.set(item, red.mul(77).add(green.mul(150)).add(blue.mul(29)).shr(8));
});

function* blocks() {
  for (let size = 1; size < 5000; size *= 3) yield Uint32Array.from({ length: size }, (_, at) => at * 0x010203);
}

const [, , devices = 'auto'] = process.argv;
let pixels = 0;
let sum = 0;

for await (const batch of transform(brightness, blocks(), { devices, inputBytes: 4, rowBytes: 4 })) {
  for (const value of batch.as(u32)) sum += value;
  pixels += batch.count;
  batch.release();
}
console.log(`${pixels} pixels, total brightness ${sum}`);
