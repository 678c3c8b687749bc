// Writes a ledger in the current format, as a killed process leaves it: `node test/store/fixture.mjs
// test/fixtures/ledger-1`. test/fixtures has one per format; test/store-upgrade.test.ts has the contents.

import { rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { join } from 'node:path';

// A fixture does not depend on a machine.
os.hostname = () => 'somewhere';
syncBuiltinESMExports();
const { Ledger } = await import('../../dist/store/thread/ledger.js');

const [, , folder = ''] = process.argv;
const ledger = new Ledger(folder);
const batch = { done: [], hits: [], notified: [], elapsedMs: 0, devices: [] };
/**
 * @param {string} key
 * @param {bigint} past
 */
const opening = (key, past) => ({
  key: key.repeat(32),
  name: `run ${key}.ts`,
  command: 'run',
  params: { job: { every: 7, target: 1n << 70n } },
  space: { start: 0n, length: past },
  call: { args: ['run', `${key}.ts`, '--device', 'wasm'], folder: 'somewhere' },
});

const complete = ledger.begin(opening('aa', 1000n)).job.id;
const hits = [7n, 500n, 500n, 999n].map((index, at) => ({ index, nth: at === 2 ? 1 : 0, fields: `{"n":${at}}` }));
ledger.commit(complete, {
  ...batch,
  done: [{ start: 0n, end: 1000n, hits: 4 }],
  hits,
  elapsedMs: 1500,
  devices: ['wasm'],
});
ledger.commit(complete, { ...batch, notified: [{ index: 7n, nth: 0 }] });
ledger.end(complete, 'complete');
ledger.keepTuning({ kernel: 'k', device: 'wasm', driver: '1', candidates: 'c' }, { best: 3, ms: [1.5, -0, Infinity] });

const open = ledger.begin({ ...opening('bb', 1n << 128n), priority: 2 }).job.id;
const far = { index: (1n << 128n) - 1n, nth: 0, fields: '{"n":{"$big":"18446744073709551615"},"x":{"$float":"NaN"}}' };
ledger.commit(open, {
  ...batch,
  done: [
    { start: 0n, end: 1n << 64n, hits: 0 },
    { start: (1n << 128n) - 10n, end: 1n << 128n, hits: 1 },
  ],
  hits: [far],
  elapsedMs: 20_000,
  devices: ['cuda:0', 'wasm'],
});
// Locks of a killed process are useless on other machines.
rmSync(join(folder, 'locks'), { recursive: true });
process.kill(process.pid, 'SIGKILL');
