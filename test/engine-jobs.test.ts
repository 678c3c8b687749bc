import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  BoundJob,
  Completion,
  Device,
  Resident,
  ResidentOptions,
  ResidentRange,
  Stream,
} from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import {
  Engine,
  type FaultSpec,
  flow,
  hitsIn,
  Overflow,
  search,
  VirtualDevice,
  virtualDevices,
} from '../src/engine/index.js';
import { MillraceError } from '../src/kernel/error.js';
import { atomic, items, read, rw, u32, when } from '../src/kernel/index.js';
import { openEncoder } from '../src/workload/encode/job/encoder.js';

const marked = items('marked', { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
  when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo }));
});
const marks = (space: number, every: number): bigint[] =>
  Array.from({ length: Math.ceil((space - 7) / every) }, (_, k) => BigInt(7 + k * every));

let behind: Device;
beforeAll(async () => {
  behind = await openDevice('wasm');
});
afterAll(() => behind?.close());

const virtual = (...specs: FaultSpec[]): VirtualDevice[] => virtualDevices(behind, specs);

const byIndex = (a: { index: bigint }, b: { index: bigint }): number => (a.index < b.index ? -1 : 1);

async function indices(hits: AsyncIterable<{ index: bigint }>): Promise<bigint[]> {
  const found: bigint[] = [];
  for await (const { index } of hits) found.push(index);
  return found;
}

describe('several jobs on one device', () => {
  test('take turns: while all have work, none is more than a chunk behind', async () => {
    const engine = new Engine(virtual({ speed: 2e6 }), { records: 10_000 });
    const jobs = [11, 13, 17, 19].map((every) => ({ ...marked, name: `marked-${every}`, every }));
    const found = await Promise.all(
      jobs.map((kernel) => indices(search(kernel, { engine, space: 60_000, job: { every: kernel.every } }))),
    );
    expect(found).toEqual(jobs.map(({ every }) => marks(60_000, every)));
    const order = [...engine.records].map(({ job }) => job);
    const names = new Set(order);
    expect(names.size).toBe(4);
    // From the start of the last job to the end of the first.
    const began = Math.max(...[...names].map((name) => order.indexOf(name)));
    const ended = Math.min(...[...names].map((name) => order.lastIndexOf(name)));
    expect(ended - began).toBeGreaterThan(12);
    for (let at = began + 1; at + 4 <= ended; at++) expect(new Set(order.slice(at, at + 4)).size).toBe(4);
    await engine.close();
  });

  test('lose nothing when another one is stopped', async () => {
    const [device] = virtual({ speed: 1e6 });
    const engine = new Engine([device!]);
    const controller = new AbortController();
    const stopped = indices(
      search(marked, { engine, space: 2n ** 40n, job: { every: 7919 }, signal: controller.signal }),
    );
    const aborted = expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
    setTimeout(() => controller.abort(), 30);
    const kept = await indices(search(marked, { engine, space: 80_000, job: { every: 23 } }));
    await aborted;
    expect(kept).toEqual(marks(80_000, 23));
    await engine.close();
    expect(device?.open).toEqual({ buffers: 0, streams: 0, host: 0 });
  });
});

describe('several devices on one job', () => {
  test('each get a share by their speed', async () => {
    const engine = new Engine(virtual({ speed: 3e6 }, { speed: 1e6 }));
    const space = 1_200_000;
    expect(await indices(search(marked, { engine, space, job: { every: 9973 } }))).toEqual(marks(space, 9973));
    const [fast, slow] = engine.devices.map(({ items: done }) => Number(done));
    expect(fast).toBeGreaterThan(slow!);
    expect(fast! + slow!).toBeGreaterThanOrEqual(space);
    await engine.close();
  });

  test('find the same hits if their speeds differ by orders of magnitude', async () => {
    const interpreter = await openDevice('interpreter');
    const found = await indices(
      search(marked, { devices: [behind, interpreter], space: 300_000, job: { every: 4999 } }),
    );
    expect(found).toEqual(marks(300_000, 4999));
    await interpreter.close();
  });

  test('return the smallest hit even if a slow device has it', async () => {
    for (const speed of [2e4, 1e5]) {
      const devices = virtual({ speed }, { speed: 4e6 });
      const hit = search(marked, { devices, space: 500_000, job: { every: 500 }, mode: 'first' });
      expect((await hit.first())?.index).toBe(7n);
      for (const { open } of devices) expect(open).toEqual({ buffers: 0, streams: 0, host: 0 });
    }
  });

  test('end the search on any hit, but not on a wrong one', async () => {
    const verify = ({ n }: { n: number }): boolean => n > 1000;
    const devices = virtual({ speed: 1e6 }, { speed: 1e6 });
    const none = search(marked, { devices, space: 900, job: { every: 40 }, mode: 'any', verify });
    await expect(none.first()).rejects.toMatchObject({ code: 'verify-disagrees' });
    const some = await search(marked, {
      devices: virtual({}),
      space: { start: 1000n, length: 9000n },
      job: { every: 40 },
      mode: 'any',
      verify,
    }).first();
    expect(some && Number(some.index) % 40).toBe(7);
  });
});

