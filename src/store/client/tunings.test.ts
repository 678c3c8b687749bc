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

/** Counts how often a kernel's text is asked for, which takes longest. */
function about(device: string): TuningSubject & { asked: number } {
  const given = { asked: 0, workload: 'one', device, driver: 'v8 1', candidates: '[]' };
  return Object.defineProperty(given, 'kernels', {
    get: () => {
      given.asked++;
      return [kernel];
    },
  }) as unknown as TuningSubject & { asked: number };
}

it('opens no ledger where none is, and reads no kernel unless its workload was tuned on the device', async () => {
  const shelf = new LedgerTunings(folder);
  const [here, other] = [about('a card'), about('another')];
  expect(await shelf.find(here)).toBeUndefined();
  expect([here.asked, existsSync(join(folder, 'ledger.db'))]).toEqual([0, false]);
  await shelf.save(here, record);
  expect(await shelf.find(here)).toEqual(record);
  expect(await shelf.find(other)).toBeUndefined();
  expect(other.asked).toBe(0);
  expect(readdirSync(folder).sort()).toEqual(['ledger.db', 'ledger.seen', 'locks']);
  expect(await new LedgerTunings(folder).find(here)).toEqual(record);
  await shelf.save(here, undefined);
  expect(await shelf.find(here)).toBeUndefined();
});

it('reads from a ledger that is open already, and leaves it open', async () => {
  const store = await openStore(folder);
  const shelf = new LedgerTunings(folder, {}, Promise.resolve(store));
  await shelf.save(about('a card'), record);
  expect(await shelf.find(about('a card'))).toEqual(record);
  expect(await store.tunings()).toMatchObject([{ device: 'a card', timings: record }]);
  await store.close();
});
