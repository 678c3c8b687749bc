import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pages } from '../scripts/site/pages.mjs';
import { addressOf, executable, launchChromium, serve } from './page.js';
import { makeSite } from './playground/page.js';
import { isShort, patience } from './tier.js';
import { expectContrast, expectFits, expectNames } from './usable.js';

const project = fileURLToPath(new URL('..', import.meta.url));

/** The site of `npm run site`: its files, then the same in headless Chromium. */
describe('the site', { timeout: patience(120_000) }, () => {
  let site: ReturnType<typeof makeSite>;
  let browser: Browser | undefined;
  let server: Server;
  beforeAll(async () => {
    site = makeSite();
    server = await serve(site.root, () => ({}));
    if (executable) browser = await launchChromium();
  }, patience(60_000));
  afterAll(async () => {
    await browser?.close();
    server?.close();
    site?.remove();
  });

  const htmlFiles = (): string[] =>
    readdirSync(site.root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'));

  test('has a page for every document', () => {
    const files = execFileSync('git', ['ls-files', '*.md'], { cwd: project, encoding: 'utf8' }).trim().split('\n');
    const documents = files.filter((file) => !file.startsWith('test/'));
    expect(pages.map(({ source }) => source).sort()).toEqual(documents.sort());
    for (const { path } of pages) expect(existsSync(join(site.root, path)), path).toBe(true);
  });

  test('replaces an earlier site only', () => {
    const script = join(project, 'scripts/site.mjs');
    for (const [name, text] of [
      [join(project, 'src/web'), 'is not empty and holds no site'],
      ['--help', 'has no option --help'],
    ] as const) {
      const { status, stderr } = spawnSync(process.execPath, [script, name], { cwd: site.root, encoding: 'utf8' });
      expect([status, stderr]).toEqual([70, expect.stringContaining(text)]);
    }
    expect(existsSync(join(project, 'src/web/page'))).toBe(true);
  });

  test('has no dead links, and loads nothing from elsewhere', () => {
    const idsOf = new Map(
      htmlFiles().map((file) => {
        const text = readFileSync(join(site.root, file), 'utf8');
        return [file, new Set([...text.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id))];
      }),
    );
    let links = 0;
    for (const { path } of pages) {
      const text = readFileSync(join(site.root, path), 'utf8');
      for (const [, name, value = ''] of text.matchAll(/\s(href|src|srcset)="([^"]*)"/g)) {
        if (value === 'data:,') continue;
        if (/^[a-z]+:/.test(value)) {
          expect(name, `${path} loads ${value}`).toBe('href');
          continue;
        }
        links++;
        const [file = '', id] = value.split('#');
        const target = relative(site.root, file === '' ? join(site.root, path) : join(site.root, dirname(path), file));
        expect(existsSync(join(site.root, target)), `${path}: ${value}`).toBe(true);
        if (id) expect(idsOf.get(target)?.has(decodeURIComponent(id)), `${path}: ${value}`).toBe(true);
      }
    }
    expect(links).toBeGreaterThan(1000);
  });

  describe.skipIf(!executable)('in Chromium', () => {
    /** A page; what its console says and what it asks of others is in `faults`. */
    async function open(path: string, options: Parameters<Browser['newPage']>[0] = {}) {
      const page = await browser!.newPage(options);
      page.setDefaultTimeout(patience(60_000));
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => faults.push(message.text()));
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(addressOf(server)) && !url.startsWith('data:')) faults.push(url);
      });
      page.on('response', (response) => {
        if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`);
      });
      await page.goto(`${addressOf(server)}/${path}`);
      return Object.assign(page, { faults });
    }
    const shown = (page: Page) => page.locator('#results a').allTextContents();

    test('finds by keyboard what is searched for', async () => {
      const page = await open('docs/guide.html');
      await page.keyboard.press('/');
      await page.keyboard.type('smallest nonce');
      await expect.poll(async () => (await shown(page)).some((text) => text.startsWith('block'))).toBe(true);
      await page.locator('#query').fill('fencing leases ledger nothingofthekind');
      await expect.poll(() => page.locator('#results').textContent()).toBe('nothing found');
      await page.locator('#query').fill('the ledger');
      await expect.poll(async () => (await shown(page))[0]).toMatch(/^Ledger: The ledger/);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.waitForURL(/docs\/ledger\.html#/);
      expect(page.faults).toEqual([]);
      await page.close();
    });

    test.skipIf(isShort)('shows every page without an error, on a phone, light and dark', async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await open('index.html', { viewport: { width: 320, height: 640 }, colorScheme });
        for (const { path } of pages) {
          await page.goto(`${addressOf(server)}/${path}`);
          await expectFits(page);
        }
        for (const path of ['index.html', 'docs/guide.html', 'docs/PERFORMANCE.html']) {
          await page.goto(`${addressOf(server)}/${path}`);
          await expectContrast(page);
          const counts = await expectNames(page);
          expect(counts.searchbox).toBe(1);
        }
        await page.getByRole('button', { name: 'Pages' }).click();
        await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Ledger' }).click();
        await page.waitForURL(/docs\/ledger\.html$/);
        expect(page.faults).toEqual([]);
        await page.close();
      }
    });

    test.skipIf(isShort)('works from files, without a server', async () => {
      const page = await browser!.newPage();
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => faults.push(message.text()));
      await page.goto(`file://${join(site.root, 'index.html')}`);
      await page.getByRole('searchbox').fill('canary');
      await expect.poll(() => shown(page)).not.toEqual([]);
      expect(faults).toEqual([]);
      await page.close();
    });

    test.skipIf(isShort)('leads to the playground, which works there', async () => {
      const page = await open('docs/browser.html');
      await page.getByRole('link', { name: 'Playground', exact: true }).click();
      await page.waitForURL(/playground\/index\.html$/);
      await page.locator('.cm-content').first().waitFor();
      await page.close();
    });
  });
});
