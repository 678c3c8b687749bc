import { atomic, items, rw, when } from '../../../kernel/index.js';
import { type Case, check } from '../case.js';
import { expectEqual, Rig } from '../rig.js';
import { variantsOf } from '../streams/behaviour.js';

const COUNT = 5000;
const value = (i: number): number => Math.imul(i + 1, 2654435761) >>> 0;

/** Every item updates the same few words; the result does not depend on the order. */
const totals: Case = {
  name: 'atomics/all items on few words',
  run: async (device) => {
    const kernel = items('totals', { buffers: { words: atomic() } }, ({ item, buffers }) => {
      const x = item.add(1).mul(2654435761);
      buffers.words.add(0, 1);
      buffers.words.add(1, x);
      buffers.words.or(2, x.and(0x00f0_ff0f));
      buffers.words.min(3, x);
      buffers.words.max(4, x);
      buffers.words.add(item.and(3).add(8), item);
      when(item.rem(3).eq(0), () => buffers.words.add(5, 2));
      buffers.words.slice(3).max(item.and(1), item); // words 12 and 13
    });
    const start = new Uint32Array(16);
    start[3] = 0xffff_ffff;
    const all = Array.from({ length: COUNT }, (_, i) => ({ i, x: value(i) }));
    const sum = (of: (one: { i: number; x: number }) => number) =>
      all.reduce((total, one) => (total + of(one)) >>> 0, 0);
    const expected = Uint32Array.from([
      COUNT,
      sum(({ x }) => x),
      all.reduce((bits, { x }) => bits | (x & 0x00f0_ff0f), 0),
      all.reduce((least, { x }) => Math.min(least, x), 0xffff_ffff),
      all.reduce((most, { x }) => Math.max(most, x), 0),
      sum(({ i }) => (i % 3 === 0 ? 2 : 0)),
      0,
      0,
      ...[0, 1, 2, 3].map((k) => sum(({ i }) => (i % 4 === k ? i : 0))),
      COUNT - 2,
      COUNT - 1,
      0,
      0,
    ]);
    for (const options of variantsOf(device)) {
      await Rig.with(device, async (rig) => {
        const { buffers } = await rig.run(await device.compile(kernel, options), {
          count: COUNT,
          buffers: { words: start },
        });
        expectEqual(`totals with ${JSON.stringify(options)}`, buffers.words, expected);
      });
    }
  },
};

/** Each previous value is returned once: tickets are all different, and each exchanged value exists exactly once. */
const before: Case = {
  name: 'atomics/the value before, exchange, load and store',
  run: async (device) => {
    const kernel = items(
      'before',
      { buffers: { words: atomic(), tickets: rw('u32'), found: rw('u32'), own: rw('u32') } },
      ({ item, buffers }) => {
        buffers.tickets.set(item, buffers.words.add(0, 1));
        buffers.found.set(item, buffers.words.exchange(1, item.add(1)));
        const mine = item.mul(2).add(4);
        buffers.words.store(mine, item.mul(3));
        const loaded = buffers.words.load(mine);
        const least = buffers.words.min(mine, 5);
        const most = buffers.words.max(mine, 9);
        const ones = buffers.words.or(mine, 1);
        const fixed = buffers.words.load(2);
        buffers.own.set4(item, [loaded, least, most, ones.add(fixed)]);
      },
    );
    const N = 700;
    for (const options of variantsOf(device)) {
      await Rig.with(device, async (rig) => {
        const words = new Uint32Array(4 + 2 * N);
        words[2] = 1000;
        const initial = { words, tickets: new Uint32Array(N), found: new Uint32Array(N), own: new Uint32Array(4 * N) };
        const { buffers } = await rig.run(await device.compile(kernel, options), { count: N, buffers: initial });
        const sorted = (name: string) => [...(buffers[name] as Uint32Array)].sort((a, b) => a - b);
        expectEqual(
          'tickets',
          Uint32Array.from(sorted('tickets')),
          Array.from({ length: N }, (_, i) => i),
        );
        const last = (buffers.words as Uint32Array)[1] as number;
        const everything = [...sorted('found'), last].sort((a, b) => a - b);
        expectEqual(
          'exchanged',
          Uint32Array.from(everything),
          Array.from({ length: N + 1 }, (_, i) => i),
        );
        expectEqual(
          'own words',
          buffers.own,
          Array.from({ length: N }, (_, i) => [
            3 * i,
            3 * i,
            Math.min(3 * i, 5),
            Math.max(Math.min(3 * i, 5), 9) + 1000,
          ]).flat(),
        );
        check((buffers.words as Uint32Array)[2] === 1000, 'a word that was only loaded has changed');
      });
    }
  },
};

export const atomics: readonly Case[] = [totals, before];
