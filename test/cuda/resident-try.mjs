// Tests resident grids on a real GPU: correct hits, speed, and time to stop.
//   npm run build && node test/cuda/resident-try.mjs [DIST] [--device cuda:0] [--bits 36] [--small]
// DIST is the folder of compiled code, default ../../dist. `--small` is for trials of the script on slow devices.
// Exit code 0 only if every result was correct.
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string', default: 'cuda:0' },
    bits: { type: 'string', default: '36' },
    small: { type: 'boolean', default: false },
  },
});
const dist = positionals[0] ? pathToFileURL(`${resolve(positionals[0])}/`) : new URL('../../dist/', import.meta.url);
/** @returns {Promise<any>} */
const load = (/** @type {string} */ file) => import(new URL(file, dist).href);
const { openDevice } = await load('device/registry.js');
const { Engine, search } = await load('engine/index.js');
const { belowTarget, cell, items, loop, read, sha256, table, u32, when } = await load('kernel/index.js');

/** Number of items. */
const size = (/** @type {number} */ log) => 2 ** (flags.small ? Math.max(4, log - 12) : log);
const began = performance.now();
/** @type {string[]} */
const lines = [];
const note = (/** @type {string} */ line) => {
  lines.push(`${(performance.now() - began).toFixed(1)} ms  ${line}`);
};
let failures = 0;
const say = (/** @type {string} */ line) => console.log(line);
const row = (/** @type {string} */ what, /** @type {string} */ figure) => say(`${what.padEnd(44)} ${figure}`);
function check(/** @type {boolean} */ isRight, /** @type {string} */ what) {
  if (isRight) return;
  failures++;
  say(`WRONG: ${what}`);
}
function tail(/** @type {number} */ count) {
  say(`--- the last lines of the device's log\n${lines.slice(-count).join('\n')}\n---`);
}
let doing = 'opening the device';
setTimeout(() => {
  say(`timed out after 90 s: ${doing}`);
  tail(60);
  process.kill(process.pid, 'SIGKILL'); // process.exit would wait for a thread that hangs in the driver
}, 90_000).unref();

/** Runs an action; reports a failure if it takes longer than `ms`. */
async function within(/** @type {number} */ ms, /** @type {string} */ what, /** @type {() => Promise<any>} */ action) {
  doing = what;
  note(`* ${what}`);
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no result after ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([action(), late]);
  } catch (error) {
    failures++;
    say(`FAILED ${what}: ${error instanceof Error ? error.message : error}`);
    tail(40);
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
const sleep = (/** @type {number} */ ms) => new Promise((done) => setTimeout(done, ms));
const now = () => process.hrtime.bigint();
const quantile = (/** @type {number[]} */ list, /** @type {number} */ q) =>
  [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(q * list.length))] ?? Number.NaN;
const spread = (/** @type {number[]} */ list) =>
  `median ${quantile(list, 0.5).toFixed(2)}, 95 % ${quantile(list, 0.95).toFixed(2)}, max ${quantile(list, 1).toFixed(2)}`;

const device = await openDevice(flags.device, { log: note });
say(`${device.info.id}: ${device.info.name}; ${Object.entries(device.info.versions).flat().join(' ')}`);
if (!device.resident) {
  say('this device has no resident grids');
  process.exit(1);
}

// --- the same ranges by a grid and by launches ----------------------------------------------------------------------

/** @param {Uint32Array} words @param {any} program */
function records(words, { ring }) {
  const room = Math.floor((words.length - ring.headerWords) / ring.recordWords);
  const list = [];
  for (let k = 0; k < Math.min(words[0] ?? 0, room); k++) {
    const at = ring.headerWords + k * ring.recordWords;
    list.push(words.subarray(at, at + ring.recordWords).join());
  }
  return { found: words[0] ?? 0, list: list.sort() };
}

/** @param {any} program @param {any} job @param {number} hits @param {any} buffers @param {any[]} ranges */
async function byLaunches(program, job, hits, buffers, ranges) {
  const words = program.ring.headerWords + hits * program.ring.recordWords;
  const [stream, ring] = [device.stream(), await device.alloc(4 * words)];
  const all = [];
  for (const range of ranges) {
    const into = new Uint32Array(words);
    stream.fill(ring, 0, 0, 4 * program.ring.headerWords);
    stream.launch({ job, ring, buffers, ...range });
    stream.read(ring, into);
    await stream.mark().done;
    all.push(records(into, program));
  }
  stream.close();
  ring.free();
  return all;
}

