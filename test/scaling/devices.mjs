// Measures `words`, `block` and `gaps` on the first one, two and four of several CPU devices of one machine.
//   npm run build && node test/scaling/devices.mjs [--dist DIST] [--devices 4] [--threads 1,4] [--workloads words,block,gaps]
// Each device is `native` with its own threads. With `--device opencl:0,opencl:1,…` the named devices are used instead:
// POCL_DEVICES="basic basic basic basic" makes PoCL show four devices of one core each.
// The same work on all of them, about `--seconds` on one device: a search of gaps needs many more pieces than devices. Every
// workload checks its results. The fastest of two runs counts.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    dist: { type: 'string' },
    device: { type: 'string' },
    devices: { type: 'string', default: '4' },
    threads: { type: 'string', default: '1' },
    workloads: { type: 'string', default: 'words,block,gaps' },
    seconds: { type: 'string', default: '4' },
  },
});
const dist = values.dist ? pathToFileURL(`${resolve(values.dist)}/`) : new URL('../../dist/', import.meta.url);
/** @returns {Promise<any>} */
const load = (/** @type {string} */ file) => import(new URL(file, dist).href);
const { openDevice, openDevices } = await load('device/registry.js');

/** @param {string} what @param {() => Promise<any[]>} open */
async function measure(what, open) {
  const devices = await open();
  for (const workload of values.workloads.split(',')) {
    const { [`${workload}Cases`]: cases } = await load(`workload/${workload}/bench/cases.js`);
    const alone = await cases.sized(devices.slice(0, 1));
    const work = Math.round((alone.maxWork / (await alone.run(alone.maxWork))) * Number(values.seconds));
    await alone.close();
    const cells = [];
    let first = Number.NaN;
    for (let count = 1; count <= devices.length; count *= 2) {
      const sized = await cases.sized(devices.slice(0, count), work);
      const seconds = Math.min(await sized.run(work), await sized.run(work));
      await sized.close();
      if (count === 1) first = seconds;
      cells.push(`${count}: ${(work / seconds).toExponential(3)}/s, ${(first / seconds).toFixed(2)} ×`);
    }
    console.log(`| ${what} | ${workload} | ${cells.join(' | ')} |`);
  }
  await Promise.all(devices.map((device) => device.close()));
}

const { device, devices } = values;
if (device !== undefined) await measure(device, () => openDevices(device));
else {
  for (const threads of values.threads.split(',').map(Number)) {
    const all = Array.from({ length: Number(devices) }, () => openDevice('native', { threads }));
    await measure(`native, ${threads} thread${threads === 1 ? '' : 's'} each`, () => Promise.all(all));
  }
}
