import {
  array,
  breakWhen,
  cell,
  type Expr,
  items,
  loop,
  read,
  rw,
  type Type,
  tiles,
  u32,
  type Value,
  when,
  whileTrue,
} from '../../../kernel/index.js';
import { type Case, check, Skip } from '../case.js';
import { wordsIn } from '../control/cells.js';
import { ArrayModel } from '../model/array-model.js';
import { expectEqual, Rig } from '../rig.js';
import { type Behaviour, behaviourCase, distinctOptions, variantsOf, wordsOf } from '../streams/behaviour.js';

const listed: Readonly<Record<Type, readonly Value[]>> = {
  u32: [7, 0xffffffff, 0, 0x80000000],
  i32: [-5, 0, -(2 ** 31), 2 ** 31 - 1],
  u64: [2n ** 63n + 1n, 0n, 2n ** 32n - 1n, 2n ** 32n],
  i64: [-(2n ** 63n), -1n, 2n ** 63n - 1n, 2n ** 32n],
  f16: [-0.5, 65504, 2 ** -24, 3.25],
  f32: [-0.5, 0, 1024, 3.25],
  f64: [1e300, -5e-324, 0.1, 2 ** -1074],
  bool: [true, false, false, true],
};

/** Values of every type are listed, zeroed, moved by varying indices, and read by constant and varying ones. */
function ofTypes(what: string, types: readonly Type[]): Behaviour {
  return {
    name: `${what}, listed and zeroed, by varying and constant indices`,
    body: ({ item }) =>
      types.flatMap((type) => {
        const list = array<Type>(type, listed[type] as readonly number[]);
        const zeroed = array<Type>(type, 5);
        zeroed.set(item.rem(5), list.at(item.rem(3)));
        list.set(item.rem(4), list.at(item.add(1).rem(4)));
        zeroed.set(2, item.to(type) as Expr<Type>);
        const read = [0, 1, 2, 3].map((k) => list.at(k));
        return [...read, zeroed.at(item.rem(5)), zeroed.at(item.add(1).rem(5)), zeroed.at(4)].flatMap(wordsOf);
      }),
    expected: (i) =>
      types.flatMap((type) => {
        const isWide = type === 'u64' || type === 'i64';
        const zero: Value = isWide ? 0n : type === 'bool' ? false : 0;
        const own: Value = isWide ? BigInt(i) : type === 'bool' ? i !== 0 : i;
        const list = new ArrayModel<Value>(listed[type]);
        const zeroed = new ArrayModel<Value>(Array<Value>(5).fill(zero));
        zeroed.set(i % 5, list.at(i % 3));
        list.set(i % 4, list.at((i + 1) % 4));
        zeroed.set(2, own);
        const read = [0, 1, 2, 3].map((k) => list.at(k));
        return [...read, zeroed.at(i % 5), zeroed.at((i + 1) % 5), zeroed.at(4)].flatMap((value) =>
          wordsIn(type, value),
        );
      }),
  };
}

