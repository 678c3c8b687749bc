// Measures a GPU device: copies, launches, latency of completions, host CPU time. Not a test.
//   npm run build && node test/cuda/measure.mjs [--device cuda:0] [--modes poll,callback,sync] [--seconds 3]
import { parseArgs } from 'node:util';
import { openDevice } from '../../dist/device/registry.js';
import { cell, items, loop, rw, u32 } from '../../dist/kernel/index.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda:0' },
    modes: { type: 'string', default: 'poll,callback,sync' },
    seconds: { type: 'string', default: '3' },
    bytes: { type: 'string', default: String(32 * 2 ** 20) },
  },
});
const BYTES = Number(values.bytes);
const KERNEL_MS = 50;

/** @typedef {import('../../dist/device/device.js').Device} Device */

const spin = items('spin', { job: { steps: u32 }, buffers: { x: rw('u32') } }, ({ item, buffers, job }) => {
  const chain = cell('u32', item);
  loop(job.steps, (i) => chain.set(chain.xor(i).mul(1664525).rotr(7))); // a compiler cannot shorten this
  buffers.x.set(item.and(1023), chain);
});

const now = () => process.hrtime.bigint();
const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const us = (/** @type {bigint} */ ns) => Number(ns) / 1000;
const quantile = (/** @type {number[]} */ list, /** @type {number} */ q) =>
  [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(q * list.length))] ?? Number.NaN;
const spread = (/** @type {number[]} */ list) =>
  `${quantile(list, 0.5).toFixed(1)} (5 % ${quantile(list, 0.05).toFixed(1)}, 95 % ${quantile(list, 0.95).toFixed(1)})`;

/** @type {[string, string, string][]} */
const rows = [];
const row = (/** @type {string} */ mode, /** @type {string} */ what, /** @type {string} */ figure) => {
  rows.push([mode, what, figure]);
  console.error(`${mode}: ${what}: ${figure}`);
};

/** Measures transfers in GB/s, `rounds` marks of `each` transfers: medians by the device's clock and by wall time. */
async function copies(/** @type {Device} */ device, /** @type {string} */ kind) {
  const [buffer, other] = [await device.alloc(BYTES), await device.alloc(BYTES)];
  const memories = await Promise.all([device.host(BYTES), device.host(BYTES)]);
  const arrays =
    kind === 'staged' ? [new Uint8Array(BYTES), new Uint8Array(BYTES)] : memories.map(({ bytes }) => bytes);
  for (const array of arrays) array.fill(1);
  const [one, two] = [device.stream(), device.stream()];
  const [rounds, each] = kind === 'staged' ? [7, 2] : [15, 10];
  const note = memories[0]?.locked ? '' : ' (the memory is not page-locked)';
  const gigabytes = (/** @type {number} */ ns) => (BYTES * each) / ns;
  const measure = async (/** @type {string} */ name, /** @type {() => Promise<bigint>} */ round) => {
    const [device_, wall] = [[], []].map((list) => /** @type {number[]} */ (list));
    for (let k = 0; k < rounds; k++) {
      const began = now();
      const ns = await round();
      if (k === 0) continue; // warming up
      device_?.push(gigabytes(Number(ns)));
      wall?.push(gigabytes(Number(now() - began)));
    }
    const figures = `${quantile(device_ ?? [], 0.5).toFixed(1)} GB/s by the device, ${quantile(wall ?? [], 0.5).toFixed(1)} by wall time`;
    row('poll', `${kind} ${name}, ${BYTES / 2 ** 20} MiB${kind === 'pinned' ? note : ''}`, figures);
  };
  const took = async (/** @type {import('../../dist/device/device.js').Stream} */ stream) => {
    const { startedNs, endedNs } = await stream.mark().done;
    return endedNs - startedNs;
  };
  const [first = new Uint8Array(), second = new Uint8Array()] = arrays;
  await measure('host to device', async () => {
    for (let k = 0; k < each; k++) one.write(buffer, first);
    return took(one);
  });
  await measure('device to host', async () => {
    for (let k = 0; k < each; k++) one.read(buffer, first);
    return took(one);
  });
  await measure('both ways at once, each', async () => {
    for (let k = 0; k < each; k++) {
      one.write(buffer, first);
      two.read(other, second);
    }
    const [a, b] = await Promise.all([took(one), took(two)]);
    return a > b ? a : b;
  });
  for (const memory of memories) memory.free();
  for (const it of [buffer, other]) it.free();
  one.close();
  two.close();
}

