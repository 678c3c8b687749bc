import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TuningAbout } from '../engine/tune-known.js';
import { items, type Kernel, u32 } from '../kernel/index.js';
import { LedgerTunings } from './tunings.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-tunings-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const record = { unit: 'H', setting: { lanes: 4 }, gain: 1.2, rate: 5, isWhole: true, axes: [] };
const kernel = items('tuned', { hit: { n: u32 } }, ({ index, emit }) => emit({ n: index.lo })) as unknown as Kernel;

/** Counts how often a kernel's text is asked for, which takes longest. */
function about(device: string): TuningAbout & { asked: number } {
  const given = { asked: 0, workload: 'one', device, driver: 'v8 1', candidates: '[]' };
  return Object.defineProperty(given, 'kernels', {
    get: () => {
      given.asked++;
      return [kernel];
    },
  }) as unknown as TuningAbout & { asked: number };
}

it('who has nothing tuned neither opens the ledger nor reads a kernel; who has finds it, also without the list', async () => {
  const shelf = new LedgerTunings(folder);
  const list = join(folder, 'tuned.json');
  const [here, other] = [about('a card'), about('another')];
  expect(await shelf.find(here)).toBeUndefined();
  expect([here.asked, existsSync(folder) && existsSync(join(folder, 'ledger.db'))]).toEqual([0, false]);
  await shelf.keep(here, record);
  expect(await shelf.find(here)).toEqual(record);
  expect(await shelf.find(other)).toBeUndefined();
  expect(other.asked).toBe(0);
  // A ledger of a version that had no such list, a list of another ledger, a damaged one.
  for (const text of [undefined, '{"ledger":"ledger-2.db","tuned":[]}', '{"ledger":']) {
    if (text === undefined) rmSync(list);
    else writeFileSync(list, text);
    expect(await shelf.find(here)).toEqual(record);
    expect(readFileSync(list, 'utf8')).toContain('one on a card (v8 1)');
  }
  await shelf.keep(here, undefined);
  expect(await shelf.find(here)).toBeUndefined();
});