const behaviours: readonly Behaviour[] = [
  ofTypes('integers and bools', ['u32', 'i32', 'u64', 'bool']),
  { ...ofTypes('f32', ['f32']), needs: ['f32'] },
  { ...ofTypes('i64 and f16', ['i64', 'f16']), needs: ['f32'] },
  { ...ofTypes('f64', ['f64']), needs: ['f64', 'exact-floats'] },
  {
    name: 'constant indices alone',
    body: ({ item, few }) => {
      const a = array(u32, [item, few, item.mul(3)]);
      const b = array(u32, 100);
      for (let k = 0; k < 3; k++) b.set(99 - k, a.at(k).add(k));
      when(item.and(1).eq(1), () => a.set(1, b.at(97)));
      loop(few, (i) => b.set(99, b.at(99).add(i)));
      return [a.at(0), a.at(1), b.at(97), b.at(99), b.at(5)];
    },
    expected: (i) => [i, i % 2 === 1 ? 3 * i + 2 : 3, 3 * i + 2, i + 0 + 1 + 2, 0],
  },
  {
    name: 'a permutation is shuffled',
    body: ({ item, threes }) => {
      const s = array(u32, 16);
      loop(16, (i) => s.set(i, i));
      const j = cell(u32, 0);
      loop(16, (i) => {
        const x = s.at(i);
        j.set(
          j
            .add(x)
            .add(threes.at(item.add(i)))
            .and(15),
        );
        s.set(i, s.at(j));
        s.set(j, x);
      });
      const hash = cell(u32, 0);
      loop(16, (i) => hash.set(hash.mul(31).add(s.at(i))));
      return [hash.get(), s.at(item.rem(16)), s.at(3)];
    },
    expected: (i) => {
      const s = new ArrayModel(Array.from({ length: 16 }, (_, k) => k));
      for (let k = 0, j = 0; k < 16; k++) {
        const x = s.at(k);
        j = (j + x + 3 * (i + k)) % 16;
        s.set(k, s.at(j));
        s.set(j, x);
      }
      let hash = 0;
      for (let k = 0; k < 16; k++) hash = (Math.imul(hash, 31) + s.at(k)) >>> 0;
      return [hash, s.at(i % 16), s.at(3)];
    },
  },
  {
    name: 'in branches and in loops that items leave at different times',
    body: ({ item, few }) => {
      const a = array(u32, 6);
      const b = array(u32, [few, item, 0, 1, 2]);
      loop(item.rem(9), (i) => {
        when(i.and(1).eq(0), () => a.set(i.rem(6), b.at(i.rem(5)))).otherwise(() => {
          a.set(1, a.at(i.sub(1).rem(6)).add(1));
        });
        breakWhen(a.at(1).gt(few));
        b.set(i.rem(5), a.at(item.rem(6)).add(b.at(1)));
      });
      const turns = cell(u32, 0);
      whileTrue(
        () => b.at(turns.rem(5)).lt(40).and(turns.lt(7)),
        () => {
          b.set(turns.rem(5), b.at(turns.rem(5)).mul(3).add(item));
          turns.set(turns.add(1));
        },
      );
      return [0, 1, 2, 3, 4].flatMap((k) => [a.at(k), b.at(k)]).concat(a.at(few.add(2)), turns.get());
    },
    expected: (i) => {
      const a = ArrayModel.zeros(6);
      const b = new ArrayModel<number>([3, i, 0, 1, 2]);
      for (let k = 0; k < i % 9; k++) {
        if (k % 2 === 0) a.set(k % 6, b.at(k % 5));
        else a.set(1, a.at((k - 1) % 6) + 1);
        if (a.at(1) > 3) break;
        b.set(k % 5, a.at(i % 6) + b.at(1));
      }
      let turns = 0;
      for (; b.at(turns % 5) < 40 && turns < 7; turns++) b.set(turns % 5, b.at(turns % 5) * 3 + i);
      return [0, 1, 2, 3, 4].flatMap((k) => [a.at(k), b.at(k)]).concat(a.at(5), turns);
    },
  },
  {
    name: 'an array created in a loop is zeroed again each round',
    body: ({ item, few }) => {
      const total = cell(u32, 0);
      loop(few.add(1), (i) => {
        const fresh = array(u32, 7);
        const listedAgain = array(u32, [i, 5, item]);
        fresh.set(item.add(i).rem(7), i.add(1));
        when(item.gt(i.mul(8)), () => listedAgain.set(i.rem(3), 100));
        loop(7, (k) => total.set(total.add(fresh.at(k)).add(listedAgain.at(k.rem(3)))));
      });
      return [total.get()];
    },
    expected: (i) => {
      let total = 0;
      for (let round = 0; round < 4; round++) {
        const list = new ArrayModel<number>([round, 5, i]);
        if (i > round * 8) list.set(round % 3, 100);
        total += round + 1;
        for (let k = 0; k < 7; k++) total += list.at(k % 3);
      }
      return [total];
    },
  },
  {
    name: 'the same for all items, read by varying indices',
    body: ({ item, few, many }) => {
      const same = array(u32, 9);
      loop(9, (i) => same.set(i, i.mul(many).add(few)));
      same.set(few, 1);
      const inBranch = cell(u32, 0);
      when(item.gt(20), () => {
        const own = array(u32, [few, many, 8]);
        own.set(few.sub(1), 77);
        inBranch.set(own.at(item.rem(3)).add(own.at(0)));
      });
      return [same.at(item.rem(9)), same.at(few.add(1)), inBranch.get()];
    },
    expected: (i) => {
      const same = (k: number) => (k === 3 ? 1 : 1000 * k + 3);
      return [same(i % 9), same(4), i > 20 ? ([3, 1000, 77][i % 3] as number) + 3 : 0];
    },
  },
  {
    name: 'a value that was read stays when the element is set',
    body: ({ item }) => {
      const a = array(u32, 4);
      const at = item.and(3);
      a.set(at, item);
      const before = a.at(at);
      a.set(at, 50);
      return [before, a.at(at), a.at(at.xor(1))];
    },
    expected: (i) => [i, 50, 0],
  },
];

