// Measures what the dashboard costs, in headless Chromium: node scripts/dashboard-cost.mjs [--hits 1000000] [--seconds 20] [--load]
//
//   load     milliseconds from the navigation to the browser's load event, and until the page shows the job, and what the browser
//            transferred; then again without the browser's cache, where its process for the page has started already; beside
//            all, what a page that is one paragraph takes, measured in turns; `--load` measures nothing else
//   server   processor time of the server for each second that one page is open
//   page     processor time of the page's main thread for each second
//
// Processor times are those of the scheduler, so that other load on the machine does not count; the load times do contain it,
// so that the least of ten is given too.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { ensureBuilt, ensureInstalled, orExit, root } from './prepare.mjs';

orExit(() => {
  ensureInstalled();
  ensureBuilt();
});

const { values } = parseArgs({
  options: {
    hits: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '20' },
    load: { type: 'boolean', default: false },
  },
});
const [hits, seconds] = [Number(values.hits), Number(values.seconds)];
const main = join(root, 'dist', 'cli', 'main.js');
const folder = mkdtempSync(join(tmpdir(), 'millrace-dashboard-cost-'));
const data = ['--data-dir', join(folder, 'data')];
/** @type {import('node:child_process').ChildProcess[]} */
const children = [];

const file = (/** @type {string} */ name, /** @type {string} */ test) => `import { items, u32, when } from 'millrace';
const kernel = items('${name}', { hit: { n: u32 } }, ({ index, emit }) => ${test});
export default { kernel, space: 2n ** 40n };
`;
writeFileSync(join(folder, 'all.mjs'), file('all', 'emit({ n: index.lo })'));
writeFileSync(join(folder, 'slow.mjs'), file('slow', 'when(index.lo.rem(64).eq(0), () => emit({ n: index.lo }))'));

/** @param {import('node:child_process').ChildProcess} child @returns {Promise<void>} */
const ended = (child) => new Promise((resolve) => child.once('exit', () => resolve()));

/** The least that a browser shows: what it takes is the browser's own time. */
const PARAGRAPH = '<!doctype html><title>x</title><link rel="icon" href="data:,"><p>x</p>';

const wait = (/** @type {number} */ time) => new Promise((resolve) => setTimeout(resolve, time));
const ms = (/** @type {number | undefined} */ time = 0) => `${time.toFixed(1)} ms`;
const say = (/** @type {string} */ text) => process.stdout.write(`${text}\n`);