describe('a chain of kernels', () => {
  // The first keeps the numbers that pass its test, unordered; the second runs over only those, however many there are.
  const keep = items('keep', { buffers: { kept: rw(u32), count: atomic() } }, ({ index, buffers }) => {
    when(index.lo.and(7).eq(3), () => buffers.kept.set(buffers.count.add(0, 1), index.lo));
  });
  const test11 = items('test', { buffers: { kept: read(u32) }, hit: { n: u32 } }, ({ item, buffers, emit }) => {
    const n = buffers.kept.at(item);
    when(n.rem(11).eq(0), () => emit({ n }));
  });

  test('stays on the device, including the count of the second kernel', async () => {
    const max = 4096;
    const chained = flow({
      name: 'chained',
      kernels: { keep, test: test11 },
      buffers: { kept: max * 4, count: 16 },
      rings: { ring: { kernel: 'test', hits: 512 } },
      max,
      steps: ({ start, count }) => [
        { do: 'fill', buffer: 'count', word: 0 },
        { do: 'launch', kernel: 'keep', base: start, count },
        {
          do: 'launch',
          kernel: 'test',
          count: { buffer: 'count', word: 0, max: count },
          ring: 'ring',
        },
      ],
      reap: (piece, { ring }) => {
        const hits = hitsIn<{ n: 'u32' }>(piece, ring('ring'));
        // A hit's item is its position in the list, not the number that was tried.
        return hits instanceof Overflow ? hits : hits.map(({ n }) => ({ index: BigInt(n) })).sort(byIndex);
      },
    });
    const wanted = Array.from({ length: 50_000 }, (_, k) => k).filter((k) => k % 8 === 3 && k % 11 === 0);
    const found = await indices(search(chained, { devices: virtual({}, {}), space: 50_000 }));
    expect(found).toEqual(wanted.map(BigInt));
  });
});

describe('checks', () => {
  const digest = { module: new URL('../examples/reference.mjs', import.meta.url), name: 'isVanity' };

  test('run in a separate thread: a wrong result is rejected, a check that fails ends the job', async () => {
    const lying = items('lying', { hit: { digest: [u32, 8] } }, ({ index, emit }) => {
      when(index.lo.eq(70_619), () => emit({ digest: Array.from({ length: 8 }, () => 0) }));
    });
    const options = { devices: behind, space: { start: 70_000n, length: 1000n } };
    const data = { name: 'millrace', bits: 20 };
    await expect(indices(search(lying, { ...options, verify: { ...digest, data } }))).rejects.toThrow('70619');
    const wrong = [{ ...digest, name: 'isNot' }, { ...digest, module: new URL('./none.mjs', import.meta.url) }, digest];
    for (const verify of wrong) {
      await expect(indices(search(lying, { ...options, verify }))).rejects.toMatchObject({ code: 'verify-failed' });
    }
  });
});

describe('records', () => {
  test('have every chunk once, with its times in order; nothing is kept by default', async () => {
    const engine = new Engine(virtual({ speed: 2e6 }), { records: 1000, streams: 3 });
    await indices(search(marked, { engine, space: 50_000, job: { every: 9 }, ring: 32 }));
    const records = [...engine.records];
    const counted = records.filter(({ outcome }) => outcome === 'counted');
    expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(50_000);
    expect(records.some(({ outcome }) => outcome === 'overflow')).toBe(true);
    for (const { enqueuedNs, submittedNs, startedNs, endedNs, reapedNs, verifiedNs } of counted) {
      expect(enqueuedNs <= submittedNs && startedNs <= endedNs && reapedNs <= verifiedNs).toBe(true);
    }
    expect(new Set(records.map(({ stream }) => stream))).toEqual(new Set([0, 1, 2]));
    await engine.close();
    const silent = new Engine(virtual({}));
    await indices(search(marked, { engine: silent, space: 5000, job: { every: 9 } }));
    expect([...silent.records]).toEqual([]);
    await silent.close();
  });
});

/** A device with a resident grid, as far as the engine can see. */
class ResidentDevice extends VirtualDevice {
  submitted = 0;
  closed = 0;

  async resident(job: BoundJob, { hits }: ResidentOptions): Promise<Resident> {
    const stream = this.stream();
    const { headerWords, recordWords } = job.program.ring;
    const ring = await this.alloc((headerWords + hits * recordWords) * 4);
    return {
      submit: (range: ResidentRange, words: Uint32Array): Completion => {
        this.submitted++;
        stream.fill(ring, 0, 0, headerWords * 4);
        stream.launch({ job, ring, ...range });
        stream.read(ring, words);
        return stream.mark();
      },
      cancel: () => stream.cancel(),
      close: () => {
        this.closed++;
        stream.close();
        ring.free();
      },
    };
  }
}

