import { atomic, cell, type Expr, items, type Numeric, read, rw, when } from '../../../kernel/index.js';
import { languageSets } from '../../../kernel/ir/ops.js';
import type { CompileOptions, Device } from '../../device.js';
import { type Case, check, needsOfType, Skip } from '../case.js';
import { type Data, dataOf, expectEqual, Rig, zeros } from '../rig.js';
import { variantsOf } from '../streams/behaviour.js';
import { edgesOn } from '../values/edges.js';

const numeric: readonly Numeric[] = languageSets.numeric;
const COUNT = 35;

/** Returns the edge values of a type, repeated. */
const sample = (type: Numeric, device: Device, length = 4 * COUNT): Data => {
  const list = edgesOn(type, device);
  return dataOf(
    type,
    Array.from({ length }, (_, i) => list[(i * 5 + 1) % list.length] as number),
  );
};

async function inAllVariants(
  device: Device,
  only: number | undefined,
  body: (rig: Rig, options: CompileOptions) => Promise<void>,
): Promise<void> {
  for (const options of variantsOf(device, only)) await Rig.with(device, (rig) => body(rig, options));
}

/** Elements of 4 and 8 bytes and bytes, of whole buffers and of slices, some past the end. */
const lengths: Case = {
  name: 'memory/length: elements of whole buffers, and of slices before, at and past the end',
  run: (device, only) =>
    inAllVariants(device, only, async (rig, options) => {
      const kernel = items(
        'lengths',
        {
          job: { quad: 'u64' },
          buffers: { words: read('u32'), wide: rw('u64'), bytes: read('u8'), tally: atomic(), out: rw('u32') },
        },
        ({ item, job, buffers: { words, wide, bytes, tally, out } }) => {
          const few = [words.length, wide.length, bytes.length, tally.length];
          const fixed = [words.slice(2).length, wide.slice(job.quad).length, bytes.slice(1).length, out.length];
          const own = [words.slice(item).length, wide.slice(item).slice(1).length, bytes.slice(item).length];
          out.set4(item.mul(3), few);
          out.set4(item.mul(3).add(1), fixed);
          out.set4(item.mul(3).add(2), [...own, tally.slice(job.quad.sub(item.to('u64'))).length]);
        },
      );
      const program = await rig.device.compile(kernel, options);
      for (const [count, quad, words, wide] of [
        [5, 0n, 1, 1],
        [9, 1n, 13, 6],
        [12, (1n << 62n) + 1n, 40, 33], // four times that is 4 if it wraps
        [3, (1n << 64n) - 1n, 7, 19],
      ] as const) {
        const data = {
          words: new Uint32Array(words),
          wide: new BigUint64Array(wide),
          bytes: new Uint8Array(4 * words),
          tally: new Uint32Array(wide),
          out: new Uint32Array(12 * count),
        };
        const { buffers } = await rig.run(program, { job: { quad }, count, buffers: data });
        const after = (length: number, from: bigint): number =>
          4n * from < BigInt(length) ? length - 4 * Number(from) : 0;
        const expected = Array.from({ length: count }, (_, i) => [
          ...[words, wide, 4 * words, wide],
          ...[after(words, 2n), after(wide, quad), 4 * after(words, 1n), 12 * count],
          ...[after(words, BigInt(i)), after(wide, BigInt(i + 1)), 4 * after(words, BigInt(i))],
          after(wide, BigInt.asUintN(64, quad - BigInt(i))),
        ]);
        expectEqual(`lengths with ${JSON.stringify(options)}`, buffers.out, expected.flat());
      }
    }),
};

const copies = (type: Numeric): Case => ({
  name: `memory/${type}: elements and quads, read, written, and changed in place`,
  needs: needsOfType(type),
  run: (device, only) =>
    inAllVariants(device, only, async (rig, options) => {
      const from = sample(type, device);
      const kernel = items(
        `copy-${type}`,
        { buffers: { from: read(type), to: rw(type), back: rw(type), own: rw(type) } },
        ({ item, buffers }) => {
          const quad = buffers.from.at4(item);
          buffers.from.prefetch4(item.add(1));
          buffers.to.set4(item, quad);
          for (const k of [0, 1, 2, 3]) buffers.back.set(item.mul(4).add(k), buffers.from.at(item.mul(4).add(3 - k)));
          // An item reads back its own writes, whatever it does in between.
          const before = buffers.own.at(item);
          buffers.own.set(item, buffers.to.at(item.mul(4).add(2)));
          when(item.and(1).eq(1), () => {
            const after = buffers.own.at(item);
            buffers.own.set(item, before);
            buffers.to.set(item.mul(4), after);
          });
        },
      );
      const own = sample(type, device, COUNT + 1); // whole words, whatever the type
      const program = await rig.device.compile(kernel, options);
      const { buffers } = await rig.run(program, {
        count: COUNT,
        buffers: { from, to: zeros(type, 4 * COUNT), back: zeros(type, 4 * COUNT), own },
      });
      const expected = [...from] as number[];
      const changed = [...own] as number[];
      for (let i = 0; i < COUNT; i++) {
        if (i % 2 === 1) expected[4 * i] = from[4 * i + 2] as number;
        else changed[i] = from[4 * i + 2] as number;
      }
      expectEqual('quads', buffers.to, expected);
      expectEqual(
        'elements',
        buffers.back,
        Array.from({ length: 4 * COUNT }, (_, i) => from[i - (i % 4) + 3 - (i % 4)] as number),
      );
      expectEqual('in place', buffers.own, changed);
    }),
});