try {
  await measure();
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

async function measure() {
  if (!values.load) {
    say(`a job of ${hits} hits is made`);
    await ended(start('run', 'all.mjs', '--space', String(hits), '--device', 'wasm'));
  }
  const running = start('run', 'slow.mjs', '--device', 'interpreter', '--max-cpu', '15', '--dashboard');
  const server = start('dashboard');
  const [all, own] = [await urlOf(server), await urlOf(running)];
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
  const browser = await chromium.launch({ executablePath, args: ['--headless', '--no-sandbox'] });
  try {
    await load(browser, all);
    if (values.load) return;
    const page = await (await browser.newContext()).newPage();
    await page.goto(all);
    await page.locator('tr[data-key]').waitFor();
    await cost(page, server.pid, 'the overview');
    await page.locator('tr[data-key] a').click();
    await cost(page, server.pid, 'a running job of another process');
    await page.locator('a', { hasText: 'All jobs' }).click();
    await page.locator('.jobs li', { hasText: 'all.mjs' }).locator('a').click();
    await page.locator('section[aria-label=Hits] li').first().waitFor();
    await cost(page, server.pid, `a stored job of ${hits} hits`);
    await page.close();
    const before = await processorMs(running.pid);
    await wait(seconds * 1000);
    const alone = ((await processorMs(running.pid)) - before) / seconds;
    const live = await (await browser.newContext()).newPage();
    await live.goto(own);
    await live.locator('tbody th a').click();
    await cost(live, running.pid, 'a running job with --dashboard', alone);
  } finally {
    await browser.close();
  }
}

/** @param {import('playwright-core').Browser} browser @param {string} url */
async function load(browser, url) {
  const server = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(PARAGRAPH));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const pages = [
    { name: 'load', address: url, selector: 'tr[data-key] td' },
    { name: 'one paragraph', address: `http://127.0.0.1:${port}/`, selector: 'p' },
  ].map((page) => {
    const none = () => /** @type {number[]} */ ([]);
    return { ...page, loaded: none(), first: none(), again: none(), bytes: 0 };
  });
  for (let turn = 0; turn < 10; turn++) {
    for (const one of pages) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.addInitScript(`new MutationObserver((_, observer) => {
        if (!document.querySelector('${one.selector}')) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => { window.shownMs = performance.now(); }));
      }).observe(document, { childList: true, subtree: true })`);
      await page.goto(one.address);
      one.first.push(await shown(page));
      one.loaded.push(Number(await page.evaluate(`performance.getEntriesByType('navigation')[0].loadEventEnd`)));
      const sizes = await page.evaluate(
        `[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')].map((one) => one.transferSize)`,
      );
      one.bytes = /** @type {number[]} */ (sizes).reduce((sum, size) => sum + size, 0);
      const session = await context.newCDPSession(page);
      await session.send('Network.setCacheDisabled', { cacheDisabled: true });
      await page.reload();
      one.again.push(await shown(page));
      await context.close();
    }
  }
  server.close();
  for (const { name, loaded, first, again, bytes } of pages) {
    say(`${name}: load event ${spread(loaded)}; shown ${spread(first)}; ${(bytes / 1000).toFixed(0)} kB transferred`);
    say(`  in a renderer that runs: shown ${spread(again)}`);
  }
}

function spread(/** @type {number[]} */ times) {
  times.sort((a, b) => a - b);
  return `median ${ms(times[times.length >> 1])}, least ${ms(times[0])}`;
}

/** Returns when the page showed the job. Not by `waitForFunction`, which the page's policy refuses. */
async function shown(/** @type {import('playwright-core').Page} */ page) {
  for (;;) {
    const time = Number(await page.evaluate('window.shownMs ?? 0'));
    if (time > 0) return time;
    await wait(20);
  }
}

/**
 * @param {import('playwright-core').Page} page @param {number | undefined} pid @param {string} what
 * @param {number} alone Milliseconds a second that the process takes without a page.
 */
async function cost(page, pid, what, alone = 0) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const taskMs = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0);
  };
  await wait(3000); // what opening the page costs is not part of it
  const [server, own] = [await processorMs(pid), await taskMs()];
  await wait(seconds * 1000);
  const perSecond = ((await processorMs(pid)) - server) / seconds;
  const page_ = ((await taskMs()) - own) / seconds;
  const more = alone === 0 ? '' : ` (${ms(perSecond)} less ${ms(alone)} without a page)`;
  say(`${what}: server ${ms(perSecond - alone)} a second${more}, page ${ms(page_)} a second`);
  await session.detach();
}

/** Processor time of all threads of a process. @param {number | undefined} pid */
async function processorMs(pid) {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce((sum, task) => {
    const [ns = '0'] = readFileSync(join(tasks, task, 'schedstat'), 'utf8').split(' ');
    return sum + Number(ns) / 1e6;
  }, 0);
}

/** @param {...string} args */
function start(...args) {
  const child = spawn(process.execPath, [main, ...args, ...data], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  return child;
}

/** @param {import('node:child_process').ChildProcess} child @returns {Promise<string>} */
function urlOf(child) {
  let text = '';
  return new Promise((resolve) => {
    child.stderr?.setEncoding('utf8').on('data', (part) => {
      text += part;
      const [found] = /http:\/\/\S+#token=[\w-]+/.exec(text) ?? [];
      if (found) resolve(found);
    });
  });
}