/** Arrays in each part of a tile: between regions, in `each`, in `sum` and in `once`. */
const inTiles: Case = {
  name: 'arrays/in every part of a tile',
  run: async (device, only) => {
    const LENGTH = 70;
    const kernel = tiles(
      'array-tiles',
      { buffers: { x: read(u32), out: rw(u32), totals: rw(u32) } },
      ({ tile, each, sum, once, buffers }) => {
        const steps = array(u32, 5);
        loop(5, (i) => steps.set(i, buffers.x.at(tile.mul(LENGTH).add(i))));
        steps.set(tile.rem(5), 9);
        each(LENGTH, (i) => {
          const own = array(u32, [1, 2, 3]);
          loop(i.rem(4), (k) => own.set(k.add(i).rem(3), own.at(k.rem(3)).add(steps.at(i.rem(5)))));
          buffers.out.set(
            tile.mul(LENGTH).add(i),
            own
              .at(0)
              .mul(100)
              .add(own.at(i.rem(3))),
          );
        });
        const total = sum(u32, LENGTH, (i) => {
          const own = array(u32, 4);
          own.set(i.and(3), i);
          return own.at(i.rem(3)).add(steps.at(1));
        });
        once(() => {
          const last = array(u32, 2);
          last.set(tile.and(1), total);
          buffers.totals.set(tile, last.at(tile.and(1)).add(last.at(tile.and(1).xor(1))));
        });
      },
    );
    const TILES = 5;
    const x = Uint32Array.from({ length: TILES * LENGTH }, (_, i) => (i * i) % 251);
    const out = new Uint32Array(x.length);
    const totals = new Uint32Array(TILES);
    for (let tile = 0; tile < TILES; tile++) {
      const steps = new ArrayModel<number>([...x.slice(tile * LENGTH, tile * LENGTH + 5)]);
      steps.set(tile % 5, 9);
      for (let i = 0; i < LENGTH; i++) {
        const own = new ArrayModel<number>([1, 2, 3]);
        for (let k = 0; k < i % 4; k++) own.set((k + i) % 3, own.at(k % 3) + steps.at(i % 5));
        out[tile * LENGTH + i] = own.at(0) * 100 + own.at(i % 3);
        const summed = ArrayModel.zeros(4);
        summed.set(i % 4, i);
        totals[tile] = (totals[tile] ?? 0) + summed.at(i % 3) + steps.at(1);
      }
    }
    for (const options of variantsOf(device, only)) {
      await Rig.with(device, async (rig) => {
        const { buffers } = await rig.run(await device.compile(kernel, options), {
          count: TILES,
          buffers: { x, out: new Uint32Array(out.length), totals: new Uint32Array(TILES) },
        });
        expectEqual(`elements with ${JSON.stringify(options)}`, buffers.out, out);
        expectEqual(`totals with ${JSON.stringify(options)}`, buffers.totals, totals);
      });
    }
  },
};

/** Without checks an access outside reads or writes another element of the same array. */
const contained: Case = {
  name: 'arrays/without checks, a store outside changes no other memory',
  run: async (device, only) => {
    if (device.info.kind === 'interpreter') throw new Skip('the interpreter checks every access');
    const lengths = [1, 3, 8, 13];
    const kernel = items('array-outside', { buffers: { far: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
      const arrays = lengths.map((length) => ({
        before: array(u32, 4),
        own: array(u32, length),
        after: array(u32, 4),
      }));
      const kept = cell(u32, item);
      loop(4, (k) => {
        for (const { before, own, after } of arrays) {
          before.set(k, k.add(1));
          after.set(k, k.add(5));
          own.set(buffers.far.at(item.mul(4).add(k)), 0xdead);
        }
      });
      const sum = cell(u32, 0);
      loop(4, (k) => {
        for (const { before, own, after } of arrays) {
          sum.set(sum.add(before.at(k)).add(after.at(k).mul(16)));
          const found = own.at(buffers.far.at(item.mul(4).add(k)));
          when(found.ne(0).and(found.ne(0xdead)), () => sum.set(sum.add(1)));
        }
      });
      buffers.out.set(item.mul(2), sum);
      buffers.out.set(item.mul(2).add(1), kept);
    });
    const COUNT = 21;
    const edges = [0, 1, 4, 8, 13, 14, 16, 100, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff];
    const far = Uint32Array.from({ length: COUNT * 4 }, (_, i) => edges[(i * 5) % edges.length] ?? 0);
    const expected = Array.from({ length: COUNT }, (_, i) => [lengths.length * (10 + 16 * 26), i]).flat();
    for (const options of distinctOptions(device, [{ lanes: 1 }, {}, { wide: true }], only)) {
      await Rig.with(device, async (rig) => {
        const buffers = { far, out: new Uint32Array(COUNT * 2) };
        const outcome = await rig.run(await device.compile(kernel, options), { count: COUNT, buffers });
        expectEqual(`with ${JSON.stringify(options)}`, outcome.buffers.out, expected);
        check(outcome.report.complete, 'the launch is not complete');
      });
    }
  },
};

export const arrayCases: readonly Case[] = [
  ...behaviours.map((one) => behaviourCase('arrays', one)),
  inTiles,
  contained,
];