/** @param {string} name @param {any} kernel @param {any} values @param {any[]} ranges @param {number} hits @param {any} [buffers] */
async function same(name, kernel, values, ranges, hits, buffers = {}) {
  await within(10_000, `kernel ${name} by a grid and by launches`, async () => {
    const program = await device.compile(kernel);
    const job = program.bind(values);
    const grid = await device.resident(job, { entries: 6, hits, buffers });
    if (!grid) throw new Error('the device has no room for a grid');
    const words = program.ring.headerWords + hits * program.ring.recordWords;
    const rings = ranges.map(() => new Uint32Array(words));
    const start = now();
    const reports = await Promise.all(ranges.map((range, k) => grid.submit(range, rings[k]).done));
    const ms = Number(now() - start) / 1e6;
    check(
      reports.every(({ complete }) => complete),
      `${name}: a range is incomplete ${grid.fault ?? ''}`,
    );
    const { launches } = grid;
    grid.close();
    const wanted = await byLaunches(program, job, hits, buffers, ranges);
    let total = 0;
    for (const [k, ring] of rings.entries()) {
      const given = records(ring, program);
      const right = wanted[k] ?? given;
      total += given.found;
      check(given.found === right.found, `${name}, range ${k}: ${given.found} hits, not ${right.found}`);
      check(new Set(given.list).size === given.list.length, `${name}, range ${k}: a hit is reported twice`);
      const isSame = given.found > hits || given.list.join(';') === right.list.join(';');
      check(isSame, `${name}, range ${k}: different hits`);
    }
    const items_ = ranges.reduce((sum, { count }) => sum + count, 0);
    row(
      `${name}: ${ranges.length} ranges, ${total} hits`,
      `${(items_ / ms / 1e6).toFixed(2)} G/s, ${launches} launches`,
    );
  });
}

const every = items('every', { job: { by: u32 }, hit: { n: u32, high: u32 } }, (/** @type {any} */ c) => {
  when(c.index.lo.rem(c.job.by).eq(3), () => c.emit({ n: c.index.lo, high: c.index.hi }));
});
const always = items('always', { hit: { n: u32 } }, (/** @type {any} */ c) => c.emit({ n: c.index.lo }));
const tabled = items(
  'tabled',
  { job: { key: u32 }, chunk: { plus: u32 }, buffers: { mask: read('u32') }, hit: { v: u32 } },
  (/** @type {any} */ { item, index, job, chunk, buffers, emit }) => {
    const squares = table(
      'u32',
      Array.from({ length: 64 }, (_, k) => (k * k * 2654435761) >>> 0),
    );
    const x = cell('u32', index.lo.xor(job.key).add(chunk.plus));
    loop(7, () => x.set(x.mul(1664525).add(squares.at(x.shr(26)))));
    when(x.and(buffers.mask.at(item.and(255))).eq(0), () => emit({ v: x }));
  },
);
const spread_ = (/** @type {number} */ n, /** @type {number} */ count, /** @type {any} */ more = () => ({})) =>
  Array.from({ length: n }, (_, k) => ({ base: (BigInt(k) << 32n) + BigInt(k * 977), count, ...more(k) }));

await same('every 3rd of 10', every, { by: 10 }, [{ base: 0n, count: 1000 }], 256);
await same(
  'odd sizes',
  every,
  { by: 97 },
  [1, 2, 31, 255, 256, 257, 65_537].flatMap((count, k) => spread_(k + 1, count)),
  4096,
);
await same('every 1000th', every, { by: 1000 }, spread_(24, size(22)), 8192);
await same('every index', always, {}, spread_(8, size(16)), 2 ** 16);
await same('too many for a ring', every, { by: 4 }, spread_(6, size(22)), 1024);
{
  const mask = await device.alloc(1024);
  const stream = device.stream();
  stream.write(
    mask,
    Uint32Array.from({ length: 256 }, (_, k) => (k % 16 === 0 ? 0x3fff : 0xfffff)),
  );
  await stream.mark().done;
  stream.close();
  await same(
    'table, buffer, chunk values',
    tabled,
    { key: 77 },
    spread_(16, size(21), (/** @type {number} */ k) => ({ chunk: { plus: k * 31 } })),
    4096,
    { mask },
  );
  mask.free();
}

// --- SHA-256d over 2^36: the upper bits are the header's version ---------------------------------------------------

const REST = `${'00'.repeat(32)}3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d`;
const header = [0x01000000, ...(REST.match(/.{8}/g) ?? []).map((word) => Number.parseInt(word, 16))];
const job = { header, target: [0, 0xffff0000, 0, 0, 0, 0, 0, 0] };
const versions = items(
  'versions',
  { job: { header: [u32, 19], target: [u32, 8] }, hit: { nonce: u32 } },
  (/** @type {any} */ { job: known, index, emit }) => {
    const [version, ...rest] = known.header;
    const nonce = index.lo;
    const digest = sha256.double([version.add(index.hi.shl(8)), ...rest, nonce.byteSwap()]);
    when(digest[7].eq(0), () => when(belowTarget(digest, known.target), () => emit({ nonce })));
  },
);
/** Bitcoin's genesis block has version 1 (index.hi 0) and exactly these two nonces. */
const GENESIS = ['2083236893', '3197545707'];

