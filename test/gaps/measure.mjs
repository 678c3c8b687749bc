/**
 * Measures prime gaps on the devices of a machine: Fermat tests, the sieve, and both as a job, each checked.
 *
 *   node test/gaps/measure.mjs [--device cuda] [--what fermat,sieve,search,gmp,crt] [--runs 5] [--dist dist]
 *        [--bits 288,320,352,384] [--count 4194304] [--one '{"window":134217728}']
 *
 * Prints a line per measurement, and a table at the end. `--one` is a single plan for sieve and search instead of the list.
 * `gmp` compares one CPU thread with GMP in alternating runs; `crt` searches the intervals of a set of 320 bits.
 */
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    what: { type: 'string', default: 'fermat,sieve,search' },
    bits: { type: 'string', default: '281,288,316,320,352,384' },
    runs: { type: 'string', default: '5' },
    count: { type: 'string' },
    length: { type: 'string' },
    one: { type: 'string' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
  },
});
const { openDevice } = await import(`${values.dist}/device/registry.js`);
const { compare, measure } = await import(`${values.dist}/bench/measure.js`);
const { gmpPower } = await import(`${values.dist}/workload/gaps/bench/peers.js`);
const { fermatBase, fermatRate, sieveRate, searchLength, searchRate } = await import(
  `${values.dist}/workload/gaps/bench/rate.js`
);
const { intervalsOf, parseChineseSet } = await import(`${values.dist}/workload/gaps/job/chinese-set.js`);
const { searchIntervals } = await import(`${values.dist}/workload/gaps/job/interval-search.js`);
const { minGapForTarget } = await import(`${values.dist}/workload/gaps/kernel/reference.js`);
const { Engine } = await import(`${values.dist}/engine/engine.js`);
const runs = Number(values.runs);

/** Plans to try for sieve and search on a GPU; the first is the default plan. */
/** @type {readonly Record<string, unknown>[]} */
const plans = values.one
  ? [JSON.parse(values.one)]
  : [
      {},
      { window: 2 ** 27, depth: 8 },
      { window: 2 ** 29, depth: 2 },
      { tileBits: 2 ** 16 },
      { tileBits: 2 ** 18 },
      { tileBits: 2 ** 19 },
    ];
/** @type {readonly Record<string, unknown>[]} */
const searches = values.one
  ? [JSON.parse(values.one)]
  : [
      {},
      { depth: 2 },
      { depth: 8 },
      { perChain: 512 },
      { width: 2 ** 14 },
      { width: 2 ** 16 },
      { threads: 2 ** 16 },
      { primes: 400_000 },
    ];

/** @type {string[]} */
const rows = [];
for (const name of values.device.split(',')) {
  const device = await openDevice(name);
  const { id, kind, units, processor } = device.info;
  const isGpu = processor === 'gpu';
  console.log(`${id}  ${device.info.name}  ${units} units  (${kind})`);
  try {
    const what = values.what.split(',');
    if (what.includes('fermat')) {
      for (const bits of values.bits.split(',').map(Number)) {
        const count = Number(values.count ?? (isGpu ? 2 ** 22 : 2 ** 13));
        await rate(`Fermat, ${bits} bits`, () => fermatRate(device, { bits, count, runs }));
      }
    }
    if (what.includes('gmp')) for (const bits of values.bits.split(',').map(Number)) await besideGmp(name, bits);
    if (what.includes('crt')) await rate('intervals of 320 bits', () => intervalRate(device));
    if (what.includes('sieve'))
      for (const plan of isGpu || values.one ? plans : [{}])
        await rate(`sieve ${JSON.stringify(plan)}`, () => sieveRate(device, { ...plan, runs }));
    if (what.includes('search'))
      for (const plan of isGpu || values.one ? searches : [{}]) {
        const length = Number(values.length ?? searchLength(device));
        const sum = { tests: 0, candidates: 0, primes: 0, pieces: 0, windows: 0, bytes: 0, integers: 0 };
        const onPiece = (/** @type {any} */ work) => {
          sum.pieces++;
          sum.integers += work.piece.count;
          for (const key of /** @type {const} */ (['tests', 'candidates', 'primes', 'windows', 'bytes']))
            sum[key] += work[key];
        };
        await rate(`search ${JSON.stringify(plan)}`, () => searchRate(device, { ...plan, length, runs, onPiece }));
        console.log(
          `    ${sum.pieces} pieces, ${sum.windows} windows, ${(sum.integers / sum.tests).toFixed(0)} integers a test, ${(sum.bytes / sum.windows).toFixed(0)} bytes back a window`,
        );
      }
  } finally {
    await device.close();
  }
}
console.log('\n| what | per second (median, min–max) | seconds a run |\n| --- | --- | --- |');
for (const row of rows) console.log(row);

