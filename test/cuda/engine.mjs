// Measures the engine on a GPU: SHA-256d over 2^36 indices, with the upper bits in the header's version.
//   npm run build && node test/cuda/engine.mjs [--device cuda:0] [--bits 36] [--parts modes,streams,items,devices,cancel]
// Every run must give the same hits, each checked by node:crypto.
import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { openDevice } from '../../dist/device/registry.js';
import { Engine, search } from '../../dist/engine/index.js';
import { belowTarget, items, loop, sha256, u32, when } from '../../dist/kernel/index.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda:0' },
    bits: { type: 'string', default: '36' },
    parts: { type: 'string', default: 'modes,streams,items,devices,cancel' },
  },
});
const parts = values.parts.split(',');
const SPACE = 2n ** BigInt(values.bits);

/** Bitcoin's first block without version and nonce. */
const REST = `${'00'.repeat(32)}3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d`;
const words = [0x01000000, ...(REST.match(/.{8}/g) ?? []).map((word) => Number.parseInt(word, 16))];
const target = [0, 0xffff0000, 0, 0, 0, 0, 0, 0];
const job = { header: words, target };

/** A thread tries `each` nonces, unrolled or, with `rolled`, in a loop. */
const versions = (/** @type {number} */ each, rolled = false) =>
  items(
    `versions${each}${rolled ? 'rolled' : ''}`,
    { job: { header: [u32, 19], target: [u32, 8] }, hit: { nonce: u32 } },
    ({ job: known, index, emit }) => {
      const [version, ...rest] = known.header;
      const first = index.lo.mul(each);
      const attempt = (/** @type {typeof first} */ nonce) => {
        const digest = sha256.double([version.add(index.hi.shl(8)), ...rest, nonce.byteSwap()]);
        when(digest[7].eq(0), () => when(belowTarget(digest, known.target), () => emit({ nonce })));
      };
      if (rolled) loop(each, (k) => attempt(first.add(k)));
      else for (let k = 0; k < each; k++) attempt(first.add(k));
    },
  );
const kernel = versions(1);

/** @param {{ index: bigint, nonce: number }} hit */
function verify({ index, nonce }) {
  if (BigInt(nonce) !== (index & 0xffff_ffffn)) return 'the nonce is not the index';
  const header = Buffer.alloc(80);
  for (const [i, word] of words.entries()) header.writeUInt32BE(word, 4 * i);
  header.writeUInt32BE((0x01000000 + Number(index >> 32n) * 256) >>> 0, 0);
  header.writeUInt32LE(nonce, 76);
  const hash = createHash('sha256').update(createHash('sha256').update(header).digest()).digest().reverse();
  return hash.readUInt32BE(0) === 0 && hash.compare(Buffer.from('00000000ffff', 'hex'), 0, 6, 0, 6) < 0;
}

/** @typedef {import('../../dist/device/device.js').Device} Device */
/** @type {string | undefined} */
let known;
const median = (/** @type {number[]} */ list) => [...list].sort((a, b) => a - b)[list.length >> 1] ?? Number.NaN;
/** @type {string[][]} */
const rows = [];
const row = (/** @type {string[]} */ ...cells) => {
  rows.push(cells);
  console.error(cells.join('  '));
};

/**
 * Runs one search over the whole space.
 * @param {string} name @param {readonly Device[]} devices @param {import('../../dist/engine/engine.js').EngineOptions} options
 * @param {bigint} [space]
 */
