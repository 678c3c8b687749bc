import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import type { Completion, Device, Stream } from '../../../device/device.js';
import { listDevices, openDevice } from '../../../device/registry.js';
import { SLOTS_PER_STREAM, STREAMS } from '../../../engine/feed/slots.js';
import type { FlowSlot } from '../../../engine/flow/flow.js';
import type { Batch } from '../../../engine/makers/batches.js';
import { type FaultSpec, type VirtualDevice, virtualDevices } from '../../../engine/testing/virtual.js';
import { MillraceError } from '../../../kernel/error.js';
import { Plan } from '../kernel/plan.js';
import { referenceWord } from '../kernel/reference.js';
import { BatchReader } from '../reader/batch-reader.js';
import { UnscheduledBatches } from '../reader/unscheduled-batches.js';
import { toByteString } from '../space/charset.js';
import { parseMask } from '../space/mask.js';
import { wordsOf } from '../space/words.js';
import { createGenerator, type Generator } from './generator.js';
import { PooledFlow } from './pooled-flow.js';
import { Status, type WordsError } from './status.js';

const mask = parseMask('?l?l?d?d?d');
const plan = new Plan(mask, 'canonical', '\n');
const { size } = wordsOf(mask);
const [BATCH_WORDS, SLOTS] = [1000, STREAMS * SLOTS_PER_STREAM];

function expected(start: bigint, count: number): string {
  return Array.from({ length: count }, (_, at) => `${referenceWord(mask, start + BigInt(at))}\n`).join('');
}

let device: Device;
beforeAll(async () => {
  const { devices } = await listDevices();
  device = await openDevice(devices.some(({ id }) => id === 'native') ? 'native' : 'wasm');
});
afterAll(() => device?.close());

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Opens a device with batches of 1,000 words. */
async function openUnscheduled(spec: FaultSpec) {
  const [virtual] = virtualDevices(device, [spec]) as [VirtualDevice];
  const flow = new PooledFlow(plan, size, BATCH_WORDS * plan.stride);
  const streams = Array.from({ length: STREAMS }, () => virtual.stream());
  const unscheduled = new UnscheduledBatches(await flow.startingAt(0n).open(virtual), streams);
  closing.push(async () => {
    await unscheduled.close();
    flow.close();
    await new Promise((resolve) => setImmediate(resolve));
    for (const stream of streams) stream.close();
    expect(virtual.open).toEqual({ buffers: 0, streams: 0, host: 0 });
  });
  return { unscheduled, virtual, streams };
}

const asked = (start: bigint, count: number, signal?: AbortSignal) => ({
  start,
  count: BigInt(count),
  rowBytes: plan.stride,
  expected: (index: bigint) => `${referenceWord(mask, index)}\n`,
  signal,
});

async function textOf(reader: BatchReader): Promise<string> {
  let text = '';
  for (let batch = await reader.next(); batch; batch = await reader.next()) {
    text += toByteString(batch.bytes);
    batch.release();
  }
  return text;
}

