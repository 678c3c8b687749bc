// The last two bytes of a 40-bit RC4 key, found from its key stream (the first key of RFC 6229). RC4 swaps elements of a table
// at run time, so that each item has its own in an `array`.

import { array, cell, items, loop, u32, when } from 'millrace';

/** @typedef {import('millrace').ExprLike<'u32'>} ExprLike */

const rc4 = items('rc4', { job: { start: [u32, 3], stream: [u32, 8] }, hit: { last: u32 } }, ({ job, index, emit }) => {
  const key = array(u32, [...job.start, index.lo.byte(1), index.lo.byte(0)]);
  const s = array(u32, 256);
  loop(256, (i) => s.set(i, i));
  const j = cell(u32, 0);
  /** @type {(i: ExprLike, k: ExprLike) => import('millrace').Expr<'u32'>} */
  const swap = (i, k) => {
    const [x, y] = [s.at(i), s.at(k)];
    s.set(i, y);
    s.set(k, x);
    return x.add(y).and(255);
  };
  loop(256, (i) => {
    j.set(
      j
        .add(s.at(i))
        .add(key.at(i.rem(5)))
        .and(255),
    );
    swap(i, j.get());
  });
  const differs = cell(u32, 0);
  j.set(0);
  job.stream.forEach((byte, n) => {
    j.set(j.add(s.at(n + 1)).and(255));
    differs.set(differs.or(s.at(swap(n + 1, j.get())).xor(byte)));
  });
  when(differs.eq(0), () => emit({ last: index.lo }));
});

export default {
  kernel: rc4,
  job: { start: [0x01, 0x02, 0x03], stream: [0xb2, 0x39, 0x63, 0x05, 0xf0, 0x3d, 0xc0, 0x27] },
  // The key ends with 0x0405: a page needs not try all of them.
  space: { start: 1000n, length: 50n },
};
