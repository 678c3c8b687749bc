import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ownTls } from '../src/fleet/access/index.js';
import { millrace } from './command-line.js';
import { factsOf, numberIn } from './dashboard.js';
import { BrowserFleet, expectConnection, expectPhase, openJoin, press } from './fleet/browser-fleet.js';
import { expectedHits, saying, TestFleet, whyNoFleet } from './fleet/fleet.js';
import { executable, launchChromium } from './page.js';
import { isShort, patience } from './tier.js';
import { expectContrast, expectFits, expectNames, tabTo } from './usable.js';

/** Workers in headless Chromium, connected by WebSocket to a real nats-server. */
const absent = whyNoFleet();

describe.skipIf(!executable || absent !== undefined)(
  'a page that works for a fleet',
  { timeout: patience(180_000) },
  () => {
    let browser: Browser;

    beforeAll(async () => {
      browser = await launchChromium();
    }, patience(60_000));

    afterAll(() => browser?.close());

    const startFleet = async (): Promise<BrowserFleet> => {
      const fleet = await BrowserFleet.start();
      onTestFinished(() => fleet.close());
      return fleet;
    };

    test('says what it will do, starts when it is told to, and finds hits and nonces that the coordinator verifies', async () => {
      const fleet = await startFleet();
      const link = await fleet.link('anna');
      const page = await openJoin(browser, link);
      onTestFinished(() => page.close());
      // The secret is neither in the shown address, nor in any that was asked for.
      const secret = link.slice(link.indexOf('#') + 1);
      expect(page.url()).toBe(link.slice(0, link.indexOf('#')));
      expect(page.addresses.filter((address) => address.includes(secret))).toEqual([]);
      const hosts = new Set(page.addresses.map((address) => new URL(address).host));
      expect(hosts).toEqual(new Set([new URL(link).host, new URL(fleet.websocket).host]));
      const text = await page.locator('section[aria-label=Work]').innerText();
      expect(text).toContain('A test of "pages"');
      expect(text).toContain(`the fleet ${fleet.fleet.host.invite.fleet} at ${new URL(fleet.websocket).host}, as anna`);
      expect(text).toMatch(/kernel .*header \(block\), .*gaps between primes \(gaps\), .*\(uhash\)\./);
      expect(fleet.workersOf('anna')).toEqual([]);

      await press(page, 'Start');
      const [space, limit] = [1 << 13, 1 << 24];
      expect(await fleet.run(space, limit, 10)).toEqual(expectedHits(space, limit, 10));
      await expect.poll(async () => numberIn((await factsOf(page)).indices)).toBe(BigInt(space));
      await expect
        .poll(async () => numberIn((await factsOf(page)).hits))
        .toBe(BigInt(expectedHits(space, limit, 10).length));

      const { folder, env } = fleet.fleet;
      const blocks = fileURLToPath(new URL('data/block/synthetic/easy00', import.meta.url));
      const solve = ['block', 'solve', `${blocks}.in`, 'nonces.out', '--fleet'];
      const solved = await millrace(solve, { cwd: folder, env });
      expect(solved, solved.stderr).toMatchObject({ status: 0 });
      expect(readFileSync(join(folder, 'nonces.out'), 'latin1')).toBe(readFileSync(`${blocks}.out`, 'latin1'));
      expect(page.faults).toEqual([]);
    });

    describe.skipIf(isShort)('in all respects', () => {
      const [SPACE, LIMIT, ROUNDS] = [2_000_000, 40_000, 1000];

      test('two tabs, one of which is reloaded, and a native worker end with the answers of one machine', async () => {
        const fleet = await startFleet();
        const context = await browser.newContext();
        onTestFinished(() => context.close());
        const link = await fleet.link('anna');
        const first = await openJoin(context, link);
        const second = await openJoin(context, await fleet.link('ben', false));
        await fleet.fleet.join('native', 'wasm');
        for (const page of [first, second]) await press(page, 'Start');
        // Otherwise the native worker may have done everything before the pages are asked.
        const joined = () => ['anna', 'ben'].map((user) => fleet.workersOf(user).length);
        await expect.poll(joined, { timeout: patience(60_000) }).toEqual([1, 1]);
        const hits = fleet.run(SPACE, LIMIT, ROUNDS);
        hits.catch(() => undefined); // awaited below
        for (const page of [first, second])
          await expect
            .poll(async () => numberIn((await factsOf(page)).ranges), { timeout: patience(60_000) })
            .toBeGreaterThan(0n);
        const before = await factsOf(first);
        const [worker] = fleet.workersOf('anna');
        await first.reload();
        // It goes on by itself, as another worker of the same tab, and keeps what it has done.
        await expectPhase(first, 'Working');
        await expect
          .poll(() => fleet.workersOf('anna').filter((id) => id !== worker).length, { timeout: patience(30_000) })
          .toBe(1);
        const [name] = (worker ?? '').split('-');
        expect(fleet.workersOf('anna').every((id) => id.startsWith(`${name}-`))).toBe(true);
        expect(await hits).toEqual(expectedHits(SPACE, LIMIT, ROUNDS));
        await expect
          .poll(async () => numberIn((await factsOf(first)).indices))
          .toBeGreaterThanOrEqual(numberIn(before.indices));
        // Another tab with the same link is another worker.
        const third = await openJoin(context, link);
        await press(third, 'Start');
        const nameOf = (id: string): string => id.split('-')[0] ?? '';
        await expect
          .poll(() => new Set(fleet.workersOf('anna').map(nameOf)).size, { timeout: patience(30_000) })
          .toBe(2);
        for (const page of [first, second, third]) expect(page.faults).toEqual([]);
      });

      test('WebGPU finds the same', async () => {
        const fleet = await startFleet();
        const page = await openJoin(browser, await fleet.link('anna'));
        onTestFinished(() => page.close());
        await page.getByRole('combobox', { name: 'Device' }).selectOption('webgpu:0');
        await press(page, 'Start');
        const [space, limit] = [100_000, 1 << 22];
        expect(await fleet.run(space, limit, 100)).toEqual(expectedHits(space, limit, 100));
        await expect.poll(async () => (await factsOf(page)).device).toMatch(/swiftshader/i);
        expect(page.faults).toEqual([]);
      });

      test('a server that is killed is told, and the work goes on with the next one', async () => {
        const fleet = await startFleet();
        const page = await openJoin(browser, await fleet.link('anna'));
        onTestFinished(() => page.close());
        await press(page, 'Start');
        const hits = fleet.run(SPACE, LIMIT, ROUNDS);
        hits.catch(() => undefined); // awaited below
        await expect
          .poll(async () => numberIn((await factsOf(page)).ranges), { timeout: patience(60_000) })
          .toBeGreaterThan(0n);
        const lost = page.locator('.connection.lost').waitFor({ timeout: patience(30_000) });
        process.kill(fleet.serverPid, 'SIGKILL');
        await lost;
        await expectConnection(page, 'connected');
        expect(await hits).toEqual(expectedHits(SPACE, LIMIT, ROUNDS));
        expect(page.faults).toEqual([]);
      });

      test('a fleet that is served again has the same addresses: the open page and the link still work', async () => {
        const fleet = new TestFleet();
        onTestFinished(() => fleet.close());
        const serve = async () => {
          const served = fleet.start('fleet', 'serve', '--browsers', '--about', 'A test');
          await saying(served, /on this machine/);
          return served;
        };
        for (const [args, message] of [
          [['--about', 'x'], /--about needs --browsers/],
          [['--browsers', '0.0.0.0:0'], /--browsers 0.0.0.0:0, which other machines can reach, needs --listen/],
          [['--listen', '127.0.0.1:0', '--browsers'], /--browsers with --listen needs --tls-cert/],
        ] as const)
          expect(await fleet.start('fleet', 'serve', ...args).ended).toMatchObject({
            status: 64,
            stderr: expect.stringMatching(message),
          });
        const first = await serve();
        const invited = await fleet.start('fleet', 'invite', '--browser', '--name', 'anna', '--trusted').ended;
        const link = invited.stdout.trim();
        expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#millrace-fleet-2-[\w-]+$/);
        const page = await openJoin(browser, link);
        onTestFinished(() => page.close());
        await press(page, 'Start');
        first.child.kill('SIGTERM');
        const told = await first.ended;
        await expectConnection(page, 'no connection; trying again');
        await serve();
        await expectConnection(page, 'connected');
        const run = await fleet.run(100_000, 100_000).ended;
        const lines = run.stdout
          .trim()
          .split('\n')
          .map((line) => line.trim().split(/\s+/).map(Number));
        expect(lines).toEqual(expectedHits(100_000, 100_000).map(({ index, last }) => [Number(index), last]));
        // No secret in what the coordinator says.
        const secret = link.slice(link.indexOf('#') + 1);
        for (const { stderr, stdout } of [told, run]) expect(`${stderr}${stdout}`).not.toContain(secret);
        const again = await openJoin(browser, link);
        await again.close();
      });

      test('with TLS the page is served by HTTPS and connects by wss', async () => {
        const fleet = new TestFleet();
        onTestFinished(() => fleet.close());
        const { certificate, key } = ownTls(join(fleet.folder, 'tls'), 'test', ['localhost', '127.0.0.1']);
        const files = ['--tls-cert', certificate, '--tls-key', key, '--tls-ca', join(fleet.folder, 'tls', 'ca.pem')];
        const place = ['--listen', '127.0.0.1:0', '--advertise', 'localhost', '--browsers'];
        await saying(fleet.start('fleet', 'serve', ...files, ...place), /on this machine/);
        const invited = await fleet.start('fleet', 'invite', '--browser', '--name', 'anna', '--trusted').ended;
        expect(invited.stdout).toMatch(/^https:\/\/localhost:/);
        // The authority that has signed the certificate is not one that browsers know.
        const trusting = await launchChromium('--ignore-certificate-errors');
        onTestFinished(() => trusting.close());
        const page = await openJoin(trusting, invited.stdout.trim());
        await press(page, 'Start');
        await expectPhase(page, 'Working');
        expect(page.addresses.map((address) => new URL(address).protocol)).toContain('wss:');
        expect(page.addresses.filter((address) => /^(http|ws):/.test(address))).toEqual([]);
        expect(await page.evaluate('isSecureContext && crossOriginIsolated')).toBe(true);
        expect(page.faults).toEqual([]);
      });

      test('an invite that is revoked is told at once, and not kept', async () => {
        const fleet = await startFleet();
        const link = await fleet.link('anna');
        const page = await openJoin(browser, link);
        onTestFinished(() => page.close());
        await press(page, 'Start');
        await expectPhase(page, 'Working');
        await (await fleet.fleet.client()).revoke('anna');
        await expectConnection(page, 'not connected');
        await expect
          .poll(() => page.locator('[data-test=reason]').textContent())
          .toBe('anna was revoked: the fleet takes nothing more from it');
        await expectPhase(page, 'Ended');
        await page.reload();
        await page.getByText('This page needs a link').waitFor();
        await page.goto(link);
        await page.reload(); // only the fragment differs
        await expect
          .poll(() => page.locator('[data-test=reason]').textContent(), { timeout: patience(30_000) })
          .toMatch(/does not accept the invite: it was revoked/);
      });

      test('pages of other origins cannot connect, and this page connects to no other host', async () => {
        const fleet = await startFleet();
        const foreign = createServer((_, response) =>
          response.setHeader('content-type', 'text/html').end('<title>x</title>'),
        );
        await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
        onTestFinished(() => void foreign.close());
        const connects = `new Promise((resolve) => {
        const socket = new WebSocket('${fleet.websocket}');
        socket.onmessage = () => resolve('answered');
        socket.onerror = () => resolve('refused');
      })`;
        const other = await browser.newPage();
        onTestFinished(() => other.close());
        await other.goto(`http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`);
        expect(await other.evaluate(connects)).toBe('refused');
        const page = await openJoin(browser, await fleet.link('anna'));
        onTestFinished(() => page.close());
        expect(await page.evaluate(connects)).toBe('answered');
        const elsewhere = `http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`;
        expect(await page.evaluate(`fetch('${elsewhere}').then(() => 'answered', () => 'refused')`)).toBe('refused');
        expect(page.faults.join()).toContain('Content Security Policy');
      });

      test('is limited to a share of the time, and pauses while it is hidden if asked', async () => {
        const fleet = await startFleet();
        const page = await openJoin(browser, await fleet.link('anna'));
        onTestFinished(() => page.close());
        await page.getByRole('slider').fill('25');
        await expect.poll(() => page.locator('[data-test=share]').textContent()).toBe('25 %');
        await press(page, 'Start');
        const hits = fleet.run(300_000, LIMIT, ROUNDS);
        hits.catch(() => undefined); // awaited below
        await expect
          .poll(async () => numberIn((await factsOf(page)).ranges), { timeout: patience(60_000) })
          .toBeGreaterThan(0n);
        await page.getByRole('checkbox', { name: 'Pause while this page is hidden' }).check();
        const show = (isHidden: boolean): Promise<unknown> =>
          page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
          document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`);
        await show(true);
        await expectPhase(page, 'Paused while hidden');
        await expect.poll(() => fleet.workersOf('anna'), { timeout: patience(30_000) }).toEqual([]);
        await show(false);
        await expectPhase(page, 'Working');
        await page.getByRole('slider').fill('100');
        expect(await hits).toEqual(expectedHits(300_000, LIMIT, ROUNDS));
        await press(page, 'Stop');
        await expectPhase(page, 'Not working');
        await expect.poll(() => fleet.workersOf('anna')).toEqual([]);
        expect(page.faults).toEqual([]);
      });

      test.for(['light', 'dark'] as const)(
        'fits a phone, is readable and works with the keyboard, %s',
        async (colorScheme) => {
          const fleet = await startFleet();
          const page = await openJoin(browser, await fleet.link('anna'));
          onTestFinished(() => page.close());
          await page.emulateMedia({ colorScheme });
          for (const size of [
            { width: 1280, height: 900 },
            { width: 320, height: 640 },
          ]) {
            await page.setViewportSize(size);
            await expectFits(page);
            await expectContrast(page);
          }
          await expectNames(page);
          await tabTo(page, /Start/);
          await page.keyboard.press('Enter');
          await expectPhase(page, 'Working');
        },
      );
    });
  },
);
