// One job on several workers of one machine, each a process with its own device, beside what each device does alone.
//   npm run build && node scripts/fleet-gpu.mjs [--devices cuda:0,native,webgpu:0] [--seconds 90] [--alone 12]
//     [--main DIST/cli/main.js] [--nats-server PATH] [--rounds 200] [--check cuda:0] [--json FILE]
//
// Each device first runs the job alone for `--alone` seconds, then all of them run it in one process. Then `fleet serve` with
// a real nats-server, a `fleet join` for each device, and `run --fleet` of a search that takes about `--seconds`. Rates in the
// fleet are those of the ledger, while between a quarter and nine tenths of the job were done. In the end `--check` (default:
// the first device) searches the same space alone: hits and their order have to be the same. Each hit is also computed here.
// Devices that share a processor or a GPU cannot reach the sum of their rates: compare with those of one process.
// Exit status 0 only if the answers are the same.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    main: { type: 'string', default: fileURLToPath(new URL('../dist/cli/main.js', import.meta.url)) },
    devices: { type: 'string', default: 'cuda:0,native,webgpu:0' },
    seconds: { type: 'string', default: '90' },
    alone: { type: 'string', default: '12' },
    rounds: { type: 'string', default: '200' },
    check: { type: 'string' },
    json: { type: 'string' },
    'nats-server': { type: 'string' },
  },
});
const main = resolve(values.main);
const devices = values.devices.split(',');
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const folder = mkdtempSync(join(tmpdir(), 'millrace-fleet-gpu-'));
const bin = join(folder, 'bin');
mkdirSync(bin);
if (values['nats-server'] !== undefined) symlinkSync(resolve(values['nats-server']), join(bin, 'nats-server'));
const env = {
  ...process.env,
  MILLRACE_HOME: join(folder, 'data'),
  PATH: `${bin}${delimiter}${process.env.PATH}${delimiter}/usr/sbin`,
};

/** Rounds of a mix that no shorter computation replaces; an index of 64 bits hits if its result is below the limit. */
const kernel = `import { cell, items, loop, u32, when } from ${JSON.stringify(pathToFileURL(resolve(main, '../../kernel/index.js')).href)};
export default {
  kernel: items('mix', { job: { limit: u32 }, hit: { last: u32 } }, ({ index, job, emit }) => {
    const x = cell(u32, index.lo.xor(index.hi.mul(0x9e3779b9)));
    loop(${rounds}, () => {
      x.set(x.xor(x.shr(16)).mul(0x85ebca6b));
      x.set(x.xor(x.shr(13)).mul(0xc2b2ae35).add(1));
    });
    when(x.lt(job.limit), () => emit({ last: x.add(0) }));
  }),
};
`;
const file = join(folder, 'mix.mjs');
writeFileSync(file, kernel);

/** @param {bigint} index */
function mix(index) {
  const hi = Number(index >> 32n);
  let x = (Number(index & 0xffff_ffffn) ^ Math.imul(hi, 0x9e3779b9)) >>> 0;
  for (let round = 0; round < rounds; round++) {
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = (Math.imul(x ^ (x >>> 13), 0xc2b2ae35) + 1) >>> 0;
  }
  return x;
}

const START_MS = 60_000;
/** Each is computed by the coordinator too, on the interpreter. */
const HITS = 200;

/** @type {import('node:child_process').ChildProcess[]} */
const running = [];
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end().then(() => process.exit(1)));

