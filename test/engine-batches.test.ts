import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { type Batch, Engine, type FaultSpec, generate, transform, virtualDevices } from '../src/engine/index.js';
import { items, read, rw, u8, u32 } from '../src/kernel/index.js';
import { byTier } from './tier.js';

/** `generate` and `transform` give bytes in order when devices are unequal, fail or wait. */
const mix = (k: number): number => (Math.imul(k, 0x9e3779b1) ^ (k >>> 7)) >>> 0;
const mixed = items('mixed', { buffers: { out: rw(u32) } }, ({ index, item, buffers }) => {
  buffers.out.set(item, index.lo.mul(0x9e3779b1).xor(index.lo.shr(7)));
});
const SPACE = 50_000;
const verify = ({ index, bytes }: { index: bigint; bytes: Uint8Array }): boolean =>
  new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) === mix(Number(index));
const digestOf = (words: Uint32Array): string => createHash('sha256').update(words).digest('hex');
const wanted = digestOf(Uint32Array.from({ length: SPACE }, (_, k) => mix(k)));

let behind: Device;
beforeAll(async () => {
  behind = await openDevice('wasm');
});
afterAll(() => behind?.close());

const pause = (ms = 0): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('generate', () => {
  const cases: [string, FaultSpec[]][] = [
    ['unequal devices', [{ speed: 3e6 }, { speed: 2e5 }]],
    ['a device that disappears', [{ speed: 1e6, disappearsAt: 6 }, { speed: 1e6 }]],
    ['a device whose bytes are wrong', [{ speed: 1e6, garblesAt: 5 }, { speed: 1e6 }]],
    ['a device that hangs', [{ speed: 1e6, hangsAt: 30 }, { speed: 1e6 }]], // two seconds without an answer
  ];
  test.each(byTier(cases.slice(0, -1), cases))('%s: the same bytes in order', async (_what, specs) => {
    const made = virtualDevices(behind, specs);
    const hash = createHash('sha256');
    let next = 0n;
    const options = { space: SPACE, rowBytes: 4, batchBytes: 2048, devices: made, patience: 0.05, verify };
    for await (const batch of generate(mixed, options)) {
      expect(batch.start).toBe(next);
      expect(batch.bytes.byteLength).toBe(4 * batch.count);
      hash.update(batch.bytes);
      next += BigInt(batch.count);
      batch.release();
    }
    expect(hash.digest('hex')).toBe(wanted);
    for (const { spec, open } of made) {
      if (spec.hangsAt === undefined) expect(open).toEqual({ buffers: 0, streams: 0, host: 0 });
    }
  });

  test('the device waits until batches are released if all slots are full', async () => {
    const [device] = virtualDevices(behind, [{}]);
    const engine = new Engine([device!], { streams: 2, slots: 2, records: 1000 });
    const held: Batch[] = [];
    const options = { engine, space: SPACE, rowBytes: 4, batchBytes: 4000 };
    for await (const batch of generate(mixed, options)) {
      held.push(batch);
      if (held.length < 4) continue;
      await pause(20);
      const before = [...engine.records].length;
      const kept = held.map(({ bytes }) => digestOf(new Uint32Array(bytes.slice().buffer)));
      await pause(20);
      // Four slots, four unreleased batches: nothing can be in flight, and nothing overwrites the batches.
      expect([...engine.records]).toHaveLength(before);
      expect(held.map(({ bytes }) => digestOf(new Uint32Array(bytes.slice().buffer)))).toEqual(kept);
      for (const one of held.splice(0)) one.release();
      if (batch.start > 20_000n) break;
    }
    await engine.close();
    for (const one of held) one.release();
    expect(device?.open).toEqual({ buffers: 0, streams: 0, host: 0 });
  });

  test('a loop left early frees pending batches at once, and the others when they are released', async () => {
    const [device] = virtualDevices(behind, [{ speed: 1e6 }]);
    const left: Batch[] = [];
    const batches = generate(mixed, { devices: device!, space: SPACE, rowBytes: 4, batchBytes: 1024 });
    expect(batches.progress).toBeUndefined();
    for await (const batch of batches) {
      expect(batches.progress?.done).toBeGreaterThan(batch.start);
      if (left.push(batch) === 2) break;
    }
    for (const batch of left) batch.release();
    expect(device?.open).toEqual({ buffers: 0, streams: 0, host: 0 });
  });

  test('covers a space above 2^64 by chunk values', async () => {
    const wide = items(
      'wide',
      { chunk: { start: [u32, 4] }, buffers: { out: rw(u32) } },
      ({ chunk, item, buffers }) => {
        buffers.out.set4(item, [chunk.start[0].add(item), chunk.start[1], chunk.start[2], chunk.start[3]]);
      },
    );
    const space = { start: 2n ** 100n + 2n ** 33n - 1000n, length: 3000n };
    const words = (index: bigint): number[] => [0n, 32n, 64n, 96n].map((by) => Number((index >> by) & 0xffffffffn));
    let next = space.start;
    const chunk = ({ start }: { start: bigint }) => ({ start: words(start) });
    for await (const batch of generate(wide, { devices: behind, space, rowBytes: 16, batchBytes: 16 * 256, chunk })) {
      const rows = new Uint32Array(batch.bytes.slice().buffer);
      for (let at = 0; at < batch.count; at++) expect([...rows.subarray(4 * at, 4 * at + 4)]).toEqual(words(next++));
      batch.release();
    }
    expect(next).toBe(space.start + space.length);
  });
});

