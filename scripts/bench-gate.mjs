// `npm run bench:gate`: ratios that hold on any machine, each of two things measured in turn. Exit status 1 where not even
// the best turn reaches what a ratio has to be; a busy machine moves both sides alike.
//   npm run build && npm run bench:gate

import { createHash } from 'node:crypto';
import { compare, LEAST_RUNS } from '../dist/bench/measure.js';
import { openDevice } from '../dist/device/registry.js';
import { genesis } from '../dist/workload/block/genesis.js';
import { fedRateOf, rateOf } from '../dist/workload/block/rate.js';
import { headerPrefix } from '../dist/workload/block/reference.js';

const runs = LEAST_RUNS;
const SECONDS = 0.4;
const wasm = await openDevice('wasm', { threads: 1 });
const native = await openDevice('native', { threads: 1 }).catch((error) => {
  console.log(`no native device: ${error.message.split('\n')[0]}`);
  return undefined;
});

/** Two hashes of 80 bytes for each nonce, as anybody would write it. @returns {import('../dist/bench/measure.js').Candidate} */
function plainLoop() {
  const header = Buffer.concat([headerPrefix(genesis), Buffer.alloc(4)]);
  const sha256 = (/** @type {Uint8Array} */ bytes) => createHash('sha256').update(bytes).digest();
  const work = 50_000;
  const run = async () => {
    let last = Buffer.alloc(0);
    for (let nonce = 0; nonce < work; nonce++) {
      header.writeUInt32LE(nonce, 76);
      last = sha256(sha256(header));
    }
    return { work, digest: last.toString('hex') };
  };
  return { name: 'node:crypto, a loop', unit: 'H', runs, run };
}

try {
  const fed = (/** @type {import('../dist/engine/index.js').EngineOptions} */ options) =>
    fedRateOf(wasm, runs, options, SECONDS);
  /** @type {[name: string, least: number, base: import('../dist/bench/measure.js').Candidate, other: import('../dist/bench/measure.js').Candidate][]} */
  const gates = [
    ['wasm against a loop of node:crypto, one thread each', 4, plainLoop(), await rateOf(wasm, runs)],
    ['the engine against its kernel alone, wasm', 0.85, await rateOf(wasm, runs), await fed({})],
    ['records of every chunk against none, wasm', 0.95, await fed({}), await fed({ records: 4096 })],
  ];
  if (native) {
    gates.push(['native against wasm, one thread each', 2, await rateOf(wasm, runs), await rateOf(native, runs)]);
  }
  for (const [name, least, base, other] of gates) {
    const { ratios } = await compare([base, other]);
    const { median, min, max } = ratios[1] ?? { median: Number.NaN, min: Number.NaN, max: Number.NaN };
    const isKept = max >= least;
    if (!isKept) process.exitCode = 1;
    const told = `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)}), at least ${least}`;
    console.log(`${isKept ? 'kept' : 'LOST'}  ${name}: ${told}`);
  }
} finally {
  await wasm.close();
  await native?.close();
}
