// `npm run bench:gate`: the kernels of today against frozen ones, which docs/measurements/frozen holds as text: each
// workload on native and on wasm, one thread each, in turn. A figure that has lost more than 5 % is measured twice more;
// exit status 1 where it was lost all three times.
//   npm run build && npm run bench:gate [-- WORKLOAD…]
//   node scripts/bench-gate.mjs --freeze     makes the frozen files of this class of processor anew
//   node scripts/bench-gate.mjs --tries 1    a lost figure is not measured again
//   node scripts/bench-gate.mjs --slowed     today's kernels do a tenth more than they are credited for: all must be lost

import { parseArgs } from 'node:util';
import { classOf, readFrozen, writeFrozen } from '../dist/bench/frozen/files.js';
import { gate } from '../dist/bench/frozen/gate.js';
import { recorder } from '../dist/bench/frozen/recording.js';
import { openDevice } from '../dist/device/registry.js';
import { kernelRuns } from '../dist/workload/frozen.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    freeze: { type: 'boolean' },
    slowed: { type: 'boolean' },
    device: { type: 'string', multiple: true },
    tries: { type: 'string', default: '3' },
  },
});
const workloads = positionals.length > 0 ? positionals : Object.keys(kernelRuns);
const tries = Number(values.tries);

for (const kind of values.device ?? ['native', 'wasm']) {
  const device = /** @type {import('../dist/bench/frozen/replay.js').TextDevice | undefined} */ (
    await openDevice(kind, { threads: 1 }).catch((error) => {
      console.log(`none  ${kind}: ${error.message.split('\n')[0]}`);
      return undefined;
    })
  );
  if (device === undefined) continue;
  try {
    for (const workload of workloads) await figure(workload, device);
  } finally {
    await device.close();
  }
}

/**
 * @param {string} workload
 * @param {import('../dist/bench/frozen/replay.js').TextDevice} device
 */
async function figure(workload, device) {
  const name = `${workload} on ${device.info.id}`;
  const recorded = recorder(device);
  await kernelRuns[workload]?.(recorded.device);
  const now = recorded.recording();
  if (values.freeze) {
    writeFrozen(workload, device.info, now);
    console.log(`frozen  ${name}, ${classOf(device.info)}`);
    return;
  }
  const frozen = readFrozen(workload, device.info);
  if (frozen === undefined) {
    console.log(`none  ${name}: nothing frozen for ${classOf(device.info)}; --freeze makes it`);
    return;
  }
  for (let attempt = 1; attempt <= tries; attempt++) {
    const { median, ratios, chance, isLost } = await gate(device, now, frozen, { isSlowed: values.slowed === true });
    const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
    const told = `${median.toFixed(3)} of the frozen kernel (${spread}, p ${chance.toExponential(0)})`;
    console.log(`${isLost ? 'LOST' : 'kept'}  ${name}: ${told}`);
    if (!isLost) return;
    if (attempt === tries) process.exitCode = 1;
  }
}
