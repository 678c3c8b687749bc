import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { count, duration, percent, rate } from '../src/console/output/format.js';
import type { FleetOverview, FleetWorkerRow } from '../src/fleet/view/rows.js';
import { millrace } from './command-line.js';
import { Commands, cellsOf, factsOf, type RunningCommand, socketEvents, stripOf } from './dashboard.js';
import { kernelText, whyNoFleet } from './fleet/fleet.js';
import { SyntheticFleet } from './fleet/synthetic.js';
import { executable, launchChromium, useChromium } from './page.js';
import { tasksOf, traceTasks } from './tasks.js';
import { byTier, isShort, patience } from './tier.js';
import { expectFits } from './usable.js';

/** The dashboard's page of a fleet, in headless Chromium, on a real nats-server. */
const absent = whyNoFleet();

describe.skipIf(!executable || absent !== undefined)('the page of a fleet', { timeout: patience(180_000) }, () => {
  const chromium = useChromium();

  /** Opens the page of the only fleet. Errors in the page are in `faults`. */
  async function open(url: string, context?: BrowserContext): Promise<Page & { readonly faults: string[] }> {
    const page = await (context ?? (await chromium.browser.newContext())).newPage();
    page.setDefaultTimeout(patience(60_000));
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    await page.goto(url);
    await page.getByRole('link', { name: /^Fleet / }).click();
    await page.locator('.workers li').first().waitFor();
    return Object.assign(page, { faults });
  }

  /** The rows of workers by the names of their columns, all of one moment. */
  const workersOf = (page: Page): Promise<Record<string, string>[]> =>
    page.evaluate(
      `[...document.querySelectorAll('.workers li')].map((row) => {
         const names = ['name', 'state', 'share', 'rate', 'fed', 'leases', 'heard', 'trust', 'devices'];
         const cells = [...row.children].map((cell, at) => [names[at], cell.textContent]);
         return { id: row.querySelector('[data-worker]').dataset.worker, ...Object.fromEntries(cells) };
       })`,
    );

  const WORKERS = byTier(60, 10_000, 10_000);

  test(`shows ${WORKERS} workers in at most 100 rows: by contribution, by name, by state`, async () => {
    const fleet = await SyntheticFleet.start(WORKERS);
    try {
      const lengths = new Map(fleet.workers.map((worker) => [worker, Number(fleet.lease(worker))]));
      const [first, second, third] = [...fleet.workers].reverse() as [string, string, string];
      // Every third one is still at work; the others have done their lease.
      const finished = fleet.workers.filter((_, n) => n % 3 !== 0 || n > WORKERS - 4);
      for (const worker of finished) fleet.finish(worker);
      for (const worker of fleet.workers) fleet.beat(worker);
      const done = (worker: string): number => (finished.includes(worker) ? (lengths.get(worker) ?? 0) : 0);
      const { core } = fleet.host.service;
      const counted = () =>
        [...core.workers.values()].reduce((sum, { jobs }) => sum + (jobs.get(fleet.job)?.done ?? 0), 0);
      await expect
        .poll(counted, { timeout: patience(60_000) })
        .toBe(finished.reduce((sum, worker) => sum + done(worker), 0));

      const url = await fleet.dashboard();
      if (!isShort) await traceTasks(chromium.browser);
      const page = await open(url);
      const rows = page.locator('.workers li');
      const shown = page.locator('[data-test=workers]');
      await expect.poll(() => shown.textContent()).toBe(count(WORKERS));
      const byWork = [...fleet.workers].sort((a, b) => done(b) - done(a));
      const total = finished.reduce((sum, worker) => sum + done(worker), 0);
      await expect
        .poll(async () => (await workersOf(page)).slice(0, 20).map(({ id }) => id))
        .toEqual(byWork.slice(0, 20));
      const best = { state: 'idle', share: percent(done(first) / total), leases: '0', heard: 'now' };
      await expect.poll(async () => (await workersOf(page))[0]).toMatchObject(best);
      const busy = fleet.workers.filter((worker) => !finished.includes(worker));
      await expect
        .poll(() => factsOf(page))
        .toMatchObject({
          workers: count(WORKERS),
          working: count(busy.length),
          idle: count(WORKERS - busy.length),
          devices: count(WORKERS),
          fed: percent(0.995),
          leases: count(busy.length),
        });
      const perMs = busy.reduce((sum, worker) => sum + fleet.rateOf(worker), 0);
      await expect
        .poll(() => cellsOf(page, 'tr[data-key]'))
        .toMatchObject({
          rate: rate(perMs * 1000, ''),
          workers: count(busy.length),
        });

      // The whole list can be scrolled to; only what is near is in the document.
      const list = page.locator('section[aria-label=Workers]');
      for (const at of [0.5, 1]) {
        await list.evaluate((box: { scrollTop: number; scrollHeight: number }, share) => {
          box.scrollTop = box.scrollHeight * share;
        }, at);
        const expected = byWork[Math.min(WORKERS - 1, Math.round(at * WORKERS))];
        await expect.poll(async () => (await workersOf(page)).some(({ id }) => id === expected)).toBe(true);
        expect(await page.locator('li, tbody tr').count()).toBeLessThanOrEqual(100);
      }
      await page.getByRole('button', { name: 'Order by worker' }).click();
      await page.getByLabel('Search in workers').fill('w0000');
      await expect.poll(async () => (await workersOf(page)).map(({ id }) => id)).toEqual(fleet.workers.slice(0, 10));
      await page.getByLabel('Search in workers').fill('');
      await page.getByRole('combobox', { name: 'State' }).selectOption('working');
      await expect.poll(() => shown.textContent()).toBe(count(busy.length));
      await page.getByRole('combobox', { name: 'State' }).selectOption('');
      await page.getByRole('button', { name: 'Order by share' }).click();

      // A worker that has left is in no sum: shares are of those that are here.
      await expect.poll(async () => (await workersOf(page))[0]?.id).toBe(first);
      fleet.leave(second);
      await expect.poll(async () => (await factsOf(page)).workers).toBe(count(WORKERS - 1));
      await expect.poll(async () => (await factsOf(page))['not counted']).toBe('1 gone');
      await expect.poll(async () => (await workersOf(page))[1]?.id).toBe(third);
      await expect
        .poll(async () => (await workersOf(page))[0]?.share)
        .toBe(percent(done(first) / (total - done(second))));
      await page.getByRole('button', { name: `Drain ${first.slice(6, 12)}` }).click();
      await expect.poll(() => core.workers.get(first)?.isDraining).toBe(true);
      await expect.poll(async () => (await workersOf(page))[0]?.state).toBe('draining');
      expect(await rows.count()).toBeLessThanOrEqual(100);
      const tasks = isShort ? [] : await tasksOf(chromium.browser, url);
      expect(tasks.length > 100 || isShort).toBe(true);
      expect(tasks.filter((ms) => ms > patience(50))).toEqual([]);
      expect(page.faults).toEqual([]);
      await page.context().close();
    } finally {
      await fleet.close();
    }
  });

  describe.skipIf(isShort)('with processes', () => {
    /** A coordinator, two workers, and a job that lasts as long as the test. */
    async function begin(commands: Commands): Promise<{ served: RunningCommand; job: string }> {
      writeFileSync(join(commands.folder, 'rounds.mjs'), kernelText);
      const served = await commands.start('fleet', 'serve', '--dashboard');
      for (const name of ['attic', 'barn'])
        commands.startUnwatched('fleet', 'join', '--device', 'wasm', '--threads', '1', '--name', name);
      commands.startUnwatched('run', 'rounds.mjs', '--space', '2^31', '--param', 'limit=20000', '--fleet');
      const jobs = async (): Promise<readonly { id: string; workers: number; hits: number }[]> =>
        (await statusOf(commands)).fleet.jobs;
      await expect.poll(async () => (await jobs())[0]?.workers, { timeout: patience(60_000), interval: 1000 }).toBe(2);
      return { served, job: (await jobs())[0]?.id ?? '' };
    }

    interface Status {
      readonly fleet: FleetOverview;
      readonly workers: readonly FleetWorkerRow[];
    }

    async function statusOf({ data }: Commands): Promise<Status> {
      const { events } = await millrace(['fleet', 'status', '--json', '--data-dir', data]);
      return events.at(-1) as unknown as Status;
    }

    test('its numbers are those of the events and of `fleet status`; it controls jobs and workers', {
      timeout: patience(420_000),
    }, async () => {
      const commands = new Commands();
      try {
        const { served, job } = await begin(commands);
        const page = await open(await served.url);
        const socket = await socketEvents(commands.data, served.pid);
        const isSame = async (): Promise<boolean> => {
          const [facts, cells] = [await factsOf(page), await cellsOf(page, `tr[data-key="${job}"]`)];
          const all = socket.events.filter(({ event }) => event === 'fleet') as unknown as FleetOverview[];
          return all.some(({ jobs: [row], coordinator, leases }) => {
            const shown = row && [
              percent(row.fraction),
              rate(row.perSecond, ''),
              duration(row.etaSeconds ?? -1),
              count(row.hits),
            ];
            return (
              shown?.join() === [cells.done, cells.rate, cells.left, cells.hits].join() &&
              facts.leases === count(leases) &&
              facts['results waiting'] === count(coordinator.resultsWaiting) &&
              facts['last commit'] === duration(coordinator.commitSeconds ?? -1)
            );
          });
        };
        await expect.poll(isSame, { timeout: patience(30_000) }).toBe(true);

        await page.locator('tbody th a').click();
        await page.getByRole('heading', { name: 'Workers of the job' }).waitFor();
        // By keyboard alone.
        await page.getByRole('button', { name: 'Pause' }).focus();
        await page.keyboard.press('Enter');
        await expect.poll(async () => (await factsOf(page)).state).toBe('paused');
        // Results that were on the way arrive; then nothing changes.
        const settled = async (): Promise<string> => {
          const { fleet, workers } = await statusOf(commands);
          const strip = await stripOf(page);
          const rows = await workersOf(page);
          const sum = strip.done.reduce((all, one) => all + BigInt(one), 0n);
          const said = [
            fleet.jobs[0]?.done,
            ...workers.map(({ id, share = -1, leases }) => `${id} ${percent(share)} ${leases}`).sort(),
          ];
          const seen = [sum, ...rows.map(({ id, share, leases }) => `${id} ${share} ${leases}`).sort()];
          return said.join() === seen.join() ? 'same' : `${said.join()} ${seen.join()}`;
        };
        await expect.poll(settled, { timeout: patience(60_000), interval: 1000 }).toBe('same');
        await page.getByLabel('Priority').fill('7');
        await page.keyboard.press('Enter');
        await page.getByText('priority 7').waitFor();
        await expect
          .poll(async () => (await statusOf(commands)).fleet.jobs[0], { interval: 500 })
          .toMatchObject({ state: 'paused', priority: 7 });
        await page.getByRole('button', { name: 'Resume' }).click();
        await expect.poll(async () => (await factsOf(page)).state).toBe('running');
        await page.getByRole('button', { name: 'Drain attic' }).click();
        await expect
          .poll(async () => (await workersOf(page)).find(({ name }) => name === 'attic')?.state, {
            timeout: patience(300_000), // its leases last half a minute each on an idle machine
          })
          .toBe('gone');
        await expect.poll(async () => (await factsOf(page)).workers).toBe('1');
        await page.getByRole('button', { name: 'Stop' }).click();
        await expect.poll(async () => (await factsOf(page)).state).toBe('cancelled');
        expect(page.faults).toEqual([]);
        socket.end();
        served.kill('SIGTERM');
        await page.getByText('the command has ended').waitFor();
        await page.context().close();
      } finally {
        await commands.close();
      }
    });

    test('`millrace dashboard` finds the coordinator, or is given an invite; fits 320 pixels, light and dark', async () => {
      const commands = new Commands();
      try {
        await begin(commands);
        const context = await chromium.browser.newContext({
          viewport: { width: 320, height: 640 },
          colorScheme: 'dark',
        });
        const local = await commands.start('dashboard');
        const page = await open(await local.url, context);
        await expect.poll(async () => (await factsOf(page)).working).toBe('2');
        await expectFits(page);
        const dark = await page.evaluate('getComputedStyle(document.body).backgroundColor');
        await page.emulateMedia({ colorScheme: 'light' });
        expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).not.toBe(dark);
        await expect
          .poll(() => page.locator('main').ariaSnapshot())
          .toMatch(
            /heading "Fleet \w+" \[level=2\][\s\S]*columnheader "finish"[\s\S]*rowheader "rounds[\s\S]*img "Coverage: [\s\S]*searchbox "Search in workers"[\s\S]*button "Order by share" \[pressed\][\s\S]*button "Drain \w+"/,
          );

        expect(page.faults).toEqual([]);

        // A server that is started again sends the same part of the list.
        local.kill('SIGKILL');
        await page.getByText('no connection').waitFor();
        const again = await commands.start('dashboard', '--listen', new URL(await local.url).port);
        await page.getByText('live', { exact: true }).waitFor();
        await millrace(['fleet', 'drain', 'barn', '--data-dir', commands.data]);
        const barn = async () => (await workersOf(page)).find(({ name }) => name === 'barn')?.state;
        await expect.poll(barn, { timeout: patience(30_000) }).toMatch(/draining|gone/);
        again.kill('SIGINT');

        const invite = await millrace(['fleet', 'invite', '--role', 'viewer', '--data-dir', commands.data]);
        commands.write('viewer.invite', invite.stdout);
        const elsewhere = new Commands();
        try {
          const remote = await elsewhere.start('dashboard', '--fleet', join(commands.folder, 'viewer.invite'));
          const far = await open(await remote.url);
          await expect.poll(async () => (await workersOf(far)).map(({ name }) => name).sort()).toContain('attic');
          await far.getByRole('button', { name: 'Drain attic' }).click();
          await far.getByText('which may not drain').waitFor();
        } finally {
          await elsewhere.close();
        }
        await context.close();
      } finally {
        await commands.close();
      }
    });
  });
});

