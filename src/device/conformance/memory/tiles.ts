import type { Kernel } from '../../../kernel/index.js';
import {
  atomic,
  cell,
  f32,
  f64,
  lit,
  loop,
  read,
  rw,
  tiles,
  u32,
  u64,
  when,
  whileTrue,
} from '../../../kernel/index.js';
import type { Device } from '../../device.js';
import { type Case, check, hasAbility, needsOfType } from '../case.js';
import { type Data, expectEqual, Rig } from '../rig.js';
import { variantsOf } from '../streams/behaviour.js';

/** Runs a kernel in every variant of the device; each must leave the expected result. */
async function everyVariant(
  device: Device,
  only: number | undefined,
  kernel: Kernel,
  count: number,
  buffers: Record<string, Data>,
  expected: Record<string, Data>,
): Promise<void> {
  for (const options of variantsOf(device, only)) {
    await Rig.with(device, async (rig) => {
      const outcome = await rig.run(await device.compile(kernel, options), { count, buffers });
      for (const [name, data] of Object.entries(expected))
        expectEqual(`${name} with ${JSON.stringify(options)}`, outcome.buffers[name], data);
    });
  }
}

/** Sums in the order that the language defines: 256 partials by index, then halves. */
function fixedSum(values: readonly number[], round: (x: number) => number): number {
  const partials = Array<number>(256).fill(0);
  values.forEach((value, i) => {
    partials[i % 256] = round((partials[i % 256] as number) + value);
  });
  for (let half = 128; half >= 1; half /= 2) {
    for (let i = 0; i < half; i++) partials[i] = round((partials[i] as number) + (partials[i + half] as number));
  }
  return partials[0] as number;
}

const lengths = [0, 1, 2, 31, 32, 33, 255, 256, 257, 511, 512, 1000, 4099];

/** The order does not matter for integers. A u64 is two words on targets without 64-bit integers. */
const wholeSums: Case = {
  name: 'tiles/sums of u32 and u64',
  run: (device, only) => {
    const kernel = tiles(
      'whole-sums',
      { buffers: { n: read(u32), words: rw(u32), pairs: rw(u64) } },
      ({ tile, sum, once, buffers }) => {
        const n = buffers.n.at(tile);
        const words = sum(u32, n, (i) => i.mul(0x9e3779b9));
        const pairs = sum(u64, n, (i) => i.to(u64).mul(0x9e37_79b9_7f4a_7c15n));
        once(() => {
          buffers.words.set(tile, words);
          buffers.pairs.set(tile, pairs);
        });
      },
    );
    /** 0 + 1 + … below n. */
    const all = (n: number) => (BigInt(n) * BigInt(n - 1)) / 2n;
    return everyVariant(
      device,
      only,
      kernel,
      lengths.length,
      {
        n: Uint32Array.from(lengths),
        words: new Uint32Array(lengths.length),
        pairs: new BigUint64Array(lengths.length),
      },
      {
        words: Uint32Array.from(lengths.map((n) => Number(BigInt.asUintN(32, all(n) * 0x9e3779b9n)))),
        pairs: BigUint64Array.from(lengths.map((n) => all(n) * 0x9e37_79b9_7f4a_7c15n)),
      },
    );
  },
};

const sums: readonly Case[] = (['f32', 'f64'] as const).map((type) => ({
  name: `tiles/sums of ${type} have one order, whatever their length`,
  needs: needsOfType(type),
  run: (device, only) => {
    const kernel = tiles(
      'sums',
      { buffers: { x: read(type as 'f32'), n: read(u32), out: rw(type as 'f32') } },
      ({ tile, sum, once, buffers }) => {
        const n = buffers.n.at(tile);
        const total = sum(type as 'f32', n, (i) => buffers.x.at(i).mul(buffers.x.at(i)));
        once(() => buffers.out.set(tile, total));
      },
    );
    const round = type === 'f32' ? Math.fround : (x: number) => x;
    const Floats = type === 'f32' ? Float32Array : Float64Array;
    // Small whole numbers are exact in any order: elsewhere a device may fuse the product and the sum.
    const value = (i: number) =>
      hasAbility(device, 'exact-floats') ? Math.sin(i * 1.3) * 10 ** (i % 11) : ((i * 7) % 13) - 6;
    const x = new Floats(Array.from({ length: 4099 }, (_, i) => value(i)));
    const squares = [...x].map((v) => round(v * v));
    return everyVariant(
      device,
      only,
      kernel,
      lengths.length,
      { x, n: Uint32Array.from(lengths), out: new Floats(lengths.length) },
      { out: new Floats(lengths.map((length) => fixedSum(squares.slice(0, length), round))) },
    );
  },
}));

