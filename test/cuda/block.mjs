// The block miner on a GPU: every published file in every pipeline mode, the course's cases timed through the command,
// a header without a solution, and the gain of versions that share a message schedule.
//   npm run build && node test/cuda/block.mjs [--device cuda,opencl,webgpu] [--parts files,cases,none,versions] [--runs 5]
//     [--pipeline sync,poll,callback,persistent] [--cases course/case03,synthetic/easy02]
// Every nonce is checked by node:crypto, every file byte by byte. The table is the last thing on stdout.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { listDevices, openDevice } from '../../dist/device/registry.js';
import { completionOf } from '../../dist/engine/devices.js';
import { Engine } from '../../dist/engine/index.js';
import { formatOutput, parseInput } from '../../dist/workload/block/files/file.js';
import { Solver, solveOn } from '../../dist/workload/block/job/solve.js';
import { solveAll } from '../../dist/workload/block/job/solve-all.js';
import { GENESIS_NONCE, genesis } from '../../dist/workload/block/kernel/genesis.js';
import { headerScan, versionScan } from '../../dist/workload/block/kernel/kernel.js';
import { midstate } from '../../dist/workload/block/kernel/midstate.js';
import { checkNonce, headerPrefix, targetFromBits } from '../../dist/workload/block/kernel/reference.js';
import { headerWords, jobValues, targetWords } from '../../dist/workload/block/kernel/scan.js';
import { solveVersions, withVersion } from '../../dist/workload/block/kernel/version-rolling.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda,opencl,webgpu' },
    parts: { type: 'string', default: 'files,cases,none,versions' },
    runs: { type: 'string', default: '5' },
    pipeline: { type: 'string', default: 'sync,poll,callback,persistent' },
    cases: { type: 'string', default: 'course/case00,course/case01,course/case02,course/case03,synthetic/easy02' },
    // max nonces, for a trial without a GPU: files that need more are left out, and searches are cut to this
    most: { type: 'string', default: '1e12' },
  },
});
const parts = values.parts.split(',');
const runs = Number(values.runs);
const most = Number(values.most);
const data = fileURLToPath(new URL('../data/block/', import.meta.url));
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const pipelines = /** @type {const} */ (['sync', 'poll', 'callback', 'persistent']).filter((one) =>
  values.pipeline.split(',').includes(one),
);

/** @typedef {import('../../dist/device/device.js').Device} Device */
/** @type {string[][]} */
const rows = [];
const row = (/** @type {string[]} */ ...cells) => {
  rows.push(cells);
  console.error(cells.join('  '));
};
const median = (/** @type {number[]} */ list) => [...list].sort((a, b) => a - b)[list.length >> 1] ?? Number.NaN;
const ghs = (/** @type {number} */ perSecond) => `${(perSecond / 1e9).toFixed(3)} GH/s`;
const seconds = (/** @type {number} */ value) => `${value.toFixed(3)} s`;
let wrong = 0;
const must = (/** @type {boolean} */ isRight, /** @type {string} */ what) => {
  if (isRight) return;
  wrong++;
  row('WRONG', what);
};

/** Nonces up to the solution, in millions. */
/** @type {Readonly<Record<string, number>>} */
const millions = {
  'course/case00': 2955,
  'course/case01': 7247,
  'course/case02': 783,
  'course/case03': 384,
  'mainnet/mainnet-0': 2083,
  'mainnet/mainnet-1': 163,
  'mainnet/mainnet-2': 853,
  'mainnet/mainnet-100000': 274,
  'mainnet/mainnet-170': 1889,
  'mainnet/testnet3-0': 414,
  'mainnet/signet-0': 5.4,
  'mainnet/regtest-0': 0,
  'synthetic/easy00': 0,
  'synthetic/easy01': 0.3,
  'synthetic/easy02': 12,
};
const files = ['course', 'mainnet', 'synthetic']
  .flatMap((folder) => readdirSync(join(data, folder)).map((name) => `${folder}/${name}`))
  .flatMap((name) => (name.endsWith('.in') ? name.slice(0, -3) : []))
  .filter((name) => (millions[name] ?? 0) * 1e6 <= most);
const text = (/** @type {string} */ name) => readFileSync(join(data, name), 'latin1');

const { absent } = await listDevices();
const names = values.device.split(',').filter((name) => {
  const missing = absent.find(({ id }) => id === name);
  if (missing) row(name, `not available: ${missing.reason}`);
  return !missing;
});

if (parts.includes('files')) for (const name of names) for (const pipeline of pipelines) await allFiles(name, pipeline);
if (parts.includes('cases')) for (const name of names) await cases(name);
if (parts.includes('none'))
  for (const name of names) for (const pipeline of pipelines) await unsolvable(name, pipeline);
if (parts.includes('versions')) for (const name of names) await versionRates(name);

