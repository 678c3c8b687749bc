/**
 * Compares tuned with untuned jobs on the devices of a machine: tunes each device with an empty store, then alternates runs.
 *
 *   node test/tune/measure.mjs [--device cuda,native] [--workload block,uhash,words] [--budget 120] [--runs 7] [--dist dist]
 *
 * Exits with 1 if a ratio is below 1 by more than the spread of the runs.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'auto' },
    workload: { type: 'string', default: 'block,uhash,words' },
    budget: { type: 'string', default: '120' },
    runs: { type: 'string', default: '7' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { openDevice } = await import(`${values.dist}/device/registry.js`);
const { tune } = await import(`${values.dist}/engine/tune/tune.js`);
const { saveTuning, setTuningStore } = await import(`${values.dist}/engine/tune/tuning-store.js`);
const { LedgerTunings } = await import(`${values.dist}/store/client/tunings.js`);
const { tunables } = await import(`${values.dist}/workload/tunables.js`);
const { measure, compare } = await import(`${values.dist}/bench/measure.js`);
const block = await import(`${values.dist}/workload/block/bench/rate.js`);
const uhash = await import(`${values.dist}/workload/uhash/bench/rate.js`);

const folder = mkdtempSync(join(tmpdir(), 'millrace-tune-'));
const store = new LedgerTunings(folder);
const runs = Number(values.runs);
/** @type {string[]} */
const rows = [];
let isWorse = false;
try {
  for (const id of values.device.split(',')) {
    const device = await openDevice(id);
    try {
      for (const name of values.workload.split(',')) await compareTuned(device, name);
    } finally {
      await device.close();
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log('\n| device | workload | setting | untuned | tuned | ratio (median, min, max) | tuning took, runs |');
console.log('| --- | --- | --- | --- | --- | --- | --- |');
for (const row of rows) console.log(row);
process.exitCode = isWorse ? 1 : 0;

/**
 * @param {any} device
 * @param {string} name
 */
async function compareTuned(device, name) {
  const tunable = tunables.find((/** @type {any} */ one) => one.name === name);
  if (tunable === undefined) throw new Error(`unknown workload ${name}`);
  setTuningStore(store);
  const begun = performance.now();
  const record = await tune(device, tunable, { seconds: Number(values.budget) });
  const took = (performance.now() - begun) / 1000;
  await saveTuning(device, tunable, record);
  const samples = record.axes.flatMap((/** @type {any} */ axis) =>
    axis.candidates.flatMap((/** @type {any} */ c) => c.samples),
  );
  const text = JSON.stringify(record.setting);
  console.log(
    `${device.info.id} ${name}: ${text}, gain ${record.gain.toFixed(3)}, ${took.toFixed(1)} s, complete ${record.isWhole}`,
  );
  for (const axis of record.axes) {
    const all = axis.candidates.map(
      (/** @type {any} */ c) => `${c.name} ${c.gain?.toFixed(3) ?? c.unfit} (${c.samples.length})`,
    );
    console.log(`  ${axis.name}: ${all.join(' · ')}`);
  }
  const { measurements, ratio } = await rates(device, tunable, record.setting);
  const [untuned, tuned] = measurements.map((/** @type {any} */ one) => one.rate.median);
  const spread = measurements[0].rate.relative;
  if (Object.keys(record.setting).length > 0 && ratio.median < 1 - Math.max(0.01, spread)) isWorse = true;
  const [a, b, c] = [ratio.median, ratio.min, ratio.max].map((value) => value.toFixed(3));
  rows.push(
    `| ${device.info.id} | ${name} | ${text} | ${untuned.toPrecision(4)} | ${tuned.toPrecision(4)} | ${a} (${b}–${c}) | ${took.toFixed(0)} s, ${samples.length} |`,
  );
  console.log(rows.at(-1));
}

/**
 * @param {any} device
 * @param {any} tunable
 * @param {object} setting
 */
async function rates(device, tunable, setting) {
  if (tunable.name === 'block') return blockRates(device);
  if (tunable.name === 'uhash') return uhashRates(device);
  const trials = [await tunable.open(device, {}, 'job'), await tunable.open(device, setting, 'job')];
  const candidates = trials.map((trial, at) => ({ name: `${at}`, unit: tunable.unit, runs, run: () => trial.run(0) }));
  const { measurements, ratios } = await compare(candidates);
  return { measurements, ratio: ratios[1] };
}

/** Jobs, tuned and untuned in alternating runs. @param {any} device */
async function blockRates(device) {
  setTuningStore(undefined);
  const untuned = await block.fedRateOf(device, runs, {});
  setTuningStore(store);
  const tuned = await block.fedRateOf(device, runs, {});
  const { measurements, ratios } = await compare([untuned, tuned]);
  return { measurements, ratio: ratios[1] };
}

/** Each takes all memory, so they run one after the other. @param {any} device */
async function uhashRates(device) {
  const rates = [];
  for (const on of [undefined, store]) {
    setTuningStore(on);
    const rated = await uhash.rateOf(device, { runs });
    try {
      rates.push(await measure(rated));
    } finally {
      await rated.close();
    }
  }
  const [untuned, tuned] = rates;
  const median = tuned.rate.median / untuned.rate.median;
  return {
    measurements: rates,
    ratio: { median, min: tuned.rate.min / untuned.rate.max, max: tuned.rate.max / untuned.rate.min },
  };
}
