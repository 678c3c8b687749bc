// A tile per block of 1,024 bytes: counts in workgroup memory, then sums

import { read, rw, tiles, u8, u32 } from 'millrace';

const histogram = tiles(
  'histogram',
  { buffers: { bytes: read(u8), counts: rw(u32), sums: rw(u32) } },
  ({ tile, near, each, sum, once, buffers }) => {
    const counts = near(u32, 16);
    each(16, (i) => counts.set(i, 0));
    each(1024, (i) => void counts.add(buffers.bytes.at(tile.mul(1024).add(i)).shr(4), 1));
    each(16, (i) => buffers.counts.set(tile.mul(16).add(i), counts.at(i)));
    const total = sum(u32, 1024, (i) => buffers.bytes.at(tile.mul(1024).add(i)));
    once(() => buffers.sums.set(tile, total));
  },
);

const bytes = Uint8Array.from({ length: 4096 }, (_, at) => (at * at) >> 3);
export default { kernel: histogram, space: 4, buffers: { bytes, counts: 64, sums: 4 } };
