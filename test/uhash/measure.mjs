/**
 * Measures UniversalHash on the GPUs of a machine: kernel variants and batch sizes, each checked against the reference.
 *
 *   node test/uhash/measure.mjs [--device cuda,opencl:0,webgpu] [--what variants,batches,open] [--seconds 1] [--dist dist]
 *   node test/uhash/measure.mjs --device cuda --one '{"rolled":true}' --one '{"lanes":256}'
 *
 * Prints a line per measurement, and a table at the end.
 */
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    what: { type: 'string', default: 'variants,batches' },
    seconds: { type: 'string', default: '1' },
    runs: { type: 'string', default: '3' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
    one: { type: 'string', multiple: true },
  },
});
const { openDevice } = await import(`${values.dist}/device/registry.js`);
const { rateOf } = await import(`${values.dist}/workload/uhash/bench/rate.js`);

/** Variants to try on each kind of device; the first is the default plan. */
/** @type {Readonly<Record<string, readonly object[]>>} */
const variants = {
  cuda: [
    {},
    { copies: 8, tables: 1, lanes: 256 },
    { copies: 32, tables: 1, lanes: 256 },
    { copies: 1, tables: 1, lanes: 256 },
    { tables: 2, lanes: 512 },
    { tables: 4, lanes: 1024 },
    { chainsPerItem: 3 },
    { launches: 1 },
    { engine: { streams: 1 } },
  ],
  opencl: [{}, { copies: 1 }, { copies: 32 }, { lanes: 128 }, { chainsPerItem: 3 }, { launches: 1 }],
  webgpu: [{}, { chainsPerItem: 1 }, { copies: 1 }, { lanes: 64 }, { launches: 8 }, { fillLaunches: 1 }, { pads: 1 }],
};
/**
 * Variants that have not been measured yet (docs/measurements/uhash.md).
 *
 * @type {Readonly<Record<string, readonly object[]>>}
 */
const open = {
  cuda: [{}],
  opencl: [{}],
  webgpu: [{}, { rolled: true }, { rolled: true, launches: 4, fillLaunches: 2 }, { rolled: true, lanes: 64 }],
};
const batches = [1024, 2048, 4096, 8192, 16_384, 24_576, 32_760];

/** @type {string[]} */
const rows = [];
const selected = values.what.split(',');
for (const name of values.device.split(',')) {
  const device = await openDevice(name);
  const { kind, id } = device.info;
  console.log(
    `${id}  ${device.info.name}  ${device.info.units} units  ${(device.info.memoryBytes / 2 ** 30).toFixed(1)} GiB  buffers to ${(device.info.limits.bufferBytes / 2 ** 30).toFixed(1)} GiB`,
  );
  try {
    if (values.one) for (const one of values.one) await measure(device, JSON.parse(one));
    else {
      if (selected.includes('open')) for (const variant of open[kind] ?? [{}]) await measure(device, variant);
      if (selected.includes('variants')) for (const variant of variants[kind] ?? [{}]) await measure(device, variant);
      if (selected.includes('batches')) for (const batch of batches) await measure(device, { batch });
    }
  } finally {
    await device.close();
  }
}
console.log(
  '\n| device | variant | batch | launches | H/s (median, min, max) | checked |\n| --- | --- | --- | --- | --- | --- |',
);
for (const row of rows) console.log(row);

/**
 * @param {any} device
 * @param {object} variant
 */
async function measure(device, variant) {
  const text = JSON.stringify(variant);
  try {
    const begun = performance.now();
    const rated = await rateOf(device, { ...variant, seconds: Number(values.seconds) });
    const ready = (performance.now() - begun) / 1000;
    /** @type {number[]} */
    const rates = [];
    try {
      for (let run = 0; run < Number(values.runs); run++) {
        const start = performance.now();
        const { work } = await rated.run();
        rates.push((work / (performance.now() - start)) * 1000);
      }
    } finally {
      await rated.close();
    }
    rates.sort((a, b) => a - b);
    const [min, median, max] = [rates[0], rates[Math.floor(rates.length / 2)], rates.at(-1)];
    const { plan } = rated;
    const shown = [median, min, max].map((rate = 0) => Math.round(rate).toLocaleString('en'));
    rows.push(
      `| ${device.info.id} | ${text} | ${plan.batch}${plan.pads > 1 ? ` in ${plan.pads}` : ''} | ${plan.launches} | ${shown[0]} (${shown[1]}–${shown[2]}) | ${rated.checked} digests |`,
    );
    console.log(
      `${device.info.id} ${text}: ${shown[0]} H/s (${shown[1]}–${shown[2]}), batch ${plan.batch}, ready after ${ready.toFixed(1)} s`,
    );
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    rows.push(`| ${device.info.id} | ${text} | | | ${message.split('\n')[0]} | |`);
    console.log(`${device.info.id} ${text}: ${message}`);
  }
}
