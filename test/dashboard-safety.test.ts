import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Commands, factsOf, openPage, QUIET, type RunningCommand } from './dashboard.js';
import { executable, useChromium } from './page.js';
import { isShort, patience } from './tier.js';

/**
 * Pages of other sites try to read and control a running job, in the browser in which the user has the dashboard open. One of
 * them is on another port of the same host: such pages are of the same site, so that the browser sends them the cookie.
 */
describe.skipIf(!executable || isShort)('foreign pages', { timeout: patience(120_000) }, () => {
  const commands = new Commands();
  const chromium = useChromium('--host-resolver-rules=MAP evil.example 127.0.0.1');
  let foreign: Server;
  let command: RunningCommand;
  let context: BrowserContext;
  let own: Page;
  let key = '';
  let target = '';
  let port = '';

  beforeAll(async () => {
    // As after DNS rebinding: the name of a foreign site leads to this machine.
    foreign = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>foreign</title>'),
    );
    await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
    command = await commands.start('run', 'slow.mjs', ...QUIET, '--dashboard');
    context = await chromium.browser.newContext();
    context.setDefaultTimeout(patience(60_000));
    own = await openPage(chromium.browser, await command.url, context);
    await own.locator('tbody th a').click();
    await own.locator('[data-fact=state]', { hasText: 'running' }).waitFor();
    key = own.url().split('/').at(-1) ?? '';
    ({ origin: target, port } = new URL(await command.url));
  }, patience(60_000));

  afterAll(async () => {
    foreign?.close();
    await commands.close();
  });

  /** Fails if the job has been paused, stopped or given a priority. */
  async function isUntouched(): Promise<void> {
    expect(command.events.map(({ event }) => event)).not.toContain('paused');
    expect((await factsOf(own)).state).toBe('running');
    expect(await own.getByLabel('Priority').inputValue()).toBe('0');
  }

  const foreignHosts = ['127.0.0.1', 'localhost', 'evil.example'];

  test.for(foreignHosts)('at %s cannot read or control a job by requests', async (host) => {
    const page = await context.newPage();
    const statuses = await answersOf(page, target);
    await page.goto(`http://${host}:${(foreign.address() as AddressInfo).port}/`);
    const outcomes = await page.evaluate(attempts(target, key));
    // A beacon has no answer. Of the others the page does not even learn the status.
    const tried = ['read', 'blind', 'session', 'json', 'text', 'form', 'events', 'script', 'image'];
    expect(outcomes).toEqual({ ...Object.fromEntries(tried.map((name) => [name, 'refused'])), beacon: 'sent' });
    await expect.poll(() => statuses.length).toBeGreaterThan(5);
    expect(statuses.filter((status) => status !== 403 && status !== 401)).toEqual([]);
    await isUntouched();
    await page.close();
  });

  test.for(foreignHosts)('at %s cannot control a job by a form', async (host) => {
    const page = await context.newPage();
    await page.goto(`http://${host}:${(foreign.address() as AddressInfo).port}/`);
    const answer = page.waitForResponse((response) => response.url().includes('/control'));
    // A text form can write JSON: the name and the value are joined by '='.
    await page.evaluate(`(() => {
      const form = document.createElement('form');
      Object.assign(form, { method: 'POST', enctype: 'text/plain', action: '${target}/api/jobs/${key}/control' });
      const input = document.createElement('input');
      Object.assign(input, { name: '{"action":"stop","x":"', value: '"}' });
      form.append(input);
      document.body.append(form);
      form.submit();
    })()`);
    const response = await answer;
    expect(response.status()).toBe(403);
    expect(response.request().postData()).toContain('"action":"stop"');
    await isUntouched();
    await page.close();
  });

  test('cannot show the dashboard in a frame, nor reach its window', async () => {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`);
    const [opened] = await Promise.all([
      context.waitForEvent('page'),
      page.evaluate(`void (window.opened = open('${target}/'))`),
    ]);
    await opened.waitForLoadState();
    // The policy of openers cuts the link between the windows.
    await expect.poll(() => page.evaluate('window.opened.closed')).toBe(true);
    await opened.close();
    await page.evaluate(`(() => {
      const frame = document.createElement('iframe');
      frame.src = '${target}/';
      document.body.append(frame);
    })()`);
    await expect.poll(() => page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
    await isUntouched();
    await page.close();
  });

  test('whose name leads to the server get nothing from it', async () => {
    const page = await context.newPage();
    const answer = await page.goto(`http://evil.example:${port}/`);
    expect(answer?.status()).toBe(421);
    expect(await page.textContent('body')).not.toContain('slow');
    // What such a page could send from its own origin, which is now that of the server's address.
    const { hash } = new URL(await command.url);
    const statuses = await page.evaluate(`(async () => {
      const post = (path, body) => fetch(path, { method: 'POST', body: JSON.stringify(body) });
      const all = [
        fetch('/api/jobs'), fetch('/api/events'), fetch('/dashboard.js'),
        post('/api/session', { token: '${hash.replace('#token=', '')}' }),
        post('/api/jobs/${key}/control', { action: 'stop' }),
      ];
      return (await Promise.all(all)).map(({ status }) => status);
    })()`);
    expect(statuses).toEqual([421, 421, 421, 421, 421]);
    await isUntouched();
    await page.close();
  });

  test('leave the job to its own page, which can pause it', async () => {
    await own.getByRole('button', { name: 'Pause' }).click();
    await expect.poll(async () => (await factsOf(own)).state).toBe('paused');
    await expect.poll(() => command.all('paused')).toMatchObject([{ reason: 'asked' }]);
  });
});

