import {
  array,
  breakWhen,
  cell,
  type Expr,
  type Float,
  fn,
  items,
  loop,
  read,
  rw,
  sha256,
  table,
  tiles,
  u32,
  u64,
  type Value,
  when,
  whileTrue,
} from '../../../kernel/index.js';
import type { Device } from '../../device.js';
import { type Case, check, Skip } from '../case.js';
import { ArrayModel } from '../model/array-model.js';
import { expectEqual, pause, Rig } from '../rig.js';
import { type Behaviour, behaviourCase, distinctOptions, variantsOf, wordsOf } from '../streams/behaviour.js';
import { wordsIn } from './cells.js';

/** Rounds that make a function too large to be inlined on targets with functions. */
const ROUNDS = 14;

const stirred = (x: number, by: number): number => {
  let y = x;
  for (let k = 0; k < ROUNDS; k++) y = (Math.imul(y ^ (y >>> 15), 0x2c1b_3c6d) + by + k) >>> 0;
  return y;
};
/** Large: a function where the target has them. */
const stir = fn('stir', { x: u32, by: u32 }, ({ x, by }) => {
  const y = cell(u32, x);
  for (let k = 0; k < ROUNDS; k++) y.set(y.xor(y.shr(15)).mul(0x2c1b_3c6d).add(by).add(k));
  return y;
});
/** Small: always inlined. */
const twice = fn('twice', { x: u32 }, ({ x }) => x.add(x));

const LISTED = [9, 2, 6, 5, 3, 5, 8];
/** Results of every integer type, of a body with a loop, a branch, an array and a table. */
const taken = fn('several-results', { x: u32, wide: u64, pair: [u32, 2] }, ({ x, wide, pair }) => {
  const seen = array(u32, 5);
  const sum = cell(u64, wide);
  const listed = table(u32, LISTED);
  loop(x.rem(9), (i) => {
    seen.set(i.rem(5), seen.at(i.rem(5)).add(listed.at(x.add(i).rem(7))));
    breakWhen(i.eq(pair[1]));
    sum.set(sum.mul(0x1_0000_0001n).add(stir({ x: i, by: pair[0] }).to(u64)));
  });
  when(x.and(1).eq(1), () => sum.set(sum.not())).otherwise(() => seen.set(x.rem(5), 77));
  return {
    sum,
    isOdd: x.and(1).eq(1),
    signed: x.bits('i32').sub(1000),
    parts: [seen.at(x.rem(5)), seen.at(0), pair[0].add(pair[1])],
  };
});
const takenModel = (x: number, wide: bigint, pair: readonly [number, number]) => {
  const seen = ArrayModel.zeros(5);
  let sum = wide;
  for (let i = 0; i < x % 9; i++) {
    seen.set(i % 5, seen.at(i % 5) + (LISTED[(x + i) % 7] ?? 0));
    if (i === pair[1]) break;
    sum = BigInt.asUintN(64, sum * 0x1_0000_0001n + BigInt(stirred(i, pair[0])));
  }
  if (x % 2 === 1) sum = BigInt.asUintN(64, ~sum);
  else seen.set(x % 5, 77);
  return { sum, isOdd: x % 2 === 1, signed: (x - 1000) | 0, parts: [seen.at(x % 5), seen.at(0), pair[0] + pair[1]] };
};

/** Calls functions that call functions; the deepest has results of its own. */
const middle = fn('middle', { x: u32, by: u32 }, ({ x, by }) => {
  const { sum, parts } = taken({ x, wide: x.to(u64), pair: [by, 3] });
  return [twice({ x: stir({ x, by }) }).add(parts[0]), sum.hi] as const;
});
const middleModel = (x: number, by: number): readonly [number, number] => {
  const { sum, parts } = takenModel(x, BigInt(x), [by, 3]);
  return [(2 * stirred(x, by) + (parts[0] ?? 0)) >>> 0, Number(sum >> 32n)];
};