async function run(name, devices, options, space = SPACE) {
  const engine = new Engine(devices, { records: 4096, ...options });
  await engine.prepare(kernel);
  const before = await Promise.all(devices.map((device) => device.telemetry?.()));
  const cpu = process.cpuUsage();
  const began = performance.now();
  const found = [];
  for await (const hit of search(kernel, { engine, space, job, verify })) found.push(String(hit.index));
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  const after = await Promise.all(devices.map((device) => device.telemetry?.()));
  if (space === SPACE) {
    known ??= found.join();
    if (known !== found.join()) throw new Error(`${name}: different hits: ${found.join()}`);
  }
  const counted = [...engine.records].filter(({ outcome }) => outcome === 'counted');
  const late = counted.map(({ endedNs, reapedNs }) => Number(reapedNs - endedNs) / 1000);
  const kernelMs = counted.map(({ startedNs, endedNs }) => Number(endedNs - startedNs) / 1e6);
  const calls = after.map((one, i) => {
    const blocked = (one?.blockedNs ?? 0) - (before[i]?.blockedNs ?? 0);
    return `${(one?.polls ?? 0) - (before[i]?.polls ?? 0)} polls, ${(one?.blockingWaits ?? 0) - (before[i]?.blockingWaits ?? 0)} blocking (${((100 * blocked) / 1e6 / ms).toFixed(1)} % of the time)`;
  });
  row(
    name,
    `${(Number(space) / ms / 1e6).toFixed(3)} GH/s`,
    engine.devices
      .map(
        ({ info, fed, items: done }) =>
          `${info.id} ${(Number(done) / ms / 1e6).toFixed(3)} GH/s fed ${((fed ?? 0) * 100).toFixed(2)} %`,
      )
      .join(', '),
    `CPU ${((user + system) / ms / 10).toFixed(1)} %`,
    `${counted.length} chunks of ${median(kernelMs).toFixed(1)} ms, end to host ${median(late).toFixed(0)} µs`,
    calls.join('; '),
    `${found.length} hits`,
  );
  await engine.close();
  return Number(space) / ms / 1e6;
}

const gpu = await openDevice(values.device, { telemetry: false });
console.log(
  `${gpu.info.id}: ${gpu.info.name}, ${Object.entries(gpu.info.versions)
    .map((pair) => pair.join(' '))
    .join(', ')}`,
);
await run('warm-up', [gpu], {}, SPACE / 8n);

/** Measures a kernel without the engine: launches of up to 2^32 nonces, by the device's clock. */
async function alone(/** @type {string} */ name, /** @type {typeof kernel} */ one, each = 1) {
  const program = await gpu.compile(one);
  const words = 4 + 2 * 1000;
  const [stream, ring, back] = [gpu.stream(), await gpu.alloc(4 * words), new Uint32Array(words)];
  const bound = program.bind(job);
  const rates = [];
  const nonces = Math.min(2 ** 32, Number(SPACE) / 16);
  for (let k = 0; k < 5; k++) {
    stream.fill(ring, 0, 0, 16);
    stream.launch({ job: bound, base: 0n, count: nonces / each, ring });
    stream.read(ring, back);
    const { startedNs, endedNs } = await stream.mark().done;
    if (k > 0) rates.push(nonces / Number(endedNs - startedNs));
  }
  if (nonces === 2 ** 32 && !back.includes(2083236893)) throw new Error(`${name}: the genesis nonce is missing`);
  row(name, `${median(rates).toFixed(3)} GH/s`);
  ring.free();
  stream.close();
}
await alone('the kernel alone', kernel);
if (parts.includes('items')) {
  for (const each of [2, 4]) await alone(`${each} items a thread, unrolled`, versions(each), each);
  for (const each of [4, 16]) await alone(`${each} items a thread, in a loop`, versions(each, true), each);
}

if (parts.includes('modes')) {
  for (const pipeline of /** @type {const} */ (['sync', 'poll', 'callback', 'persistent'])) {
    const device = await openDevice(values.device, { completion: pipeline === 'persistent' ? 'poll' : pipeline });
    await run(pipeline, [device], { pipeline });
    await device.close();
  }
}
if (parts.includes('streams')) for (const streams of [1, 2, 4, 8]) await run(`${streams} streams`, [gpu], { streams });
if (parts.includes('devices')) {
  const threads = Math.max(1, availableParallelism() - 1);
  const cpu = await openDevice('native', { threads });
  await run(`native alone, ${threads} threads`, [cpu], {}, 2n ** 31n);
  await run(`${gpu.info.id} and native`, [gpu, cpu], {});
  await cpu.close();
}
if (parts.includes('cancel')) {
  const times = [];
  for (let k = 0; k < 30; k++) {
    const stop = new AbortController();
    const engine = new Engine([gpu]);
    const going = (async () => {
      for await (const _ of search(kernel, { engine, space: SPACE, job, signal: stop.signal }));
    })().catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 150 + 7 * k));
    const began = performance.now();
    stop.abort();
    await going;
    times.push(performance.now() - began);
    await engine.close();
  }
  row(
    'abort to idle',
    `${median(times).toFixed(2)} ms median, ${Math.max(...times).toFixed(2)} ms at most, of ${times.length}`,
  );
}
await gpu.close();
console.log(rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
