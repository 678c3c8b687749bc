import { items, rw } from '../../../kernel/index.js';
import type { Device } from '../../device.js';
import { type Case, check, expectError } from '../case.js';
import { expectEqual, Rig } from '../rig.js';
import { variantsOf } from '../streams/behaviour.js';

const BORDER = 1n << 32n;

const indices = items('indices', { buffers: { out: rw('u64') } }, ({ item, index, buffers }) => {
  buffers.out.set(item.mul(4), index);
  buffers.out.set(item.mul(4).add(1), index.hi.to('u64'));
  buffers.out.set(item.mul(4).add(2), index.add(1));
  buffers.out.set(item.mul(4).add(3), index.lo.add(3).to('u64'));
});

const expectedFrom = (base: bigint, count: number): bigint[] =>
  Array.from({ length: count }, (_, i) => {
    const index = base + BigInt(i);
    return [index, index >> 32n, BigInt.asUintN(64, index + 1n), BigInt.asUintN(32, index + 3n)];
  }).flat();

const bases: Case = {
  name: 'ranges/bases up to a border of 2^32 and above 2^63',
  run: async (device, only) => {
    const starts = [
      0n,
      1n,
      BORDER - 21n,
      BORDER,
      7n * BORDER - 21n,
      (1n << 63n) - 21n,
      1n << 63n,
      (1n << 63n) + 12345n,
      (1n << 64n) - 21n,
    ];
    for (const options of variantsOf(device, only)) {
      await Rig.with(device, async (rig) => {
        const program = await device.compile(indices, options);
        for (const base of starts) {
          const { buffers } = await rig.run(program, { base, count: 21, buffers: { out: new BigUint64Array(84) } });
          expectEqual(`21 items from ${base}`, buffers.out, expectedFrom(base, 21));
        }
      });
    }
  },
};

const positions = items(
  'positions',
  { job: { width: 'u32' }, buffers: { out: rw('u32') } },
  ({ item, job, index2d, buffers }) => {
    const [known, odd, even] = [index2d(job.width), index2d(1_000_003), index2d(4096)];
    buffers.out.set4(item.mul(2), [known.x, known.y, odd.x, odd.y]);
    buffers.out.set4(item.mul(2).add(1), [even.x, even.y, index2d(item.add(1)).x, index2d(0).x]);
  },
);

const rows: Case = {
  name: 'ranges/index2d: columns and rows of any width, across borders of rows and above 2^32',
  run: async (device, only) => {
    const count = 33;
    const at = (index: bigint, width: bigint): number[] => [
      Number(index % width),
      Number(BigInt.asUintN(32, index / width)),
    ];
    for (const options of variantsOf(device, only)) {
      await Rig.with(device, async (rig) => {
        const program = await device.compile(positions, options);
        for (const width of [1, 2, 3, 7, 640, 65536, 1_000_003, 0x7fff_ffff, 0x8000_0001, 0xffff_ffff]) {
          for (const base of [0n, BORDER - 33n, 3n * BORDER, BigInt(width) * 5n - 9n, (1n << 63n) + 12345n]) {
            const start = base < 0n ? 0n : base;
            const first = (start & (BORDER - 1n)) + BigInt(count) > BORDER ? start - BigInt(count) : start;
            const setup = { job: { width }, base: first, count, buffers: { out: new Uint32Array(8 * count) } };
            const { buffers } = await rig.run(program, setup);
            const expected = Array.from({ length: count }, (_, i) => {
              const index = first + BigInt(i);
              const own = at(index, BigInt(i + 1));
              return [...at(index, BigInt(width)), ...at(index, 1_000_003n), ...at(index, 4096n), own[0] ?? 0, 0];
            });
            expectEqual(`rows of ${width} from ${first}`, buffers.out, expected.flat());
          }
        }
      });
    }
  },
};

async function withProgram(
  device: Device,
  body: (rig: Rig, launch: (more: object) => void) => Promise<void>,
): Promise<void> {
  await Rig.with(device, async (rig) => {
    const program = await device.compile(indices);
    const out = await rig.alloc(84 * 8);
    await body(rig, (more) => rig.stream.launch({ job: program.bind({}), count: 1, buffers: { out }, ...more }));
    check((await rig.stream.mark().done).complete, 'a refused launch had an effect');
  });
}

