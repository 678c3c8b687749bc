import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterAll, expect, it, vi } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { openStore } from '../src/store/index.js';
import { Connection } from '../src/store/thread/connection.js';
import { Ledger } from '../src/store/thread/ledger.js';
import { Lock } from '../src/store/thread/lock.js';
import { isShort } from './tier.js';

/** A failure leaves no thread and no lock behind. */
const folder = mkdtempSync(join(tmpdir(), 'millrace-failing-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a store that cannot be opened leaves no thread', async () => {
  const place = join(folder, 'file');
  writeFileSync(place, 'not a folder');
  let running = 0;
  const count = (worker: Worker): void => {
    running++;
    worker.once('exit', () => running--);
  };
  process.on('worker', count);
  try {
    for (let time = 0; time < 3; time++) await expect(openStore(place)).rejects.toMatchObject({ code: 'io' });
    expect(running).toBe(0);
    const there = join(folder, 'there');
    mkdirSync(there);
    const store = await openStore(there);
    expect(running).toBe(1);
    await store.open({
      command: 'x',
      name: 'x',
      params: {},
      kernel: '',
      space: between(0n, 1n),
      call: { args: [], folder: '' },
    });
    await store.close();
    expect(running).toBe(0);
  } finally {
    process.off('worker', count);
  }
});

it.skipIf(isShort)('without a function for messages, a damaged ledger is a warning of the process', async () => {
  const place = join(folder, 'damaged');
  mkdirSync(place);
  writeFileSync(join(place, 'ledger.db'), 'SQLite format 3\0'.padEnd(4096, 'x'));
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
  try {
    await (await openStore(place)).close();
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/is damaged .* It was set aside as .*ledger-damaged-1\.db/)],
    ]);
  } finally {
    warn.mockRestore();
  }
});

/** Ledgers that cannot be opened, each for a failure at a different point. */
const refused: Record<string, (place: string) => void> = {
  'belongs to another program': (place) => {
    const connection = new Connection(join(place, 'ledger.db'), 0);
    connection.exec('CREATE TABLE theirs (x); PRAGMA user_version = 7');
    connection.close();
  },
  'has a newer version': (place) => {
    new Ledger(place).close();
    const connection = new Connection(join(place, 'ledger.db'), 0);
    connection.exec('CREATE TABLE more (x); PRAGMA user_version = 7');
    connection.close();
  },
  'is a folder': (place) => mkdirSync(join(place, 'ledger.db')),
  'has a witness that is a folder': (place) => {
    new Ledger(place).close();
    rmSync(join(place, 'ledger.seen'));
    mkdirSync(join(place, 'ledger.seen'));
  },
};

it.each(Object.keys(refused))('a ledger that %s leaves no lock', (name) => {
  const place = mkdtempSync(join(folder, 'refused-'));
  refused[name]?.(place);
  for (let time = 0; time < 3; time++) {
    expect(() => new Ledger(place)).toThrow();
    const lock = Lock.take(place, 'store', 'exclusive');
    expect(lock).toBeDefined();
    lock?.release();
  }
});

it('a ledger that cannot be opened a second time leaves no lock', () => {
  const place = mkdtempSync(join(folder, 'beside-'));
  const other = new Ledger(place);
  rmSync(join(place, 'ledger.seen'));
  mkdirSync(join(place, 'ledger.seen'));
  expect(() => new Ledger(place)).toThrow('ledger.seen');
  other.close();
  const lock = Lock.take(place, 'store', 'exclusive');
  expect(lock).toBeDefined();
  lock?.release();
});
