// Compares the CPU with NumPy on the same machine: the best batch of each, alternating, so that other load affects both.
//   npm run build && node test/encode/numpy-peer.mjs [--qubits 16] [--batch 8] [--seconds 1] [--rounds 3] [--encodings angle,…]
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    qubits: { type: 'string', default: '16' },
    batch: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
    encodings: { type: 'string', default: 'amplitude,angle,phase,iqp' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { openDevice } = await import(`${values.dist}/device/registry.js`);
const { deviceRate } = await import(`${values.dist}/workload/encode/bench/rate.js`);
const [qubits = 16, batch = 8, seconds = 1] = [values.qubits, values.batch, values.seconds].map(Number);

/** @type {Map<string, { numpy: number; best: number[] }>} */
const found = new Map();
const threads = [...new Set([1, availableParallelism()])];
for (let round = 0; round < Number(values.rounds); round++) {
  const peer = fileURLToPath(new URL('numpy_peer.py', import.meta.url));
  const args = [peer, values.qubits, values.batch, values.seconds, values.encodings];
  const lines = execFileSync('python3', args, { encoding: 'utf8' }).trim().split('\n');
  for (const { encoding, precision, rate } of lines.map((line) => JSON.parse(line))) {
    const key = `${encoding} ${precision}`;
    const known = found.get(key) ?? { numpy: 0, best: [] };
    found.set(key, { ...known, numpy: Math.max(known.numpy, rate) });
  }
  for (const [at, count] of threads.entries()) {
    const device = await openDevice('native', { threads: count });
    for (const [key, known] of found) {
      const [encoding, precision] = key.split(' ');
      const rated = await deviceRate(device, { encoding, precision, qubits, batch, batches: 1 });
      const end = performance.now() + seconds * 1000;
      for (let runs = 0; runs < 3 || performance.now() < end; runs++) {
        const { work, seconds: took } = await rated.run();
        known.best[at] = Math.max(known.best[at] ?? 0, work / took);
      }
      rated.close();
    }
    await device.close();
  }
}
/** @param {number} rate */
const shown = (rate) => Math.round(rate).toLocaleString('en');
const heads = threads.map((count) => `${count} thread${count > 1 ? 's' : ''}`);
console.log(`| ${qubits} qubits × ${batch} | NumPy | ${heads.join(' | ')} |`);
console.log(`| --- | --- |${' --- |'.repeat(heads.length)}`);
for (const [key, { numpy, best }] of found) {
  console.log(
    `| ${key} | ${shown(numpy)} | ${best.map((rate) => `${shown(rate)}, ${(rate / numpy).toFixed(1)}×`).join(' | ')} |`,
  );
}
