import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { Engine, type FaultSpec, search, type VirtualDevice, virtualDevices } from '../src/engine/index.js';
import { items, u32, when } from '../src/kernel/index.js';
import { isShort } from './tier.js';

/**
 * How the engine handles devices that fail: virtual devices do real work and simulate faults. The job always ends with all
 * hits, or with an error that says why it cannot.
 */
const SPACE = 400_000;
const EVERY = 1999;
const marked = items('marked', { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
  when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo }));
});
const wanted = (space = SPACE): bigint[] =>
  Array.from({ length: Math.ceil((space - 7) / EVERY) }, (_, k) => BigInt(7 + k * EVERY));
const verify = ({ index, n }: { index: bigint; n: number }): boolean => index === BigInt(n) && n % EVERY === 7;
const canaries = [{ start: 0n, count: 100, job: { every: 30 }, hits: [7n, 37n, 67n, 97n] }];

let behind: Device;
beforeAll(async () => {
  behind = await openDevice('wasm');
});
afterAll(() => behind?.close());

const HEALTHY: FaultSpec = { speed: 4_000_000 };

async function find(
  specs: readonly FaultSpec[],
  { patience = 0.05, space = SPACE } = {},
): Promise<{ hits: bigint[]; engine: Engine }> {
  const devices = virtualDevices(behind, specs);
  const engine = new Engine(devices, { patience, records: 10_000 });
  const hits: bigint[] = [];
  try {
    for await (const { index } of search(marked, {
      engine,
      space,
      job: { every: EVERY },
      verify,
      canaries,
    })) {
      hits.push(index);
    }
  } finally {
    await engine.close();
    for (const device of devices) expectNothingLeft(device);
  }
  return { hits, engine };
}

function expectNothingLeft({ open, spec }: VirtualDevice): void {
  // Memory that a hung device may still write to is not freed.
  if (spec.hangsAt === undefined) expect(open).toEqual({ buffers: 0, streams: 0, host: 0 });
}

test('streams of a virtual device copy, and wait for each other', async () => {
  const [device] = virtualDevices(behind, [{}]);
  const [from, to] = [await device!.alloc(16), await device!.alloc(16)];
  const [first, second] = [device!.stream(), device!.stream()];
  const words = new Uint32Array(4);
  first.fill(from, 7);
  first.copy(from, to, 8, 0, 4);
  second.wait(first.mark());
  second.read(to, words);
  await second.mark().done;
  expect([...words]).toEqual([0, 7, 7, 0]);
  for (const one of [from, to]) one.free();
  for (const one of [first, second]) one.close();
  expectNothingLeft(device!);
  await device!.close();
  expect(() => device!.stream()).toThrow('has been closed');
});

describe('one of two devices', () => {
  test.each<[string, FaultSpec, string]>([
    ['disappears', { disappearsAt: 5 }, 'has disappeared'],
    ['disappears at once', { disappearsAt: 0 }, 'has disappeared'],
    ['lies', { liesAt: 3 }, 'which the check refuses'],
    ['misses hits', { missesAt: 0 }, 'missed known hits'],
    ['begins to miss hits', { missesAt: 9 }, 'missed known hits'],
  ])('%s: it is no longer used, and nothing is lost', async (_what, fault, message) => {
    const { hits, engine } = await find([HEALTHY, { ...HEALTHY, ...fault }]);
    expect(hits).toEqual(wanted());
    const [good, bad] = engine.devices;
    expect(good?.fault).toBeUndefined();
    expect(bad?.fault?.message).toContain(message);
  });

  test('hangs: it is no longer used, and nothing is lost', async () => {
    // It hangs after the times of its chunks are known: the first chunks have a long limit.
    const space = 10 * SPACE;
    const { hits, engine } = await find([HEALTHY, { ...HEALTHY, hangsAt: 40 }], { space });
    expect(hits).toEqual(wanted(space));
    const [good, bad] = engine.devices;
    expect(good?.fault).toBeUndefined();
    // The other device may finish its chunks before it has stalled often enough.
    if (bad?.fault === undefined) expect(bad?.stalled).toBeGreaterThan(0);
    else expect(bad.fault.message).toContain('has not answered');
  });

  test('cannot compile: the other does all the work', async () => {
    const { hits } = await find([{ ...HEALTHY, failsToCompile: true }, HEALTHY]);
    expect(hits).toEqual(wanted());
  });
});

describe('the only device', () => {
  test.each<[string, FaultSpec, string]>([
    ['disappears', { disappearsAt: 5 }, 'has disappeared'],
    ['lies', { liesAt: 3 }, 'which the check refuses'],
    ['misses hits', { missesAt: 3 }, 'missed known hits'],
    ['cannot compile', { failsToCompile: true }, 'is set to fail to compile'],
  ])('%s: the job fails and says why', async (_what, fault, message) => {
    await expect(find([{ ...HEALTHY, ...fault }])).rejects.toThrow(message);
  });

  test.skipIf(isShort)('hangs: the job fails and says why', async () => {
    // No healthy device could be mistaken for a hung one, so a short wait is enough.
    await expect(find([{ ...HEALTHY, hangsAt: 9 }], { patience: 0.003 })).rejects.toThrow('has not answered');
  });
});