describe('transform', () => {
  const sums = items('sums', { buffers: { text: read(u8), out: rw(u32) } }, ({ item, buffers }) => {
    const at = item.mul(3);
    const sum = buffers.text
      .at(at)
      .add(buffers.text.at(at.add(1)))
      .add(buffers.text.at(at.add(2)));
    buffers.out.set(item, sum);
  });
  const bytes = Uint8Array.from({ length: 3 * 20_000 }, (_, k) => mix(k));
  const expected = Array.from({ length: 20_000 }, (_, k) => bytes[3 * k]! + bytes[3 * k + 1]! + bytes[3 * k + 2]!);

  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0, size = 1; at < 20_000; at += size, size = (size * 3 + 1) % 700) {
      if (size % 5 === 0) await pause();
      yield bytes.subarray(3 * at, 3 * Math.min(at + size, 20_000));
    }
  }

  test.each<[string, FaultSpec[]]>([
    ['unequal devices', [{ speed: 3e6 }, { speed: 2e5 }]],
    ['a device that disappears', [{ speed: 1e6, disappearsAt: 6 }, { speed: 1e6 }]],
    ['a device whose bytes are wrong', [{ speed: 1e6, garblesAt: 3 }, { speed: 1e6 }]],
  ])('rows of three bytes, %s: every row once, in order', async (_what, specs) => {
    const made = virtualDevices(behind, specs);
    const rows: number[] = [];
    const check = ({ input, bytes: out }: { input: Uint8Array; bytes: Uint8Array }): boolean =>
      new DataView(out.buffer, out.byteOffset).getUint32(0, true) === input.reduce((sum, byte) => sum + byte, 0);
    const options = { devices: made, inputBytes: 3, rowBytes: 4, batchBytes: 1024, verify: check };
    for await (const batch of transform(sums, pieces(), options)) {
      rows.push(...new Uint32Array(batch.bytes.slice().buffer));
      batch.release();
    }
    expect(rows).toEqual(expected);
    for (const { open } of made) expect(open).toEqual({ buffers: 0, streams: 0, host: 0 });
  });

  test('a failing input fails the job', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 300);
      throw new Error('the disk is gone');
    }
    const options = { devices: behind, inputBytes: 3, rowBytes: 4 };
    const run = async (rows: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) => {
      for await (const batch of transform(sums, rows, options)) batch.release();
    };
    await expect(run(failing())).rejects.toThrow('the disk is gone');
    await expect(run([bytes.subarray(0, 4)])).rejects.toMatchObject({ code: 'input-format' });
  });
});
