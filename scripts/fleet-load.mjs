// Load on a fleet's coordinator: real connections to a real server, workers whose devices only wait.
//   node scripts/fleet-load.mjs [CONNECTIONS] [SECONDS]

import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FleetClient } from '../dist/fleet/client/index.js';
import { FleetHost } from '../dist/fleet/coordinator/index.js';
import { packKernelJob, signingKey } from '../dist/fleet/manifest/index.js';
import { Bus } from '../dist/fleet/nats/index.js';
import { decodeCoordinatorMessage, encodeMessage, Worker } from '../dist/fleet/protocol/index.js';
import { items, u32, when } from '../dist/kernel/index.js';
import { openStore } from '../dist/store/index.js';

/** @typedef {import('../dist/fleet/protocol/index.js').WorkerEvent} WorkerEvent */
/** @typedef {import('../dist/fleet/nats/index.js').Invite} Invite */
/** @typedef {{ readonly leases: number[], readonly cancels: number[] }} Report */

const PER_MS = 1000;
/** The time on a clock that both processes share. */
const clock = () => performance.timeOrigin + performance.now();

/** A worker whose device takes as long as a real one would. @param {Bus} bus @param {number} at @param {Report} report */
function startWorker(bus, at, report) {
  const id = `${bus.user}.load-${process.pid}x${at}`;
  const core = new Worker({ id, spread: Math.random() });
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  let askedAt = 0;
  let freeAt = 0;
  /** @param {WorkerEvent} event */
  const handle = (event) => {
    if (event.kind === 'message' && event.message.kind === 'grant') report.leases.push(clock() - askedAt);
    if (event.kind === 'message' && event.message.kind === 'job' && event.message.state.state === 'ended')
      report.cancels.push(clock());
    for (const effect of core.handle(event, performance.now())) {
      if (effect.kind === 'send') {
        if (effect.message.kind === 'want') askedAt = clock();
        bus.publish('from', encodeMessage(effect.message));
      } else if (effect.kind === 'publish') bus.publish('result', encodeMessage(effect.result));
      else if (effect.kind === 'open') setImmediate(() => handle({ kind: 'opened', job: effect.job }));
      else if (effect.kind === 'feed') {
        const { job, range } = effect;
        freeAt = Math.max(freeAt, performance.now()) + Number(range.length) / PER_MS;
        setTimeout(() => handle({ kind: 'done', job, range, hits: [] }), freeAt - performance.now());
      }
    }
    clearTimeout(timer);
    timer = setTimeout(
      () => handle({ kind: 'tick' }),
      Math.max(1, Math.min(core.nextTick - performance.now(), 60_000)),
    );
  };
  /** @param {Uint8Array} bytes */
  const receive = (bytes) => handle({ kind: 'message', message: decodeCoordinatorMessage(bytes) });
  bus.subscribe(`to.${id}`, receive);
  bus.subscribe('all', receive);
  handle({ kind: 'tick' });
}

/** @param {Invite} invite @param {number} count */
async function work(invite, count) {
  /** @type {Report} */
  const report = { leases: [], cancels: [] };
  const buses = [];
  for (let at = 0; at < count; at++) buses.push(await Bus.connect(invite, `load ${at}`));
  for (const [at, bus] of buses.entries()) startWorker(bus, at, report);
  process.send?.('ready');
  process.on('message', (message) => {
    if (message === 'begin') report.leases.length = 0;
    else process.send?.(report, () => process.exit(0));
  });
}

/** @param {readonly number[]} values */
function quantiles(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (/** @type {number} */ share) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return `p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, all ${at(1).toFixed(1)} ms`;
}

/** @param {number} count @param {number} seconds */
async function coordinate(count, seconds) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-load-'));
  const warn = console.error;
  const store = await openStore(folder);
  const fleet = await FleetHost.start({ folder: join(folder, 'fleet'), store, say: () => undefined, warn });
  const { service, invite } = fleet;
  const bus = await Bus.connect(invite, 'submitter');
  const client = new FleetClient(bus);
  const kernel = items('none', { job: { step: u32 }, hit: { at: u32 } }, ({ item, job, emit }) =>
    when(item.eq(job.step), () => emit({ at: item })),
  );
  const space = { start: 0n, length: 1n << 60n };
  const packed = packKernelJob(
    {
      kernel: /** @type {import('../dist/kernel/index.js').Kernel} */ (/** @type {unknown} */ (kernel)),
      job: { step: 1 },
      buffers: {},
    },
    space,
    'all',
  );
  const child = fork(new URL(import.meta.url), ['--work', JSON.stringify(invite), String(count)]);
  await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', () => reject(new Error('the process of the workers has ended')));
  });
  const job = await client.submit(packed, signingKey());
  await new Promise((resolve) => setTimeout(resolve, 3000));
  child.send('begin');
  const [cpu, start] = [process.cpuUsage(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const { user, system } = process.cpuUsage(cpu);
  const share = (user + system) / 1000 / (performance.now() - start);
  const cancelledAt = clock();
  await client.control(job, 'ended');
  await new Promise((resolve) => setTimeout(resolve, 3000));
  /** @type {Promise<Report>} */
  const report = new Promise((resolve) => child.once('message', (message) => resolve(/** @type {Report} */ (message))));
  child.send('report');
  const { leases, cancels } = await report;
  const mib = process.memoryUsage().rss / 2 ** 20;
  console.log(`${count} connections, nats-server ${service.serverVersion}, ${seconds} s`);
  console.log(`  ${(leases.length / seconds).toFixed(1)} leases/s, request to lease: ${quantiles(leases)}`);
  console.log(`  cancel reached ${cancels.length} workers: ${quantiles(cancels.map((at) => at - cancelledAt))}`);
  console.log(`  coordinator: ${(100 * share).toFixed(1)} % of a core, ${mib.toFixed(0)} MiB`);
  await bus.close();
  await fleet.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

const [first = '', second = '', third = ''] = process.argv.slice(2);
if (first === '--work') await work(/** @type {Invite} */ (JSON.parse(second)), Number(third));
else await coordinate(Number(first || 200), Number(second || 20));