describe('a reader', () => {
  test('gives any number of words from any start', async () => {
    const { unscheduled } = await openUnscheduled({});
    await fc.assert(
      fc.asyncProperty(fc.bigInt(0n, size - 1n), fc.integer({ min: 1, max: 9000 }), async (start, wanted) => {
        const count = Math.min(wanted, Number(size - start));
        const reader = await unscheduled.read(asked(start, count));
        expect(await textOf(reader)).toBe(expected(start, count));
        expect(reader.rowsRead).toBe(BigInt(count));
        expect(reader.end()).toBeUndefined();
      }),
      { numRuns: byTier(20, 60) },
    );
  });

  test('shares the device with others whose consumers hold batches', async () => {
    const { unscheduled } = await openUnscheduled({});
    const run = async (start: bigint, held: number): Promise<void> => {
      const reader = await unscheduled.read(asked(start, 20_000));
      const batches: Batch[] = [];
      let text = '';
      const take = (batch: Batch | undefined): void => {
        text += toByteString(batch?.bytes ?? new Uint8Array());
        batch?.release();
      };
      for (let batch = await reader.next(); batch; batch = await reader.next()) {
        batches.push(batch);
        if (batches.length > held) take(batches.shift());
      }
      for (const batch of batches) take(batch);
      expect(text).toBe(expected(start, 20_000));
      reader.end();
    };
    await Promise.all([run(0n, 0), run(5n, 1), run(123_456n, SLOTS - 1)]);
  });

  test('makes no more batches than there are slots, and resumes when a batch is released', async () => {
    const { unscheduled, virtual } = await openUnscheduled({});
    const reader = await unscheduled.read(asked(0n, 10 * BATCH_WORDS));
    const held: (Batch | undefined)[] = [];
    for (let k = 0; k < SLOTS; k++) held.push(await reader.next());
    expect(virtual.launches).toBe(SLOTS);
    const next = reader.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(virtual.launches).toBe(SLOTS);
    const first = toByteString(held[0]?.bytes ?? new Uint8Array());
    expect(first).toBe(expected(0n, first.length / plan.stride));
    held[0]?.release();
    held[0]?.release(); // the second has no effect
    expect(virtual.launches).toBe(SLOTS + 1);
    const last = await next;
    expect(last?.start).toBe(held.reduce((sum, batch) => sum + BigInt(batch?.count ?? 0), 0n));
    await reader.end();
    for (const batch of [...held.slice(1), last]) batch?.release(); // also after the end
  });

  test('reuses the slots of the previous one', async () => {
    const { unscheduled, virtual } = await openUnscheduled({});
    const first = await unscheduled.read(asked(0n, 1500));
    await textOf(first);
    first.end();
    const before = { ...virtual.open };
    for (let round = 0; round < 20; round++) {
      const reader = unscheduled.read(asked(BigInt(round), 1500));
      expect(reader).toBeInstanceOf(BatchReader); // at once
      expect(await textOf(reader as BatchReader)).toBe(expected(BigInt(round), 1500));
      (reader as BatchReader).end();
    }
    expect(virtual.open).toEqual(before);
  });

  test('that ends early stops its work in flight and frees its slots', async () => {
    const { unscheduled, virtual } = await openUnscheduled({ speed: 20_000 });
    const reader = await unscheduled.read(asked(0n, 100_000));
    (await reader.next())?.release();
    await reader.end();
    expect(await reader.next()).toBeUndefined();
    const before = { ...virtual.open };
    const again = await unscheduled.read(asked(7n, 2500));
    expect(await textOf(again)).toBe(expected(7n, 2500));
    again.end();
    expect(virtual.open).toEqual(before);
  });

  test('is aborted while it waits, and stays aborted', async () => {
    const { unscheduled } = await openUnscheduled({ speed: 1000 });
    const control = new AbortController();
    const reader = await unscheduled.read(asked(0n, 100_000, control.signal));
    const next = reader.next();
    control.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    await expect(reader.next()).rejects.toThrow('enough');
    await reader.end();
  });

  test.each<[string, FaultSpec]>([
    ['a device that disappears', { disappearsAt: 4 }],
    ['wrong words', { garblesAt: 3 }],
  ])('ends after the correct words: %s', async (_, spec) => {
    const { unscheduled, virtual } = await openUnscheduled(spec);
    const reader = await unscheduled.read(asked(40n, 10 * BATCH_WORDS));
    const text = await textOf(reader);
    expect(reader.rowsRead).toBeLessThan(10n * BigInt(BATCH_WORDS));
    expect(text).toBe(expected(40n, Number(reader.rowsRead)));
    await reader.end();
    Object.assign(virtual, { spec: {} }); // so that it can be closed
  });

  test('ends where a chunk was cut short', async () => {
    const { unscheduled, streams } = await openUnscheduled({ speed: 50_000 });
    const reader = await unscheduled.read(asked(0n, 20_000));
    (await reader.next())?.release();
    for (const stream of streams) stream.cancel();
    await textOf(reader);
    expect(reader.rowsRead).toBeLessThan(20_000n);
    await reader.end();
  });

  test('that ends early does not cut others short', async () => {
    const { unscheduled } = await openUnscheduled({ speed: 500_000 });
    const [one, other] = [await unscheduled.read(asked(0n, 20_000)), await unscheduled.read(asked(3n, 20_000))];
    await Promise.all([one.end(), textOf(other).then((text) => expect(text).toBe(expected(3n, 20_000)))]);
    other.end();
  });

  test('does not wait forever', async () => {
    const silent: FlowSlot<Uint8Array> = {
      submit: () => ({ done: new Promise(() => undefined) }),
      reap: () => new Uint8Array(),
      close: () => undefined,
    };
    const streams = [{ cancel: () => undefined } as Stream];
    const config = { info: device.info, streams, slotRefs: [{ slot: silent, stream: 0 }], maxRows: 10 };
    const events = { slotFree: vi.fn(), ended: vi.fn(), isOnlyReader: () => true };
    vi.useFakeTimers();
    try {
      const reader = new BatchReader(asked(0n, 10), config, events);
      reader.fill();
      const next = reader.next().catch((error: unknown) => error);
      for (let seconds = 0; seconds < 600; seconds++) reader.tick(1000);
      expect(await next).toMatchObject({ code: 'device-failed', message: expect.stringContaining('not answered') });
      const ending = reader.end();
      await vi.advanceTimersByTimeAsync(60_000);
      await ending;
      expect(events.ended).toHaveBeenCalled();
      expect(events.slotFree).not.toHaveBeenCalled(); // the device may still write there
    } finally {
      vi.useRealTimers();
    }
  });

  test('uses fewer slots if memory is short', async () => {
    const { unscheduled, virtual } = await openUnscheduled({});
    const host = virtual.host.bind(virtual);
    let left = 3;
    virtual.host = (bytes) =>
      left-- > 0 ? host(bytes) : Promise.reject(new MillraceError({ code: 'device-memory', message: 'no room' }));
    const reader = await unscheduled.read(asked(0n, 10_000));
    expect(await textOf(reader)).toBe(expected(0n, 10_000));
    reader.end();
  });
});