const refusals: Case = {
  name: 'ranges/launches that cross a border or make no sense are refused',
  run: (device) =>
    withProgram(device, async (rig, launch) => {
      for (const [base, count] of [
        [BORDER - 1n, 2],
        [BORDER - 20n, 21],
        [1n, 2 ** 32],
        [3n * BORDER - 1n, 2 ** 31],
        [(1n << 64n) - 1n, 2],
      ] as const) {
        await expectError('launch-range', `${count} items from ${base}`, () => launch({ base, count }));
      }
      for (const count of [-1, 1.5, 2 ** 32 + 1, Number.NaN])
        await expectError('launch-range', `${count} items`, () => launch({ count }));
      for (const base of [-1n, 1n << 64n]) await expectError('launch-range', `base ${base}`, () => launch({ base }));
      await expectError('launch-arguments', 'a missing buffer', () => launch({ buffers: {} }));
      await expectError('launch-arguments', 'an unknown buffer', () =>
        launch({ buffers: { out: undefined, more: undefined } }),
      );
      await expectError('launch-arguments', 'an unknown chunk value', () => launch({ chunk: { x: 1 } }));
      const counts = await rig.alloc(4);
      await expectError('buffer-range', 'a count word outside its buffer', () =>
        launch({ count: { buffer: counts, word: 1, max: 1 } }),
      );
      await expectError('launch-range', 'a border in reach of a count from memory', () =>
        launch({ base: BORDER - 20n, count: { buffer: counts, word: 0, max: 21 } }),
      );
    }),
};

const fromMemory: Case = {
  name: 'ranges/count from a device word, at most max',
  run: async (device) => {
    const kernel = items('counted', { buffers: { out: rw('u32') } }, ({ item, buffers }) =>
      buffers.out.set(item, item.add(1)),
    );
    const shrink = items('shrink', { buffers: { words: rw('u32') } }, ({ item, buffers }) =>
      buffers.words.set(item, buffers.words.at(item).shr(1)),
    );
    await Rig.with(device, async (rig) => {
      const [program, halve] = await Promise.all([device.compile(kernel), device.compile(shrink)]);
      for (const word of [0, 1, 17, 50, 99, 0x7fff_ffff, 0xffff_ffff]) {
        const words = Uint32Array.of(77, word, 77);
        const counts = await rig.allocWith(words);
        const out = await rig.alloc(64 * 4);
        rig.stream.launch({ job: program.bind({}), count: { buffer: counts, word: 1, max: 50 }, buffers: { out } });
        expectEqual(
          `the word ${word}`,
          await rig.readBack(out, new Uint32Array(64)),
          Array.from({ length: 64 }, (_, i) => (i < Math.min(word, 50) ? i + 1 : 0)),
        );
        // The count is read when the launch runs: a launch before it may still change it.
        rig.stream.fill(out, 0);
        rig.stream.launch({ job: halve.bind({}), count: 2, buffers: { words: counts } });
        rig.stream.launch({ job: program.bind({}), count: { buffer: counts, word: 1, max: 50 }, buffers: { out } });
        expectEqual(
          `half of the word ${word}`,
          await rig.readBack(out, new Uint32Array(64)),
          Array.from({ length: 64 }, (_, i) => (i < Math.min(word >>> 1, 50) ? i + 1 : 0)),
        );
      }
    });
  },
};

/** Names that a launch's own values have in the text, and names that become the same there. */
const fields = {
  job: { base: 'u32', one: ['u32', 2], 'one-1': 'u32', limit: 'u64', 'limit-hi': 'u32' },
  chunk: { base: ['u32', 2], ringCapacity: 'u32', one: 'u32', limit: 'u64', 'chunk-3': 'u32' },
} as const;

const names: Case = {
  name: 'ranges/values of any name, those of the harness and of each other included',
  run: async (device, only) => {
    const signature = { ...fields, buffers: { out: rw('u64') }, hit: { sum: 'u64' } } as const;
    const kernel = items('named', signature, ({ job, chunk, index, item, buffers, emit }) => {
      const ofJob = [job.base, ...job.one, job['one-1'], job.limit, job['limit-hi']];
      const ofChunk = [...chunk.base, chunk.ringCapacity, chunk.one, chunk.limit, chunk['chunk-3']];
      for (const [at, value] of [...ofJob, ...ofChunk].entries()) {
        buffers.out.set(item.mul(13).add(at), value.to('u64').add(index));
      }
      buffers.out.set(item.mul(13).add(12), chunk.limit.add(chunk.ringCapacity.to('u64')));
      emit({ sum: index });
    });
    const job = { base: 1, one: [2, 3], 'one-1': 4, limit: 1n << 40n, 'limit-hi': 6 };
    const chunk = { base: [7, 8], ringCapacity: 9, one: 10, limit: 1n << 50n, 'chunk-3': 12 };
    const inputs = [job, chunk].flatMap((values) => Object.values(values).flat()).map(BigInt);
    const expected = [0n, 1n].flatMap((item) => [...inputs.map((value) => value + BORDER + item), (1n << 50n) + 9n]);
    for (const options of variantsOf(device, only)) {
      await Rig.with(device, async (rig) => {
        const program = await device.compile(kernel, options);
        const out = await rig.alloc(26 * 8);
        const ring = await rig.alloc(64);
        rig.stream.launch({ job: program.bind(job), base: BORDER, count: 2, chunk, buffers: { out }, ring });
        expectEqual('values', await rig.readBack(out, new BigUint64Array(26)), expected);
        expectEqual('hits', (await rig.readBack(ring, new Uint32Array(16))).slice(0, 1), [2]);
      });
    }
  },
};

export const ranges: readonly Case[] = [bases, rows, refusals, fromMemory, names];