/** The statuses of all answers of a server, also of those that the browser keeps from the page. */
async function answersOf(page: Page, origin: string): Promise<number[]> {
  const session = await page.context().newCDPSession(page);
  const sent = new Set<string>();
  const statuses: number[] = [];
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (request.url.startsWith(origin)) sent.add(requestId);
  });
  session.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => {
    if (sent.has(requestId)) statuses.push(statusCode);
  });
  await session.send('Network.enable');
  return statuses;
}

/** What a page tries, each with the cookie if the browser sends it. Resolves to what became of each. */
const attempts = (target: string, key: string): string => `(async () => {
  const control = '${target}/api/jobs/${key}/control';
  const stop = JSON.stringify({ action: 'stop' });
  const ask = (url, options) =>
    fetch(url, { credentials: 'include', ...options }).then(
      (response) => (response.type === 'opaque' ? 'opaque' : String(response.status)),
      () => 'refused',
    );
  const element = (name, attribute, url) => new Promise((resolve) => {
    const made = document.createElement(name);
    made.onload = () => resolve('loaded');
    made.onerror = () => resolve('refused');
    made[attribute] = url;
    document.body.append(made);
  });
  const events = () => new Promise((resolve) => {
    const source = new EventSource('${target}/api/events', { withCredentials: true });
    source.onopen = () => resolve('open');
    source.onerror = () => { source.close(); resolve('refused'); };
  });
  const post = { method: 'POST', body: stop };
  return {
    read: await ask('${target}/api/jobs'),
    blind: await ask('${target}/api/jobs', { mode: 'no-cors' }),
    session: await ask('${target}/api/session', { method: 'POST', body: '{}' }),
    json: await ask(control, { ...post, headers: { 'content-type': 'application/json' } }),
    text: await ask(control, { ...post, mode: 'no-cors', headers: { 'content-type': 'text/plain' } }),
    form: await ask(control, { ...post, mode: 'no-cors', body: new URLSearchParams({ action: 'stop' }) }),
    beacon: navigator.sendBeacon(control, stop) ? 'sent' : 'refused',
    events: await events(),
    script: await element('script', 'src', '${target}/dashboard.js'),
    image: await element('img', 'src', '${target}/api/jobs'),
  };
})()`;

if (!executable) test('foreign pages', ({ skip }) => skip('chromium is not installed'));