describe('a generator', () => {
  async function generatorOn(virtual: VirtualDevice): Promise<Generator> {
    const words = await createGenerator({ devices: virtual, mode: 'async', batchBytes: BATCH_WORDS * plan.stride });
    closing.push(() => words.close());
    words.setCharset(1, 'abcdefghijklmnopqrstuvwxyz');
    words.setCharset(2, '0123456789');
    words.setMask([1, 1, 2, 2, 2]);
    return words;
  }

  /** All words of the batches, and the error at their end. */
  async function gathered(words: Generator, count: number): Promise<{ text: string; error: WordsError | undefined }> {
    let text = '';
    try {
      for await (const batch of words.batches(0n, count)) {
        text += toByteString(batch.bytes);
        batch.release();
      }
    } catch (error) {
      return { text, error: error as WordsError };
    }
    return { text, error: undefined };
  }

  test.each(['fails', 'is cut short', 'is refused', 'is wrong'])('makes all words when a chunk %s', async (fault) => {
    const [virtual] = virtualDevices(device, [{}]) as [VirtualDevice];
    const words = await generatorOn(virtual);
    let chunks = 0;
    const open = virtual.stream.bind(virtual);
    virtual.stream = () => {
      const stream = open();
      const mark = stream.mark.bind(stream);
      const read = stream.read.bind(stream);
      let view: Uint8Array | undefined;
      stream.read = (buffer, into, offset) => {
        view = into as Uint8Array;
        read(buffer, into, offset);
      };
      stream.mark = (): Completion => {
        const completion = mark();
        if (view === undefined || ++chunks !== 4) return completion;
        const seen = view;
        const error = new MillraceError({ code: 'device-memory', message: 'not this time' });
        if (fault === 'is refused') throw error;
        const done = completion.done.then((report) => {
          if (fault === 'fails') throw error;
          if (fault === 'is wrong') seen[0] = 0;
          return { ...report, complete: fault !== 'is cut short' };
        });
        return { done };
      };
      return stream;
    };
    expect(await gathered(words, 12_345)).toEqual({ text: expected(0n, 12_345), error: undefined });
    const into = new Uint8Array(words.bufferSize(5000));
    await words.generate(99n, 5000, into);
    expect(toByteString(into)).toBe(expected(99n, 5000));
  });

  test.each<[string, FaultSpec]>([
    ['disappears', { disappearsAt: 5 }],
    ['is wrong from some point on', { garblesAt: 5 }],
  ])('reports that its device %s, after correct words', async (_, spec) => {
    const [virtual] = virtualDevices(device, [spec]) as [VirtualDevice];
    const words = await generatorOn(virtual);
    const { text, error } = await gathered(words, 20_000);
    expect(error?.status).toBe(Status.device);
    expect(text).toBe(expected(0n, text.length / plan.stride));
    expect(words.lastError).toBe(error);
    Object.assign(virtual, { spec: {} });
  });

  test('can be closed midway', async () => {
    const [virtual] = virtualDevices(device, [{ speed: 20_000 }]) as [VirtualDevice];
    const words = await generatorOn(virtual);
    const batches = words.batches(0n, 100_000);
    const first = await batches.next();
    const next = batches.next();
    await words.close();
    const second = await next; // a batch if it was made before the end
    if (!second.done) second.value.release();
    expect((await batches.next()).done).toBe(true);
    if (!first.done) expect(toByteString(first.value.bytes)).toBe(expected(0n, first.value.count));
    if (!first.done) first.value.release();
    expect(virtual.open).toEqual({ buffers: 0, streams: 0, host: 0 });
  });

  test('rejects a running generate call when it is closed', async () => {
    const [virtual] = virtualDevices(device, [{ speed: 20_000 }]) as [VirtualDevice];
    const words = await generatorOn(virtual);
    const filling = words.generate(0n, 100_000, new Uint8Array(words.bufferSize(100_000)));
    setTimeout(() => words.close(), 30);
    await expect(filling).rejects.toMatchObject({ status: Status.badHandle });
  });
});