/** Exact in both types: small integers and halves. */
function ofFloats(type: Float): Behaviour {
  const mean = fn(`mean-${type}`, { a: type, b: type }, ({ a, b }) => {
    const x = cell(type, a.add(b).mul(0.5));
    for (let k = 0; k < ROUNDS; k++) x.set(x.mul(2).sub(k));
    return { x, isLess: a.lt(b) };
  });
  return {
    name: `${type}: several results, called at three places`,
    body: ({ item }) => {
      const a = item.to(type);
      const results = [mean({ a, b: 3 }), mean({ a: 7, b: a }), mean({ a, b: item.and(3).to(type) })];
      return results.flatMap(({ x, isLess }) => [...wordsOf(x), ...wordsOf(isLess)]);
    },
    expected: (i) =>
      [
        [i, 3],
        [7, i],
        [i, i & 3],
      ].flatMap(([a = 0, b = 0]) => {
        let x = (a + b) / 2;
        for (let k = 0; k < ROUNDS; k++) x = x * 2 - k;
        return [...wordsIn(type, x as Value), a < b ? 1 : 0];
      }),
    needs: type === 'f64' ? ['f64'] : ['f32'],
  };
}

const behaviours: readonly Behaviour[] = [
  {
    name: 'several results, called in branches, in loops and at three places',
    body: ({ item, few, threes }) => {
      const first = taken({ x: item, wide: 5n, pair: [few, 2] });
      const words = [...wordsOf(first.sum), ...wordsOf(first.isOdd), ...wordsOf(first.signed), ...first.parts];
      const total = cell(u32, 0);
      const wide = cell(u64, first.sum);
      loop(few, (i) => {
        const again = taken({ x: threes.at(item.add(i)), wide, pair: [i, item] });
        wide.set(again.sum);
        when(again.isOdd, () => {
          const inside = taken({ x: item.add(i), wide: 1n, pair: [again.parts[0], 1] });
          total.set(total.add(inside.parts[1]).add(inside.sum.lo));
        });
      });
      return [...words, total.get(), ...wordsOf(wide.get())];
    },
    expected: (i) => {
      const first = takenModel(i, 5n, [3, 2]);
      const words = [...wordsIn('u64', first.sum), first.isOdd ? 1 : 0, first.signed, ...first.parts];
      let [total, wide] = [0, first.sum];
      for (let k = 0; k < 3; k++) {
        const again = takenModel(3 * (i + k), wide, [k, i]);
        wide = again.sum;
        if (!again.isOdd) continue;
        const inside = takenModel(i + k, 1n, [again.parts[0] ?? 0, 1]);
        total = (total + (inside.parts[1] ?? 0) + Number(inside.sum & 0xffff_ffffn)) >>> 0;
      }
      return [...words, total, ...wordsIn('u64', wide)];
    },
  },
  {
    name: 'functions that call functions, with arguments of all kinds',
    body: ({ item, index, few, many }) => {
      const [a, b] = middle({ x: item, by: few });
      const [c, d] = middle({ x: few, by: many });
      const [e] = middle({ x: index.lo, by: 9 });
      return [a, b, c, d, e, stir({ x: few, by: many }), stir({ x: 1, by: 2 }), twice({ x: item })];
    },
    expected: (i) => [
      ...middleModel(i, 3),
      ...middleModel(3, 1000),
      middleModel(i, 9)[0],
      stirred(3, 1000),
      stirred(1, 2),
      2 * i,
    ],
  },
  {
    name: 'an array of a function starts again at each call',
    body: ({ item, few }) => {
      const count = fn('count', { at: u32, by: u32 }, ({ at, by }) => {
        const a = array(u32, 8);
        a.set(at.rem(8), a.at(at.rem(8)).add(by));
        const sum = cell(u32, 0);
        loop(8, (k) => sum.set(sum.mul(3).add(a.at(k))));
        return stir({ x: sum, by: a.at(few3(at)) });
      });
      const x = cell(u32, 0);
      loop(few, (i) => x.set(count({ at: item.add(i), by: x.add(1) })));
      return [x.get(), count({ at: 2, by: x }), count({ at: item, by: 1 })];
    },
    expected: (i) => {
      const count = (at: number, by: number): number => {
        const a = ArrayModel.zeros(8);
        a.set(at % 8, by);
        let sum = 0;
        for (let k = 0; k < 8; k++) sum = (Math.imul(sum, 3) + a.at(k)) >>> 0;
        return stirred(sum, a.at(((at % 8) * 3) % 8));
      };
      let x = 0;
      for (let k = 0; k < 3; k++) x = count(i + k, (x + 1) >>> 0);
      return [x, count(2, x), count(i, 1)];
    },
  },
  ofFloats('f32'),
  ofFloats('f64'),
  {
    name: 'a std function, called at three places',
    body: ({ item, few }) => {
      const digest = fn('digest', { a: u32, b: u32 }, ({ a, b }) => sha256.hash([a, b]).slice(0, 2));
      const [x, y] = digest({ a: item, b: few }) as [Expr<'u32'>, Expr<'u32'>];
      const [z] = digest({ a: x, b: y }) as [Expr<'u32'>];
      return [x, y, z, digest({ a: few, b: 0 })[1] as Expr<'u32'>];
    },
    expected: (i) => {
      const [x = 0, y = 0] = sha256Words([i, 3]);
      return [x, y, sha256Words([x, y])[0] ?? 0, sha256Words([3, 0])[1] ?? 0];
    },
    needs: [],
  },
];

