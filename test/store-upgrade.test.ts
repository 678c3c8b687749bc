import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { Ledger } from '../src/store/thread/ledger.js';
import { MIGRATIONS } from '../src/store/thread/schema.js';

/** Ledgers of every released format open with everything in them. store/fixture.mjs wrote them. */
const fixtures = fileURLToPath(new URL('fixtures', import.meta.url));
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const known = readdirSync(fixtures).filter((name) => name.startsWith('ledger-'));

it('there is a fixture of each format', () => {
  expect(known.sort()).toEqual(MIGRATIONS.map((_, at) => `ledger-${at + 1}`).sort());
});

describe.each(known)('%s', (name) => {
  it('opens with its jobs, ranges, hits and measurements, and can be resumed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-upgrade-'));
    folders.push(folder);
    cpSync(join(fixtures, name), folder, { recursive: true });
    const ledger = new Ledger(folder);
    expect(ledger.notices()).toEqual([]);
    const [open, complete] = ledger.jobs();
    expect(complete).toMatchObject({
      done: 1000n,
      hits: 4,
      isRunning: false,
      job: { state: 'complete', name: 'run aa.ts', elapsedMs: 1500, devices: ['wasm'], priority: 0 },
    });
    expect(complete?.job.params).toEqual({ job: { every: 7, target: 1n << 70n } });
    expect(complete?.job.call).toEqual({ args: ['run', 'aa.ts', '--device', 'wasm'], folder: 'somewhere' });
    const { hits } = ledger.progress(complete?.job.id ?? '');
    expect(hits.map(({ index, nth, fields, isNotified }) => [index, nth, fields, isNotified])).toEqual([
      [7n, 0, '{"n":0}', true],
      [500n, 0, '{"n":1}', false],
      [500n, 1, '{"n":2}', false],
      [999n, 0, '{"n":3}', false],
    ]);
    expect(open).toMatchObject({
      done: (1n << 64n) + 10n,
      hits: 1,
      isRunning: false,
      job: { state: 'running', name: 'run bb.ts', priority: 2, devices: ['cuda:0', 'wasm'] },
    });
    const { timings } = ledger.tuning({ kernel: 'k', device: 'wasm', driver: '1', candidates: 'c' }) ?? {};
    expect(timings).toEqual({ best: 3, ms: [1.5, -0, Number.POSITIVE_INFINITY] });

    const { key, name: title, command, params, space, call } = open!.job;
    const again = ledger.begin({ key, name: title, command, params, space, call });
    expect(again.job.id).toBe(open?.job.id);
    const more = {
      done: [{ start: 1n << 64n, end: 1n << 65n, hits: 0 }],
      hits: [],
      notified: [],
      elapsedMs: 1,
      devices: [],
    };
    ledger.commit(again.job.id, more);
    expect(ledger.progress(again.job.id).done).toEqual([
      { start: 0n, end: 1n << 65n, hits: 0 },
      { start: (1n << 128n) - 10n, end: 1n << 128n, hits: 1 },
    ]);
    ledger.close();
  });
});
