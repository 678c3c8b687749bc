import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { exposition } from '../src/console/telemetry/exposition.js';
import { fleetMetrics } from '../src/console/telemetry/fleet-metrics.js';
import type { FleetOverview } from '../src/fleet/view/rows.js';
import { Commands } from './dashboard.js';
import { whyNoFleet } from './fleet/fleet.js';
import { readMetrics, sampleValue } from './telemetry/prometheus-text.js';
import { isShort, patience } from './tier.js';

/** What those who run a fleet use: metrics, a Grafana panel, units of systemd. */
const folder = fileURLToPath(new URL('../docs/operations', import.meta.url));
const files = (end: string): [string, string][] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(end))
    .map((name) => [name, readFileSync(`${folder}/${name}`, 'utf8')]);

const overview: FleetOverview = {
  ...{ fleet: 'f', server: '2.9.10', term: 1, seconds: 60, beatSeconds: 2, devices: 3, fed: 0.99, leases: 4 },
  states: { working: 2, idle: 1, draining: 0, refused: 0, stale: 1, gone: 5 },
  coordinator: {
    ...{
      leasesGranted: 9,
      results: 8,
      commits: 7,
      refusedResults: 1,
      hits: 6,
      leasesPerSecond: 1,
      resultsPerSecond: 1,
    },
    ...{ resultsWaiting: 2, commitLagSeconds: 0.25, commitSeconds: 0.5 },
  },
  jobs: [
    {
      ...{ id: 'a'.repeat(64), name: 'say "x"', state: 'running', priority: 0, start: 0, length: 100, done: 50 },
      ...{
        fraction: 0.5,
        perSecond: 1000,
        etaSeconds: 50,
        hits: 6,
        leases: 4,
        workers: 2,
        refusals: 0,
        leftShare: 0,
        unsettled: 0,
        audited: 0,
      },
    },
    {
      ...{ id: 'b'.repeat(64), name: 'over', state: 'complete', priority: 0, start: 0, length: 1, done: 1 },
      ...{
        fraction: 1,
        perSecond: 0,
        hits: 0,
        leases: 0,
        workers: 0,
        refusals: 0,
        leftShare: 0,
        unsettled: 0,
        audited: 0,
      },
    },
  ],
  jobCount: 2,
};
const metrics = readMetrics(exposition(fleetMetrics(overview, { version: '1', cpuSeconds: 1.5 })));

describe('the metrics of a fleet', () => {
  test('have the figures of the overview', () => {
    expect(sampleValue(metrics, 'millrace_fleet_workers', { state: 'working' })).toBe(2);
    expect(sampleValue(metrics, 'millrace_fleet_workers', { state: 'gone' })).toBe(5);
    expect(sampleValue(metrics, 'millrace_fleet_commit_lag_seconds')).toBe(0.25);
    expect(sampleValue(metrics, 'millrace_fleet_hits')).toBe(6);
    expect(sampleValue(metrics, 'millrace_fleet_jobs')).toBe(1);
    const job = { job: 'a'.repeat(12), kernel: 'say "x"' };
    expect(sampleValue(metrics, 'millrace_fleet_job_items_per_second', job)).toBe(1000);
    expect(metrics.get('millrace_fleet_job_hits')?.samples).toHaveLength(1);
  });

  test.skipIf(isShort)('are served by `fleet serve --prometheus`', { timeout: patience(120_000) }, async (ctx) => {
    const absent = whyNoFleet();
    if (absent) return ctx.skip(absent);
    const commands = new Commands();
    try {
      const served = commands.startUnwatched('fleet', 'serve', '--prometheus', '0');
      const url = () => served.all('listening')[0]?.url as string | undefined;
      await expect.poll(url, { timeout: patience(30_000) }).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
      const read = readMetrics(await (await fetch(url() ?? '')).text());
      expect(sampleValue(read, 'millrace_fleet_workers', { state: 'idle' })).toBe(0);
      expect(sampleValue(read, 'millrace_uptime_seconds')).toBeGreaterThan(0);
      served.kill('SIGTERM');
      expect(await served.ended).toBe(2);
    } finally {
      await commands.close();
    }
  });
});

test('the Grafana panel asks for metrics and labels that exist', () => {
  const [[, text] = []] = files('.grafana.json');
  const panel = JSON.parse(text ?? '') as { panels: { targets: { expr: string; legendFormat: string }[] }[] };
  const targets = panel.panels.flatMap((one) => one.targets);
  const asked = targets.flatMap(({ expr }) => expr.match(/\bmillrace_\w+/g) ?? []);
  expect(asked.length).toBeGreaterThanOrEqual(targets.length);
  expect(asked.filter((name) => !metrics.has(name))).toEqual([]);
  // Every metric of the fleet is shown.
  expect([...metrics.keys()].filter((name) => name.includes('_fleet_') && !asked.includes(name))).toEqual([]);
  for (const { expr, legendFormat } of targets) {
    const labels = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label ?? '');
    const name = /millrace_\w+/.exec(expr)?.[0] ?? '';
    const known = Object.keys(metrics.get(name)?.samples[0]?.labels ?? {});
    expect(labels.filter((label) => !known.includes(label))).toEqual([]);
  }
});

describe('the units of systemd', () => {
  test.for(files('.service'))('%s has known settings and starts a command that exists', ([, text]) => {
    const settings = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    for (const line of settings) expect(line).toMatch(/^(\[(Unit|Service|Install)\]|[A-Z][A-Za-z]+=.+)$/);
    const [, command = ''] = /^ExecStart=\/usr\/bin\/env (.+)$/m.exec(text) ?? [];
    expect(command).toMatch(/^millrace fleet (serve --prometheus 9464|join \$\{CREDENTIALS_DIRECTORY\}\/invite)$/);
  });

  test.for(files('.service'))('%s is accepted by systemd', ([name], ctx) => {
    const verified = spawnSync('systemd-analyze', ['verify', `${folder}/${name}`], { encoding: 'utf8' });
    if (verified.error) return ctx.skip('systemd-analyze is not installed');
    expect(verified).toMatchObject({ status: 0, stderr: '' });
  });
});