test('persistent: a resident grid is fed with ranges, and canaries are launched normally', async () => {
  const device = new ResidentDevice(behind, 'resident', { speed: 2e6 });
  const canaries = [{ start: 0n, count: 20, hits: [7n], job: { every: 100 } }];
  const options = {
    devices: [device],
    pipeline: 'persistent',
    space: 60_000,
    job: { every: 31 },
    canaries,
    ring: 256,
  } as const;
  expect(await indices(search(marked, options))).toEqual(marks(60_000, 31));
  expect(device.submitted).toBeGreaterThan(5);
  expect(device.closed).toBe(1);
  expect(await search(marked, { ...options, space: 2n ** 34n, job: { every: 1000 }, mode: 'first' }).first()).toEqual({
    index: 7n,
    n: 7,
  });
  expect(device.open).toEqual({ buffers: 0, streams: 0, host: 0 });
});

test('a device that opens one stream of two keeps neither', async () => {
  class OneStream extends VirtualDevice {
    override stream(): Stream {
      if (this.open.streams > 0) throw new MillraceError({ code: 'device-memory', message: 'no more streams' });
      return super.stream();
    }
  }
  const device = new OneStream(behind, 'virtual:0');
  const engine = new Engine([device], { streams: 2 });
  expect(engine.devices[0]?.fault).toMatchObject({ code: 'device-memory' });
  expect(device.open.streams).toBe(0);
  await engine.close();
  await expect(openEncoder(device, { encoding: 'amplitude', qubits: 3 })).rejects.toMatchObject({
    code: 'device-memory',
  });
  expect(device.open).toEqual({ buffers: 0, streams: 0, host: 0 });
});

test('persistent: warns once of a device without resident grids, and of a job without one', async () => {
  const warnings: string[] = [];
  const options = { pipeline: 'persistent', onWarning: (message: string) => void warnings.push(message) } as const;
  const engine = new Engine([...virtual({}), new ResidentDevice(behind, 'resident', {})], options);
  try {
    for (let job = 0; job < 2; job++) {
      expect(await indices(search(marked, { engine, space: 60_000, job: { every: 31 } }))).toEqual(marks(60_000, 31));
    }
    expect(warnings).toEqual(['virtual:0 has no resident grids: pipeline persistent works like poll there']);
    const queued = flow<readonly { index: bigint }[]>({
      name: 'queued',
      kernels: { marked },
      job: { marked: { every: 31 } },
      rings: { ring: { kernel: 'marked', hits: 256 } },
      steps: ({ start, count }) => [{ do: 'launch', kernel: 'marked', base: start, count, ring: 'ring' }],
      reap: (piece, { ring }) => hitsIn<{ n: 'u32' }>(piece, ring('ring')),
    });
    expect(await indices(search(queued, { engine, space: 5000 }))).toEqual(marks(5000, 31));
    expect(warnings.slice(1)).toEqual([
      'queued cannot run as a resident grid on resident: pipeline persistent works like poll there',
    ]);
  } finally {
    await engine.close();
  }
});

test('a search that is not iterated to its end leaves nothing behind', async () => {
  const [device] = virtual({ speed: 1e6 });
  for await (const { index } of search(marked, { devices: device!, space: 2n ** 64n, job: { every: 100 } })) {
    if (index > 1000n) break;
  }
  expect(device?.open).toEqual({ buffers: 0, streams: 0, host: 0 });
  const engine = new Engine([device!]);
  await engine.close();
  await expect(indices(search(marked, { engine, space: 10, job: { every: 8 } }))).rejects.toMatchObject({
    code: 'device-closed',
  });
  await expect(indices(search(marked, { devices: [], space: 10, job: { every: 8 } }))).rejects.toMatchObject({
    code: 'device-absent',
  });
});

describe('errors', () => {
  test('for a second iteration, and for names that a flow does not have', async () => {
    const found = search(marked, { devices: behind, space: 50, job: { every: 10 } });
    expect(found.progress).toBeUndefined();
    expect(await indices(found)).toEqual(marks(50, 10));
    expect(found.progress?.done).toBe(50n);
    await expect(indices(found)).rejects.toMatchObject({ code: 'usage' });

    const wrong = (more: object) =>
      flow({
        name: 'wrong',
        kernels: { marked },
        job: { marked: { every: 10 } },
        rings: { ring: { kernel: 'marked', hits: 64 } },
        max: 64,
        steps: ({ start, count }) => [{ do: 'launch', kernel: 'marked', base: start, count, ring: 'ring', ...more }],
        reap: (piece, { ring }) => hitsIn(piece, ring('none')),
      });
    for (const more of [{ kernel: 'none' }, { ring: 'none' }, {}]) {
      const run = search(wrong(more) as never, { devices: behind, space: 50 } as never) as AsyncIterable<{
        index: bigint;
      }>;
      await expect(indices(run), JSON.stringify(more)).rejects.toThrow('called none');
    }
  });
});
