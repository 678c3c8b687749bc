import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { count, duration, percent, rate } from '../src/console/output/format.js';
import { millrace } from './command-line.js';
import { Commands, cellsOf, factsOf, QUIET, slowFile, socketEvents, stripOf } from './dashboard.js';
import type { Event } from './events.js';
import { executable, launchChromium } from './page.js';
import { byTier, isShort, patience } from './tier.js';
import { zerosFile } from './zeros.js';

/** The dashboard in headless Chromium. What it shows is compared with the events of the command. */
describe.skipIf(!executable)('the dashboard', { timeout: patience(120_000) }, () => {
  const commands = new Commands();
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchChromium();
  }, patience(60_000));

  afterAll(async () => {
    await browser?.close();
    await commands.close();
  });

  /** Opens a page that fails the test on errors in it, and on requests to other hosts. */
  async function open(url: string, context?: BrowserContext): Promise<Page & { readonly faults: string[] }> {
    const page = await (context ?? (await browser.newContext())).newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('request', (request) => {
      if (new URL(request.url()).host !== new URL(url).host && !request.url().startsWith('data:'))
        faults.push(request.url());
    });
    await page.goto(url);
    return Object.assign(page, { faults });
  }

  interface Progress extends Event {
    readonly perSecond: number;
    readonly fraction: number;
    readonly etaSeconds: number;
    readonly hits: number;
    readonly done: number;
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
        return seen.some(({ done, onDevice }) => {
          const texts = (list: unknown) => (list as unknown[]).map(String);
          return texts(done).join() === strip.done.join() && texts(onDevice).join() === strip.device.join();
        });
      };
      await expect.poll(isSame).toBe(true);
      const last = socket.events.filter(({ event }) => event === 'coverage').at(-1) as unknown as {
        bins: number;
        done: string[];
      };
      const sum = last.done.reduce((all, one) => all + BigInt(one), 0n);
      expect(last.bins).toBe(240);
      expect(sum).toBeGreaterThan(0n);
      const facts = await factsOf(page);
      expect(facts.state).toBe('running');
      expect(facts.indices).toMatch(/^[\d,]+ to [\d,]+$/);
      expect(facts['restore point']).toMatch(/^[\d,]+, /);
      expect(page.faults).toEqual([]);
      socket.end();
      command.kill('SIGTERM');
      await command.ended;
    });

    test('controls a job: by mouse, by keyboard, from another tab, and `jobs pause` at once', async () => {
      const command = await commands.start('run', 'slow.mjs', ...QUIET, '--dashboard', '--fresh');
      const context = await browser.newContext();
      const page = await open(await command.url, context);
      await page.locator('tbody th a').click();
      const key = page.url().split('/').at(-1) ?? '';
      const second = await open(page.url(), context);
      const state = (one: Page) => one.locator('[data-fact=state]');
      await page.getByRole('button', { name: 'Pause' }).click();
      await expect.poll(() => state(second).textContent()).toBe('paused');
      expect(command.all('paused')).toMatchObject([{ reason: 'asked' }]);
      await second.getByRole('button', { name: 'Resume' }).focus();
      await second.keyboard.press('Enter');
      await expect.poll(() => state(page).textContent()).toBe('running');
      await page.getByLabel('Priority').fill('7');
      await page.keyboard.press('Enter');
      await page.getByText('priority 7').waitFor();
      const data = ['--data-dir', commands.data];
      const { events } = await millrace(['jobs', 'list', '--json', ...data]);
      expect(events.find(({ id }) => id === key)).toMatchObject({ priority: 7, state: 'running' });
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
      await page.getByRole('button', { name: 'Stop' }).click();
      expect(await running.ended).toBe(2);
      await expect.poll(async () => (await factsOf(page)).state).toBe('open: stopped');
      expect(page.faults).toEqual([]);
      command.kill('SIGINT');
      await command.ended;
    });

    test('shows `encode`, which has no status screen', async () => {
      // 2^18 samples of 256 numbers, on the interpreter: longer than the test.
      commands.write('samples.f64', Buffer.alloc(2 ** 18 * 256 * 8, 1));
      const command = await commands.start(
        ...['encode', 'samples.f64', '--length', '256', '--batch-size', '64', '--device', 'interpreter', '--dashboard'],
      );
      const page = await open(await command.url);
      await expect.poll(async () => (await cellsOf(page, 'tr[data-key]')).rate).toMatch(/^[\d.]+ k?vec\/s$/);
      expect(page.faults).toEqual([]);
      command.kill('SIGTERM');
      await command.ended;
    });

    test('needs the token: without it nothing is shown', async () => {
      const command = await commands.start('dashboard');
      const url = await command.url;
      for (const wrong of [url.replace(/#.*/, ''), url.replace(/token=./, 'token=')]) {
        const page = await (await browser.newContext()).newPage();
        const statuses: number[] = [];
        page.on('response', (response) => response.url().includes('/api/') && statuses.push(response.status()));
        await page.goto(wrong);
        await page.getByText('not allowed').waitFor();
        expect(new Set(statuses)).toEqual(new Set([401]));
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

    /** Of which all are hits: a million in the long tier. */
    const INDICES = byTier(17, 17, 20);

    test(`of a data directory shows history, and 2^${INDICES} hits in at most 100 rows`, async () => {
      const total = 2 ** INDICES;
      const data = ['--data-dir', commands.data];
      const run = await millrace(['run', 'all.mjs', '--space', `2^${INDICES}`, '--device', 'wasm', ...data], {
        cwd: commands.folder,
      });
      expect(run.status).toBe(0);
      const command = await commands.start('dashboard');
      const page = await open(await command.url);
      const row = page.locator('.jobs li', { hasText: 'run all.mjs' });
      expect(await row.textContent()).toContain(`complete100 %${count(total)}`);
      await row.locator('a').click();
      await expect.poll(() => page.locator('[data-test=hits]').textContent()).toBe(count(total));
      expect((await stripOf(page)).done.reduce((sum, one) => sum + Number(one), 0)).toBe(total);
      const list = page.locator('section[aria-label=Hits]');
      const firsts: string[] = [];
      for (const at of [0, 0.25, 0.5, 0.75, 1]) {
        await list.evaluate((box: { scrollTop: number; scrollHeight: number }, share) => {
          box.scrollTop = box.scrollHeight * share;
        }, at);
        const expected = Math.round(at * total);
        const near = async (): Promise<number> => {
          const texts = await list.locator('li .mono:first-child').allTextContents();
          const numbers = texts.map((text) => Number(text.replaceAll(',', '')));
          return Math.min(...numbers.map((one) => Math.abs(one - expected)));
        };
        await expect.poll(near).toBeLessThan(60);
        expect(await page.locator('li').count()).toBeLessThanOrEqual(100);
        firsts.push((await list.locator('li .mono').first().textContent()) ?? '');
      }
      expect(new Set(firsts).size).toBe(5);
      const matching = Array.from({ length: total }, (_, n) => n).filter((n) => String(n).includes('77777')).length;
      await page.getByLabel('Search in hits').fill('77777');
      await expect.poll(() => page.locator('[data-test=hits]').textContent()).toBe(String(matching));
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'CSV' }).click();
      const csv = readFileSync(await (await download).path(), 'utf8');
      expect(csv).toMatch(/^index,n\r\n77777,77777\r\n/);
      expect(csv.trimEnd().split('\r\n')).toHaveLength(matching + 1);
      expect(page.faults).toEqual([]);
      command.kill('SIGINT');
      await command.ended;
    });

    test('fits 320 pixels, has names and roles, and is light or dark', async () => {
      const command = await commands.start('run', 'slow.mjs', ...QUIET, '--dashboard', '--fresh');
      const context = await browser.newContext({ viewport: { width: 320, height: 640 }, colorScheme: 'dark' });
      const page = await open(await command.url, context);
      const dark = await page.evaluate('getComputedStyle(document.body).backgroundColor');
      await page.emulateMedia({ colorScheme: 'light' });
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).not.toBe(dark);
      await page.locator('tbody th a').waitFor();
      expect(await page.locator('main').ariaSnapshot()).toMatch(
        /heading "Running now" \[level=2\][\s\S]*table[\s\S]*columnheader "rate"[\s\S]*rowheader "slow run/,
      );
      // By keyboard alone: the first link is the title, the second the job.
      for (let presses = 0; presses < 2; presses++) await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('img', { name: /^Coverage: / }).waitFor();
      await page.getByRole('img', { name: /^Rate over time/ }).waitFor();
      await page.getByRole('img', { name: /^Timeline of/ }).waitFor();
      for (const name of ['Pause', 'Stop', 'Copy the command']) await page.getByRole('button', { name }).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
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
