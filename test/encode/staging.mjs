// Measures copies from plain arrays into page-locked memory by number of threads, without a GPU.
//   npm run build && node test/encode/staging.mjs [--helpers 0,1,3,5,7] [--seconds 1]
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    helpers: { type: 'string', default: '0,1,2,3,5,7' },
    seconds: { type: 'string', default: '1' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { ParallelCopier, helperCounts } = await import(`${values.dist}/device/gpu/host/parallel-copier.js`);
const { CopyThreads } = await import(`${values.dist}/device/gpu/host/copy-threads.js`);
const { addressOf, mapPages } = await import(`${values.dist}/device/native/libc.js`);

const RING = 2 ** 24;
const INPUT = 2 ** 25; // a batch of 64 samples of 16 qubits
const ring = mapPages(RING);
const inputs = Array.from({ length: 4 }, (_, k) => new Float64Array(INPUT / 8).fill(k + 1));
const addresses = inputs.map((one) => addressOf(one));

console.log('| threads | GB/s in pieces of 1 MiB | 4 MiB | vectors of 16 qubits a second |');
console.log('| --- | --- | --- | --- |');
for (const helpers of values.helpers.split(',').map(Number)) {
  const threads = new CopyThreads(helpers);
  const copier = new ParallelCopier(threads.memory);
  if (helpers > 0) threads.expectCopy(INPUT);
  while (helperCounts(threads.memory).helpers < helpers) await new Promise((resolve) => setTimeout(resolve, 5));
  const rates = [2 ** 20, 2 ** 22].map((piece) => {
    // The best batch, so that other load on the machine does not count.
    let best = Number.POSITIVE_INFINITY;
    const end = performance.now() + Number(values.seconds) * 1000;
    for (let k = 0; performance.now() < end; k++) {
      const begun = performance.now();
      for (let at = 0; at < INPUT; at += piece) {
        copier.copy(ring + (at % RING), addresses[k % addresses.length] + at, piece);
      }
      best = Math.min(best, performance.now() - begun);
    }
    return INPUT / best / 1e6;
  });
  await threads.stop();
  const shown = rates.map((rate) => rate.toFixed(1)).join(' | ');
  console.log(`| ${helpers + 1} | ${shown} | ${Math.round((Math.max(...rates) * 1e9) / 524_288)} |`);
}
