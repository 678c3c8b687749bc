// One job over {1..4 real devices} × {pipelines} × {chunk sizes} × {streams}, ten times each: results must not differ.
//   npm run build && node test/matrix.mjs [--devices cuda:0,native,opencl:0,wasm] [--runs 10]
// `test/engine.test.ts` does the same with virtual devices.
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { openDevice } from '../dist/device/registry.js';
import { completionOf } from '../dist/engine/devices.js';
import { Engine, generate, search } from '../dist/engine/index.js';
import { items, rw, u32, when } from '../dist/kernel/index.js';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: 'native,wasm,native,wasm' },
    runs: { type: 'string', default: '10' },
    space: { type: 'string', default: '60000' },
  },
});
const SPACE = Number(values.space);

const marked = items('marked', { job: { every: u32 }, hit: { n: u32 } }, ({ index, job, emit }) =>
  when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo })),
);
const mixed = items('mixed', { buffers: { output: rw('u32') } }, ({ index, item, buffers }) =>
  buffers.output.set(item, index.lo.mul(0x9e3779b1).xor(index.lo.shr(7))),
);

/** @param {unknown} given @param {unknown} wanted @param {string} what */
function same(given, wanted, what) {
  if (String(given) !== String(wanted)) throw new Error(`${what}: ${given}, not ${wanted}`);
}
const all = Array.from({ length: Math.ceil((SPACE - 7) / 13) }, (_, k) => BigInt(7 + 13 * k)).join();
const digest = createHash('sha256')
  .update(Uint32Array.from({ length: SPACE }, (_, k) => Math.imul(k, 0x9e3779b1) ^ (k >>> 7)))
  .digest('hex');
const first = Math.floor((2 * SPACE) / 3);

const names = values.devices.split(',');
const began = performance.now();
let runs = 0;
for (const pipeline of /** @type {const} */ (['sync', 'poll', 'callback', 'persistent'])) {
  const devices = [];
  for (const name of names) devices.push(await openDevice(name, { threads: 2, completion: completionOf(pipeline) }));
  for (let count = 1; count <= devices.length; count++) {
    for (const chunk of [undefined, 333, 4096]) {
      for (const streams of [1, 2, 3, 8]) {
        for (let run = 0; run < Number(values.runs); run++) {
          const what = `${count} devices, ${pipeline}, chunks of ${chunk}, ${streams} streams`;
          const engine = new Engine(devices.slice(0, count), { pipeline, streams });
          const sizes = chunk === undefined ? {} : { min: chunk, max: chunk };
          const ring = 32 << (run % 4);
          const hits = [];
          for await (const { index } of search(marked, { engine, space: SPACE, job: { every: 13 }, ring, ...sizes }))
            hits.push(index);
          same(hits.join() === all, true, `${what}: all hits`);
          const job = { every: first };
          const hit = await search(marked, { engine, space: SPACE, job, mode: 'first', ...sizes }).first();
          same(hit?.index, 7n, `${what}: the first hit`);
          const hash = createHash('sha256');
          const options = { engine, space: SPACE, rowBytes: 4, batchBytes: 4 * (chunk ?? 16 * ring) };
          for await (const batch of generate(mixed, options)) {
            hash.update(batch.bytes);
            batch.release();
          }
          same(hash.digest('hex'), digest, `${what}: rows`);
          await engine.close();
          runs++;
        }
      }
    }
  }
  for (const device of devices) await device.close();
  console.error(`${pipeline}: ${runs} runs in ${((performance.now() - began) / 1000).toFixed(0)} s`);
}
console.log(
  `${runs} runs over ${names.length} devices (${names.join(', ')}), 4 pipelines, 3 chunk sizes, 4 counts of streams: the same results`,
);
