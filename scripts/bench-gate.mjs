// `npm run bench:gate`: compares today's kernels with the frozen ones in docs/measurements/frozen: each workload on native
// and on wasm, one thread each, in alternation. A figure that has lost more than 5 % is measured twice more; exit status 1
// if it was lost all three times.
//   npm run build && npm run bench:gate [-- WORKLOAD…]
//   node scripts/bench-gate.mjs --freeze     regenerates the frozen files of this class of processor
//   node scripts/bench-gate.mjs --tries 1    measures each figure once
//   node scripts/bench-gate.mjs --slowed     compares today's kernels with themselves slowed by 10 %: every figure is lost

import { parseArgs } from 'node:util';
import { classOf, readFrozen, writeFrozen } from '../dist/bench/frozen/files.js';
import { gate, MAX_LOSS } from '../dist/bench/frozen/gate.js';
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
  // How fast a kernel is, compared with its frozen one, must not hide a simulated loss.
  const frozen = values.slowed ? now : readFrozen(workload, device.info);
  if (frozen === undefined) {
    console.log(`none  ${name}: no frozen kernel for ${classOf(device.info)}; --freeze makes one`);
    return;
  }
  for (let attempt = 1; attempt <= tries; attempt++) {
    const { median, ratios, chance, isLost } = await gate(device, now, frozen, { isSlowed: values.slowed === true });
    const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
    const reference = values.slowed ? 'its own speed' : 'the frozen kernel';
    const result = `${median.toFixed(3)} of ${reference} (${spread}, p ${chance.toExponential(0)})`;
    const advice = median > 1 + MAX_LOSS ? '; faster: --freeze makes later losses visible' : '';
    console.log(`${isLost ? 'LOST' : 'kept'}  ${name}: ${result}${advice}`);
    if (!isLost) return;
    if (attempt === tries) process.exitCode = 1;
  }
}
