import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { Engine, type FaultSpec, search, virtualDevices } from '../src/engine/index.js';
import { items, u32, when } from '../src/kernel/index.js';

/** Pauses: chunks in flight end and count, no others start, and nothing is lost or done twice. */
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

const soon = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function paused(
  specs: readonly FaultSpec[],
  space: number,
  act: (engine: Engine, done: () => bigint) => Promise<void>,
) {
  const engine = new Engine(virtualDevices(behind, specs));
  const hits: bigint[] = [];
  const found = search(marked, { engine, space, job: { every: 11 }, max: 500 });
  const acting = act(engine, () => found.progress?.done ?? 0n);
  for await (const { index } of found) hits.push(index);
  const status = engine.devices;
  await acting;
  await engine.close();
  expect(hits).toEqual(marks(space, 11));
  return status;
}

describe('all devices', () => {
  test('stop until they are resumed, any number of times', async () => {
    await paused([{ speed: 4e4 }], 20_000, async (engine, done) => {
      for (let time = 0; time < 3; time++) {
        const before = done();
        while (done() === before) await soon(5);
        engine.pause();
        engine.pause();
        expect(engine.isPaused).toBe(true);
        await soon(150); // six chunks of 12 ms are in flight at most
        const still = done();
        expect(still).toBeLessThan(20_000n);
        await soon(100);
        expect(done()).toBe(still);
        engine.resume();
        expect(engine.isPaused).toBe(false);
      }
    });
  });

  test('paused before a job begins make it wait', async () => {
    const engine = new Engine(virtualDevices(behind, [{}]));
    engine.pause();
    const found = search(marked, { engine, space: 1000, job: { every: 11 } });
    const first = found.first();
    await soon(200);
    expect(found.progress?.done).toBe(0n);
    engine.resume();
    expect((await first)?.index).toBe(7n);
    await engine.close();
  });

  test('can be closed while they are paused', async () => {
    const engine = new Engine(virtualDevices(behind, [{ speed: 1e5 }]));
    const found = search(marked, { engine, space: 1e6, job: { every: 11 } });
    const hits = found[Symbol.asyncIterator]();
    expect((await hits.next()).value?.index).toBe(7n);
    engine.pause();
    const rest = (async () => {
      while (!(await hits.next()).done);
    })();
    await engine.close();
    await rest;
    expect(found.progress?.done).toBeLessThan(1_000_000n);
  });
});

describe('one of two devices', () => {
  test.each([
    ['the fast', { speed: 4e5 }, { speed: 4e4 }],
    ['the slow', { speed: 4e4 }, { speed: 4e5 }],
  ])('%s one is paused: the other does everything, to the last index', async (_, first, second) => {
    const status = await paused([first, second], 30_000, async (engine, done) => {
      while (done() < 3000n) await soon(2);
      engine.pause('virtual:0');
      expect(engine.isPaused).toBe(false);
    });
    expect(status.map(({ isPaused }) => isPaused)).toEqual([true, false]);
  });

  test('is paused: the other does its part of a partition', async () => {
    const engine = new Engine(virtualDevices(behind, [{}, {}]));
    engine.pause('virtual:1');
    const hits: bigint[] = [];
    const options = { engine, space: 20_000, job: { every: 11 }, max: 500, partition: 'equal', steal: false } as const;
    for await (const { index } of search(marked, options)) hits.push(index);
    expect(hits).toEqual(marks(20_000, 11));
    expect(engine.devices.map(({ chunks }) => chunks > 0)).toEqual([true, false]);
    await engine.close();
  });
});