const few3 = (at: Expr<'u32'>): Expr<'u32'> => at.rem(8).mul(3).rem(8);

/** SHA-256 of a message of up to 13 words, by FIPS 180-4. */
function sha256Words(message: readonly number[]): number[] {
  const fraction = (root: number): number => Math.floor((root - Math.floor(root)) * 2 ** 32) >>> 0;
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p !== 0)) primes.push(n);
  const rotr = (x: number, n: number): number => ((x >>> n) | (x << (32 - n))) >>> 0;
  const w = [...message, 0x8000_0000];
  while (w.length < 15) w.push(0);
  w.push(32 * message.length);
  for (let t = 16; t < 64; t++) {
    const [a, b] = [w[t - 15] ?? 0, w[t - 2] ?? 0];
    const s0 = rotr(a, 7) ^ rotr(a, 18) ^ (a >>> 3);
    const s1 = rotr(b, 17) ^ rotr(b, 19) ^ (b >>> 10);
    w.push(((w[t - 16] ?? 0) + s0 + (w[t - 7] ?? 0) + s1) >>> 0);
  }
  const start = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = start;
  for (const [t, prime] of primes.entries()) {
    const t1 =
      h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + fraction(Math.cbrt(prime)) + (w[t] ?? 0);
    const t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) >>> 0, c, b, a, (t1 + t2) >>> 0];
  }
  return [a, b, c, d, e, f, g, h].map((word, i) => (word + (start[i] ?? 0)) >>> 0);
}

/** Between regions, in `each` and in `sum`. */
const inTiles: Case = {
  name: 'functions/in every part of a tile',
  run: async (device, only) => {
    const [TILES, LENGTH] = [4, 70];
    const kernel = tiles(
      'function-tiles',
      { buffers: { x: read(u32), out: rw(u32), totals: rw(u32) } },
      ({ tile, each, sum, once, buffers }) => {
        const shared = taken({ x: buffers.x.at(tile), wide: 1n, pair: [tile, 4] });
        const start = stir({ x: tile, by: shared.parts[0] });
        each(LENGTH, (i) => {
          const own = taken({ x: i, wide: shared.sum, pair: [start, 5] });
          buffers.out.set(tile.mul(LENGTH).add(i), own.sum.lo.add(stir({ x: i, by: own.parts[0] })));
        });
        const total = sum(u32, LENGTH, (i) => stir({ x: i, by: start }));
        once(() => buffers.totals.set(tile, stir({ x: total, by: 1 })));
      },
    );
    const x = Uint32Array.from({ length: TILES }, (_, i) => 31 * i + 5);
    const out = new Uint32Array(TILES * LENGTH);
    const totals = new Uint32Array(TILES);
    for (let tile = 0; tile < TILES; tile++) {
      const shared = takenModel(x[tile] ?? 0, 1n, [tile, 4]);
      const start = stirred(tile, shared.parts[0] ?? 0);
      let total = 0;
      for (let i = 0; i < LENGTH; i++) {
        const own = takenModel(i, shared.sum, [start, 5]);
        out[tile * LENGTH + i] = Number(own.sum & 0xffff_ffffn) + stirred(i, own.parts[0] ?? 0);
        total = (total + stirred(i, start)) >>> 0;
      }
      totals[tile] = stirred(total, 1);
    }
    for (const options of variantsOf(device, only))
      await Rig.with(device, async (rig) => {
        const buffers = { x, out: new Uint32Array(out.length), totals: new Uint32Array(TILES) };
        const outcome = await rig.run(await device.compile(kernel, options), { count: TILES, buffers });
        expectEqual(`elements with ${JSON.stringify(options)}`, outcome.buffers.out, out);
        expectEqual(`totals with ${JSON.stringify(options)}`, outcome.buffers.totals, totals);
      });
  },
};

