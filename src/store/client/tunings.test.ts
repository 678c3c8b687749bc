import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TuningSubject } from '../../engine/tune/tuning-store.js';
import { items, type Kernel, u32 } from '../../kernel/index.js';
import { openStore } from './store.js';
import { LedgerTunings } from './tunings.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-tunings-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const record = { unit: 'H', setting: { lanes: 4 }, gain: 1.2, rate: 5, isWhole: true, axes: [] };
const kernel = items('tuned', { hit: { n: u32 } }, ({ index, emit }) => emit({ n: index.lo })) as unknown as Kernel;

/** Counts how often the kernels are read, which is the slow part. */
function about(device: string): TuningSubject & { asked: number } {
  const given = { asked: 0, workload: 'one', device, driver: 'v8 1', candidates: '[]' };
  return Object.defineProperty(given, 'kernels', {
    get: () => {
      given.asked++;
      return [kernel];
    },
  }) as unknown as TuningSubject & { asked: number };
}

it('creates no ledger to read from, and reads no kernel unless its workload was tuned on the device', async () => {
  const saved = new LedgerTunings(folder);
  const [here, other] = [about('a card'), about('another')];
  expect(await saved.find(here)).toBeUndefined();
  expect([here.asked, existsSync(join(folder, 'ledger.db'))]).toEqual([0, false]);
  await saved.save(here, record);
  expect(await saved.find(here)).toEqual(record);
  expect(await saved.find(other)).toBeUndefined();
  expect(other.asked).toBe(0);
  expect(readdirSync(folder).sort()).toEqual(['ledger.db', 'ledger.seen', 'locks']);
  expect(await new LedgerTunings(folder).find(here)).toEqual(record);
  await saved.save(here, undefined);
  expect(await saved.find(here)).toBeUndefined();
});

it('uses a ledger that is already open, and leaves it open', async () => {
  const store = await openStore(folder);
  const saved = new LedgerTunings(folder, {}, Promise.resolve(store));
  await saved.save(about('a card'), record);
  expect(await saved.find(about('a card'))).toEqual(record);
  expect(await store.tunings()).toMatchObject([{ device: 'a card', timings: record }]);
  await store.close();
});
