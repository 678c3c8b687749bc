// The brightness of pixels: red, green, blue, alpha in, one word out

import { items, read, rw, u32 } from 'millrace';

const brightness = items('brightness', { buffers: { pixels: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
  const pixel = buffers.pixels.at(item);
  const red = pixel.and(255);
  const green = pixel.shr(8).and(255);
  const blue = pixel.shr(16).and(255);
  buffers.out.set(item, red.mul(77).add(green.mul(150)).add(blue.mul(29)).shr(8));
});

const pixels = Uint32Array.from({ length: 1000 }, (_, at) => at * 0x010203);
export default { kernel: brightness, space: pixels.length, buffers: { pixels, out: pixels.length } };
