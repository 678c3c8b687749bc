import { breakWhen, type Expr, items, lit, loop, when } from '../../../kernel/index.js';
import { type Case, check } from '../case.js';
import { dataOf, expectEqual, Rig } from '../rig.js';
import { variantsOf } from '../streams/behaviour.js';

const HEADER = 4;
/** A word that no record contains; fills the unused words of a ring. */
const GUARD = 0xdead_beef;

/** Returns a ring of `words` words: a header of zeros, then guard words. */
function freshRing(words: number): Uint32Array {
  const ring = new Uint32Array(words).fill(GUARD);
  ring.fill(0, 0, HEADER);
  return ring;
}

/** Records of the types that WGSL has; with `floats`, also doubles and floats that must be rounded exactly. */
const everyType = (floats: boolean): Case => ({
  name: floats ? 'hits/records with doubles, and floats that are rounded' : 'hits/records of every other type',
  needs: floats ? ['f64', 'exact-floats'] : ['f32'],
  run: async (device, only) => {
    const kernel = items(
      'record',
      {
        job: { scale: floats ? 'f64' : 'f32' },
        hit: {
          a: 'u32',
          b: 'i32',
          c: 'u64',
          d: 'f32',
          e: floats ? 'f64' : 'f32',
          f: 'bool',
          g: ['u32', 3],
          h: 'i64',
          k: 'f16',
        },
      },
      ({ item, index, job, emit }) => {
        when(item.rem(7).eq(3), () => {
          emit({
            a: item,
            b: item.to('i32').neg(),
            c: index.mul(0x1_0000_0001n),
            d: floats ? item.to('f32').div(3) : item.to('f32').mul(0.25),
            e: floats ? (job.scale as Expr<'f64'>).mul(item.to('f64')) : job.scale,
            f: item.and(1).eq(1),
            g: [lit('u32', 7), item.not(), 0],
            h: index.to('i64').neg(),
            k: item.to('f16').mul(-0.25),
          });
        });
      },
    );
    const scale = floats ? 0.1 : -1.5;
    const record = (i: number): number[] => {
      const words = (type: Parameters<typeof dataOf>[0], value: number | bigint | boolean) => [
        ...new Uint32Array(dataOf(type, [value]).buffer),
      ];
      const index = (5n << 32n) + BigInt(i);
      return [
        i,
        i,
        -i >>> 0,
        ...words('u64', BigInt.asUintN(64, index * 0x1_0000_0001n)),
        ...words('f32', floats ? i / 3 : i / 4),
        ...(floats ? words('f64', scale * i) : words('f32', scale)),
        i % 2,
        7,
        ~i >>> 0,
        0,
        ...words('i64', -index),
        ...words('f32', -i / 4),
      ];
    };
    const hits = Array.from({ length: 40 }, (_, i) => i).filter((i) => i % 7 === 3);
    for (const options of variantsOf(device, only)) {
      await Rig.with(device, async (rig) => {
        const program = await device.compile(kernel, options);
        const width = record(0).length;
        check(
          program.ring.headerWords === HEADER && program.ring.recordWords === width,
          `the ring's layout is ${JSON.stringify(program.ring)}`,
        );
        const { ring } = await rig.run(program, {
          job: { scale },
          base: 5n << 32n,
          count: 40,
          ring: freshRing(HEADER + 20 * width),
        });
        check(ring[0] === hits.length, `${ring[0]} hits are counted, not ${hits.length}`);
        const records = recordsIn(ring, hits.length, width).sort((a, b) => (a[0] as number) - (b[0] as number));
        expectEqual('records', Uint32Array.from(records.flat()), hits.flatMap(record));
        check(
          ring.slice(HEADER + hits.length * width).every((word) => word === GUARD),
          'words behind the last record were written',
        );
      });
    }
  },
});

const recordsIn = (ring: Uint32Array, count: number, width: number): number[][] =>
  Array.from({ length: count }, (_, k) => [...ring.slice(HEADER + k * width, HEADER + (k + 1) * width)]);

/** The count exceeds the capacity, stored records are complete and correct, and no word after the ring changes. */
const overflow: Case = {
  name: 'hits/a ring that overflows',
  run: async (device, only) => {
    const kernel = items('full', { hit: { square: 'u64', tag: 'u32' } }, ({ item, emit }) =>
      emit({ square: item.to('u64').mul(item.to('u64')), tag: item.xor(0x5555) }),
    );
    for (const options of variantsOf(device, only)) {
      const program = await device.compile(kernel, options);
      for (const [count, capacity] of [
        [1, 1],
        [16, 16],
        [17, 16],
        [1000, 1],
        [5000, 37],
      ] as const) {
        await Rig.with(device, async (rig) => {
          const words = HEADER + capacity * 4 + 2; // two more than the records need, too few for another record
          const { ring } = await rig.run(program, { count, ring: freshRing(words) });
          check(ring[0] === count, `${ring[0]} hits are counted, not ${count}`);
          const stored = Math.min(count, capacity);
          const records = recordsIn(ring, stored, 4);
          const seen = new Set(records.map(([item]) => item));
          check(seen.size === stored, `${stored - seen.size} records of ${stored} are stored twice`);
          for (const [item = -1, low = 0, high = 0, tag = 0] of records) {
            const right =
              item < count && BigInt(low) + (BigInt(high) << 32n) === BigInt(item) ** 2n && tag === (item ^ 0x5555);
            check(right, () => `the record ${[item, low, high, tag].join(', ')} is wrong`);
          }
          check(
            ring.slice(HEADER + stored * 4).every((word) => word === GUARD),
            'words behind the ring were written',
          );
          check(
            ring.slice(1, HEADER).every((word) => word === 0),
            'the spare words of the header were written',
          );
        });
      }
    }
  },
};

const divergent: Case = {
  name: 'hits/several from one item, out of loops and branches',
  run: async (device, only) => {
    const kernel = items('several', { job: { limit: 'u32' }, hit: { round: 'u32' } }, ({ item, job, emit }) => {
      loop(item.and(7), (i) => {
        breakWhen(i.gt(job.limit));
        when(i.add(item).and(1).eq(1), () => emit({ round: i })).otherwise(() =>
          when(item.eq(6), () => emit({ round: i.add(100) })),
        );
      });
    });
    const expected: string[] = [];
    for (let item = 0; item < 50; item++) {
      for (let i = 0; i < item % 8 && i <= 4; i++) {
        if ((i + item) % 2 === 1) expected.push(`${item} ${i}`);
        else if (item === 6) expected.push(`${item} ${i + 100}`);
      }
    }
    for (const options of variantsOf(device, only)) {
      await Rig.with(device, async (rig) => {
        const { ring } = await rig.run(await device.compile(kernel, options), {
          job: { limit: 4 },
          count: 50,
          ring: freshRing(HEADER + 2 * 500),
        });
        const got = recordsIn(ring, ring[0] as number, 2).map((record) => record.join(' '));
        check(got.sort().join() === expected.sort().join(), `hits are ${got.join(', ')}, not ${expected.join(', ')}`);
      });
    }
  },
};

export const hits: readonly Case[] = [everyType(false), everyType(true), overflow, divergent];
