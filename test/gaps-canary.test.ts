import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { Engine, type Flow, type Overflow, search } from '../src/engine/index.js';
import { type FoundGap, gapFlow } from '../src/workload/gaps/job/flow.js';
import { type Gap, searchGaps } from '../src/workload/gaps/job/search.js';
import { GapVerifier } from '../src/workload/gaps/job/verifier.js';
import { verifierTasks } from '../src/workload/gaps/job/verifier-tasks.js';
import { plantedCanary } from '../src/workload/gaps/kernel/planted.js';
import { isProbablePrime, nextPrime } from '../src/workload/gaps/kernel/reference-primes.js';

/** Devices that miss gaps, and checks that are slow. */
const start = 0xd5ca_da15_b5b6_6983n;
const numbers = { start, length: 1n << 18n, minGap: 500, primes: 2000 };
const planted = verifierTasks.plantGaps(numbers, 2 ** 14);

/** A flow whose results go through `damage`. */
function damaged(
  flow: Flow<readonly FoundGap[]>,
  damage: (found: readonly FoundGap[]) => readonly FoundGap[],
): typeof flow {
  return {
    name: flow.name,
    open: async (device, how) => {
      const open = await flow.open(device, how);
      return {
        ...open,
        slot: async (stream) => {
          const slot = await open.slot(stream);
          const reap = (piece: Parameters<typeof slot.reap>[0]): readonly FoundGap[] | Overflow => {
            const found = slot.reap(piece);
            return Array.isArray(found) ? damage(found as readonly FoundGap[]) : found;
          };
          return { submit: (piece, values) => slot.submit(piece, values), reap, close: () => slot.close() };
        },
      };
    },
  };
}

describe('a device', () => {
  let device: Device;
  beforeAll(async () => {
    device = await openDevice('wasm');
  });
  afterAll(() => device.close());

  const run = async (damage: (found: readonly FoundGap[]) => readonly FoundGap[]) => {
    const engine = new Engine([device]);
    const found: bigint[] = [];
    try {
      const flow = damaged(gapFlow(numbers, { window: 2 ** 14, planted }), damage);
      const canaries = [plantedCanary(2 ** 11, planted.hits)];
      for await (const { index } of search(flow, { engine, space: numbers.length, canaries })) found.push(index);
      return { found, canaries: engine.devices[0]!.canaries };
    } finally {
      await engine.close();
    }
  };

  test('that works finds the planted gaps, which are not reported', async () => {
    expect(planted.hits.length).toBeGreaterThan(2);
    const { found, canaries } = await run((all) => all);
    expect(canaries).toBeGreaterThan(0);
    for (const index of found) expect(nextPrime(start + index) - start - index).toBeGreaterThanOrEqual(500n);
  });

  test('that finds nothing is not used, and none of its work counts', async () => {
    await expect(run(() => [])).rejects.toThrow(/missed known hits/);
  });

  test('that misses a single gap is not used either', async () => {
    await expect(run((all) => all.slice(1))).rejects.toThrow(/missed known hits/);
  });

  test('is checked in every search', async () => {
    const engine = new Engine([device]);
    try {
      const found: Gap[] = [];
      const request = { ...numbers, minGap: 300, window: 2 ** 14 };
      for await (const gap of searchGaps(request, { engine })) found.push(gap);
      expect(engine.devices[0]!.canaries).toBeGreaterThan(0);
      expect(found.length).toBeGreaterThan(3);
      for (const { index, offset, start: p, end } of found) {
        expect([offset, p, end]).toEqual([index, start + index, nextPrime(p)]);
        expect(isProbablePrime(p) && end - p >= 300n).toBe(true);
      }
    } finally {
      await engine.close();
    }
  });
});

test('allocates memory once for each slot, and frees all of it', async () => {
  const device = await openDevice('wasm');
  const [live, sizes] = [new Set<object>(), [] as number[]];
  const alloc = device.alloc.bind(device);
  device.alloc = async (bytes) => {
    const buffer = await alloc(bytes);
    const free = buffer.free.bind(buffer);
    live.add(buffer);
    sizes.push(bytes);
    buffer.free = () => {
      live.delete(buffer);
      free();
    };
    return buffer;
  };
  const engine = new Engine([device], { streams: 2, slots: 2 });
  try {
    const pieces: bigint[] = [];
    const flow = gapFlow(numbers, { window: 2 ** 12, depth: 2, onPiece: ({ piece }) => pieces.push(piece.start) });
    for await (const _ of search(flow, { engine, space: numbers.length }));
    expect(pieces.length).toBeGreaterThan(8);
    // The primes and their strokes once; five buffers and a ring for each slot.
    expect(sizes).toHaveLength(2 + 4 * 6);
  } finally {
    await engine.close();
  }
  expect(live.size).toBe(0);
  await device.close();
});

describe('the verifier', () => {
  test('answers from other threads, while this one continues', async () => {
    const verifier = new GapVerifier(2);
    try {
      let turns = 0;
      const clock = setInterval(() => turns++, 0);
      // Numbers of 600 bits: tens of milliseconds and more.
      const questions = [3n ** 380n, 3n ** 380n + 1001n, 5n ** 259n].map((n) =>
        verifier.call('primesAround', n - (n & 1n)),
      );
      const [first] = await Promise.all(questions);
      clearInterval(clock);
      expect(first!.end).toBe(nextPrime(3n ** 380n - 1n));
      expect(turns).toBeGreaterThan(0);
    } finally {
      verifier.close();
    }
  });

  test('says why a check failed, and that the search is over', async () => {
    const verifier = new GapVerifier(1);
    await expect(verifier.call('gapAt', 5 as unknown as bigint)).rejects.toThrow(/could not be checked: TypeError/);
    expect(await verifier.call('gapAt', 7n)).toMatchObject({ end: 11n });
    const late = verifier.call('primesAround', 2n ** 2000n);
    verifier.close();
    await expect(late).rejects.toThrow(/the search is over/);
  });
});
