// COUNT times: asks whether a job is running, reads its lock, or takes and releases the job:
// probe-child.mjs DIRECTORY JOB probe|look|take COUNT
import { Ledger } from '../../dist/store/thread/ledger.js';
import { Lock } from '../../dist/store/thread/lock.js';

const [directory = '', id = '', role, count] = process.argv.slice(2);
const ledger = new Ledger(directory);
const { job } = ledger.find(id);
process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));

let wrong = 0;
for (let at = 0; at < Number(count); at++) {
  if (role === 'probe') {
    if (ledger.find(id).isRunning) wrong++;
    continue;
  }
  if (role === 'look') {
    Lock.isClaimed(directory, id);
    continue;
  }
  try {
    ledger.begin(job);
    ledger.end(id, 'running'); // as a killed process leaves it
  } catch (error) {
    if (!/is working on it/.test(String(error))) throw error;
    wrong++;
  }
}
ledger.close();
process.stdout.write(`${wrong}\n`);
process.exit();
