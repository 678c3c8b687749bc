// Solves the same file repeatedly on resident grids; the output must be the same bytes each time.
//   npm run build && node test/cuda/soak.mjs [DEVICE] [TIMES] [MAX SECONDS]
// 16 blocks, 12 million nonces in all; a thousand times take about three minutes on an H200.
import { readFileSync } from 'node:fs';
import { openDevice } from '../../dist/device/registry.js';
import { formatOutput, parseInput } from '../../dist/workload/block/files/file.js';
import { Solver } from '../../dist/workload/block/job/solve.js';
import { solveAll } from '../../dist/workload/block/job/solve-all.js';

const [name = 'cuda', times = '1000', maxSeconds = '600'] = process.argv.slice(2);
const text = (/** @type {string} */ ending) =>
  readFileSync(new URL(`../data/block/synthetic/easy02.${ending}`, import.meta.url), 'latin1');
const device = await openDevice(name, { telemetry: true });
const solver = new Solver(device, { pipeline: 'persistent' });
await solver.prepare(1n, 1n << 255n);
const began = performance.now();
let [right, done] = [0, 0];
for (; done < Number(times) && performance.now() - began < 1000 * Number(maxSeconds); done++) {
  const solutions = await solveAll(solver.engine, parseInput(text('in')), {});
  const written = formatOutput(solutions.map((one) => one?.nonce ?? 0));
  if (written === text('out')) right++;
  else console.log(`WRONG, time ${done}: ${JSON.stringify(written)}`);
}
const each = ((performance.now() - began) / done).toFixed(1);
const { launches = 0, blockingWaits = 0 } = (await device.telemetry?.()) ?? {};
console.log(`${right} of ${done} correct, ${each} ms each, ${launches} launches, ${blockingWaits} blocking waits`);
await solver.close();
await device.close();
process.exitCode = right === done ? 0 : 1;
