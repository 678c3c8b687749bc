import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openOutput } from '../src/console/output/output.js';
import { registerSecret } from '../src/console/output/redact.js';
import { Miner } from '../src/workload/mining/miner.js';
import type { ShareBase, WorkSource } from '../src/workload/mining/source.js';
import { mine, pool, useDevice } from './network/rig.js';

useDevice();

test('a password that a pool sends back is not in the log, wherever a long line is cut', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'log');
  registerSecret('correct-horse-battery');
  const output = openOutput({ extraVerbose: path });
  const server = await pool();
  server.misdeed = ({ method }, client) => {
    if (method !== 'mining.authorize') return false;
    for (let before = 65_300; before < 65_600; before += 10)
      client.send({
        method: 'client.show_message',
        params: [`${'y'.repeat(before)}correct-horse-battery${'y'.repeat(500)}`],
      });
    return false;
  };
  const { stop } = mine([server.url], { log: output.diagnose });
  await server.until(() => server.accepted.length >= 1);
  await stop();
  output.close();
  const lines = readFileSync(path, 'utf8').split('\n');
  expect(lines.filter((line) => line.includes('yyy')).length).toBe(30);
  expect(lines.filter((line) => line.includes('yco'))).toEqual([]);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(65_700);
});

test('a source whose submit rejects ends mining with its error', async () => {
  const work = { id: 'a' };
  const source: WorkSource<ShareBase> = {
    name: 'a source',
    unit: 'share',
    run: async (listener, signal) => {
      listener.onWork(work, true);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
    submit: () => Promise.reject(new Error('the wire is cut')),
  };
  const miner = new Miner<ShareBase>(
    source,
    async function* () {
      yield { work, isBlock: false };
    },
    { signal: new AbortController().signal },
  );
  await expect(miner.run()).rejects.toThrow('the wire is cut');
});
