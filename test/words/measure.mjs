/**
 * Measures words on a GPU. Self-contained: no test runner, no network.
 *
 *   node test/words/measure.mjs --what async  [--device cuda:0] [--millions 10,50,100] [--runs 9]
 *   node test/words/measure.mjs --what overlap [--millions 100]       # which copies and kernels overlap
 *   node test/words/measure.mjs --what pinned [--rounds 1000] [--contexts 3] [--workers 3]
 *   ncu … node test/words/measure.mjs --what store                    # two launches for each length, 64 MiB each
 *
 * `async` compares the one call with several chunks in flight, by size, streams and slots, in alternating runs, and prints
 * the time of their parts. `pinned` fills page-locked memory of one context from several contexts of this thread and from
 * several threads with a context each, and checks the words.
 */

import { parseArgs } from 'node:util';
import { parentPort, Worker, workerData } from 'node:worker_threads';

const { values: options } = parseArgs({
  args: parentPort ? [] : process.argv.slice(2),
  options: {
    what: { type: 'string', default: 'async' },
    device: { type: 'string', default: 'cuda:0' },
    millions: { type: 'string', default: '10,50,100' },
    runs: { type: 'string', default: '9' },
    /** For `async`: MiB per batch, streams, slots per stream. */
    variants: { type: 'string', default: '32/2/3,64/2/2,64/2/3,128/2/2,32/3/3,32/1/6,16/2/3' },
    rounds: { type: 'string', default: '1000' },
    contexts: { type: 'string', default: '3' },
    workers: { type: 'string', default: '3' },
    mib: { type: 'string', default: '64' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const dist = workerData?.dist ?? options.dist;
const load = (/** @type {string} */ path) => import(`${dist}/${path}`);
const { openDevice } = await load('device/registry.js');
const { DeviceRing } = await load('workload/words/generator/device-ring.js');
const { parseMask } = await load('workload/words/space/mask.js');
const { Plan } = await load('workload/words/kernel/plan.js');
const { wordsOf } = await load('workload/words/space/words.js');
/** Letters, then up to four digits. */
const maskOf = (/** @type {number} */ characters) => {
  const digits = characters > 8 ? 4 : 0;
  return '?l'.repeat(characters - digits) + '?d'.repeat(digits);
};
const words10 = wordsOf(parseMask(maskOf(10)));

/** @type {Readonly<Record<string, () => Promise<void>>>} */
const sections = { async: compareWays, overlap: showOverlap, pinned: fillPinned, store: storeWords };
if (parentPort) await fillAsWorker();
else {
  for (const name of options.what.split(',')) {
    const section = sections[name];
    if (!section) throw new Error(`unknown section ${name}; known: ${Object.keys(sections).join(', ')}`);
    await section();
  }
  process.exit(process.exitCode ?? 0);
}

/** @typedef {{ first?: number, last?: number }} Times */
/** @typedef {{ name: string, run(begun: number): Promise<Times>, close(): Promise<void> }} Way */

/** Compares words of 10 to page-locked memory: in one call, and in several chunks in flight. */
async function compareWays() {
  const device = await openDevice(options.device, { completion: 'poll' });
  const { createGenerator } = await load('workload/words/generator/generator.js');
  for (const millions of options.millions.split(',').map(Number)) {
    const count = millions * 1e6;
    const direct = await createGenerator({ devices: device, batchBytes: count * 10 });
    configure(direct);
    /** @type {Way[]} */
    const ways = [
      {
        name: 'one call',
        run: async () => {
          await direct.withBatch(0n, count, (/** @type {Uint8Array} */ view) => view.length);
          return {};
        },
        close: () => direct.close(),
      },
    ];
    for (const variant of options.variants.split(',')) ways.push(await chunked(device, variant, count));
    /** @type {(Times & { ms: number })[][]} */
    const taken = ways.map(() => []);
    for (let run = -2; run < Number(options.runs); run++) {
      for (const [at, way] of ways.entries()) {
        const begun = performance.now();
        const parts = await way.run(begun);
        if (run >= 0) taken[at]?.push({ ms: performance.now() - begun, ...parts });
      }
    }
    const base = median(taken[0]?.map(({ ms }) => ms) ?? []);
    console.log(`${millions} M words of 10, packed, to page-locked memory of ${device.info.name}`);
    for (const [at, { name }] of ways.entries()) {
      const times = taken[at] ?? [];
      const ms = median(times.map((one) => one.ms));
      const part = (/** @type {'first' | 'last'} */ key) =>
        times[0]?.[key] === undefined ? '' : `  ${key} ${median(times.map((one) => one[key] ?? 0)).toFixed(3)} ms`;
      console.log(
        `  ${name.padEnd(28)} ${ms.toFixed(3)} ms  ${(count / ms / 1e5).toFixed(1)} GB/s  ${((ms / base - 1) * 100).toFixed(1)} %${part('first')}${part('last')}`,
      );
    }
    for (const way of ways) await way.close();
  }
  await device.close();
}

/**
 * @param {any} device
 * @param {string} variant
 * @param {number} count
 */
async function chunked(device, variant, count, records = 0) {
  const [mib = 32, streams = 2, slots = 3] = variant.split('/').map(Number);
  const { Engine } = await load('engine/engine.js');
  const { batches } = await load('engine/makers/batches.js');
  const { MemorySource } = await load('engine/work/source.js');
  const { between } = await load('engine/work/space.js');
  const { PooledFlow } = await load('workload/words/generator/pooled-flow.js');
  const mask = parseMask(maskOf(10));
  const plan = new Plan(mask, 'canonical', '');
  const engine = new Engine([device], { pipeline: 'poll', streams, slots, ...(records > 0 && { records }) });
  const held = new PooledFlow(plan, wordsOf(mask).size, mib * 2 ** 20);
  return {
    name: `${mib} MiB, ${streams} × ${slots}`,
    engine,
    /** `first`: time until the first batch; `last`: time from the last batch to the end. */
    run: async (/** @type {number} */ begun) => {
      const made = batches({
        flow: held.startingAt(0n),
        options: { engine, rowBytes: plan.stride },
        source: () => new MemorySource(between(0n, BigInt(count))),
        row: (/** @type {bigint} */ index, /** @type {Uint8Array} */ bytes) => ({ index, bytes }),
      });
      let [bytes, first, last] = [0, 0, 0];
      for await (const batch of made) {
        last = performance.now();
        first ||= last - begun;
        bytes += batch.bytes.length;
        batch.release();
      }
      if (bytes !== count * 10) throw new Error(`${bytes} bytes of ${count} words`);
      return { first, last: performance.now() - last };
    },
    close: async () => {
      await engine.close();
      held.close();
    },
  };
}

/** Prints when the kernel and the copies of each chunk ran on the device. */
async function showOverlap() {
  const device = await openDevice(options.device, { completion: 'poll', telemetry: true });
  const { overlapOf, phasesOf } = await load('engine/telemetry/overlap.js');
  for (const millions of options.millions.split(',').map(Number)) {
    const way = await chunked(device, '32/2/3', millions * 1e6, 10_000);
    await way.run(performance.now()); // opens the slots
    const before = [...way.engine.records].length;
    await way.run(performance.now());
    const chunks = [...way.engine.records].slice(before).flatMap((record) => {
      const phases = phasesOf(record);
      return phases ? [{ record, ...phases }] : [];
    });
    await way.close();
    const origin = chunks.reduce((min, { record }) => (record.startedNs < min ? record.startedNs : min), 2n ** 63n);
    const us = (/** @type {bigint} */ ns) => (Number(ns - origin) / 1000).toFixed(1).padStart(9);
    console.log(
      `${millions} M words: chunk, stream, kernel and copy to the host in µs, copies that overlap the kernel`,
    );
    let beside = 0;
    for (const { record, compute, copies } of chunks) {
      const copy = copies.at(-1);
      const others = chunks.filter(
        (other) =>
          other.record !== record &&
          other.copies.some(
            (/** @type {{ startedNs: bigint, endedNs: bigint }} */ span) =>
              span.startedNs < compute.endedNs && compute.startedNs < span.endedNs,
          ),
      );
      if (others.length > 0) beside++;
      const which = others.map(({ record: { sequence } }) => sequence).join(' ') || 'none';
      console.log(
        `${String(record.sequence).padStart(5)} ${record.stream} kernel ${us(compute.startedNs)} -${us(compute.endedNs)} copy ${us(copy?.startedNs ?? 0n)} -${us(copy?.endedNs ?? 0n)} noticed ${us(record.noticedNs)} overlaps ${which}`,
      );
    }
    const overlap = overlapOf(
      chunks.flatMap(({ copies }) => copies),
      chunks.map(({ compute }) => compute),
    );
    const share = (/** @type {number} */ value) => `${(value * 100).toFixed(1)} %`;
    console.log(
      `${beside} of ${chunks.length} kernels overlapped another chunk's copy; ${share(overlap.hidden)} of the kernels' time is hidden; copies run for ${share(overlap.copyBusy)} of ${(overlap.spanNs / 1e6).toFixed(3)} ms`,
    );
  }
  await device.close();
}

/** Makes two launches for each length, the first as a warm-up: for Nsight Compute. */
async function storeWords() {
  const device = await openDevice(options.device);
  for (const characters of [8, 10, 12, 16]) {
    const plan = new Plan(parseMask(maskOf(characters)), 'canonical', '');
    const ring = await DeviceRing.open(device, plan, 2);
    const stream = device.stream();
    const words = Math.floor((Number(options.mib) * 2 ** 20) / plan.stride);
    for (const start of [0n, BigInt(words)]) {
      const { ready } = await ring.launch(stream, start, words, 'packed');
      await ready.done;
    }
    console.log(`${characters} characters: ${words} words, ${words * plan.stride} bytes a launch`);
    await ring.close();
    stream.close();
  }
  await device.close();
}

/** Fills memory that one context has locked from other contexts, in this thread and in others. */
async function fillPinned() {
  const [rounds, contexts, workers] = [Number(options.rounds), Number(options.contexts), Number(options.workers)];
  const owner = await openDevice(options.device);
  const bytes = Number(options.mib) * 2 ** 20;
  const fillers = contexts + workers;
  const part = Math.floor(bytes / fillers / 64) * 64;
  const memory = await owner.host(part * fillers);
  const begun = performance.now();
  const partOf = (/** @type {number} */ at) => memory.bytes.subarray(at * part, (at + 1) * part);
  const own = Array.from({ length: contexts }, async (_, at) => {
    // The first is the owner.
    const device = at === 0 ? owner : await openDevice(options.device);
    const fill = await filler(device, partOf(at));
    for (let round = 0; round < rounds; round++) look(partOf(at), round, await fill.round(round));
    await fill.close();
    if (at > 0) await device.close();
  });
  const others = Array.from({ length: workers }, async (_, k) => {
    const view = partOf(contexts + k);
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { dist, device: options.device, memory: view.buffer, at: view.byteOffset, length: view.length },
    });
    const failed = new Promise((_, reject) => worker.once('error', reject));
    const nextMessage = () => Promise.race([failed, new Promise((resolve) => worker.once('message', resolve))]);
    for (let round = 0; round < rounds; round++) {
      const filled = nextMessage();
      worker.postMessage(round);
      look(view, round, Number(await filled));
    }
    worker.postMessage(-1);
    await new Promise((resolve) => worker.once('exit', resolve));
  });
  await Promise.all([...own, ...others]);
  const seconds = (performance.now() - begun) / 1000;
  console.log(
    `${rounds} rounds, ${contexts} contexts here and ${workers} threads with one each, into ${memory.locked ? 'page-locked' : 'plain'} memory of one: all checked words are correct; ${((rounds * part * fillers) / seconds / 1e9).toFixed(1)} GB/s in ${seconds.toFixed(1)} s`,
  );
  memory.free();
  await owner.close();
}

/** Fills a part of the memory in a worker thread, one round per message. */
async function fillAsWorker() {
  const { device: name, memory, at, length } = workerData;
  const device = await openDevice(name);
  const fill = await filler(device, new Uint8Array(memory, at, length));
  for await (const round of inbox()) parentPort?.postMessage(await fill.round(round));
  await fill.close();
  await device.close();
}

async function* inbox() {
  while (true) {
    const round = await new Promise((resolve) => parentPort?.once('message', resolve));
    if (round < 0) return;
    yield round;
  }
}

/**
 * @param {any} device
 * @param {Uint8Array} into
 */
async function filler(device, into) {
  const plan = new Plan(parseMask(maskOf(10)), 'canonical', '');
  const ring = await DeviceRing.open(device, plan, 2);
  const stream = device.stream();
  const words = Math.floor(into.length / plan.stride / plan.align) * plan.align;
  return {
    /** Each round writes different words. */
    round: async (/** @type {number} */ round) => {
      const batch = await ring.launch(stream, BigInt(round) * BigInt(words), words, 'packed');
      stream.read(batch.buffer, into.subarray(0, words * plan.stride));
      await stream.mark().done;
      return words;
    },
    close: async () => {
      await ring.close();
      stream.close();
    },
  };
}

/**
 * @param {Uint8Array} view
 * @param {number} round
 * @param {number} words
 */
function look(view, round, words) {
  const first = BigInt(round) * BigInt(words);
  const window = Math.min(256, words);
  for (const share of [0, 0.31, 0.77, 1]) {
    const from = Math.floor(share * (words - window));
    const wanted = new Uint8Array(window * 10);
    words10.fill(wanted, first + BigInt(from), window, '');
    if (Buffer.compare(wanted, view.subarray(from * 10, (from + window) * 10)) !== 0)
      throw new Error(`round ${round}: words from ${from} on are wrong`);
  }
}

/** @param {any} generator */
function configure(generator) {
  generator.setCharset(1, 'abcdefghijklmnopqrstuvwxyz');
  generator.setCharset(2, '0123456789');
  generator.setMask([1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
  generator.setFormat('packed');
}

/** @param {readonly number[]} values */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
