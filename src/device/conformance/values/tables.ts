import { type Expr, items, lit, loop, type Numeric, read, rw, table, when } from '../../../kernel/index.js';
import { languageSets } from '../../../kernel/ir/ops.js';
import { type Case, needsOfType } from '../case.js';
import { modelResult } from '../model/model.js';
import { type Data, dataOf, expectEqual, Rig, valuesIn, zeros } from '../rig.js';
import { variantsOf } from '../streams/behaviour.js';
import { edgesOn } from './edges.js';

const COUNT = 30; // even: an f16 has half a word

/** Looks up constants, job values and values computed from both, by varying, uniform, early and constant indices. */
const lookups = (type: Numeric): Case => ({
  name: `tables/${type}: constants and job values`,
  needs: needsOfType(type),
  run: async (device, only) => {
    const values = edgesOn(type, device) as readonly number[];
    const n = values.length;
    const kernel = items(
      `table-${type}`,
      {
        job: { entries: [type, n], at: 'u32' },
        chunk: { late: 'u32' },
        buffers: { index: read('u32'), out: rw(type) },
      },
      ({ job, chunk, item, buffers }) => {
        const constants = table(type, values);
        const known = table(type, job.entries as readonly Expr<Numeric>[]);
        const mixed = table(type, [
          ...(job.entries.slice(0, 3) as readonly Expr<Numeric>[]),
          lit(type, 1),
          (job.entries[4] as Expr<Numeric>).add(1),
        ]);
        const at = buffers.index.at(item);
        const put = (k: number, value: Expr<Numeric>) => buffers.out.set(item.mul(9).add(k), value);
        put(0, constants.at(at));
        put(1, known.at(at));
        put(2, mixed.at(at.rem(5)));
        put(3, constants.at(job.at));
        put(4, known.at(job.at));
        put(5, known.at(chunk.late));
        put(6, constants.at(2));
        put(7, known.at(2));
        when(at.lt(3), () => put(8, constants.at(at.add(n - 3)))); // elsewhere it would be out of bounds
        loop(1, (i) => when(at.ge(3), () => put(8, known.at(i.add(chunk.late)))));
      },
    );
    const index = Uint32Array.from({ length: COUNT }, (_, i) => (i * 7) % n);
    const one = (type === 'u64' || type === 'i64' ? 1n : 1) as number;
    const plusOne = (x: number): number => modelResult('add', type, [x, one]) as number;
    const mixed = [values[0], values[1], values[2], one, plusOne(values[4] as number)];
    const expected = Array.from(
      index,
      (at) =>
        [
          values[at],
          values[at],
          mixed[at % 5],
          values[5],
          values[5],
          values[6],
          values[2],
          values[2],
          at < 3 ? values[at + n - 3] : values[6],
        ] as number[],
    );
    for (const options of variantsOf(device, only)) {
      await Rig.with(device, async (rig) => {
        const program = await device.compile(kernel, options);
        const { buffers } = await rig.run(program, {
          job: { entries: values, at: 5 },
          chunk: { late: 6 },
          count: COUNT,
          buffers: { index, out: zeros(type, COUNT * 9) },
        });
        const wanted = valuesIn(type, dataOf(type, expected.flat())) as Data;
        expectEqual(`look-ups with ${JSON.stringify(options)}`, valuesIn(type, buffers.out), wanted);
      });
    }
  },
});

/** Larger than parameter caches, with more than one word per entry. */
const large: Case = {
  name: 'tables/thousands of entries',
  run: async (device) => {
    const constants = Array.from({ length: 4096 }, (_, i) => (i * 2654435761) >>> 0);
    const entries = BigUint64Array.from({ length: 600 }, (_, i) => BigInt(i) * 0x9e37_79b9_7f4a_7c15n);
    const kernel = items(
      'large-tables',
      { job: { entries: ['u64', 600] }, buffers: { out: rw('u64') } },
      ({ job, item, buffers }) => {
        const sum = table('u32', constants)
          .at(item.mul(41).rem(4096))
          .to('u64')
          .add(table('u64', job.entries).at(item.mul(17).rem(600)));
        buffers.out.set(item, sum);
      },
    );
    await Rig.with(device, async (rig) => {
      const program = await device.compile(kernel);
      const { buffers } = await rig.run(program, {
        job: { entries },
        count: 500,
        buffers: { out: new BigUint64Array(500) },
      });
      expectEqual(
        'sums',
        buffers.out as Data,
        Array.from({ length: 500 }, (_, i) =>
          BigInt.asUintN(64, BigInt(constants[(i * 41) % 4096] as number) + (entries[(i * 17) % 600] as bigint)),
        ),
      );
    });
  },
};

export const tables: readonly Case[] = [...languageSets.numeric.map(lookups), large];