const SIZE = 300;
const norms: Case = {
  name: 'tiles/vectors made to length one',
  needs: ['f64', 'exact-floats'],
  run: (device, only) => {
    const kernel = tiles('norms', { buffers: { x: read(f64), out: rw(f64) } }, ({ tile, sum, each, buffers }) => {
      const x = buffers.x.slice(tile.mul(SIZE / 4));
      const out = buffers.out.slice(tile.mul(SIZE / 4));
      const length = sum(f64, SIZE, (i) => x.at(i).mul(x.at(i))).sqrt();
      each(SIZE / 4, (q) => {
        const [a, b, c, d] = x.at4(q);
        out.set4(q, [a.div(length), b.div(length), c.div(length), d.div(length)]);
      });
    });
    const x = Float64Array.from({ length: 5 * SIZE }, (_, i) => Math.cos(i * 1.7) * (1 + (i % 13)));
    const expected = Float64Array.from(x, (value, i) => {
      const own = [...x.slice(i - (i % SIZE), i - (i % SIZE) + SIZE)];
      return (
        value /
        Math.sqrt(
          fixedSum(
            own.map((v) => v * v),
            (v) => v,
          ),
        )
      );
    });
    return everyVariant(device, only, kernel, 5, { x, out: new Float64Array(x.length) }, { out: expected });
  },
};

const LIMIT = 4096;
const sieve: Case = {
  name: 'tiles/a sieve: threads meet on words of a near array',
  run: (device, only) => {
    const kernel = tiles(
      'sieve',
      { buffers: { out: rw(u32), seen: atomic() } },
      ({ tile, near, each, once, buffers }) => {
        const marks = near(u32, LIMIT / 32);
        each(LIMIT / 32, (i) => marks.set(i, 0));
        each(62, (k) => {
          const p = k.add(2);
          const at = cell(u32, p.mul(p));
          whileTrue(
            () => at.lt(LIMIT),
            () => {
              marks.or(at.shr(5), lit(u32, 1).shl(at.and(31)));
              at.set(at.add(p));
            },
          );
        });
        each(LIMIT / 32, (i) => buffers.out.set(tile.mul(LIMIT / 32).add(i), marks.at(i).not()));
        once(() => buffers.seen.add(0, 1));
      },
    );
    const composite = (n: number) => [...Array(62).keys()].some((k) => n % (k + 2) === 0 && n >= (k + 2) ** 2);
    const one = Array.from({ length: LIMIT / 32 }, (_, word) =>
      [...Array(32).keys()].reduce((bits, bit) => (composite(word * 32 + bit) ? bits : bits | (1 << bit)), 0),
    );
    return everyVariant(
      device,
      only,
      kernel,
      3,
      { out: new Uint32Array((3 * LIMIT) / 32), seen: new Uint32Array(1) },
      { out: Uint32Array.from([...one, ...one, ...one]), seen: Uint32Array.of(3) },
    );
  },
};

