// Measures encoding on a GPU against the limits of bus and memory. The states of every figure are checked first.
//   npm run build && node test/encode/measure.mjs [--device cuda:0] [--runs 5] [--quick] [--registers sm_90]
//     [--only pinned,plain,device] [--coalesced] [--sweep]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda:0' },
    runs: { type: 'string', default: '5' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    coalesced: { type: 'boolean', default: false },
    sweep: { type: 'boolean', default: false },
    registers: { type: 'string' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { openDevice } = await import(`${values.dist}/device/registry.js`);
const { measure } = await import(`${values.dist}/bench/measure.js`);
const { deviceRate, hostRate } = await import(`${values.dist}/workload/encode/bench/rate.js`);
const { planFor } = await import(`${values.dist}/workload/encode/kernel/plan.js`);
const { lengthOf } = await import(`${values.dist}/workload/encode/kernel/encoding.js`);
const { lowerGpu } = await import(`${values.dist}/kernel/index.js`);

/** @typedef {{ from: string; encoding: string; precision: string; batch: number; batches: number; target?: number; shared?: boolean; slots?: number; inFlight?: number; pieceBits?: number; streams?: number }} Wanted */
const qubits = 16;
const many = values.quick ? 20 : 500;
const amplitude = { encoding: 'amplitude', precision: 'f64', batch: 64 };
const large = values.quick ? 128 : 1024;
/** @type {Wanted[]} */
const all = [
  { ...amplitude, from: 'pinned', batches: many, target: 100_000 },
  { ...amplitude, from: 'pinned', batches: many, slots: 4, inFlight: 8 },
  { ...amplitude, from: 'pinned', batches: many, slots: 3 },
  { ...amplitude, from: 'plain', batches: many / 5, target: 20_000 },
  { ...amplitude, from: 'plain', batches: many / 5, slots: 4, inFlight: 8 },
  { ...amplitude, from: 'device', batches: many, target: 1_400_000 },
  { ...amplitude, from: 'device', batches: many, pieceBits: 12 },
  { ...amplitude, from: 'device', batches: many, pieceBits: 14 },
  { ...amplitude, from: 'device', batches: many, streams: 2 },
  { ...amplitude, from: 'device', batch: 32, batches: 2 * many, streams: 2 },
  { ...amplitude, from: 'device', batches: many, shared: false },
  { ...amplitude, from: 'device', batch: large, batches: many / 10, target: 1_700_000 },
  { ...amplitude, from: 'device', batch: large, batches: many / 10, pieceBits: 12 },
  { ...amplitude, from: 'pinned', precision: 'f32', batches: many, target: 195_000 },
  { ...amplitude, from: 'pinned', precision: 'f32', batches: many, inFlight: 8 },
  { ...amplitude, from: 'pinned', precision: 'f32', batch: 128, batches: many / 2, target: 195_000 },
  { ...amplitude, from: 'device', precision: 'f32', batches: many },
  ...['angle', 'phase', 'iqp-z'].map((encoding) => ({
    encoding,
    precision: 'f64',
    batch: 64,
    from: 'device',
    batches: many,
    target: 2_000_000,
  })),
  { encoding: 'iqp', precision: 'f64', batch: 64, from: 'device', batches: many / 5, target: 400_000 },
  { encoding: 'iqp', precision: 'f32', batch: 64, from: 'device', batches: many / 5 },
  { encoding: 'basis', precision: 'f64', batch: 64, from: 'device', batches: many },
];
const wanted = values.only === undefined ? all : all.filter(({ from }) => values.only?.split(',').includes(from));

const device = await openDevice(values.device);
console.log(`${device.info.id}  ${device.info.name}  ${JSON.stringify(device.info.versions)}`);
const rows = [
  '| what | path | median vec/s | min | max | target | digest |',
  '| --- | --- | --- | --- | --- | --- | --- |',
];
for (const { from, target, batches, ...one } of wanted) {
  const options = { ...one, qubits, batches: Math.max(1, Math.round(batches)), runs: Number(values.runs) };
  try {
    const rated = await (from === 'device' ? deviceRate(device, options) : hostRate(device, from, options));
    try {
      const { rate, digest, name } = await measure(rated);
      const [median, min, max] = [rate.median, rate.min, rate.max].map((r) => Math.round(r).toLocaleString('en'));
      const more = [
        one.slots && `${one.slots} slots`,
        one.inFlight && `${one.inFlight} in flight`,
        one.pieceBits && `pieces of 2^${one.pieceBits}`,
      ].filter(Boolean);
      rows.push(
        `| ${[name, ...more].join(', ')} | ${rated.path} | ${median} | ${min} | ${max} | ${target?.toLocaleString('en') ?? ''} | ${digest.slice(0, 8)} |`,
      );
      console.error(rows.at(-1));
    } finally {
      rated.close();
    }
  } catch (error) {
    console.error(`${JSON.stringify({ from, ...one })}: ${/** @type {Error} */ (error).message}`);
  }
}
for (const row of rows) console.log(row);
if (values.sweep) await sweep();
if (values.coalesced) {
  const { coalescedRates } = await import(`${values.dist}/workload/encode/bench/coalesced.js`);
  const { median } = await import(`${values.dist}/device/median.js`);
  for (const from of ['pinned', 'plain']) {
    for (const batch of [1, 4, 16, 64]) {
      const batches = Math.max(4, Math.round((values.quick ? 640 : 6400) / batch));
      const options = { encoding: 'amplitude', precision: 'f64', qubits, batch, batches, trials: Number(values.runs) };
      const { coalesced, others } = await coalescedRates(device, from, options);
      const together = median(coalesced.trials);
      const shown = others.map((/** @type {{ name: string, trials: number[] }} */ { name, trials }) => {
        const rate = Math.round(median(trials)).toLocaleString('en');
        return `${name.toLowerCase()} ${rate} (${(together / median(trials)).toFixed(2)}×)`;
      });
      const rate = Math.round(together).toLocaleString('en');
      console.log(`coalesced, ${from}, requests of ${batch}: ${rate}; ${shown.join(', ')}`);
    }
  }
}
await device.close();

/** Varies the samples per batch (copied and encoded at a time) and the number of slots. */
async function sweep() {
  console.log('\n| batch | MiB | slots | vec/s | copying | encoding | overlap | processors |');
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
  const middle = (/** @type {number[]} */ all) => all.toSorted((a, b) => a - b)[all.length >> 1] ?? 0;
  for (const batch of [4, 16, 32, 64, 128, 256]) {
    for (const slots of [2, 3, 4, 8]) {
      const batches = Math.max(8, Math.round((64 * many) / 2 / batch));
      const options = { ...amplitude, qubits, batch, slots, batches, inFlight: 2 * slots, runs: Number(values.runs) };
      const rated = await hostRate(device, 'pinned', options);
      try {
        const { rate } = await measure(rated);
        const { overlaps, processors } = rated.busy?.() ?? { overlaps: [], processors: 0 };
        const shares = ['copyBusy', 'computeBusy', 'hidden'].map(
          (name) => `${(100 * middle(overlaps.map((/** @type {any} */ one) => one[name]))).toFixed(1)} %`,
        );
        console.log(
          `| ${batch} | ${batch / 2} | ${slots} | ${Math.round(rate.median).toLocaleString('en')} | ${shares.join(' | ')} | ${processors.toFixed(2)} |`,
        );
      } finally {
        rated.close();
      }
    }
  }
}

if (values.registers !== undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'encode-'));
  for (const encoding of ['amplitude', 'angle', 'phase', 'iqp']) {
    const shape = { encoding, qubits, length: lengthOf(encoding, qubits) };
    const { kernels } = planFor(device.info, shape, { precision: 'f64', shared: true });
    for (const [name, kernel] of Object.entries(kernels)) {
      const file = join(folder, `${encoding}-${name}.cu`);
      writeFileSync(file, lowerGpu(kernel, { target: 'cuda' }).text);
      const args = [
        `-arch=${values.registers}`,
        '-Xptxas',
        '-v',
        '--fmad=false',
        '-cubin',
        '-o',
        `${file}.cubin`,
        file,
      ];
      try {
        execFileSync('nvcc', args, { stdio: ['ignore', 'ignore', 'pipe'] });
        const output = execFileSync('sh', ['-c', 'nvcc "$@" 2>&1 | grep -E "Used|spill"', 'sh', ...args], {
          encoding: 'utf8',
        });
        console.log(`${encoding}-${name}: ${output.trim().replaceAll(/\s+/g, ' ')}`);
      } catch (error) {
        console.log(`${encoding}-${name}: ${/** @type {Error} */ (error).message.slice(0, 400)}`);
      }
    }
  }
}
