import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterAll, expect, it } from 'vitest';
import { between } from '../src/engine/space.js';
import { openStore } from '../src/store/index.js';

/** What fails leaves nothing behind: no thread, no lock, no open file. */
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
