import { readFileSync } from 'node:fs';
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { count } from '../src/console/output/format.js';
import { between } from '../src/engine/index.js';
import { openStore } from '../src/store/index.js';
import { Commands, openPage, type RunningCommand, stripOf, sum, type WatchedPage } from './dashboard.js';
import { executable, useChromium } from './page.js';
import { tasksOf, traceTasks } from './tasks.js';
import { isShort, patience } from './tier.js';

const HITS = 1_000_000;

/** Writes a finished job into the ledger, all of whose indices are hits: a run would take much longer than its page. */
async function storeHits(directory: string): Promise<void> {
  const store = await openStore(directory);
  const job = await store.open<{ readonly index: bigint; readonly n: number }>({
    ...{ command: 'run', name: 'run all.mjs', params: {}, kernel: 'all', space: between(0n, BigInt(HITS)) },
    call: { args: ['run', 'all.mjs'], folder: '', hit: [{ name: 'n', type: 'u32', array: false }] },
  });
  const STEP = 20_000;
  for (let at = 0; at < HITS; at += STEP) {
    const hits = Array.from({ length: STEP }, (_, n) => ({ index: BigInt(at + n), n: at + n }));
    await job.record({ start: BigInt(at), length: BigInt(STEP) }, hits);
  }
  await job.finish('complete');
  await store.close();
}

/** A stored job of a million hits: what the page shows of it, and that its memory does not grow. */
describe.skipIf(!executable || isShort)('a million hits', { timeout: patience(400_000) }, () => {
  const commands = new Commands();
  const chromium = useChromium();
  let command: RunningCommand;

  beforeAll(async () => {
    await storeHits(commands.data);
    command = await commands.start('dashboard');
  }, patience(400_000)); // half a minute of processor time

  afterAll(() => commands.close());

  const list = (page: Page) => page.locator('section[aria-label=Hits]');
  const found = (page: Page) => page.locator('[data-test=hits]');

  async function openJob(): Promise<WatchedPage> {
    const page = await openPage(chromium.browser, await command.url);
    const row = page.locator('.jobs li', { hasText: 'run all.mjs' });
    await row.locator('a').click();
    await expect.poll(() => found(page).textContent()).toBe(count(HITS));
    return page;
  }

  /** Scrolls to a share of the list, and waits for the rows there. */
  async function scrollTo(page: Page, share: number): Promise<void> {
    await list(page).evaluate((box: { scrollTop: number; scrollHeight: number }, at) => {
      box.scrollTop = box.scrollHeight * at;
    }, share);
    const near = async (): Promise<number> => {
      const texts = await list(page).locator('li > :first-child').allTextContents();
      return Math.min(...texts.map((text) => Math.abs(Number(text.replaceAll(',', '')) - share * HITS)));
    };
    // A step of the scroll bar is many rows.
    await expect.poll(near).toBeLessThan(200);
  }

  test('are shown in at most 100 rows, searched and downloaded, in tasks of at most 50 ms', async () => {
    await traceTasks(chromium.browser);
    const page = await openJob();
    await expect.poll(async () => sum((await stripOf(page)).done)).toBe(BigInt(HITS));
    const firsts: string[] = [];
    for (const at of [0, 0.25, 0.5, 0.75, 1]) {
      await scrollTo(page, at);
      expect(await page.locator('li').count()).toBeLessThanOrEqual(100);
      firsts.push((await list(page).locator('li > :first-child').first().textContent()) ?? '');
    }
    expect(new Set(firsts).size).toBe(5);
    const matching = Array.from({ length: HITS }, (_, n) => n).filter((n) => String(n).includes('77777')).length;
    await page.getByLabel('Search in hits').fill('77777');
    await expect.poll(() => found(page).textContent()).toBe(String(matching));
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'CSV' }).click();
    const csv = readFileSync(await (await download).path(), 'utf8');
    expect(csv).toMatch(/^index,n\r\n77777,77777\r\n/);
    expect(csv.trimEnd().split('\r\n')).toHaveLength(matching + 1);
    const tasks = await tasksOf(chromium.browser, page.url());
    expect(tasks.length).toBeGreaterThan(100);
    expect(tasks.filter((ms) => ms > patience(50))).toEqual([]);
    expect(page.faults).toEqual([]);
    await page.close();
  });

  test('leave the memory of the page as it was', async () => {
    const page = await openJob();
    const session = await page.context().newCDPSession(page);
    const scrolls = async (): Promise<void> => {
      for (let turn = 0; turn < 8; turn++) await scrollTo(page, ((turn * 3) % 8) / 8);
    };
    await scrolls();
    const before = await memoryOf(session);
    for (let round = 0; round < 3; round++) await scrolls();
    // What is no longer used may take more than one collection; what is kept stays.
    await expect.poll(async () => (await memoryOf(session)).nodes, { interval: 200 }).toBeLessThan(before.nodes + 200);
    await expect.poll(async () => (await memoryOf(session)).heap, { interval: 200 }).toBeLessThan(before.heap + 1e6);
    await page.close();
  });
});

async function memoryOf(session: CDPSession): Promise<{ heap: number; nodes: number }> {
  await session.send('Performance.enable');
  await session.send('HeapProfiler.enable');
  await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const value = (name: string): number => metrics.find((one) => one.name === name)?.value ?? Number.NaN;
  return { heap: value('JSHeapUsedSize'), nodes: value('Nodes') };
}

if (!executable) test('a million hits', ({ skip }) => skip('chromium is not installed'));
