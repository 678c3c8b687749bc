// Primes by a flow of two kernels: the first lists the numbers without small divisors, the second tries all divisors of these.
// The list and its length stay on the device: `node examples/flow.mjs 10000000 cuda:0`.

import { atomic, cell, flow, hitsIn, items, Overflow, read, rw, search, u32, when, whileTrue } from 'millrace';

const CHUNK = 2 ** 16;

const list = items('list', { buffers: { candidates: rw(u32), count: atomic() } }, ({ index, buffers }) => {
  const n = index.lo;
  const isOdd = n.and(1).eq(1);
  when(isOdd.and(n.rem(3).ne(0)).and(n.rem(5).ne(0)).and(n.gt(1)), () => {
    buffers.candidates.set(buffers.count.add(0, 1), n);
  });
});

const test = items('test', { buffers: { candidates: read(u32) }, hit: { prime: u32 } }, ({ item, buffers, emit }) => {
  const n = buffers.candidates.at(item);
  const divisor = cell(u32, 7);
  whileTrue(
    () => divisor.mul(divisor).le(n).and(n.rem(divisor).ne(0)),
    () => divisor.set(divisor.add(2)),
  );
  when(divisor.mul(divisor).gt(n), () => emit({ prime: n }));
});

const primes = flow({
  name: 'primes',
  kernels: { list, test },
  buffers: { candidates: 4 * CHUNK, count: 4 },
  rings: { found: { kernel: 'test', hits: CHUNK } },
  max: CHUNK,
  steps: ({ start, count }) => [
    { do: 'fill', buffer: 'count', word: 0 },
    { do: 'launch', kernel: 'list', base: start, count },
    { do: 'launch', kernel: 'test', count: { buffer: 'count', word: 0, max: count }, ring: 'found' },
  ],
  reap: (piece, { ring }) => {
    const hits = hitsIn(piece, ring('found'));
    if (hits instanceof Overflow) return hits;
    return hits.map(({ prime }) => ({ index: BigInt(Number(prime)) })).sort((a, b) => Number(a.index - b.index));
  },
});

const [, , limit = '1000000', devices = 'auto'] = process.argv;
let count = 3; // 2, 3 and 5 are no candidates
let largest = 5n;
for await (const { index } of search(primes, { devices, space: BigInt(limit) })) {
  count += 1;
  largest = index;
}
console.log(`${count} primes below ${limit}, the largest is ${largest}`);
