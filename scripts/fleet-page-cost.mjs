// What an open page of a fleet costs the coordinator's process, in ms of processor time per second.
//   node scripts/fleet-page-cost.mjs [WORKERS…]

import { fork } from 'node:child_process';
import { startFleetFeed } from '../dist/console/live/fleet-feed.js';
import { openOutput } from '../dist/console/output/output.js';
import { Coordinator } from '../dist/fleet/protocol/index.js';
import { FleetView } from '../dist/fleet/view/fleet-view.js';
import { ALL_WORKERS } from '../dist/fleet/view/rows.js';
import { startCommandDashboard } from '../dist/web/live/start.js';

const SECONDS = 10;
const ROWS = 55;
const job = 'f'.repeat(64);
const space = { start: 0n, length: 1n << 120n };

if (process.send) await readPage(process.argv[2] ?? '');
else {
  const sizes = process.argv.slice(2).map(Number);
  for (const workers of sizes.length > 0 ? sizes : [100, 10_000, 100_000]) await measure(workers);
}

/** @param {number} workers */
async function measure(workers) {
  const tokens = { make: () => 'token', isValid: () => true };
  let now = 0;
  const core = new Coordinator({ term: 1, tokens, now });
  core.handle({ kind: 'add', job: { id: job, name: 'kernel', space, mode: 'all' } }, now);
  /** @type {import('../dist/fleet/view/fleet-view.js').ViewOptions['jobs']} */
  const jobs = () => {
    const done = core.jobs.get(job)?.table.counted;
    const people = { submitters: new Set(), provenance: { workers: [] } };
    const known = { id: job, name: 'kernel', manifest: { space }, hitCount: 0, outcome: undefined, ...people };
    return done ? [{ ...known, done }] : [];
  };
  const view = new FleetView({ core, jobs, hits: () => 0, fleet: 'f', server: () => '2', term: 1, now: () => now });
  /** @param {number} at */
  const name = (at) => `user.worker${at}-0123456789ab`;
  /** @type {Map<string, import('../dist/fleet/protocol/index.js').GrantMessage>} */
  const grants = new Map();
  for (let at = 0; at < workers; at++) {
    const rates = [{ job, perMs: 1000 + ((at * 7919) % 9973) }];
    const effects = core.handle(
      { kind: 'message', message: { kind: 'want', worker: name(at), request: 1, rates } },
      now,
    );
    for (const effect of effects)
      if (effect.kind === 'send' && effect.message.kind === 'grant') grants.set(effect.to, effect.message);
  }
  /** @param {number} at @param {number} spread The rate differs by this share. */
  const beat = (at, spread) => {
    const grant = grants.get(name(at));
    if (grant === undefined) return;
    const perMs = (1000 + ((at * 7919) % 9973)) * (1 + spread * Math.random());
    const leases = [{ ...grant.claim, token: grant.token, left: grant.claim.range.length }];
    const devices = [{ id: 'cuda:0', perSecond: perMs * 1000, fed: 0.995 }];
    const message = /** @type {const} */ ({
      kind: 'beat',
      worker: name(at),
      answered: 1,
      rates: [{ job, perMs }],
      leases,
      devices,
    });
    core.handle({ kind: 'message', message }, now);
  };
  for (let at = 0; at < workers; at++) beat(at, 0);

  const change = () => beat(0, 0.1);
  const text = JSON.stringify(view.workers({ ...ALL_WORKERS, count: workers }));
  const all = timeOf(change, () => JSON.stringify(view.workers({ ...ALL_WORKERS, count: workers })));
  const part = timeOf(change, () => JSON.stringify(view.workers({ ...ALL_WORKERS, count: ROWS })));
  const figures = timeOf(change, () => JSON.stringify(view.overview()));
  const coverage = timeOf(change, () => JSON.stringify(view.coverage(job)));
  console.log(
    `${workers} workers: ${ROWS} rows in order ${part.toFixed(2)} ms; all rows ${all.toFixed(1)} ms, ${(text.length / 1e6).toFixed(2)} MB; figures ${figures.toFixed(2)} ms; coverage ${coverage.toFixed(2)} ms`,
  );

  const output = openOutput({ log: 'error' });
  const feed = startFleetFeed(
    output,
    {
      workers: async (query) => view.workers(query),
      coverage: async (id) => view.coverage(id) ?? Promise.reject(new Error('no job')),
      control: async () => '',
    },
    () => view.overview(),
  );
  const page = await startCommandDashboard({ host: '127.0.0.1', port: 0 }, output.hub, undefined);
  const quiet = await withPage(page.url, () => cpu(() => undefined));
  let at = 0;
  const beats = () => {
    now += 100;
    const turn = Math.ceil((workers * 100) / core.beatMs);
    for (let one = 0; one < turn; one++) beat(at++ % workers, 0.1);
  };
  const alone = await cpu(beats);
  const busy = await withPage(page.url, () => cpu(beats));
  console.log(
    `  a page on a quiet fleet: ${quiet.toFixed(1)} ms/s; heartbeats alone: ${alone.toFixed(1)} ms/s, with a page: ${busy.toFixed(1)} ms/s`,
  );
  feed.end();
  await page.close();
}

/** The mean of 20 calls after a change, in ms of processor time. @param {() => void} change @param {() => unknown} work */
function timeOf(change, work) {
  let spent = 0;
  for (let turn = -5; turn < 20; turn++) {
    change();
    const start = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(start);
    if (turn >= 0) spent += (user + system) / 1000;
  }
  return spent / 20;
}

/** Processor time of this process per second, in ms. @param {() => void} turn Called ten times a second. */
async function cpu(turn) {
  const timer = setInterval(turn, 100);
  const [start, before] = [performance.now(), process.cpuUsage()];
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
  clearInterval(timer);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (performance.now() - start);
}

/** Runs `work` while another process reads the page's events. @param {string} url @param {() => Promise<number>} work */
async function withPage(url, work) {
  const reader = fork(new URL(import.meta.url), [url]);
  await new Promise((resolve) => reader.once('message', resolve));
  const result = await work();
  reader.kill();
  return result;
}

/** What the page does: opens its events, and says which workers it shows. @param {string} url */
async function readPage(url) {
  const [, token] = /token=([\w-]+)/.exec(url) ?? [];
  const { origin } = new URL(url);
  const json = { 'content-type': 'application/json', origin };
  const session = await fetch(`${origin}/api/session`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ token }),
  });
  const cookie = (session.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const events = await fetch(`${origin}/api/events?fleet=f&viewer=v`, { headers: { cookie } });
  const query = JSON.stringify({ ...ALL_WORKERS, count: ROWS });
  await fetch(`${origin}/api/view/v/workers`, { method: 'POST', headers: { ...json, cookie }, body: query });
  let isFirst = true;
  for await (const _ of events.body ?? []) {
    if (isFirst) process.send?.('open');
    isFirst = false;
  }
}
