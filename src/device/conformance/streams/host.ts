import { items, rw } from '../../../kernel/index.js';
import { type Case, check, expectError, Skip } from '../case.js';
import { expectEqual, Rig } from '../rig.js';

/** Large enough that a device that splits transfers uses several pieces; not a multiple of any piece size. */
const BYTES = 3 * 2 ** 20 + 52;

/** The kernel processes only some of the words: the interpreter is slow. */
const ITEMS = 3000;

const triple = items('triple', { buffers: { x: rw('u32') } }, ({ item, buffers }) => {
  buffers.x.set(item, buffers.x.at(item).mul(3).add(item));
});

const transfers: Case = {
  name: 'streams/transfers to and from memory of host()',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const { stream } = rig;
      const program = await device.compile(triple);
      const host = await device.host(2 * BYTES);
      check(host.bytes.length === 2 * BYTES, `${host.bytes.length} bytes of host memory, not ${2 * BYTES}`);
      const { buffer: memory, byteOffset } = host.bytes;
      const [sent, received] = [0, BYTES].map((at) => new Uint32Array(memory, byteOffset + at, BYTES / 4)) as [
        Uint32Array,
        Uint32Array,
      ];
      for (let i = 0; i < sent.length; i++) sent[i] = Math.imul(i, 0x9e37_79b1);
      const x = await rig.alloc(BYTES);
      stream.write(x, sent);
      stream.launch({ job: program.bind({}), count: ITEMS, buffers: { x } });
      stream.read(x, received);
      await stream.mark().done;
      expectEqual(
        'there and back',
        received,
        sent.map((word, i) => (i < ITEMS ? Math.imul(word, 3) + i : word)),
      );
      host.free();
    }),
};

const inPlace: Case = {
  name: 'streams/memory of host() as a buffer',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const { stream } = rig;
      const host = await device.host(4 * ITEMS);
      const { buffer } = host;
      if (!buffer) throw new Skip('kernels do not access host memory');
      check(buffer.bytes === 4 * ITEMS, `a buffer of ${buffer.bytes} bytes, not ${4 * ITEMS}`);
      const program = await device.compile(triple);
      const words = new Uint32Array(host.bytes.buffer, host.bytes.byteOffset, ITEMS);
      for (let i = 0; i < ITEMS; i++) words[i] = Math.imul(i, 0x9e37_79b1);
      const wanted = words.map((word, i) => Math.imul(Math.imul(word, 3) + i, 3) + i);
      // Two launches, and a read of what the first has stored.
      const between = new Uint32Array(ITEMS);
      stream.launch({ job: program.bind({}), count: ITEMS, buffers: { x: buffer } });
      stream.read(buffer, between);
      stream.launch({ job: program.bind({}), count: ITEMS, buffers: { x: buffer } });
      const done = stream.mark();
      host.free(); // queued commands still use it
      await done.done;
      expectEqual('in place', words, wanted);
      expectEqual(
        'between the launches',
        between.map((word, i) => Math.imul(word, 3) + i),
        wanted,
      );
      await expectError('buffer-range', 'a freed buffer', () => stream.fill(buffer, 0));
    }),
};

const offsets: Case = {
  name: 'streams/memory of host() at odd places, beside plain arrays',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const { stream } = rig;
      const [host, other] = await Promise.all([device.host(200), device.host(64)]);
      const x = await rig.alloc(200);
      for (const [from, to, size] of [
        [0, 100, 5],
        [1, 103, 31],
        [7, 199, 1],
        [60, 133, 64],
      ] as const) {
        host.bytes.forEach((_, i, all) => {
          all[i] = i + size;
        });
        const plain = new Uint8Array(size + 2).fill(255);
        stream.write(x, host.bytes.subarray(from, from + size), 8);
        stream.read(x, host.bytes.subarray(to, to + size), 8);
        stream.read(x, plain.subarray(1, size + 1), 8);
        await stream.mark().done;
        const bytes = Array.from({ length: size }, (_, i) => from + i + size);
        expectEqual(`${size} bytes from ${from} to ${to}`, host.bytes.subarray(to, to + size), bytes);
        expectEqual(`${size} bytes to a plain array`, plain, [255, ...bytes, 255]);
        check(host.bytes[to - 1] === to - 1 + size, 'the byte before the destination has changed');
      }
      other.free();
      other.free(); // freeing twice is allowed
      stream.write(x, host.bytes.subarray(0, 4)); // freeing `other` must not affect `host`
      await stream.mark().done;
      await expectError('buffer-range', 'a transfer past the buffer', () => stream.write(x, host.bytes, 4));
      host.free();
    }),
};

const freedEarly: Case = {
  name: 'streams/memory of host() that was given back, with transfers still to come',
  run: (device) =>
    Rig.with(device, async (rig) => {
      const { stream } = rig;
      const x = await rig.alloc(4096);
      stream.fill(x, 0xabab_abab);
      for (let round = 0; round < 4; round++) {
        const host = await device.host(4096);
        stream.read(x, host.bytes);
        host.free();
        const next = await device.host(4096);
        await stream.mark().done;
        check(
          next.bytes.every((byte) => byte === 0),
          'new memory contains bytes of an earlier transfer',
        );
        next.free();
      }
    }),
};

export const hostCases: readonly Case[] = [transfers, inPlace, offsets, freedEarly];