const WORDS = 96;
const compaction: Case = {
  name: 'tiles/scan, and compaction by it',
  run: (device, only) => {
    const kernel = tiles(
      'compact',
      { buffers: { map: read(u32), out: rw(u32), total: rw(u32) } },
      ({ tile, near, each, scan, once, buffers }) => {
        const counts = near(u32, WORDS);
        const word = (i: typeof tile) => buffers.map.at(tile.mul(WORDS).add(i));
        each(WORDS, (i) => counts.set(i, word(i).popcount()));
        const total = scan(WORDS, counts);
        once(() => buffers.total.set(tile, total));
        each(WORDS, (i) => {
          const rest = cell(u32, word(i));
          const to = cell(u32, counts.at(i).add(tile.mul(WORDS * 32)));
          whileTrue(
            () => rest.ne(0),
            () => {
              const lowest = rest.and(rest.neg());
              buffers.out.set(to, i.mul(32).add(lit(u32, 31).sub(lowest.clz())));
              rest.set(rest.xor(lowest));
              to.set(to.add(1));
            },
          );
        });
      },
    );
    const map = Uint32Array.from(
      { length: 2 * WORDS },
      (_, i) => (Math.imul(i + 1, 0x9e3779b9) & Math.imul(i + 7, 0x85ebca6b)) >>> 0,
    );
    const bitsOf = (tile: number) =>
      [...Array(WORDS * 32).keys()].filter((n) => ((map[tile * WORDS + (n >> 5)] as number) >>> (n & 31)) & 1);
    const padded = (list: number[]) => [...list, ...Array<number>(WORDS * 32 - list.length).fill(0)];
    return everyVariant(
      device,
      only,
      kernel,
      2,
      { map, out: new Uint32Array(2 * WORDS * 32), total: new Uint32Array(2) },
      {
        out: Uint32Array.from([...padded(bitsOf(0)), ...padded(bitsOf(1))]),
        total: Uint32Array.of(bitsOf(0).length, bitsOf(1).length),
      },
    );
  },
};

const uniform: Case = {
  name: 'tiles/loops, branches and look-ups between regions',
  run: (device, only) => {
    const kernel = tiles('uniform', { buffers: { out: rw(u32) } }, ({ tile, near, each, buffers }) => {
      const a = near(u32, 40);
      each(40, (i) => a.set(i, i.add(tile)));
      loop(tile.add(1), (round) => {
        each(40, (i) => a.set(i, a.at(i).mul(3).add(round)));
        when(a.at(0).and(1).eq(0), () => each(tile, (i) => a.set(i, a.at(lit(u32, 39).sub(i)))));
      });
      each(40, (i) => buffers.out.set(tile.mul(40).add(i), a.at(i).xor(a.at(39))));
    });
    const expected = [0, 1, 2, 3, 4].flatMap((tile) => {
      const a = Array.from({ length: 40 }, (_, i) => i + tile);
      for (let round = 0; round <= tile; round++) {
        for (let i = 0; i < 40; i++) a[i] = (Math.imul(a[i] as number, 3) + round) >>> 0;
        if ((a[0] as number) % 2 === 0) for (let i = 0; i < tile; i++) a[i] = a[39 - i] as number;
      }
      return a.map((value) => (value ^ (a[39] as number)) >>> 0);
    });
    return everyVariant(device, only, kernel, 5, { out: new Uint32Array(200) }, { out: Uint32Array.from(expected) });
  },
};

const hits: Case = {
  name: 'tiles/hits from regions and from once()',
  needs: ['f32'],
  run: async (device, only) => {
    const kernel = tiles('found', { hit: { at: u32, value: f32 } }, ({ tile, each, once, emit }) => {
      each(70, (i) => when(i.mul(7).rem(11).eq(tile), () => emit({ at: i, value: i.to(f32).mul(0.5) })));
      once(() => emit({ at: 1000, value: 0.25 }));
    });
    const expected = [0, 1, 2, 3].flatMap((tile) => [
      ...[...Array(70).keys()].filter((i) => (i * 7) % 11 === tile).map((i) => `${tile}:${i}:${i * 0.5}`),
      `${tile}:1000:0.25`,
    ]);
    for (const options of variantsOf(device, only)) {
      const { ring } = await Rig.with(device, async (rig) =>
        rig.run(await device.compile(kernel, options), { count: 4, ring: new Uint32Array(4 + 3 * 64) }),
      );
      const floats = new Float32Array(ring.buffer);
      const found = Array.from(
        { length: ring[0] as number },
        (_, k) => `${ring[4 + 3 * k]}:${ring[5 + 3 * k]}:${floats[6 + 3 * k]}`,
      );
      check(
        found.sort().join() === [...expected].sort().join(),
        () => `with ${JSON.stringify(options)}: ${found.join(' ')}`,
      );
    }
  },
};

/** Kernels in which a workgroup shares the work on an index. */
export const tileCases: readonly Case[] = [wholeSums, ...sums, norms, sieve, compaction, uniform, hits];