/**
 * Compares one thread with GMP on the same numbers, in alternating runs, so that other load affects both.
 * @param {string} name
 * @param {number} bits
 */
async function besideGmp(name, bits) {
  const count = Number(values.count ?? 4096);
  const core = await openDevice(name, { threads: 1 });
  try {
    const own = await fermatRate(core, { bits, runs, count });
    const peer = gmpPower(fermatBase(bits), count, runs);
    if (peer === undefined) return console.log('libgmp is not installed');
    const { measurements, ratios } = await compare([peer, own]);
    for (const [at, { name: title, rate: per }] of measurements.entries()) {
      const shown = [per.median, per.min, per.max].map((value) => value.toExponential(3));
      const [ratio, low, high] = [ratios[at].median, ratios[at].min, ratios[at].max].map((x) => x.toFixed(2));
      console.log(`${title}: ${shown[0]} tests/s (${shown[1]}–${shown[2]}), ratio ${ratio} (${low}–${high})`);
      rows.push(`| ${title} | ${shown[0]} (${shown[1]}–${shown[2]}) | ${ratio} (${low}–${high}) of GMP |`);
    }
    own.close();
  } finally {
    await core.close();
  }
}

/**
 * Intervals of a miners' set for numbers of 320 bits, as a job. Canaries compare the first of them with bigints.
 * @param {any} device
 */
async function intervalRate(device) {
  const count = device.info.processor === 'gpu' ? 2 ** 20 : 2 ** 11;
  // 657 candidates in 4,872 integers.
  const fields = ['n_primes: 14', 'size: 4872', 'n_candidates: 657', 'offset: 9009257614514959'];
  const set = parseChineseSet(['|== ChineseSet ==|', ...fields, ''].join('\n'));
  const start = fermatBase(320);
  const range = { start, length: BigInt(count + 2) * set.primorial };
  const found = intervalsOf(set, range, minGapForTarget(start, 6244144922783894n));
  const intervals = { ...found, count: BigInt(count) };
  const engine = new Engine([device]);
  const run = async () => {
    const indices = [];
    for await (const { index } of searchIntervals({ set, intervals, start }, { engine })) indices.push(index);
    return { work: count, digest: indices.join() };
  };
  return { name: `intervals, ${device.info.id}`, unit: 'intervals', runs, run, close: () => engine.close() };
}

/**
 * @param {string} what
 * @param {() => Promise<any>} make
 */
async function rate(what, make) {
  try {
    const begun = performance.now();
    const candidate = await make();
    const ready = (performance.now() - begun) / 1000;
    try {
      const { rate: per, seconds, unit } = await measure(candidate);
      const shown = [per.median, per.min, per.max].map((value) => value.toExponential(3));
      const [s] = [seconds.median];
      rows.push(`| ${what} | ${shown[0]} ${unit} (${shown[1]}–${shown[2]}) | ${s.toPrecision(3)} |`);
      console.log(
        `${what}: ${shown[0]} ${unit}/s (${shown[1]}–${shown[2]}), ${s.toPrecision(3)} s a run, ready in ${ready.toFixed(1)} s`,
      );
    } finally {
      await candidate.close();
    }
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    rows.push(`| ${what} | ${message.split('\n')[0]} | |`);
    console.log(`${what}: ${message}`);
  }
}
