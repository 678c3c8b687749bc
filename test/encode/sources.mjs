// Measures how fast samples are read from files, in GB of values a second, without a GPU. The first read, which fills the
// system's cache, does not count.
//   npm run build && node test/encode/sources.mjs [--runs 5] [--length 65536] FILE...
// One thread decodes; up to four read. The last column uses the CPU time of all, which is more reliable on a busy machine.
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '5' },
    /** Values per sample, for raw files. */
    length: { type: 'string', default: '65536' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { openSource } = await import(`${values.dist}/workload/encode/source/source.js`);

console.log('| file | samples | values | GB/s, best | median | GB a second of processor time, best |');
console.log('| --- | --- | --- | --- | --- | --- |');
for (const path of positionals) {
  let samples = 0;
  let length = 0;
  const rates = [];
  let busy = 0;
  for (let run = 0; run <= Number(values.runs); run++) {
    const begun = performance.now();
    const before = process.cpuUsage();
    const source = await openSource(path, { length: Number(values.length) });
    length = source.length;
    let count = 0;
    let bytes = 0;
    for await (const rows of source.batches(roomFor())) {
      count += rows.length / length;
      bytes += rows.byteLength;
    }
    await source.close();
    samples = count;
    if (run === 0) continue;
    rates.push(bytes / (performance.now() - begun) / 1e6);
    const { user, system } = process.cpuUsage(before);
    busy = Math.max(busy, bytes / (user + system) / 1e3);
  }
  rates.sort((a, b) => b - a);
  const [best, median] = [rates[0] ?? 0, rates[rates.length >> 1] ?? 0].map((rate) => rate.toPrecision(3));
  console.log(`| ${path.split('/').at(-1)} | ${samples} | ${length} | ${best} | ${median} | ${busy.toPrecision(3)} |`);
}

/** Two buffers of shared memory, filled in alternation, as a device provides. */
function roomFor() {
  /** @type {SharedArrayBuffer[]} */
  const free = [];
  let next = 0;
  return async (/** @type {number} */ count, /** @type {string} */ precision) => {
    const bytes = count * (precision === 'f64' ? 8 : 4);
    const at = next++ % 2;
    const own = free[at] && free[at].byteLength >= bytes ? free[at] : new SharedArrayBuffer(bytes);
    free[at] = own;
    return precision === 'f64' ? new Float64Array(own, 0, count) : new Float32Array(own, 0, count);
  };
}
