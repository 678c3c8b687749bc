/**
 * Measures the parts of a job: words of 10 characters to page-locked memory, in one call and in several chunks.
 * Self-contained: no test runner, no network.
 *
 *   node test/words/job.mjs [--device cuda:0] [--millions 10,50,100] [--warm 300] [--runs 101] [--variants 64/2/3,32/2/3]
 *                           [--batch 64,96]
 *
 * First the time of each way, alternating, before and after the process is warm: the one call; batches() of the library,
 * which needs no job on one device; the same batches as a job of the engine, with the same check; and jobs with other
 * chunks, unchecked. A job's overhead is 0.3 ms while V8 still interprets it. Then, with telemetry, the time of each step of
 * each chunk, in microseconds since the request:
 *
 *   taken     the chunk was taken from the job       kernel    its kernel started (to: ended)
 *   queued    its commands are on the board          ended     its copy to the host ended, on the device
 *   sent      the driver has the first of them       noticed   the device's thread noticed that
 *   began     the device started it                  seen      the caller has its bytes;   over: the job's promise
 */

import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda:0' },
    millions: { type: 'string', default: '10,50,100' },
    /** Warm-up jobs of each way; a tenth of that from the second size on. */
    warm: { type: 'string', default: '300' },
    runs: { type: 'string', default: '101' },
    /** MiB per batch, streams, slots per stream. */
    variants: { type: 'string', default: '64/2/3,32/2/3,128/2/2' },
    /** MiB per batch of batches(). */
    batch: { type: 'string', default: '64' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const load = (/** @type {string} */ path) => import(`${options.dist}/${path}`);
const { openDevice } = await load('device/registry.js');
const { clockNs } = await load('device/clock.js');
const { batches } = await load('engine/makers/batches.js');
const { Engine } = await load('engine/engine.js');
const { STREAMS } = await load('engine/feed/slots.js');
const { MemorySource } = await load('engine/work/source.js');
const { between } = await load('engine/work/space.js');
const { createGenerator } = await load('workload/words/generator/generator.js');
const { PooledFlow } = await load('workload/words/generator/pooled-flow.js');
const { parseMask } = await load('workload/words/space/mask.js');
const { Plan } = await load('workload/words/kernel/plan.js');
const { referenceRow, referenceText } = await load('workload/words/kernel/reference.js');
const { UnscheduledBatches } = await load('workload/words/reader/unscheduled-batches.js');
const { wordsOf } = await load('workload/words/space/words.js');

const mask = parseMask('?l?l?l?l?l?l?d?d?d?d');
const plan = new Plan(mask, 'canonical', '');
const { size } = wordsOf(mask);
const FIRST = 15;
const reference = { mask, separator: '' };
const expected = (/** @type {bigint} */ index) => referenceText(reference, index);

/** @typedef {{ name: string, run(): Promise<void>, close(): Promise<void> }} Way */
/** Times of a chunk's steps in microseconds since the job's start, in the order of `steps`.
 * @typedef {readonly number[]} Steps */
const steps = ['taken', 'queued', 'sent', 'began', 'kernel', 'to', 'ended', 'noticed', 'seen', 'over'];

for (const [at, millions] of options.millions.split(',').map(Number).entries()) {
  const warm = Math.max(FIRST, at === 0 ? Number(options.warm) : Number(options.warm) / 10);
  await compareWays(millions, warm);
  await showSteps(millions, Math.min(warm, 100));
}
process.exit(0);

/**
 * @param {number} millions
 * @param {number} warm
 */
async function compareWays(millions, warm) {
  const device = await openDevice(options.device, { completion: 'poll' });
  const count = millions * 1e6;
  const ways = [await oneCall(device, count)];
  const sizes = options.batch.split(',').map(Number);
  for (const mib of sizes) ways.push(await library(device, count, 'async', mib));
  ways.push(await chunked(device, count, '64/2/3', { isChecked: true }));
  for (const mib of sizes) ways.push(await library(device, count, 'sync', mib));
  for (const variant of options.variants.split(',')) ways.push(await chunked(device, count, variant));
  /** @type {number[][]} */
  const taken = ways.map(() => []);
  for (let run = 0; run < warm + Number(options.runs); run++) {
    for (let k = 0; k < ways.length; k++) {
      const which = (k + run) % ways.length; // the order rotates
      const begun = performance.now();
      await ways[which]?.run();
      taken[which]?.push(performance.now() - begun);
    }
  }
  const base = median(taken[0]?.slice(warm) ?? []);
  console.log(`${millions} M words of 10, packed, to page-locked memory of ${device.info.name}; ms`);
  console.log(`  ${''.padEnd(26)} first ${FIRST}   after ${warm}: median  10 %  90 %   GB/s   over the one call`);
  for (const [which, { name }] of ways.entries()) {
    const all = taken[which] ?? [];
    const late = all.slice(warm);
    const ms = median(late);
    const [low, high] = [0.1, 0.9].map((share) => quantile(late, share).toFixed(3));
    console.log(
      `  ${name.padEnd(26)} ${median(all.slice(0, FIRST)).toFixed(3)}              ${ms.toFixed(3)} ${low} ${high}  ${(count / ms / 1e5).toFixed(1)}   ${(ms - base).toFixed(3)} ms, ${((ms / base - 1) * 100).toFixed(1)} %`,
    );
  }
  for (const way of ways) await way.close();
  await device.close();
}

/** The same as `hostRate` of the benchmark.
 * @param {any} device
 * @param {number} count
 * @returns {Promise<Way>}
 */
async function oneCall(device, count) {
  const generator = configured(await createGenerator({ devices: device, batchBytes: count * 10 }));
  return {
    name: 'one call',
    run: async () => {
      check(await generator.withBatch(0n, count, (/** @type {Uint8Array} */ view) => view.length), count);
    },
    close: () => generator.close(),
  };
}

/** Uses batches() of the library, which checks some words of each batch.
 * @param {any} device
 * @param {number} count
 * @param {'sync' | 'async'} mode
 * @param {number} mib
 * @returns {Promise<Way>}
 */
async function library(device, count, mode, mib) {
  const generator = configured(await createGenerator({ devices: device, mode, batchBytes: mib * 2 ** 20 }));
  return {
    name: `batches(), ${mode}, ${mib} MiB`,
    run: async () => {
      let bytes = 0;
      for await (const batch of generator.batches(0n, count)) {
        bytes += batch.bytes.length;
        batch.release();
      }
      check(bytes, count);
    },
    close: () => generator.close(),
  };
}

/** Uses an engine with other chunks; without the check by default.
 * @param {any} device
 * @param {number} count
 * @param {string} variant
 * @param {{ records?: number, saw?: () => void, isChecked?: boolean }} [watched]
 */
async function chunked(device, count, variant, { records = 0, saw = () => undefined, isChecked = false } = {}) {
  const [mib = 64, streams = 2, slots = 3] = variant.split('/').map(Number);
  const engine = new Engine([device], { pipeline: 'poll', streams, slots, ...(records > 0 && { records }) });
  const held = new PooledFlow(plan, size, mib * 2 ** 20);
  return {
    name: isChecked ? `as a job, checked, ${mib} MiB` : `${mib} MiB, ${streams} × ${slots}`,
    engine,
    run: async () => {
      const made = batches({
        flow: held.startingAt(0n),
        options: { engine, rowBytes: plan.stride, ...(isChecked && { verify: checkRow }) },
        source: () => new MemorySource(between(0n, BigInt(count))),
        row: (/** @type {bigint} */ index, /** @type {Uint8Array} */ bytes) => ({ index, bytes }),
      });
      let bytes = 0;
      for await (const batch of made) {
        saw();
        bytes += batch.bytes.length;
        batch.release();
      }
      check(bytes, count);
    },
    close: async () => {
      await engine.close();
      held.close();
    },
  };
}

/**
 * @param {number} millions
 * @param {number} warm
 */
async function showSteps(millions, warm) {
  const device = await openDevice(options.device, { completion: 'poll', telemetry: true });
  const count = millions * 1e6;
  const watched = [await oneCallSteps(device, count)];
  for (const mib of options.batch.split(',').map(Number)) watched.push(await straightSteps(device, count, mib));
  for (const variant of options.variants.split(',')) watched.push(await chunkedSteps(device, count, variant));
  console.log(`  µs since the start${' '.repeat(21)}${steps.map((name) => name.padStart(8)).join('')}`);
  for (const { name, run, close } of watched) {
    /** @type {(readonly Steps[])[]} */
    const runs = [];
    for (let k = 0; k < warm; k++) await run();
    for (let k = 0; k < Number(options.runs); k++) runs.push(await run());
    // The last sizes depend on the speed, so some runs have one chunk more. Shows runs with the median number of chunks.
    const chunks = median(runs.map((chunksOf) => chunksOf.length));
    const alike = runs.filter((chunksOf) => chunksOf.length === chunks);
    // Middle chunks are like their neighbours.
    const shown = Array.from({ length: chunks }, (_, k) => k).filter((k) => k < 3 || k >= chunks - 2);
    for (const k of shown) {
      const of = (/** @type {number} */ step) => median(alike.map((chunksOf) => chunksOf[k]?.[step] ?? Number.NaN));
      const cells = steps.map((_, step) => of(step).toFixed(0).padStart(8)).join('');
      console.log(`  ${`${name}, chunk ${k + 1} of ${chunks}`.padEnd(37)}${cells}`);
    }
    await close();
  }
  await device.close();
}

/**
 * @param {any} device
 * @param {number} count
 */
async function oneCallSteps(device, count) {
  const held = new PooledFlow(plan, size, count * 10);
  const opened = await held.openOn(device);
  const stream = device.stream();
  const slot = await held.slot(opened, stream);
  const piece = { start: 0n, count };
  return {
    name: 'one call',
    run: async () => {
      const begun = clockNs();
      const { done } = slot.submit(piece);
      const queued = clockNs();
      const { startedNs, endedNs, noticedNs, detail } = await done;
      check(slot.reap(piece).length, count);
      const seen = clockNs();
      const { sentNs = 0n, launches = { startedNs: 0n, endedNs: 0n } } = detail ?? {};
      const times = [sentNs, startedNs, launches.startedNs, launches.endedNs, endedNs, noticedNs, seen, seen];
      return [[begun, queued, ...times].map((ns) => Number((ns ?? 0n) - begun) / 1000)];
    },
    close: async () => {
      slot.close();
      held.close();
      stream.close();
    },
  };
}

/**
 * @param {any} device
 * @param {number} count
 * @param {number} mib
 */
async function straightSteps(device, count, mib) {
  const held = new PooledFlow(plan, size, mib * 2 ** 20);
  const opened = await held.startingAt(0n).open(device);
  /** @type {{ taken: bigint, queued: bigint, done: Promise<any> }[]} */
  let chunks = [];
  const watching = async (/** @type {any} */ stream) => {
    const slot = await opened.slot(stream);
    const submit = slot.submit.bind(slot);
    slot.submit = (/** @type {any} */ piece) => {
      const taken = clockNs();
      const completion = submit(piece);
      chunks.push({ taken, queued: clockNs(), done: completion.done });
      return completion;
    };
    return slot;
  };
  const streams = Array.from({ length: STREAMS }, () => device.stream());
  const straight = new UnscheduledBatches({ ...opened, slot: watching }, streams);
  return {
    name: `straight, ${mib} MiB`,
    run: async () => {
      chunks = [];
      /** @type {bigint[]} */
      const seen = [];
      const begun = clockNs();
      const course = await straight.read({ start: 0n, count: BigInt(count), rowBytes: plan.stride, expected });
      for (let batch = await course.next(); batch; batch = await course.next()) {
        seen.push(clockNs());
        batch.release();
      }
      course.end();
      const over = clockNs();
      check(Number(course.rowsRead) * 10, count);
      const reports = await Promise.all(chunks.map(({ done }) => done));
      return chunks.map(({ taken, queued }, k) => {
        const { startedNs, endedNs, noticedNs, detail } = reports[k];
        const { sentNs = 0n, launches = { startedNs: 0n, endedNs: 0n } } = detail ?? {};
        const times = [
          sentNs,
          startedNs,
          launches.startedNs,
          launches.endedNs,
          endedNs,
          noticedNs,
          seen[k] ?? 0n,
          over,
        ];
        return [taken, queued, ...times].map((ns) => Number((ns ?? 0n) - begun) / 1000);
      });
    },
    close: async () => {
      await straight.close();
      held.close();
      for (const stream of streams) stream.close();
    },
  };
}

/**
 * @param {any} device
 * @param {number} count
 * @param {string} variant
 */
async function chunkedSteps(device, count, variant) {
  /** @type {bigint[]} */
  let seen = [];
  const way = await chunked(device, count, variant, { records: 1000, saw: () => seen.push(clockNs()) });
  let before = -1;
  return {
    name: way.name,
    run: async () => {
      seen = [];
      const begun = clockNs();
      await way.run();
      const over = clockNs();
      const records = [...way.engine.records].filter(({ sequence }) => sequence > before);
      before = records.at(-1)?.sequence ?? before;
      return records
        .sort((a, b) => Number(a.start - b.start))
        .map((one, k) =>
          [
            one.enqueuedNs,
            one.submittedNs,
            one.launchedNs,
            one.startedNs,
            one.computeStartedNs,
            one.computeEndedNs,
            one.endedNs,
            one.noticedNs,
            seen[k] ?? 0n,
            over,
          ].map((ns) => Number(ns - begun) / 1000),
        );
    },
    close: way.close,
  };
}

/** @param {{ index: bigint, bytes: Uint8Array }} row */
function checkRow(row) {
  return referenceRow(reference, row);
}

/** @param {any} generator */
function configured(generator) {
  generator.setCharset(1, 'abcdefghijklmnopqrstuvwxyz');
  generator.setCharset(2, '0123456789');
  generator.setMask([1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
  generator.setFormat('packed');
  return generator;
}

/**
 * @param {number} bytes
 * @param {number} count
 */
function check(bytes, count) {
  if (bytes !== count * 10) throw new Error(`${bytes} bytes of ${count} words`);
}

/**
 * @param {readonly number[]} values
 * @param {number} share
 */
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** @param {readonly number[]} values */
function median(values) {
  return quantile(values, 0.5);
}
