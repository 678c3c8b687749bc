// Commits to a ledger without a pause, and ends in the given way while its thread is committing.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../dist/store/index.js';

const [, , way = '', delay = '0'] = process.argv;
const folder = mkdtempSync(join(tmpdir(), 'millrace-ending-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const store = await openStore(folder);
const ledger = await store.open({
  command: 'test',
  name: 'test',
  params: {},
  kernel: '',
  space: { start: 0n, length: 1n << 60n },
  call: { args: [], folder: '' },
});
console.log('ready');
let isOver = false;
setTimeout(() => {
  if (way === 'exit') process.exit(0);
  if (way === 'throw') throw new Error('thrown on purpose');
  isOver = true;
}, Number(delay));
for (let at = 0n; !isOver; at += 10n) await ledger.record({ start: at, length: 10n });
if (way === 'close') {
  await ledger.finish('open');
  await store.close();
}
// `leave`: closes nothing; nothing keeps the process alive.