const bytes: Case = {
  name: 'memory/bytes of words',
  run: (device, only) =>
    inAllVariants(device, only, async (rig, options) => {
      const text = Uint8Array.from({ length: 160 }, (_, i) => (i * 37 + 250) % 256);
      const kernel = items('bytes', { buffers: { text: read('u8'), out: rw('u32') } }, ({ item, buffers }) => {
        buffers.out.set(item.mul(2), buffers.text.at(item));
        buffers.out.set(item.mul(2).add(1), buffers.text.slice(1).at(item.mul(3)));
      });
      const { buffers } = await rig.run(await rig.device.compile(kernel, options), {
        count: 40,
        buffers: { text, out: new Uint32Array(80) },
      });
      expectEqual(
        'bytes',
        buffers.out,
        Array.from({ length: 40 }, (_, i) => [text[i] as number, text[16 + 3 * i] as number]).flat(),
      );
    }),
};

/** Neighbours in one word are stored by different items, and elements beside them stay as they are. */
const packed: Case = {
  name: 'memory/packed: stores of u8, u16 and f16 beside each other',
  run: (device, only) =>
    inAllVariants(device, only, async (rig, options) => {
      const kernel = items(
        'packed',
        { buffers: { bytes: rw('u8'), pairs: rw('u16'), halves: rw('f16'), from: read('f16'), out: rw('f32') } },
        ({ item, buffers }) => {
          when(item.rem(5).ne(3), () => {
            buffers.bytes.set(item, item.mul(37).add(250));
            buffers.pairs.set(item, item.mul(4099).add(buffers.pairs.at(item)));
            buffers.halves.slice(1).set(
              item,
              item
                .to('f32')
                .mul(1025 / 1024)
                .to('f16'),
            );
          });
          buffers.out.set(item, buffers.from.at(item.add(1)).to('f32'));
        },
      );
      const bytes = new Uint8Array(COUNT + 1).fill(7);
      const pairs = new Uint16Array(COUNT + 1).fill(1000);
      const halves = new Uint16Array(COUNT + 9).fill(0x5555);
      const from = Uint16Array.from({ length: COUNT + 1 }, (_, i) => halfOf(i * 0.7 - 9));
      const { buffers } = await rig.run(await rig.device.compile(kernel, options), {
        count: COUNT,
        buffers: { bytes, pairs, halves, from, out: new Float32Array(COUNT) },
      });
      const isStored = (i: number): boolean => i >= 0 && i < COUNT && i % 5 !== 3;
      expectEqual(
        'bytes',
        buffers.bytes,
        Array.from(bytes, (old, i) => (isStored(i) ? (i * 37 + 250) % 256 : old)),
      );
      expectEqual(
        'pairs',
        buffers.pairs,
        Array.from(pairs, (old, i) => (isStored(i) ? (i * 4099 + 1000) % 65_536 : old)),
      );
      expectEqual(
        'halves',
        buffers.halves,
        Array.from(halves, (old, i) => (isStored(i - 4) ? halfOf(((i - 4) * 1025) / 1024) : old)),
      );
      expectEqual(
        'loads',
        buffers.out,
        Array.from({ length: COUNT }, (_, i) => floatOf(from[i + 1] as number)),
      );
    }),
};

/** The float of 16 bits. */
const floatOf = (bits: number): number => {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
};

/** The nearest float of 16 bits; the even one of two. Floats that are not negative are in the order of their bits. */
const halfOf = (value: number): number => {
  const size = Math.abs(value);
  let [below, above] = [0, 0x7c00];
  while (above - below > 1) {
    const middle = (below + above) >> 1;
    if (floatOf(middle) <= size) below = middle;
    else above = middle;
  }
  const difference = size - floatOf(below) - (floatOf(above) - size);
  const best = difference < 0 || (difference === 0 && below % 2 === 0) ? below : above;
  return value < 0 ? best | 0x8000 : best;
};

