import { atomic, cell, items, rw, type Unsigned, when, whileTrue } from '../../../kernel/index.js';
import { type Case, check, expectError, hasAbility, Skip } from '../case.js';
import { dataOf, expectEqual, Rig, zeros } from '../rig.js';
import { variantsOf } from '../streams/behaviour.js';

const COUNT = 5000;
const value = (i: number): number => Math.imul(i + 1, 2654435761) >>> 0;

/** Every item updates the same few words; the result does not depend on the order. */
const totals: Case = {
  name: 'atomics/all items on few words',
  run: async (device, only) => {
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
    for (const options of variantsOf(device, only)) {
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
  run: async (device, only) => {
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
    for (const options of variantsOf(device, only)) {
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

/** An odd number of each width, whose products with 1, 2, 3 … spread over all bits. */
const factors = { u32: 2654435761n, u64: 0x9e37_79b9_7f4a_7c15n } as const;

/** Every update by every item on a few elements of its own operation, then compare-exchange in a loop. */
const updates = (type: Unsigned): Case => ({
  name: `atomics/${type}: every update, and sums and maxima by compare-exchange`,
  ...(type === 'u64' ? { needs: ['u64-atomics'] as const } : {}),
  run: async (device, only) => {
    const N = 900;
    const kernel = items(
      `updates-${type}`,
      { buffers: { all: atomic(type), own: rw(type) } },
      ({ item, buffers: { all, own } }) => {
        const x = item.add(1).to(type).mul(factors[type]);
        all.add(0, x);
        all.sub(1, x);
        all.and(2, x.or(factors[type] >> 3n));
        all.or(3, x.and(factors[type] >> 3n));
        all.xor(4, x);
        all.min(5, x);
        all.max(6, x);
        // A sum and a maximum by compare-exchange: every item repeats until its own update is stored.
        const add = cell(type, all.load(7));
        const isAdded = cell('bool', false);
        whileTrue(
          () => isAdded.not(),
          () => {
            const seen = all.compareExchange(7, add, add.add(x));
            isAdded.set(seen.eq(add));
            add.set(seen);
          },
        );
        const seen = cell(type, all.load(8));
        whileTrue(
          () => seen.lt(x),
          () => seen.set(all.compareExchange(8, seen, x)),
        );
        // Element 9 never has this value: nothing is stored, with or without a result.
        all.compareExchange(9, 12345, x);
        const fixed = all.compareExchange(9, 0, 0);
        // The item's own element, through every update; each result is the value before.
        const view = all.slice(4);
        const steps = [
          view.exchange(item, x),
          view.compareExchange(item, x, 40),
          view.compareExchange(item, 41, 7),
          view.sub(item, 42),
          view.and(item, x.not()),
          view.xor(item, x),
          view.load(item).add(fixed),
        ];
        view.store(item, x);
        when(item.and(1).eq(0), () => view.sub(item, 1));
        for (let quad = 0; quad < 2; quad++)
          own.set4(
            item.mul(2).add(quad),
            [0, 1, 2, 3].map((k) => steps[4 * quad + k] ?? x),
          );
      },
    );
    const bits = type === 'u32' ? 32 : 64;
    const wrap = (value: bigint): bigint => BigInt.asUintN(bits, value);
    const ones = wrap(-1n);
    const xs = Array.from({ length: N }, (_, i) => wrap(BigInt(i + 1) * factors[type]));
    const part = factors[type] >> 3n;
    const sum = wrap(xs.reduce((total, x) => total + x, 0n));
    const most = xs.reduce((max, x) => (x > max ? x : max), 0n);
    const start = [0n, 0n, ones, 0n, 0n, ones, 0n, 0n, 0n, 99n, ...Array<bigint>(6).fill(0n), ...xs.map(() => 5n)];
    const expected = [
      sum,
      wrap(-sum),
      xs.reduce((all, x) => all & (x | part), ones),
      xs.reduce((all, x) => all | (x & part), 0n),
      xs.reduce((all, x) => all ^ x, 0n),
      xs.reduce((min, x) => (x < min ? x : min), ones),
      most,
      sum,
      most,
      ...start.slice(9, 16),
      ...xs.map((x, i) => (i % 2 === 0 ? wrap(x - 1n) : x)),
    ];
    const before = xs.flatMap((x) => {
      const less = wrap(40n - 42n);
      const masked = less & wrap(~x);
      return [5n, x, 40n, 40n, less, masked, wrap((masked ^ x) + 99n), x];
    });
    const asValues = (list: readonly bigint[]) => (type === 'u64' ? list : list.map(Number));
    for (const options of variantsOf(device, only)) {
      await Rig.with(device, async (rig) => {
        const buffers = { all: dataOf(type, asValues(start)), own: zeros(type, 8 * N) };
        const outcome = await rig.run(await device.compile(kernel, options), { count: N, buffers });
        expectEqual(`${type} with ${JSON.stringify(options)}`, outcome.buffers.all, asValues(expected));
        expectEqual(`the values before, with ${JSON.stringify(options)}`, outcome.buffers.own, asValues(before));
      });
    }
  },
});

/** Where u64 has no atomics, the kernel is refused before it runs. */
const refused: Case = {
  name: 'atomics/u64 is refused with the reason where the device has none',
  run: async (device) => {
    if (hasAbility(device, 'u64-atomics')) throw new Skip('the device has atomics of u64');
    const kernel = items('wide-tally', { buffers: { all: atomic('u64') } }, ({ buffers }) => buffers.all.add(0, 1n));
    const error = await expectError('device-capability', 'a kernel with atomics of u64', () => device.compile(kernel));
    check(/atomic access to u64/.test(error.message), () => `the message is ${error.message}`);
  },
};

export const atomics: readonly Case[] = [totals, before, updates('u32'), updates('u64'), refused];