console.log(rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
console.log(wrong === 0 ? 'all right' : `${wrong} WRONG`);
process.exitCode = wrong === 0 ? 0 : 1;

/**
 * Solves every published file, in this process. Devices get the same work as from the command.
 * @param {string} name @param {(typeof pipelines)[number]} pipeline
 */
async function allFiles(name, pipeline) {
  const device = await openDevice(name, { completion: completionOf(pipeline) });
  const solver = new Solver(device, { pipeline });
  await solver.prepare(1n, 1n << 255n);
  const began = performance.now();
  let [tried, right] = [0, 0];
  for (const file of files) {
    let all = 0;
    const onProgress = (/** @type {number} */ now) => {
      all = now;
    };
    const solutions = await solveAll(solver.engine, parseInput(text(`${file}.in`)), { onProgress });
    const written = formatOutput(solutions.map((one) => one?.nonce ?? 0));
    must(written === text(`${file}.out`), `${name} ${pipeline} ${file}: ${JSON.stringify(written)}`);
    if (written === text(`${file}.out`)) right++;
    tried += all;
  }
  const passed = (performance.now() - began) / 1000;
  const after = await device.telemetry?.();
  const blocking = after ? `${after.blockingWaits} blocking waits` : '';
  row(
    `files, ${device.info.id}, ${pipeline}`,
    `${right} of ${files.length} byte for byte`,
    seconds(passed),
    ghs(tried / passed),
    blocking,
  );
  await solver.close();
  await device.close();
}

/**
 * Times the course's cases as a user runs them, with warm caches. `seconds` is the search, `startup` everything before it,
 * `answer` the time until OUT was written, `end` the time until the process ended.
 * @param {string} name
 */
async function cases(name) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-cases-'));
  for (const file of values.cases.split(',').filter((one) => files.includes(one))) {
    for (const pipeline of name === 'cuda' ? pipelines : /** @type {const} */ (['poll'])) {
      const out = join(folder, 'out');
      const words = [
        'block',
        'solve',
        join(data, `${file}.in`),
        out,
        '--device',
        name,
        '--pipeline',
        pipeline,
        '--json',
      ];
      /** @type {{ seconds: number, startup: number, answer: number, wall: number, rate: number }[]} */
      const measured = [];
      for (let run = 0; run <= runs; run++) {
        rmSync(out, { force: true });
        const began = performance.timeOrigin + performance.now();
        const { stdout } = await execute(process.execPath, [main, ...words]);
        const wall = (performance.timeOrigin + performance.now() - began) / 1000;
        const done = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '{}');
        must(done.exit === 0 && readFileSync(out, 'latin1') === text(`${file}.out`), `${name} ${file} ${pipeline}`);
        // The first run fills the caches.
        if (run === 0) continue;
        const { seconds, startup, tried } = done;
        const answer = (statSync(out).mtimeMs - began) / 1000;
        measured.push({ seconds, startup, answer, wall, rate: tried / seconds });
      }
      const of = (/** @type {'seconds' | 'startup' | 'rate'} */ what) => median(measured.map((one) => one[what]));
      const ends = measured.map((one) => one.wall - one.startup);
      row(
        `${file}, ${name}, ${pipeline}`,
        `search ${seconds(of('seconds'))}`,
        `without start-up: answer ${seconds(median(measured.map((one) => one.answer - one.startup)))}`,
        `end ${seconds(median(ends))} (${seconds(Math.min(...ends))} to ${seconds(Math.max(...ends))})`,
        `start-up ${seconds(of('startup'))}`,
        ghs(of('rate')),
      );
    }
  }
  rmSync(folder, { recursive: true });
}

/**
 * Searches a header that no nonce solves.
 * @param {string} name @param {(typeof pipelines)[number]} pipeline
 */
async function unsolvable(name, pipeline) {
  const device = await openDevice(name, { completion: completionOf(pipeline) });
  const solver = new Solver(device, { pipeline });
  await solver.prepare(1n);
  const to = Math.min(2 ** 32, most);
  let tried = 0;
  const began = performance.now();
  const found = await solver.solve({
    prefix: headerPrefix(genesis),
    target: 1n,
    to,
    onProgress: (now) => {
      tried = now;
    },
  });
  const passed = (performance.now() - began) / 1000;
  must(found === null && tried === to, `${name} ${pipeline}: ${tried} tried of ${to}`);
  row(`no solution, ${device.info.id}, ${pipeline}`, `${tried} tried`, seconds(passed), ghs(tried / passed));
  await solver.close();
  await device.close();
}

/**
 * Measures kernels alone, by the device's clock: 2^30 nonces around the genesis block's, with version 1 first.
 * @param {string} name
 */
