import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { count, duration, percent, rate } from '../src/console/output/format.js';
import { millrace } from './command-line.js';
import { Commands, cellsOf, factsOf, openPage, QUIET, slowFile, socketEvents, stripOf } from './dashboard.js';
import type { Event } from './events.js';
import { executable, launchChromium, useChromium } from './page.js';
import { isShort, patience } from './tier.js';
import { zerosFile } from './zeros.js';

/** The dashboard in headless Chromium. What it shows is compared with the events of the command. */
describe.skipIf(!executable)('the dashboard', { timeout: patience(120_000) }, () => {
  const commands = new Commands();
  const chromium = useChromium();

  afterAll(() => commands.close());

  const open = (url: string, context?: BrowserContext) => openPage(chromium.browser, url, context);

  interface Progress extends Event {
    readonly perSecond: number;
    readonly fraction: number;
    readonly etaSeconds: number;
    readonly hits: number;
    readonly done: number;
    readonly rates: { readonly tenSeconds?: number; readonly minute?: number };
    readonly devices: readonly { readonly fed: number; readonly perSecond: number; readonly chunkMs: number }[];
  }

  test('shows the figures of the events, hides the token, and ends with the command', async () => {
    const command = await commands.start('run', 'slow.mjs', ...QUIET, '--dashboard', '--no-ledger');
    const page = await open(await command.url);
    const row = `tr[data-key="p${command.pid}"]`;
    await page.locator(`${row} td`).first().waitFor();
    await expect
      .poll(async () => {
        const cells = await cellsOf(page, row);
        return (command.all('progress') as Progress[]).some(
          ({ perSecond, fraction, etaSeconds, hits, devices }) =>
            hits > 0 &&
            cells.rate === rate(perSecond, '') &&
            cells.done === percent(fraction) &&
            cells.left === duration(etaSeconds) &&
            cells.hits === count(hits) &&
            cells.fed === percent(devices[0]?.fed ?? -1),
        );
      })
      .toBe(true);
    expect(page.url()).not.toContain('token');
    expect(JSON.stringify(command.events)).not.toContain((await command.url).split('token=')[1]);
    expect(page.faults).toEqual([]);
    command.kill('SIGTERM');
    expect(await command.ended).toBe(2);
    await page.getByText('the command has ended').waitFor();
  });

  describe.skipIf(isShort)('in detail', () => {
    test.for([
      ['2^20', slowFile('2n ** 20n')],
      ['2^64', slowFile('2n ** 64n')],
      ['2^100', slowFile('2n ** 100n', ', chunk: ({ start }) => ({ high: Number(start >> 64n) })')],
    ] as const)('the coverage of a space of %s is that of the events', async ([name, file]) => {
      commands.write(`space${name}.mjs`, file);
      const command = await commands.start('run', `space${name}.mjs`, ...QUIET, '--dashboard', '--fresh');
      const page = await open(await command.url);
      await page.locator('tbody th a').click();
      const socket = await socketEvents(commands.data, command.pid);
      const isSame = async (): Promise<boolean> => {
        const strip = await stripOf(page);
        const seen = socket.events.filter(({ event }) => event === 'coverage');
        const hasWork = strip.done.some((one) => String(one) !== '0');
        return (
          hasWork &&
          seen.some(({ done, onDevice, unconfirmed }) => {
            const isShown = (list: unknown, shown: readonly string[]) => (list as unknown[]).join() === shown.join();
            return (
              isShown(done, strip.done) && isShown(onDevice, strip.device) && isShown(unconfirmed, strip.unconfirmed)
            );
          })
        );
      };
      await expect.poll(isSame).toBe(true);
      const last = socket.events.filter(({ event }) => event === 'coverage').at(-1) as unknown as {
        bins: number;
        done: string[];
      };
      const sum = last.done.reduce((all, one) => all + BigInt(one), 0n);
      expect(last.bins).toBe(240);
      expect(sum).toBeGreaterThan(0n);
      // The facts come with other events than the strip: a moment may lie between them.
      await expect
        .poll(() => factsOf(page))
        .toMatchObject({
          state: 'running',
          indices: expect.stringMatching(/^[\d,]+ to [\d,]+$/),
          'restore point': expect.stringMatching(/^[\d,]+, /),
        });
      expect(page.faults).toEqual([]);
      socket.end();
      command.kill('SIGTERM');
      await command.ended;
    });

    test('controls a job: by mouse, by keyboard, from another tab, and `jobs pause` at once', async () => {
      const command = await commands.start('run', 'slow.mjs', ...QUIET, '--dashboard', '--fresh');
      const context = await chromium.browser.newContext();
      const page = await open(await command.url, context);
      await page.locator('tbody th a').click();
      await page.locator('[data-fact=state]', { hasText: 'running' }).waitFor();
      const key = page.url().split('/').at(-1) ?? '';
      const second = await open(page.url(), context);
      const state = (one: Page) => one.locator('[data-fact=state]');
      await page.getByRole('button', { name: 'Pause' }).click();
      await expect.poll(() => state(second).textContent()).toBe('paused');
      await expect.poll(() => command.all('paused')).toMatchObject([{ reason: 'asked' }]);
      await second.getByRole('button', { name: 'Resume' }).focus();
      await second.keyboard.press('Enter');
      await expect.poll(() => state(page).textContent()).toBe('running');
      await page.getByLabel('Priority').fill('7');
      await page.keyboard.press('Enter');
      await page.getByText('priority 7').waitFor();
      const data = ['--data-dir', commands.data];
      const listed = async (): Promise<Event | undefined> =>
        (await millrace(['jobs', 'list', '--json', ...data])).events.find(({ id }) => id === key);
      await expect.poll(listed, { interval: 500 }).toMatchObject({ priority: 7, state: 'running' });
      expect((await millrace(['jobs', 'pause', key, ...data])).stderr).toContain(`job ${key}: paused`);
      await expect.poll(() => state(page).textContent()).toBe('paused');
      await page.getByRole('button', { name: 'Stop' }).click();
      expect(await command.ended).toBe(2);
      for (const one of [page, second]) await one.getByText('the command has ended').waitFor();
      expect([...page.faults, ...second.faults]).toEqual([]);
    });

    test('of a data directory finds a process, controls it, and keeps its job when it has ended', async () => {
      const command = await commands.start('dashboard');
      const page = await open(await command.url);
      await page.getByText('Nothing runs now.').waitFor();
      const running = commands.startUnwatched('run', 'slow.mjs', ...QUIET, '--fresh');
      const link = page.locator('tbody th a', { hasText: 'slow' });
      await link.click();
      await expect.poll(async () => (await factsOf(page)).state).toBe('running');
      const progress = async (): Promise<boolean> => {
        const facts = await factsOf(page);
        return (running.all('progress') as Progress[]).some(
          ({ done, hits, perSecond }) =>
            hits > 0 &&
            facts.done?.startsWith(`${count(done)} of 1,099,511,627,776 `) &&
            facts.hits === count(hits) &&
            facts.rate === rate(perSecond, ''),
        );
      };
      await expect.poll(progress).toBe(true);
      await page.getByText('recorded for commands started with --dashboard').waitFor();
      await page.getByRole('button', { name: 'Pause' }).click();
      await expect.poll(async () => (await factsOf(page)).state).toBe('paused');
      // The list has every hit once the last ones are stored.
      const listed = () => page.locator('[data-test=hits]').textContent();
      const isComplete = async (): Promise<boolean> => (await listed()) === (await factsOf(page)).hits;
      await expect.poll(isComplete, { timeout: patience(60_000), interval: 100 }).toBe(true);
      await page.getByRole('button', { name: 'Stop' }).click();
      expect(await running.ended).toBe(2);
      await expect.poll(async () => (await factsOf(page)).state).toBe('open: stopped');
      expect(page.faults).toEqual([]);
      command.kill('SIGINT');
      await command.ended;
    });

    test('needs the token: without it nothing is shown', async () => {
      const command = await commands.start('dashboard');
      const url = await command.url;
      for (const wrong of [url.replace(/#.*/, ''), url.replace(/token=./, 'token=')]) {
        const page = await (await chromium.browser.newContext()).newPage();
        page.setDefaultTimeout(patience(60_000));
        const statuses: number[] = [];
        page.on('response', (response) => response.url().includes('/api/') && statuses.push(response.status()));
        await page.goto(wrong);
        await page.getByText('not allowed').waitFor();
        await expect.poll(() => [...new Set(statuses)]).toEqual([401]);
        expect(await page.locator('table').count()).toBe(0);
      }
      command.kill('SIGINT');
      expect(await command.ended).toBe(0);
    });

    test('says that the server is gone, and continues when it is back', async () => {
      const first = await commands.start('dashboard');
      const page = await open(await first.url);
      await page.getByText('live', { exact: true }).waitFor();
      const { port } = new URL(await first.url);
      first.kill('SIGKILL');
      await page.getByText('no connection').waitFor();
      const again = await commands.start('dashboard', '--listen', port);
      await page.getByText('live', { exact: true }).waitFor();
      again.kill('SIGINT');
      await page.getByText('the command has ended').waitFor();
    });

    test('shows finish times of what is left', async () => {
      // A directory without the jobs of other tests, which would take longer than the universe.
      const own = new Commands();
      onTestFinished(() => own.close());
      const command = await own.start('dashboard');
      const page = await open(await command.url);
      // A job that was stopped half way, and one that runs.
      own.write('half.mjs', slowFile('2n ** 31n'));
      const half = own.startUnwatched('run', 'half.mjs', ...QUIET, '--fresh');
      await expect.poll(() => half.all('progress').some(({ done }) => Number(done) > 0)).toBe(true);
      half.kill('SIGTERM');
      expect(await half.ended).toBe(2);
      own.write('long.mjs', slowFile('2n ** 30n'));
      const running = own.startUnwatched('run', 'long.mjs', ...QUIET, '--fresh');
      const row = page.locator('.jobs li', { hasText: 'run long.mjs' });
      await row.waitFor();
      await page.reload();
      const cells = async (): Promise<string[]> => await row.locator(':scope > span').allTextContents();
      // The list is read again every 15 s.
      const slowly = { timeout: patience(60_000), interval: 200 };
      await expect.poll(async () => (await cells())[3], slowly).toMatch(/\d (s|min|h)/);
      // A time of day, behind its date if that is not today.
      await expect.poll(async () => (await cells())[4], slowly).toMatch(/\d\d:\d\d/);
      const work = /^\d+ unfinished, .*\d.* of work, one after the other until .*\d\d:\d\d/;
      await expect.poll(() => page.locator('[data-test=open-work]').textContent(), slowly).toMatch(work);
      expect(page.faults).toEqual([]);
      running.kill('SIGTERM');
      command.kill('SIGINT');
      await Promise.all([running.ended, command.ended]);
    });

    test('opens the kernel in the playground, where it waits for a click, and leads back', async () => {
      const command = await commands.start('run', 'slow.mjs', ...QUIET, '--dashboard', '--fresh');
      const context = await chromium.browser.newContext();
      const page = await open(await command.url, context);
      await page.locator('tbody th a').click();
      const link = page.getByRole('link', { name: 'Open the kernel in the playground' });
      await link.waitFor();
      const job = page.url();
      await link.click();
      await page.waitForSelector('#trust');
      await expect
        .poll(() => page.locator('#editor .cm-line').first().textContent())
        .toBe("import { items, u32, when } from 'millrace';");
      await page.click('#trust');
      await page.locator('#status', { hasText: 'slow is compiled for every target' }).waitFor();
      // Only the browser's own devices: the machine's are busy with the job.
      await page.click('#tab-run');
      await page.locator('#device option').first().waitFor({ state: 'attached' });
      expect(await page.locator('#device option[value^="server"]').count()).toBe(0);
      await page.getByRole('link', { name: 'Dashboard' }).click();
      await page.getByText('Running now').waitFor();
      await page.goto(job);
      await expect.poll(async () => (await factsOf(page)).state).toBe('running');
      // A file with other imports is not one that the playground could open.
      commands.write('two.mjs', `import { cpus } from 'node:os';\nvoid cpus;\n${slowFile('2n ** 41n')}`);
      const other = await commands.start('run', 'two.mjs', ...QUIET, '--dashboard', '--fresh');
      const second = await open(await other.url);
      await second.locator('tbody th a').click();
      await second.getByRole('button', { name: 'Copy the command' }).waitFor();
      expect(await second.getByRole('link', { name: 'playground' }).count()).toBe(0);
      expect([...page.faults, ...second.faults]).toEqual([]);
      for (const one of [command, other]) one.kill('SIGTERM');
      await Promise.all([command.ended, other.ended]);
    });

    test('gives the trace as a file for Perfetto', async () => {
      const command = await commands.start('run', 'slow.mjs', ...QUIET, '--dashboard', '--fresh');
      const page = await open(await command.url);
      await page.locator('tbody th a').click();
      await page.getByRole('img', { name: /^Timeline of \d{2,} chunks/ }).waitFor();
      const trace = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Perfetto file' }).click();
      const file = JSON.parse(readFileSync(await (await trace).path(), 'utf8')) as { traceEvents: unknown[] };
      expect(file.traceEvents.length).toBeGreaterThan(10);
      expect(page.faults).toEqual([]);
      command.kill('SIGTERM');
      await command.ended;
    });
  });
});

/** Run with MILLRACE_SCREENSHOTS=1 to make the pictures of the documents. */
describe.skipIf(!executable || !process.env.MILLRACE_SCREENSHOTS)('pictures', () => {
  test.for(['light', 'dark'] as const)('%s', { timeout: patience(120_000) }, async (colorScheme) => {
    const commands = new Commands();
    const browser = await launchChromium();
    try {
      commands.write('zeros.mjs', zerosFile(18));
      const devices = ['--device', 'wasm,interpreter', '--threads', '1'];
      const command = await commands.start('run', 'zeros.mjs', '--space', '2^29', ...devices, '--dashboard');
      const page = await browser.newPage({ colorScheme, viewport: { width: 1100, height: 1000 } });
      await page.goto(await command.url);
      await page.locator('tbody th a').click();
      await page.waitForTimeout(30_000);
      await page.screenshot({
        path: fileURLToPath(new URL(`../docs/img/dashboard-${colorScheme}.png`, import.meta.url)),
      });
    } finally {
      await browser.close();
      await commands.close();
    }
  });
});
