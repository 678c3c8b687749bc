import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { count } from '../src/console/output/format.js';
import { millrace } from './command-line.js';
import { buildFake, type Fake } from './cuda/fake.js';
import { Commands, cellsOf, factsOf, openPage, QUIET, socketEvents, stripOf, sum } from './dashboard.js';
import { executable, useChromium } from './page.js';
import { isShort, patience } from './tier.js';

/** What can be done with a job, while it runs and afterwards. */
describe.skipIf(!executable || isShort)('the page of a job', { timeout: patience(120_000) }, () => {
  const commands = new Commands();
  const chromium = useChromium();

  afterAll(() => commands.close());

  const hex = (word: number): string => word.toString(16).padStart(8, '0');
  const stored = (page: Page, name: string) => page.locator('.jobs li', { hasText: name }).locator('a');

  test('copies and downloads hits, and has the command that repeats it', async () => {
    const args = ['run', 'slow.mjs', '--space', '5000', '--param', 'step=700', '--device', 'interpreter'];
    const run = commands.startUnwatched(...args);
    expect(await run.ended).toBe(0);
    // The terminal says the same: words in hex as `run` prints them, and not the text of the kernel.
    const [{ id } = { id: '' }] = run.all('job');
    const { stdout } = await millrace(['jobs', 'show', String(id), '--data-dir', commands.data]);
    expect(stdout).toMatch(/^ *700 +n=700 +twice=000002bc00000578$/m);
    expect(stdout).not.toMatch(/import|emit/);
    const command = await commands.start('dashboard');
    const context = await chromium.browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await openPage(chromium.browser, await command.url, context);
    await stored(page, 'slow.mjs').click();
    const copied = (): Promise<string> => page.evaluate('navigator.clipboard.readText()');
    await page.getByRole('button', { name: 'Copy hit 700', exact: true }).click();
    await expect.poll(copied).toBe('700\t700\t000002bc00000578');
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'JSON' }).click();
    const hits = JSON.parse(readFileSync(await (await download).path(), 'utf8')) as unknown[];
    expect(hits).toEqual(
      [0, 700, 1400, 2100, 2800, 3500, 4200, 4900].map((n) => ({
        ...{ index: n, n: String(n), twice: hex(n) + hex(2 * n) },
      })),
    );
    await expect.poll(() => page.locator('section[aria-labelledby=repeat]').textContent()).toContain('step=700');
    await page.getByRole('button', { name: 'Copy the command' }).click();
    await expect.poll(copied).toMatch(/^millrace run /);
    const [, ...again] = (await copied()).split(' ');
    const own = ['--data-dir', join(commands.folder, 'again'), '--json'];
    const repeated = await millrace([...again, ...own], { cwd: commands.folder });
    const found = repeated.events.filter(({ event }) => event === 'hit');
    expect(found).toHaveLength(8);
    expect(found).toEqual(run.all('hit'));
    expect(page.faults).toEqual([]);
    command.kill('SIGINT');
    await command.ended;
  });

  test('copies hits where the browser denies the clipboard, and says so where nothing can be copied', async () => {
    const run = commands.startUnwatched('run', 'slow.mjs', '--space', '5000', '--param', 'step=900', ...QUIET);
    expect(await run.ended).toBe(0);
    const command = await commands.start('dashboard');
    const context = await chromium.browser.newContext();
    const page = await openPage(chromium.browser, await command.url, context);
    const session = await context.newCDPSession(page);
    const { browserContextId = '' } = (await session.send('Target.getTargetInfo')).targetInfo;
    const { origin } = new URL(page.url());
    const permission = { name: 'clipboard-write' };
    await session.send('Browser.setPermission', { permission, setting: 'denied', browserContextId, origin });
    await stored(page, String(run.all('job')[0]?.id)).click();
    const written = await page.evaluate("navigator.clipboard.writeText('x').then(() => 'written', ({ name }) => name)");
    expect(written).toBe('NotAllowedError');
    const button = page.getByRole('button', { name: 'Copy hit 900', exact: true });
    await button.waitFor();
    // What the button said, however short.
    await page.evaluate(`(() => {
      window.said = [];
      const button = document.querySelector('[aria-label="Copy hit 900"]');
      new MutationObserver(() => window.said.push(button.textContent))
        .observe(button, { characterData: true, childList: true, subtree: true });
    })()`);
    const said = () => page.evaluate('window.said');
    await button.click();
    await expect.poll(said).toContain('copied');
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Copy hit 900');
    await page.evaluate('document.execCommand = () => false');
    await button.click();
    await expect.poll(said).toContain('not copied');
    // A paste needs no permission.
    await page.getByLabel('Search in hits').focus();
    await page.keyboard.press('Control+V');
    await expect.poll(() => page.getByLabel('Search in hits').inputValue()).toMatch(/^900\s900\s0000038400000708$/);
    expect(page.faults).toEqual([]);
    command.kill('SIGINT');
    await command.ended;
  });

  test('sets the priority of a job that was stopped, and cancels it', async () => {
    const run = commands.startUnwatched('run', 'slow.mjs', ...QUIET, '--fresh');
    await expect.poll(() => run.all('progress').some(({ done }) => Number(done) > 0)).toBe(true);
    run.kill('SIGTERM');
    expect(await run.ended).toBe(2);
    const [{ id } = { id: '' }] = run.all('job');
    const command = await commands.start('dashboard');
    const page = await openPage(chromium.browser, await command.url);
    await stored(page, String(id)).click();
    const listed = async () =>
      (await millrace(['jobs', 'list', '--json', '--data-dir', commands.data])).events.find((one) => one.id === id);
    await page.getByLabel('Priority').fill('-3');
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await factsOf(page)).priority).toBe('-3');
    await expect.poll(listed, { interval: 500 }).toMatchObject({ priority: -3 });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(async () => (await factsOf(page)).state).toMatch(/^cancelled/);
    await expect.poll(listed, { interval: 500 }).toMatchObject({ state: 'cancelled' });
    await expect.poll(() => page.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    expect(page.faults).toEqual([]);
    command.kill('SIGINT');
    await command.ended;
  });

  test('tells that a device was lost, and which indices others did again', async ({ skip }) => {
    const before = { ...process.env };
    const built = await buildFake();
    onTestFinished(() => {
      for (const name of ['FAKE_CUDA', ...Object.keys((built as Fake).environment ?? {})]) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
      return (built as Fake).remove?.();
    });
    if ('reason' in built) return skip(built.reason);
    process.env.FAKE_CUDA = 'die_at=30,revives=0';
    const devices = ['--device', 'cuda:0,interpreter', '--param', 'step=1000000007'];
    const command = await commands.start('run', 'slow.mjs', ...devices, '--fresh', '--dashboard');
    const page = await openPage(chromium.browser, await command.url);
    await page.locator('tbody th a').click();
    // The socket is there when the strip is.
    await page.locator('[data-bin]').first().waitFor();
    const socket = await socketEvents(commands.data, command.pid);
    await expect.poll(() => command.all('lost')).toHaveLength(1);
    const [{ message } = { message: '' }] = command.all('lost');
    const messages = page.locator('section[aria-labelledby=messages] li');
    // Once, although a warning says the same.
    await messages.filter({ hasText: `cuda:0 is no longer used: ${String(message)}` }).waitFor();
    await page.locator('tr[data-device="cuda:0"]', { hasText: 'no longer used' }).waitFor();
    const isSame = async (): Promise<boolean> => {
      const { redone } = await stripOf(page);
      const events = socket.events.filter(({ event }) => event === 'coverage');
      return sum(redone) > 0n && events.some((one) => (one.redone as unknown[]).map(String).join() === redone.join());
    };
    await expect.poll(isSame).toBe(true);
    expect(page.faults).toEqual([]);
    socket.end();
    command.kill('SIGTERM');
    await command.ended;
  });

  test('of several processes has their sums in the overview', async () => {
    const own = new Commands();
    onTestFinished(() => own.close());
    const command = await own.start('dashboard');
    own.write('other.mjs', readFileSync(join(own.folder, 'slow.mjs'), 'utf8').replace('2n ** 40n', '2n ** 20n'));
    const running = ['slow.mjs', 'other.mjs'].map((file) => own.startUnwatched('run', file, ...QUIET));
    const page = await openPage(chromium.browser, await command.url);
    const keys = () => page.locator('tr[data-key]').evaluateAll((rows) => rows.map((row) => row.dataset.key));
    await expect.poll(keys).toHaveLength(2);
    const title = page.locator('section[aria-labelledby=running] .title');
    const isSum = async (): Promise<boolean> => {
      const [text, rows] = [
        await title.textContent(),
        await Promise.all((await keys()).map((key) => cellsOf(page, `tr[data-key="${key}"]`))),
      ];
      const hits = rows.reduce((all, { hits = '' }) => all + Number(hits.replaceAll(',', '')), 0);
      return hits > 0 && text?.includes(`2 processes, ${count(hits)} hits, `) === true && /ends .*\d/.test(text);
    };
    await expect.poll(isSum).toBe(true);
    expect(page.faults).toEqual([]);
    for (const one of [...running, command]) one.kill('SIGTERM');
    await Promise.all([...running, command].map(({ ended }) => ended));
  });
});

if (!executable) test('the page of a job', ({ skip }) => skip('chromium is not installed'));
