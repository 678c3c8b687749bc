import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { patience } from '../tier.js';

/** Makes the static site in a new folder, as `npm run site` does. */
export function makeSite(): { readonly root: string; readonly folder: string; remove(): void } {
  const root = mkdtempSync(join(tmpdir(), 'millrace-site-'));
  const script = fileURLToPath(new URL('../../scripts/site.mjs', import.meta.url));
  execFileSync(process.execPath, [script, root], { stdio: 'pipe' });
  return { root, folder: join(root, 'playground'), remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** The playground in a page of Chromium, used as a person would. */
export class Playground {
  readonly page: Page;
  /** Errors that nothing caught. */
  readonly complaints: string[] = [];
  /** Every address that was requested. */
  readonly requests: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('request', (request) => this.requests.push(request.url()));
    page.setDefaultTimeout(patience(60_000));
  }

  static async open(browser: Browser, url: string): Promise<Playground> {
    const playground = new Playground(await browser.newPage({ viewport: { width: 1280, height: 800 } }));
    await playground.page.goto(url);
    return playground;
  }

  /** Waits until the code has been compiled for every target, or has failed. */
  async settled(): Promise<void> {
    await this.status(/compiled for every|failed/);
  }

  /** Waits until the status matches. */
  async status(pattern: RegExp): Promise<void> {
    await this.page.locator('#status', { hasText: pattern }).waitFor();
  }

  async choose(example: string): Promise<void> {
    await this.page.selectOption('#example', example);
    await this.settled();
  }

  /** Types another text, and waits for what becomes of it. */
  async write(code: string): Promise<void> {
    await this.type(code);
    await this.settled();
  }

  /** Types another text, and waits until the page has taken it. */
  async type(code: string): Promise<void> {
    // The page may have compiled the text before a look from outside sees that it works on it.
    await this.page.evaluate(RECORD_STATUS);
    await this.page.locator('#editor .cm-content').click();
    await this.page.keyboard.press('ControlOrMeta+A');
    await this.page.keyboard.insertText(code);
    await expect.poll(() => this.page.evaluate('window.statuses')).toContain('working');
  }

  /** The mistake that is shown, undefined if there is none. */
  async fault(): Promise<string | undefined> {
    const shown = this.page.locator('#fault');
    return (await shown.count()) === 0 ? undefined : ((await shown.textContent()) ?? '');
  }

  async tab(name: string): Promise<void> {
    await this.page.click(`#tab-${name}`);
  }

  /** Runs on a device, and compares with the interpreter if asked. */
  async run(device: string, isCompared = false): Promise<RunText> {
    await this.tab('run');
    await this.page.selectOption('#device', device);
    const before = await this.page.locator('.run').evaluateAll((rows) => rows.map((row) => row.dataset.number));
    await this.page.click(isCompared ? '#compare' : '#run');
    const row = this.page.locator('.run').first();
    await expect.poll(async () => before.includes((await row.getAttribute('data-number')) ?? '')).toBe(false);
    await this.page.locator('#run:enabled').waitFor();
    const texts = (selector: string): Promise<string[]> => row.locator(selector).allTextContents();
    const [summary = ''] = await texts('p');
    const [verdict] = await texts('.verdict');
    const cells = await row
      .locator('.hits tbody tr')
      .evaluateAll((rows) => rows.map((one) => [...one.children].map((cell) => cell.textContent ?? '')));
    return { summary, verdict, hits: cells, values: (await texts('.values')).map((text) => text.split(' ')) };
  }

  /** The first lines of the text of a tab, as far as they are shown. */
  async text(): Promise<string> {
    return (await this.page.locator('#text .cm-line').allTextContents()).join('\n');
  }

  close(): Promise<void> {
    return this.page.close();
  }
}

/** Keeps every status that the page shows from now on. */
const RECORD_STATUS = `(() => {
  const status = document.querySelector('#status');
  window.statuses = [];
  window.statusObserver?.disconnect();
  window.statusObserver = new MutationObserver(() => window.statuses.push(status.textContent));
  window.statusObserver.observe(status, { childList: true, characterData: true, subtree: true });
})()`;

export interface RunText {
  readonly summary: string;
  readonly verdict: string | undefined;
  /** Rows of the table: index, then fields. */
  readonly hits: readonly (readonly string[])[];
  /** The values of each buffer. */
  readonly values: readonly (readonly string[])[];
}