/** An access outside an array or a table of a function has the line of the function. */
const trapped: Case = {
  name: 'functions/a checked build reports an access outside an array of a function',
  run: async (device, only) => {
    const outside = fn('outside', { at: u32 }, ({ at }) => {
      const a = array(u32, [1, 2, 3, 4, 5]);
      return stir({ x: a.at(at), by: a.at(at.shr(1)) });
    });
    const kernel = items('function-trap', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      buffers.out.set(
        item,
        outside({ at: item })
          .add(outside({ at: item.rem(5) }))
          .add(outside({ at: 2 })),
      );
    });
    for (const options of distinctOptions(device, [{ checked: true, lanes: 1 }, { checked: true }], only))
      await Rig.with(device, async (rig) => {
        const program = await device.compile(kernel, options);
        const inside = await rig.run(program, { count: 5, buffers: { out: new Uint32Array(5) } });
        check(inside.report.complete, 'a launch inside the array is not complete');
        const reason = await rig.run(program, { count: 6, buffers: { out: new Uint32Array(6) } }).then(
          () => 'no error',
          (error) => String(error instanceof Error ? error.message : error),
        );
        check(/index 5 is outside.*:\d+/s.test(reason), () => `expected the line and index, got ${reason}`);
      });
  },
};

/** The rounds of a long loop in a function, called by another: a cancelled launch leaves the item at once. */
const cancelled: Case = {
  name: 'functions/cancel ends an item in the long loop of a function',
  run: async (device: Device, only?: number) => {
    if (device.info.kind === 'webgpu' || device.info.kind === 'interpreter')
      throw new Skip('a running item cannot see the cancel');
    const wait = fn('wait', { x: u32, rounds: u32 }, ({ x, rounds }) => {
      const y = cell(u32, x);
      const done = cell(u32, 0);
      const round = () => {
        y.set(stir({ x: y, by: done }));
        done.set(done.add(1));
      };
      whileTrue(() => done.lt(rounds), round, { isLong: true });
      for (let k = 0; k < ROUNDS; k++) y.set(y.xor(y.shl(3)).add(k));
      return { y, done };
    });
    const outer = fn('outer-wait', { x: u32, rounds: u32 }, ({ x, rounds }) => {
      const first = wait({ x, rounds });
      return wait({ x: first.y, rounds: 1 }).y.add(wait({ x: first.done, rounds: 2 }).y);
    });
    const kernel = items(
      'function-wait',
      { job: { rounds: u32 }, buffers: { out: rw(u32) } },
      ({ item, job, buffers }) => {
        const sum = outer({ x: item, rounds: job.rounds }).add(outer({ x: item.add(1), rounds: 1 }));
        buffers.out.set(item, sum.or(1));
      },
    );
    for (const options of distinctOptions(device, [{ lanes: 1 }, {}], only))
      await Rig.with(device, async (rig) => {
        const program = await device.compile(kernel, options);
        const run = (rounds: number, cancelAfterMs?: number) =>
          rig.run(program, { job: { rounds }, count: 2, buffers: { out: new Uint32Array(2) } }, cancelAfterMs);
        const whole = await run(5);
        check(whole.report.complete && whole.buffers.out?.[1] !== 0, 'a launch that is not cancelled is incomplete');
        const stopped = await run(2 ** 32 - 1, 20); // hours
        check(!stopped.report.complete, 'a launch that was cancelled in a function is reported as complete');
        expectEqual('after cancel()', stopped.buffers.out, [0, 0]);
        await pause();
        check((await run(5)).report.complete, 'a launch after cancel() is incomplete');
      });
  },
};

export const functionCases: readonly Case[] = [
  ...behaviours.map((one) => behaviourCase('functions', one)),
  inTiles,
  trapped,
  cancelled,
];