/** @param {{ index: bigint, nonce: number }} hit */
function verify({ index, nonce }) {
  const bytes = Buffer.alloc(80);
  for (const [i, word] of header.entries()) bytes.writeUInt32BE(word, 4 * i);
  bytes.writeUInt32BE((0x01000000 + Number(index >> 32n) * 256) >>> 0, 0);
  bytes.writeUInt32LE(nonce, 76);
  const hash = createHash('sha256').update(createHash('sha256').update(bytes).digest()).digest().reverse();
  return hash.readUInt32BE(0) === 0 && hash.compare(Buffer.from('00000000ffff', 'hex'), 0, 6, 0, 6) < 0;
}

const SPACE = flags.small ? 2n ** 13n : 2n ** BigInt(flags.bits);
const HALF = BigInt(size(34));
/** @type {string | undefined} */
let known;
/** @param {'poll' | 'persistent'} pipeline @param {bigint} space */
async function mine(pipeline, space) {
  return within(30_000, `2^${Math.log2(Number(space))} by ${pipeline}`, async () => {
    const engine = new Engine([device], { pipeline, records: 8192 });
    await engine.prepare(versions);
    const before = await device.telemetry();
    const cpu = process.cpuUsage();
    const start = performance.now();
    /** @type {string[]} */
    const found = [];
    for await (const { index } of search(versions, { engine, space, job, verify })) found.push(String(index));
    const ms = performance.now() - start;
    const { user, system } = process.cpuUsage(cpu);
    const after = await device.telemetry();
    const [status] = engine.devices;
    const counted = [...engine.records].filter(({ outcome }) => outcome === 'counted');
    const late = counted.map(({ endedNs, reapedNs }) => Number(reapedNs - endedNs) / 1000);
    const busy = counted.map(({ startedNs, endedNs }) => Number(endedNs - startedNs) / 1e6);
    await engine.close();
    if (space >= 2n ** 32n) {
      check(
        GENESIS.every((nonce) => found.includes(nonce)),
        `${pipeline}: a nonce of the genesis block is missing`,
      );
    }
    if (space === SPACE) {
      known ??= found.join();
      check(found.join() === known, `${pipeline}: different hits than before: ${found.join()}`);
    }
    row(
      `2^${Math.log2(Number(space))} by ${pipeline}`,
      `${(Number(space) / ms / 1e6).toFixed(3)} GH/s, ${found.length} hits, fed ${(100 * (status.fed ?? 0)).toFixed(2)} %, CPU ${((user + system) / ms / 10).toFixed(1)} % of a core`,
    );
    row(
      '',
      `${counted.length} chunks, the last ${(busy.at(-1) ?? 0).toFixed(1)} ms; ${after.launches - before.launches} launches; ${after.blockingWaits - before.blockingWaits} blocking waits`,
    );
    row('  end on the device to the host, µs', spread(late));
    if (pipeline === 'persistent') check(after.launches - before.launches <= 2, 'more than two launches for the job');
    check(
      status.failed + status.wrong + status.stalled === 0,
      `${pipeline}: ${JSON.stringify({ ...status, info: 0, items: 0 })}`,
    );
  });
}
await mine('persistent', BigInt(size(30))); // compiles, warms up
await mine('persistent', SPACE);
await mine('poll', SPACE);

// --- stop: during work, and while waiting for work --------------------------------------------------------------------

await within(15_000, 'stopping', async () => {
  const program = await device.compile(versions);
  const grid = await device.resident(program.bind(job), { entries: 6, hits: 16 });
  /** @type {Record<string, number[]>} */
  const times = { work: [], idle: [] };
  for (let k = 0; k < 20; k++) {
    const ranges = Array.from(
      { length: 4 },
      (_, i) => grid.submit({ base: BigInt(i) << 32n, count: 2 ** 31 }, new Uint32Array(64)).done,
    );
    await sleep(5 + 3 * k);
    const asked = now();
    grid.cancel();
    const reports = await Promise.all(ranges);
    times.work?.push(Number(now() - asked) / 1e6);
    check(!reports.at(-1).complete, 'a stopped range is complete');
    const ring = new Uint32Array(64);
    const { complete } = await grid.submit({ base: 2083236893n, count: 1 }, ring).done;
    check(complete && ring[0] === 1 && ring[5] === 2083236893, 'after a stop: the genesis nonce is missing');
  }
  for (let k = 0; k < 5; k++) {
    const other = await device.resident(program.bind(job), { entries: 1, hits: 16 });
    await other.submit({ base: 0n, count: 1000 }, new Uint32Array(64)).done;
    const asked = now();
    other.close();
    await device.sensors?.(); // answered after it
    times.idle?.push(Number(now() - asked) / 1e6);
  }
  row('stop, from cancel() to the completions, ms', spread(times.work ?? []));
  row('close a grid that waits for work, ms', spread(times.idle ?? []));
  check(quantile(times.work ?? [], 1) < 100, 'a stop took more than 100 ms');
  row('short range on an idle grid, µs to the host', await short(grid));
  grid.close();
});

