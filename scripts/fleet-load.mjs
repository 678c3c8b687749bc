// Load on a fleet's coordinator: real connections to a real server, workers whose devices only wait.
//   node scripts/fleet-load.mjs [CONNECTIONS] [SECONDS]    leases, cancels and the highest rate, with 200 connections
//   node scripts/fleet-load.mjs --all                      the figures of docs/fleet.md: five minutes on an idle machine

import { fork, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { FleetClient } from '../dist/fleet/client/index.js';
import { FleetHost } from '../dist/fleet/coordinator/index.js';
import { packKernelJob, signingKey } from '../dist/fleet/manifest/index.js';
import { Bus } from '../dist/fleet/nats/index.js';
import { items, u32, when } from '../dist/kernel/index.js';
import { openStore } from '../dist/store/index.js';

/**
 * @typedef {import('./fleet-load-workers.mjs').Order} Order
 * @typedef {import('./fleet-load-workers.mjs').Report} Report
 * @typedef {import('node:child_process').ChildProcess} ChildProcess
 */

const CANCELS = 10;
const SATURATE_SECONDS = 10;
/** Connections of one process. */
const PER_PROCESS = 1000;
/** The time on a clock that all processes share. */
const clock = () => performance.timeOrigin + performance.now();
/** @param {number} seconds */
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const kernel = /** @type {import('../dist/kernel/index.js').Kernel} */ (
  /** @type {unknown} */ (
    items('none', { job: { step: u32 }, hit: { at: u32 } }, ({ item, job, emit }) =>
      when(item.eq(job.step), () => emit({ at: item })),
    )
  )
);

/** Sends an order to all processes and collects their reports. @param {readonly ChildProcess[]} children @param {Order} order */
const ask = (children, order) =>
  Promise.all(
    children.map(
      (child) =>
        /** @type {Promise<Report>} */ (
          new Promise((resolve, reject) => {
            const ended = () => reject(new Error('a process of workers has ended'));
            child.once('exit', ended);
            child.once('message', (report) => {
              child.off('exit', ended);
              resolve(/** @type {Report} */ (report));
            });
            child.send(order);
          })
        ),
    ),
  );

/** @param {readonly number[]} values */
function quantiles(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (/** @type {number} */ share) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return `first ${at(0).toFixed(1)} ms, p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, max ${at(1).toFixed(1)} ms`;
}

/** Processor time in ms and memory in MiB of the server, which is a child of this process. @param {string} folder */
function serverUse(folder) {
  const pid = spawnSync('pgrep', ['-f', join(folder, 'fleet', 'nats', 'server.conf')], {
    encoding: 'utf8',
  }).stdout.split('\n')[0];
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { ms: ticks * 10, mib: (Number(fields[21]) * 4096) / 2 ** 20 };
}

/** Measures what runs for some seconds. @param {string} folder @param {() => Promise<unknown>} run */
async function use(folder, run) {
  const [cpu, server, start] = [process.cpuUsage(), serverUse(folder), performance.now()];
  await run();
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const after = serverUse(folder);
  return { ms, coreMs: (user + system) / 1000, serverMs: after.ms - server.ms, serverMib: after.mib };
}

/** @param {number} share */
const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** @param {number} connections @param {number} seconds */
async function measure(connections, seconds) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-load-'));
  const store = await openStore(folder);
  const host = await FleetHost.start({
    folder: join(folder, 'fleet'),
    store,
    say: () => undefined,
    warn: console.error,
  });
  const { invite } = host;
  const submitter = await Bus.connect(invite, 'submitter');
  const client = new FleetClient(submitter);
  let jobs = 0;
  const submit = () => {
    const space = { start: 0n, length: 1n << 60n };
    return client.submit(packKernelJob({ kernel, job: { step: ++jobs }, buffers: {} }, space, 'all'), signingKey());
  };
  const processes = Math.max(2, Math.ceil(connections / PER_PROCESS));
  const children = Array.from({ length: processes }, () => fork(new URL('./fleet-load-workers.mjs', import.meta.url)));
  try {
    const count = Math.ceil(connections / processes);
    await ask(children, { kind: 'connect', invite, count });
    console.log(
      `${connections} connections from ${processes} processes, nats-server ${host.bus.serverVersion}, load ${loadavg()[0]?.toFixed(1)}`,
    );
    await ask(children, { kind: 'work' });
    await pause(3);
    const job = await submit();
    await pause(5);
    await ask(children, { kind: 'begin' });
    const steady = await use(folder, () => pause(seconds));
    const reports = await ask(children, { kind: 'report' });
    const leases = reports.flatMap((report) => report.leases);
    const beats = reports.reduce((sum, report) => sum + report.beats, 0);
    const mib = process.memoryUsage().rss / 2 ** 20;
    console.log(
      `  leases: ${((1000 * leases.length) / steady.ms).toFixed(1)}/s, ${quantiles(leases)}; heartbeats: ${((1000 * beats) / steady.ms).toFixed(0)}/s`,
    );
    console.log(
      `  coordinator: ${percent(steady.coreMs / steady.ms)} of a core, ${mib.toFixed(0)} MiB; server: ${percent(steady.serverMs / steady.ms)}, ${steady.serverMib.toFixed(0)} MiB`,
    );
    await client.control(job, 'ended');
    await pause(1);
    /** @type {number[]} */
    const cancels = [];
    for (let round = 0; round < CANCELS; round++) {
      const next = await submit();
      await pause(2.5);
      await ask(children, { kind: 'begin' });
      const at = clock();
      await client.control(next, 'ended');
      await pause(1);
      const arrived = (await ask(children, { kind: 'report' })).flatMap((report) => report.cancels);
      cancels.push(...arrived.map((time) => time - at));
    }
    console.log(`  cancel, ${CANCELS} times, ${cancels.length} arrivals: ${quantiles(cancels)}`);
    await ask(children, { kind: 'stop' });
    const last = await submit();
    await pause(1);
    await ask(children, { kind: 'begin' });
    await ask(children, { kind: 'saturate', job: last });
    await pause(2);
    await ask(children, { kind: 'begin' });
    const full = await use(folder, () => pause(SATURATE_SECONDS));
    const cycles = (await ask(children, { kind: 'report' })).flatMap((report) => report.leases);
    await ask(children, { kind: 'stop' });
    const each = full.coreMs / cycles.length;
    console.log(
      `  as fast as it can: ${((1000 * cycles.length) / full.ms).toFixed(0)} leases/s, from request to commit ${quantiles(cycles)}`,
    );
    console.log(
      `  coordinator: ${percent(full.coreMs / full.ms)} of a core, ${(1000 * each).toFixed(0)} µs a lease; server: ${percent(full.serverMs / full.ms)}`,
    );
  } finally {
    for (const child of children) child.kill();
    await submitter.close();
    await host.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const [first = '', second = ''] = process.argv.slice(2);
if (first === '--all') {
  const cost = spawnSync(process.execPath, [new URL('./fleet-cost.mjs', import.meta.url).pathname], {
    encoding: 'utf8',
  });
  console.log(cost.stdout);
  await measure(200, 20);
  await measure(2000, 60);
} else await measure(Number(first || 200), Number(second || 20));