async function versionRates(name) {
  const device = await openDevice(name);
  const prefix = headerPrefix(genesis);
  const target = targetFromBits(genesis.bits);
  const count = Math.min(2 ** 30, most);
  const base = count === 2 ** 30 ? count : GENESIS_NONCE - (count >> 1);
  const plain = { kernel: headerScan({ topWordZero: true }), job: jobValues(prefix, target) };
  const words = headerWords(prefix);
  const prefixes = Array.from({ length: 8 }, (_, at) => withVersion(prefix, 1 + at * 0x2000));
  const states = prefixes.flatMap((one) => midstate(headerWords(one).slice(0, 16)));
  const sharing = (/** @type {number} */ versions) => ({
    kernel: versionScan({ topWordZero: true, versions }),
    job: { target: targetWords(target) },
    chunk: { states: states.slice(0, 8 * versions), tail: words.slice(16) },
  });
  const two = { ...plain, kernel: headerScan({ topWordZero: true, perThread: 2 }) };
  /** @type {{ what: string, kernel: import('../../dist/kernel/index.js').Kernel, job: import('../../dist/device/device.js').FieldValues, chunk?: import('../../dist/device/device.js').FieldValues, each: number, perThread?: number, lanes?: number }[]} */
  const variants = [
    { what: 'one nonce', ...plain, each: 1 },
    { what: 'one nonce, workgroups of 128', ...plain, each: 1, lanes: 128 },
    { what: 'two nonces per item', ...two, each: 2, perThread: 2 },
    ...[1, 2, 4, 8].map((versions) => ({ what: `${versions} versions`, ...sharing(versions), each: versions })),
    ...[2, 4].map((versions) => ({
      what: `${versions} versions, workgroups of 128`,
      ...sharing(versions),
      each: versions,
      lanes: 128,
    })),
  ];
  for (const { what, kernel, job, chunk, each, perThread = 1, lanes } of variants) {
    const program = await device
      .compile(kernel, lanes === undefined ? {} : { lanes })
      .catch((error) => String(error.message).split('\n')[0] ?? '');
    if (typeof program === 'string') {
      row(`${what}, ${device.info.id}`, program);
      continue;
    }
    const { headerWords: header, recordWords } = program.ring;
    const ringWords = new Uint32Array(header + 1000 * recordWords);
    const [stream, ring] = [device.stream(), await device.alloc(ringWords.byteLength)];
    const bound = program.bind(job);
    const rates = [];
    for (let run = 0; run < runs + 2; run++) {
      stream.fill(ring, 0, 0, 4 * header);
      stream.launch({
        job: bound,
        base: BigInt(Math.floor(base / perThread)),
        count: count / perThread,
        ring,
        ...(chunk && { chunk }),
      });
      const { startedNs, endedNs } = await stream.mark().done;
      stream.read(ring, ringWords);
      await stream.mark().done;
      if (run >= 2) rates.push((count * (each / perThread)) / (Number(endedNs - startedNs) / 1e9));
      const hits = Array.from({ length: ringWords[0] ?? 0 }, (_, at) => {
        const [nonce = 0, version = 0] = ringWords.subarray(
          header + at * recordWords + 1,
          header + (at + 1) * recordWords,
        );
        return { nonce, prefix: recordWords > 2 ? (prefixes[version] ?? prefix) : prefix };
      });
      must(
        hits.some((hit) => hit.nonce === GENESIS_NONCE && hit.prefix[0] === 1 && hit.prefix[1] === 0),
        `${what}: the known nonce`,
      );
      must(
        hits.every((hit) => checkNonce(hit.prefix, target, hit.nonce).valid),
        `${what}: a wrong nonce`,
      );
    }
    row(
      `${what}, ${device.info.id}`,
      ghs(median(rates)),
      `${program.statements} statements`,
      `compiled in ${seconds(program.compile.milliseconds / 1000)}`,
    );
    ring.free();
    stream.close();
  }
  // And through the engine: 8 versions with all nonces.
  const engine = new Engine([device]);
  if (most > 2 ** 36) {
    const fixed = { prefix, target: 1n };
    await solveOn(engine, { ...fixed, to: 2 ** 30 });
    for (const perItem of [1, 2, 4, 8]) {
      let tried = 0;
      const onProgress = (/** @type {number} */ now) => {
        tried = now;
      };
      const rolling = { mask: 0x1fffe000, to: 8, perItem };
      // compiled before the clock starts
      await solveVersions(engine, { ...fixed, rolling, signal: AbortSignal.timeout(2000) }).catch(() => null);
      const began = performance.now();
      const search = solveVersions(engine, { ...fixed, rolling, onProgress });
      const found = await search.catch((error) => String(error.message).split('\n')[0]);
      const passed = (performance.now() - began) / 1000;
      if (typeof found === 'string') row(`engine, ${perItem} versions per item, ${device.info.id}`, found);
      else {
        must(found === null && tried === 2 ** 35, `${perItem} versions per item: ${tried} tried`);
        row(`engine, ${perItem} versions per item, ${device.info.id}`, ghs(tried / passed), `${tried} tried`);
      }
    }
  }
  await engine.close();
  await device.close();
}

/** @param {string} file @param {string[]} words @returns {Promise<{ stdout: string }>} */
function execute(file, words) {
  return new Promise((resolve) =>
    execFile(file, words, { env: { ...process.env, MILLRACE_JSON: '' } }, (_error, stdout) => resolve({ stdout })),
  );
}