const slices: Case = {
  name: 'memory/slices: u32 and u64 bases, of slices, of cells',
  run: (device, only) =>
    inAllVariants(device, only, async (rig, options) => {
      const from = Uint32Array.from({ length: 400 }, (_, i) => i * 7);
      const kernel = items(
        'slices',
        { job: { far: 'u64' }, buffers: { from: read('u32'), to: rw('u32') } },
        ({ item, index, job, buffers }) => {
          const moving = cell('u64', 2);
          const view = buffers.from.slice(moving);
          moving.set(90); // the view keeps the cell's earlier value
          const a = view.at(item);
          const b = buffers.from.slice(job.far).at(item);
          const c = buffers.from.slice(item).at4(3);
          const d = buffers.from.slice(index.shr(1)).slice(job.far.sub(9)).at(3);
          const out = buffers.to.slice(item.mul(2));
          out.set4(0, [a, b, c[1], d]);
          out.slice(1).set(2, c[3]);
        },
      );
      const { buffers } = await rig.run(await rig.device.compile(kernel, options), {
        job: { far: 10n },
        count: 30,
        buffers: { from, to: new Uint32Array(240) },
      });
      const expected = Array.from({ length: 30 }, (_, i) =>
        [8 + i, 40 + i, 4 * i + 13, 4 * (Math.floor(i / 2) + 1) + 3]
          .map((at) => at * 7)
          .concat(0, 0, (4 * i + 15) * 7, 0),
      );
      expectEqual('slices', buffers.to, expected.flat());
    }),
};

const PAST_4_GIB = 5 * 2 ** 30;

const large: Case = {
  name: 'memory/a buffer past 4 GiB',
  run: async (device) => {
    const { bufferBytes } = device.info.limits;
    if (bufferBytes < PAST_4_GIB)
      throw new Skip(`the device's largest buffer is ${bufferBytes} bytes, the case needs 5 GiB`);
    // `native` takes memory page by page as it is touched; a driver on the CPU clears all of it.
    if (device.info.processor === 'cpu' && device.info.kind !== 'native')
      throw new Skip('the buffer would take 5 GiB of host memory');
    await Rig.with(device, async (rig) => {
      const far = await rig.alloc(PAST_4_GIB);
      const out = await rig.alloc(COUNT * 16);
      const kernel = items(
        'far',
        { job: { first: 'u64' }, buffers: { far: rw('u32'), out: rw('u32') } },
        ({ item, job, buffers }) => {
          const view = buffers.far.slice(job.first.add(item.to('u64').mul(3)));
          const [a, b, c, d] = view.at4(0);
          buffers.out.set4(item, [a, b, c, d]);
          view.set(2, a.add(item));
        },
      );
      // Quads on both sides of 4 GiB, three apart.
      const first = 2n ** 28n - 48n;
      for (const options of [{}, { lanes: 1, checked: true }]) {
        const program = await device.compile(kernel, options);
        const words = Uint32Array.from({ length: COUNT * 12 }, (_, i) => i * 11 + 1);
        rig.stream.write(far, words, Number(first * 16n));
        rig.stream.launch({ job: program.bind({ first }), count: COUNT, buffers: { far, out } });
        expectEqual(
          'read',
          await rig.readBack(out, new Uint32Array(COUNT * 4)),
          Array.from({ length: COUNT }, (_, i) => [0, 1, 2, 3].map((k) => words[12 * i + k] as number)).flat(),
        );
        const after = new Uint32Array(words.length);
        rig.stream.read(far, after, Number(first * 16n));
        await rig.stream.mark().done;
        expectEqual(
          'written',
          after,
          words.map((word, i) => (i % 12 === 2 ? (words[i - 2] as number) + Math.floor(i / 12) : word)),
        );
      }
      const low = new Uint32Array(COUNT * 12);
      rig.stream.read(far, low); // where wrapped 32-bit addresses would point
      await rig.stream.mark().done;
      check(
        low.every((word) => word === 0),
        'words at the start of the buffer were written',
      );
    });
  },
};

/** Items must touch only their own words, even in the tail of a gang. */
const tails: Case = {
  name: 'memory/counts of 0 to 40 items touch exactly their own words',
  run: async (device) => {
    const kernel = items('tail', { buffers: { own: rw('u32'), quads: rw('u32') } }, ({ item, buffers }) => {
      const x: Expr<'u32'> = buffers.own.at(item.add(1));
      buffers.own.set(item.add(1), x.add(item).add(1));
      buffers.quads.set4(item.add(1), [item, x, item.mul(2), 5]);
    });
    const program = await device.compile(kernel);
    await Rig.with(device, async (rig) => {
      for (let count = 0; count <= 40; count++) {
        const { buffers } = await rig.run(program, {
          count,
          buffers: { own: new Uint32Array(42).fill(9), quads: new Uint32Array(168).fill(9) },
        });
        expectEqual(
          `${count} items`,
          buffers.own,
          Array.from({ length: 42 }, (_, i) => (i >= 1 && i <= count ? 9 + i : 9)),
        );
        const quads = Array.from({ length: 42 }, (_, i) =>
          i >= 1 && i <= count ? [i - 1, 9, 2 * i - 2, 5] : [9, 9, 9, 9],
        );
        expectEqual(`${count} items, quads`, buffers.quads, quads.flat());
      }
    });
  },
};

export const memory: readonly Case[] = [...numeric.map(copies), bytes, packed, slices, large, tails, lengths];