/** @param {any} grid */
async function short(grid) {
  const times = [];
  for (let k = 0; k < 200; k++) {
    const asked = now();
    await grid.submit({ base: 0n, count: 1000 }, new Uint32Array(64)).done;
    times.push(Number(now() - asked) / 1000);
  }
  return spread(times);
}

// --- two concurrent jobs, with launches and allocations meanwhile -----------------------------------------------------

await within(25_000, 'two concurrent jobs', async () => {
  const engine = new Engine([device], { pipeline: 'persistent' });
  const start = performance.now();
  const one = async () => {
    const found = [];
    for await (const { index } of search(versions, { engine, space: HALF, job, verify })) found.push(String(index));
    return found;
  };
  const two = async () => {
    let count = 0;
    for await (const _ of search(every, { engine, space: HALF, job: { by: 1_000_003 }, ring: 65_536 })) count++;
    return count;
  };
  const third = async () => {
    let done = 0;
    for (; done < 10; done++) {
      const [buffer, memory, stream] = [await device.alloc(2 ** 20), await device.host(2 ** 16), device.stream()];
      stream.fill(buffer, 7);
      stream.read(buffer, memory.bytes);
      await stream.mark().done;
      check(new Uint32Array(memory.bytes.buffer, memory.bytes.byteOffset, 1)[0] === 7, 'a fill during two grids');
      stream.close();
      buffer.free();
      memory.free();
      await sleep(50);
    }
    return done;
  };
  const [hits, count, done] = await Promise.all([one(), two(), third()]);
  const ms = performance.now() - start;
  check(
    flags.small || GENESIS.every((nonce) => hits.includes(nonce)),
    'two jobs: a nonce of the genesis block is missing',
  );
  // index.lo mod 1000003 = 3, in each block of 2^32
  const stretch = Math.min(2 ** 32, Number(HALF));
  const wanted = (Number(HALF) / stretch) * (Math.floor((stretch - 1 - 3) / 1_000_003) + 1);
  check(count === wanted, `two jobs: ${count} hits, not ${wanted}`);
  const [status] = engine.devices;
  check(
    status.failed + status.wrong + status.stalled === 0,
    `two jobs: ${JSON.stringify({ ...status, info: 0, items: 0 })}`,
  );
  row(
    `two concurrent jobs of 2^${Math.log2(Number(HALF))}`,
    `${((2 * Number(HALF)) / ms / 1e6).toFixed(3)} G/s together, ${done} fills meanwhile`,
  );
  await engine.close();
});

// --- the first hit only -----------------------------------------------------------------------------------------------

await within(15_000, 'the first hit', async () => {
  if (flags.small) return;
  const engine = new Engine([device], { pipeline: 'persistent' });
  const before = await device.telemetry();
  const start = performance.now();
  const hit = await search(versions, { engine, space: 2n ** 40n, job, verify, mode: 'first' }).first();
  const ms = performance.now() - start;
  const after = await device.telemetry();
  check(hit?.index === 2083236893n, `the first hit is ${hit?.index}`);
  row(
    'the first hit of 2^40 (2083236893)',
    `${ms.toFixed(0)} ms until idle, ${after.launches - before.launches} launches`,
  );
  await engine.close();
});

await within(15_000, 'closing the device with a grid at work', async () => {
  const program = await device.compile(versions);
  const grid = await device.resident(program.bind(job), { entries: 2, hits: 16 });
  const result = grid
    .submit({ base: 0n, count: 2 ** 32 }, new Uint32Array(64))
    .done.catch((/** @type {any} */ error) => error.code);
  await sleep(20);
  const asked = now();
  await device.close();
  row('close the device with a grid at work, ms', (Number(now() - asked) / 1e6).toFixed(0));
  check((await result) === 'device-closed', `its range ended as ${await result}`);
});

say(`${((performance.now() - began) / 1000).toFixed(1)} s; ${failures === 0 ? 'all correct' : `${failures} WRONG`}`);
if (failures > 0) tail(120);
process.exit(failures === 0 ? 0 : 1);