/** Measures the time from stream.launch() to the device, and its cost on the main thread. */
async function launches(/** @type {Device} */ device, /** @type {string} */ mode) {
  const program = await device.compile(spin);
  const [stream, x] = [device.stream(), await device.alloc(4096)];
  const launch = { job: program.bind({ steps: 1 }), count: 1024, buffers: { x } };
  // Thousands, so that both threads run compiled code: the first launches take twice as long.
  for (let k = 0; k < 3000; k++) {
    stream.launch(launch);
    await stream.mark().done;
  }
  for (const [name, idle] of /** @type {[string, number][]} */ ([
    ['worker awake', 0],
    ['after 5 ms idle', 5],
  ])) {
    const [cost, begun, noticed, seen] = [[], [], [], []].map((list) => /** @type {number[]} */ (list));
    for (let k = 0; k < (idle ? 100 : 500); k++) {
      if (idle) await sleep(idle);
      const asked = now();
      stream.launch(launch);
      cost?.push(us(now() - asked));
      const report = await stream.mark().done;
      noticed?.push(us(now() - report.endedNs));
      seen?.push(us((report.noticedNs ?? 0n) - report.endedNs));
      begun?.push(us(report.startedNs - asked));
    }
    row(mode, `stream.launch() on the main thread, ${name}`, `${spread(cost ?? [])} µs`);
    row(mode, `stream.launch() to the device's first event, ${name}`, `${spread(begun ?? [])} µs`);
    row(mode, `end of a short kernel to the device's thread, ${name}`, `${spread(seen ?? [])} µs`);
    row(mode, `end of a short kernel to the awaited promise, ${name}`, `${spread(noticed ?? [])} µs`);
  }
  const many = 5000;
  const began = now();
  for (let k = 0; k < many; k++) stream.launch(launch);
  const queued = now() - began;
  await stream.mark().done;
  row(
    mode,
    `${many} launches in a row, each`,
    `${(us(now() - began) / many).toFixed(2)} µs, main thread ${(us(queued) / many).toFixed(2)} µs`,
  );
  const { calls } = (await device.telemetry?.()) ?? { calls: [] };
  for (const { name, calls: count, medianNs, maxNs } of calls.slice(0, 6))
    row(
      mode,
      `calls: ${name} × ${count}`,
      `median ${(medianNs / 1000).toFixed(1)} µs, at most ${(maxNs / 1000).toFixed(0)} µs`,
    );
  x.free();
  stream.close();
}

/** Runs a kernel of 50 ms, two in flight: measures how late its end is noticed, and the CPU time of the host. */
async function steady(/** @type {Device} */ device, /** @type {string} */ mode) {
  const program = await device.compile(spin);
  const [stream, x] = [device.stream(), await device.alloc(4096)];
  const count = Math.max(64, device.info.units) * 2048 * 8; // WebGPU does not report its units
  const time = async (/** @type {number} */ steps) => {
    stream.launch({ job: program.bind({ steps }), count, buffers: { x } });
    const { startedNs, endedNs } = await stream.mark().done;
    return Number(endedNs - startedNs) / 1e6;
  };
  let steps = 1000;
  for (let ms = await time(steps); ms < KERNEL_MS / 2 && steps < 2 ** 30; ms = await time(steps)) steps *= 2;
  for (let k = 0; k < 4; k++) steps = Math.round((steps * KERNEL_MS) / (await time(steps))); // clocks rise, slices grow
  const launch = { job: program.bind({ steps }), count, buffers: { x } };
  const go = () => {
    stream.launch(launch);
    return stream.mark().done;
  };
  for (let k = 0; k < 10; k++) await go(); // so that the device knows its time
  const before = await device.telemetry?.();
  const [late, lengths, seen] = [[], [], []].map((list) => /** @type {number[]} */ (list));
  const cpu = process.cpuUsage();
  const began = now();
  let busy = 0n;
  let ended = 0n;
  let gaps = 0n;
  const flying = [go(), go()];
  while (Number(now() - began) < Number(values.seconds) * 1e9) {
    const report = await flying.shift();
    if (!report) break;
    late?.push(us(now() - report.endedNs));
    seen?.push(us((report.noticedNs ?? 0n) - report.endedNs));
    flying.push(go());
    lengths?.push(Number(report.endedNs - report.startedNs) / 1e6);
    busy += report.endedNs - report.startedNs;
    if (ended > 0n) gaps += report.startedNs - ended;
    ended = report.endedNs;
  }
  const wall = Number(now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  await Promise.all(flying);
  const after = await device.telemetry?.();
  row(mode, "the same: end to the device's thread", `${spread(seen ?? [])} µs`);
  row(
    mode,
    `a kernel of ${quantile(lengths ?? [], 0.5).toFixed(1)} ms: end to the awaited promise`,
    `${spread(late ?? [])} µs`,
  );
  row(mode, 'the same: host CPU', `${((100 * (user + system)) / wall).toFixed(1)} % of a core`);
  row(mode, 'the same: device idle between kernels', `${((100 * Number(gaps)) / Number(busy + gaps)).toFixed(3)} %`);
  if (before && after)
    row(
      mode,
      'the same: polls, blocking waits, lost callbacks',
      `${after.polls - before.polls}, ${after.blockingWaits - before.blockingWaits}, ${after.lostCallbacks - before.lostCallbacks} for ${late?.length} kernels`,
    );
  x.free();
  stream.close();
}

/** @type {import('../../dist/device/device.js').DeviceInfo | undefined} */
let info;
for (const mode of values.modes.split(',')) {
  const options = { completion: /** @type {'poll'} */ (mode) };
  const opening = now();
  const device = await openDevice(values.device, options);
  info = device.info;
  row(mode, 'opening the device', `${(us(now() - opening) / 1000).toFixed(0)} ms`);
  if (mode === 'poll') {
    await copies(device, 'pinned');
    await copies(device, 'staged');
  }
  await steady(device, mode);
  await device.close();
  for (const telemetry of [false, true]) {
    const timed = await openDevice(values.device, { ...options, telemetry });
    await launches(timed, telemetry ? `${mode}, timed` : mode);
    await timed.close();
  }
}

const { id = '', name = '', versions = {}, details = {} } = info ?? {};
console.log(
  `${id}: ${name}, ${Object.entries({ ...versions, ...details })
    .map(([what, value]) => `${what} ${value}`)
    .join(', ')}\n`,
);
const wide = [0, 1].map((column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
for (const [mode, what, figure] of [['mode', 'what', 'figure'], ['----', '----', '------'], ...rows])
  console.log(`| ${(mode ?? '').padEnd(wide[0] ?? 0)} | ${(what ?? '').padEnd(wide[1] ?? 0)} | ${figure} |`);