/** Run with MILLRACE_SCREENSHOTS=1 to make the pictures of the documents. */
describe.skipIf(!executable || absent !== undefined || !process.env.MILLRACE_SCREENSHOTS)('pictures', () => {
  test.for(['light', 'dark'] as const)('%s', { timeout: patience(180_000) }, async (colorScheme) => {
    const commands = new Commands();
    const browser = await launchChromium();
    try {
      writeFileSync(join(commands.folder, 'rounds.mjs'), kernelText);
      const served = await commands.start('fleet', 'serve', '--dashboard');
      for (const name of ['attic', 'barn', 'cellar'])
        commands.startUnwatched('fleet', 'join', '--device', 'wasm', '--threads', '1', '--name', name);
      commands.startUnwatched('run', 'rounds.mjs', '--space', '2^25', '--param', 'limit=20000', '--fleet');
      const page = await browser.newPage({ colorScheme, viewport: { width: 1100, height: 860 } });
      await page.goto(await served.url);
      await page.getByRole('link', { name: /^Fleet / }).click();
      await page
        .locator('.workers li')
        .nth(2)
        .waitFor({ timeout: patience(60_000) });
      await page.waitForTimeout(40_000);
      await page.screenshot({ path: fileURLToPath(new URL(`../docs/img/fleet-${colorScheme}.png`, import.meta.url)) });
    } finally {
      await browser.close();
      await commands.close();
    }
  });
});
