import { type Data, zeros } from '../../src/device/conformance/rig.js';
import {
  atomic,
  breakWhen,
  cell,
  f64,
  lit,
  loop,
  read,
  rw,
  select,
  table,
  tiles,
  u32,
  when,
  whileTrue,
} from '../../src/kernel/index.js';
import { type Sample, words } from './sample.js';

/** Sums of one type over rows of many lengths: shorter and longer than the partial sums, and empty. */
function sums(type: 'u32' | 'i32' | 'f32' | 'f64' | 'u64'): Sample {
  const lengths = Uint32Array.of(0, 1, 31, 255, 256, 257, 700);
  const kernel = tiles(
    `sums-${type}`,
    { buffers: { x: read(type), n: read(u32), out: rw(type) } },
    ({ tile, sum, once, buffers }) => {
      const x = buffers.x;
      // twice: the second must not overwrite memory that the first still reads
      const plain = sum(type, buffers.n.at(tile), (i) => x.at(i));
      const squares = sum(type, buffers.n.at(tile), (i) => x.at(i).mul(x.at(i)));
      once(() => {
        buffers.out.set(tile.mul(2), plain);
        buffers.out.set(tile.mul(2).add(1), squares);
      });
    },
  );
  const values = Array.from({ length: 700 }, (_, i) => Math.sin(i) * 10 ** (i % 7));
  const x: Data = {
    u32: () => words(700),
    i32: () => new Int32Array(words(700).buffer),
    f32: () => Float32Array.from(values),
    f64: () => Float64Array.from(values),
    u64: () => new BigUint64Array(words(1400).buffer),
  }[type]();
  const out = zeros(type, 14);
  return {
    kernel,
    needs: type === 'f64' ? ['f64'] : type === 'f32' ? ['exact-floats'] : [],
    setup: { count: 7, buffers: { x, n: lengths, out } },
  };
}

/** A sieve: near words under `or`, then counted. */
function sieve(): Sample {
  const limit = 2048;
  const kernel = tiles(
    'sieve',
    { buffers: { out: rw(u32), counts: rw(u32) } },
    ({ tile, near, each, sum, once, buffers }) => {
      const marks = near(u32, limit / 32);
      each(limit / 32, (i) => marks.set(i, 0));
      each(44, (k) => {
        const p = k.add(2);
        const at = cell(u32, p.mul(p));
        whileTrue(
          () => at.lt(limit),
          () => {
            marks.or(at.shr(5), lit(u32, 1).shl(at.and(31)));
            at.set(at.add(p));
          },
        );
      });
      each(limit / 32, (i) => buffers.out.set(tile.mul(limit / 32).add(i), marks.at(i).not()));
      const primes = sum(u32, limit / 32, (i) => marks.at(i).not().popcount());
      once(() => buffers.counts.set(tile, primes));
    },
  );
  return { kernel, setup: { count: 5, buffers: { out: new Uint32Array(5 * 64), counts: new Uint32Array(5) } } };
}

/** Compaction: counts, a scan of them, then each item writes at its offset. */
function compact(length: number): Sample {
  const kernel = tiles(
    `compact-${length}`,
    { buffers: { map: read(u32), out: rw(u32), total: rw(u32) }, hit: { total: u32 } },
    ({ near, tile, each, scan, once, buffers, emit }) => {
      const counts = near(u32, length);
      each(length, (i) => counts.set(i, buffers.map.at(i.add(tile)).and(7)));
      const total = scan(length, counts);
      once(() => {
        buffers.total.set(tile, total);
        emit({ total });
      });
      each(length, (i) => {
        const from = counts.at(i);
        loop(buffers.map.at(i.add(tile)).and(7), (k) =>
          buffers.out.set(
            tile
              .mul(8 * length)
              .add(from)
              .add(k),
            i.mul(8).add(k),
          ),
        );
      });
      // again: uses the array and the totals a second time
      const last = scan(length, counts);
      once(() => buffers.total.set(tile.add(3), last));
    },
  );
  const map = words(length + 3);
  return {
    kernel,
    setup: {
      count: 3,
      buffers: { map, out: new Uint32Array(3 * 8 * length), total: new Uint32Array(6) },
      ring: new Uint32Array(32),
    },
  };
}

/** Control flow between regions that depends on the tile, near arrays, buffers, tables and atomics. */
function uniform(): Sample {
  const kernel = tiles(
    'uniform',
    { job: { rounds: ['u32', 4] }, buffers: { out: rw(u32), state: rw(u32), limit: read(u32), hits: atomic() } },
    ({ tile, near, each, once, buffers, job }) => {
      const a = near(u32, 100);
      const tally = near(u32, 2);
      const squares = table(u32, [1, 4, 9, 16]);
      const rounds = table(u32, job.rounds);
      once(() => tally.set(0, 0));
      each(100, (i) => a.set(i, i.add(tile)));
      loop(rounds.at(tile.and(3)).add(buffers.limit.at(0)), (round) => {
        each(100, (i) => {
          const next = a.at(select(i.eq(99), 0, i.add(1)));
          when(next.and(1).eq(0), () => tally.add(0, 1));
          buffers.out.set(tile.mul(100).add(i), next.mul(squares.at(round.and(3))));
        });
        each(100, (i) => a.set(i, buffers.out.at(tile.mul(100).add(i)).add(round)));
        breakWhen(a.at(5).eq(0x1234));
        breakWhen(tally.at(0).gt(5000));
      });
      const left = cell(u32, buffers.state.at(tile));
      whileTrue(
        () => left.gt(0).and(a.at(0).ne(7)),
        () => {
          each(100, (i) => a.set(i, a.at(i).add(left)));
          once(() => buffers.hits.add(tile, a.at(1)));
          left.set(left.sub(1));
        },
      );
      when(buffers.hits.load(tile).gt(10), () => once(() => buffers.hits.add(8, 1)));
      once(() => {
        buffers.state.set(tile.add(8), a.at(3));
        buffers.hits.max(9, tally.at(0));
      });
      each(100, (i) => buffers.out.set(tile.mul(100).add(i), a.at(i)));
    },
  );
  const job = { rounds: [0, 3, 1, 2] };
  const state = Uint32Array.from({ length: 16 }, (_, i) => (i < 8 ? i % 4 : 0));
  const buffers = { out: new Uint32Array(800), state, limit: Uint32Array.of(2), hits: new Uint32Array(16) };
  return { kernel, setup: { job, count: 8, buffers } };
}

/** A norm and a scaling in f64. */
function norm(): Sample {
  const size = 300;
  const kernel = tiles('norm', { buffers: { x: read(f64), out: rw(f64) } }, ({ tile, sum, each, buffers }) => {
    const x = buffers.x.slice(tile.mul(size / 4));
    const out = buffers.out.slice(tile.mul(size / 4));
    const length = sum(f64, size, (i) => x.at(i).mul(x.at(i))).sqrt();
    each(size / 4, (q) =>
      out.set4(
        q,
        x.at4(q).map((value) => value.div(length)),
      ),
    );
  });
  const x = Float64Array.from({ length: 3 * size }, (_, i) => Math.cos(i * 1.7));
  return { kernel, needs: ['f64'], setup: { count: 3, buffers: { x, out: new Float64Array(3 * size) } } };
}

export const tileSamples: readonly Sample[] = [
  ...(['u32', 'i32', 'u64', 'f32', 'f64'] as const).map(sums),
  sieve(),
  compact(64),
  compact(700),
  uniform(),
  norm(),
];