/** Ends whatever still runs. The coordinator ends its server. */
async function end() {
  for (const child of running.reverse()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const closed = new Promise((done) => child.once('close', done));
    child.kill('SIGTERM');
    await Promise.race([closed, pause(10_000)]);
    child.kill('SIGKILL');
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

/**
 * A command: its events if it has `--json`, and what it writes to stderr.
 * @typedef {{ child: import('node:child_process').ChildProcess, events: any[], text: () => string, ended: Promise<number> }} Command
 * @param {string[]} args @returns {Command}
 */
function start(...args) {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.push(child);
  /** @type {any[]} */
  const events = [];
  let [line, said] = ['', ''];
  child.stdout?.on('data', (part) => {
    const lines = (line + part).split('\n');
    line = lines.pop() ?? '';
    for (const text of lines) if (text.startsWith('{')) events.push(JSON.parse(text));
  });
  child.stderr?.on('data', (part) => {
    said += part;
  });
  const ended = new Promise((done) => child.once('close', (code) => done(code ?? -1)));
  return { child, events, text: () => said, ended };
}

/** Waits until a command has written something. @param {Command} command @param {RegExp} what */
async function saying(command, what) {
  let isOver = false;
  void command.ended.then(() => {
    isOver = true;
  });
  const deadline = performance.now() + START_MS;
  while (!what.test(command.text())) {
    if (isOver || performance.now() > deadline)
      throw new Error(
        `${command.child.spawnargs.slice(2).join(' ')} ${isOver ? 'has ended' : 'does not start'}: ${command.text()}`,
      );
    await pause(50);
  }
}

/** Runs a command to its end. @param {readonly number[]} allowed exit status @param {string[]} args */
async function run(allowed, ...args) {
  const command = start(...args, '--json');
  const status = await command.ended;
  if (!allowed.includes(status)) throw new Error(`${args.join(' ')} ended with ${status}: ${command.text()}`);
  return command.events;
}

/** Indices per second of devices in one process, after the first third of the time, and how far they were fed. @param {string} list */
async function alone(list) {
  const time = ['--runtime', `${values.alone}s`, '--status', '1s', '--no-ledger'];
  const events = await run([0, 1, 4], 'run', file, '--space', '2^60', '--param', 'limit=0', '--device', list, ...time);
  const samples = events.filter(({ event }) => event === 'progress');
  const later = samples.filter((sample) => sample.seconds > Number(values.alone) / 3);
  const [first, last] = [later[0], later.at(-1)];
  if (first === undefined || last === first) throw new Error(`${list}: too few samples; give more seconds for --alone`);
  const fed = last.devices.map((/** @type {{ fed: number }} */ device) => device.fed);
  return { perSecond: (last.done - first.done) / (last.seconds - first.seconds), fed: Math.min(...fed) };
}

/** @param {any[]} events */
const hitsOf = (events) =>
  events
    .filter(({ event }) => event === 'hit')
    .map(({ index, hit }) => ({ index: BigInt(index), last: Number(hit.last) }));

/** @param {number} perSecond */
const rate = (perSecond) => `${Number(perSecond.toPrecision(4)).toLocaleString('en')}/s`;
/** @param {number | undefined} share */
const percent = (share) => (share === undefined ? '–' : `${(100 * share).toFixed(1)} %`);

/** One sample of the fleet: indices in the ledger, and each worker's share of them. */
async function sample() {
  const [answer] = (await run([0], 'fleet', 'status')).filter(({ event }) => event === 'done');
  const job = answer.fleet.jobs[0];
  return {
    atMs: performance.now(),
    state: job?.state,
    done: Number(job?.done ?? 0),
    fraction: job?.fraction ?? 0,
    workers: answer.workers,
  };
}

/** @param {Awaited<ReturnType<typeof sample>>} sampled @param {string} name */
const workerIn = (sampled, name) =>
  sampled.workers.find((/** @type {{ id: string }} */ { id }) => id.split('.')[1]?.startsWith(`${name}-`));

try {
  /** @type {Map<string, { perSecond: number, fed: number }>} */
  const single = new Map();
  for (const device of devices) {
    single.set(device, await alone(device));
    console.log(`${device} alone: ${rate(single.get(device)?.perSecond ?? 0)}`);
  }
  const sum = [...single.values()].reduce((all, { perSecond }) => all + perSecond, 0);
  const together = await alone(values.devices);
  console.log(`all in one process: ${rate(together.perSecond)}`);

  const space = Math.ceil(together.perSecond * seconds);
  const limit = Math.max(1, Math.round((HITS * 2 ** 32) / space));
  const job = [file, '--space', String(space), '--param', `limit=${limit}`];
  const coordinator = start('fleet', 'serve');
  await saying(coordinator, /on this machine/);
  const names = devices.map((device) => device.replace(/\W/g, '_'));
  const workers = devices.map((device, at) => start('fleet', 'join', '--device', device, '--name', names[at] ?? ''));
  for (const worker of workers) await saying(worker, /works for the fleet/);
  const begun = performance.now();
  const search = start('run', ...job, '--fleet', '--json');
  let isOver = false;
  void search.ended.then(() => {
    isOver = true;
  });
  const samples = [];
  while (!isOver) {
    samples.push(await sample());
    await Promise.race([pause(Math.max(2000, seconds * 40)), search.ended]);
  }
  const wallSeconds = (performance.now() - begun) / 1000;
  const status = await search.ended;
  if (status > 1) throw new Error(`run --fleet ended with ${status}: ${search.text()}`);
  const steady = samples.filter(({ fraction }) => fraction >= 0.25 && fraction <= 0.9);
  const [first, last] = [steady[0], steady.at(-1)];
  if (first === undefined || last === undefined || last === first)
    throw new Error('the job was too short: give more --seconds');
  const ms = last.atMs - first.atMs;
  for (const { child } of workers) child.kill('SIGTERM');
  await Promise.all(workers.map(({ ended }) => ended));
  coordinator.child.kill('SIGTERM');
  await coordinator.ended;

  const rows = devices.map((device, at) => {
    const [before, after] = [workerIn(first, names[at] ?? ''), workerIn(last, names[at] ?? '')];
    const indices = after.share * last.done - (before?.share ?? 0) * first.done;
    return {
      device,
      alone: single.get(device)?.perSecond ?? 0,
      aloneFed: single.get(device)?.fed,
      inFleet: (indices * 1000) / ms,
      share: indices / (last.done - first.done),
      fed: after.fed,
      faults: after.faults,
    };
  });
  const fleetRate = ((last.done - first.done) * 1000) / ms;

  const found = hitsOf(search.events);
  const own = values.check ?? devices[0] ?? '';
  const checkBegun = performance.now();
  const expected = hitsOf(await run([0, 1], 'run', ...job, '--device', own, '--no-ledger'));
  const checkSeconds = (performance.now() - checkBegun) / 1000;
  const isSame =
    found.length === expected.length &&
    found.every(({ index, last: x }, at) => index === expected[at]?.index && x === expected[at]?.last);
  const wrong = found.filter(({ index, last: x }) => mix(index) !== x || x >= limit).length;

  const cells = [
    ['worker', 'alone', 'fed', 'in the fleet', 'of alone', 'share', 'fed'],
    ...rows.map((row) => [
      row.device,
      rate(row.alone),
      percent(row.aloneFed),
      rate(row.inFleet),
      percent(row.inFleet / row.alone),
      percent(row.share),
      percent(row.fed),
    ]),
    ['sum', rate(sum), '', rate(fleetRate), percent(fleetRate / sum), '', ''],
    [
      'one process',
      rate(together.perSecond),
      percent(together.fed),
      '',
      percent(fleetRate / together.perSecond),
      '',
      '',
    ],
  ];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? [];
  console.log();
  for (const row of cells)
    console.log(
      row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  '),
    );
  console.log(
    `\n${space.toLocaleString('en')} indices in ${wallSeconds.toFixed(1)} s from the command's start to its end: ${rate(space / wallSeconds)}`,
  );
  console.log(
    `${found.length} hits; ${own} alone, in ${checkSeconds.toFixed(1)} s: ${isSame ? 'the same, in the same order' : `DIFFERENT (${expected.length} hits)`}`,
  );
  console.log(
    `computed again here: ${wrong === 0 ? 'all are right' : `${wrong} are WRONG`}; results refused: ${rows.reduce((all, { faults }) => all + faults, 0)}`,
  );
  if (values.json !== undefined)
    writeFileSync(
      values.json,
      JSON.stringify(
        { rows, sum, together, fleetRate, space, wallSeconds, hits: found.length, isSame, wrong },
        null,
        1,
      ),
    );
  process.exitCode = isSame && wrong === 0 && found.length > 0 ? 0 : 1;
} finally {
  await end();
}
