// Opens a ledger at the same time as other processes, and writes its own job: open-child.mjs DIRECTORY NAME

import { digestOf } from '../../dist/store/encoding.js';
import { Ledger } from '../../dist/store/thread/ledger.js';

const [directory = '', name = ''] = process.argv.slice(2);
process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
const ledger = new Ledger(directory);
const notices = ledger.notices();
const space = { start: 0n, length: 10n };
const { id } = ledger.begin({
  key: digestOf(name),
  name,
  command: 'run',
  params: {},
  space,
  call: { args: [], folder: '' },
}).job;
const done = [{ start: 0n, end: 10n, hits: 0 }];
ledger.commit(id, { done, hits: [], notified: [], elapsedMs: 1, devices: [] });
ledger.end(id, 'complete');
ledger.close();
process.stdout.write(`${notices.length}\n`);
process.exit();
