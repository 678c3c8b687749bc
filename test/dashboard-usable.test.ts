import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Commands, factsOf, openPage, QUIET, type RunningCommand, type WatchedPage } from './dashboard.js';
import { addressOf, executable, isolated, serve, useChromium } from './page.js';
import { makeSite, Playground } from './playground/page.js';
import { isShort, patience } from './tier.js';
import { expectContrast, expectFits, expectNames, tabOrder, tabTo } from './usable.js';

const PHONE = { width: 320, height: 640 };
const DESK = { width: 1280, height: 900 };

describe.skipIf(!executable || isShort)('usable by everybody', { timeout: patience(180_000) }, () => {
  const commands = new Commands();
  const chromium = useChromium();
  let all: RunningCommand;

  beforeAll(async () => {
    // A job that has ended, one that runs, and the page of both.
    commands.write('few.mjs', FEW_HITS);
    const ended = commands.startUnwatched('run', 'few.mjs', '--device', 'interpreter');
    expect(await ended.ended).toBe(0);
    commands.startUnwatched('run', 'slow.mjs', ...QUIET);
    all = await commands.start('dashboard');
  }, patience(60_000));

  afterAll(() => commands.close());

  const overview = async (): Promise<WatchedPage> => {
    const page = await openPage(chromium.browser, await all.url);
    onTestFinished(() => page.close());
    await page.setViewportSize(DESK);
    await page.locator('tr[data-key]').waitFor();
    await page.locator('.jobs li').nth(1).waitFor();
    return page;
  };

  describe('the dashboard', () => {
    test.for(['light', 'dark'] as const)('fits a phone and is readable, %s', async (colorScheme) => {
      const page = await overview();
      await page.emulateMedia({ colorScheme });
      const check = async (): Promise<void> => {
        for (const size of [DESK, PHONE]) {
          await page.setViewportSize(size);
          await expectFits(page);
          await expectContrast(page);
        }
      };
      const back = (await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string;
      expect(back).toBe(colorScheme === 'dark' ? 'rgb(20, 22, 26)' : 'rgb(251, 251, 250)');
      await check();
      await page.locator('tr[data-key] a').click();
      await page.getByRole('img', { name: /^Rate over time/ }).waitFor();
      await check();
      await page.getByRole('link', { name: 'All jobs' }).click();
      await page.locator('.jobs li', { hasText: 'few.mjs' }).locator('a').click();
      await page.locator('section[aria-label=Hits] li').first().waitFor();
      await check();
      expect(page.faults).toEqual([]);
    });

    test('has names and roles', async () => {
      const page = await overview();
      expect(await expectNames(page)).toMatchObject({ link: expect.any(Number), searchbox: 1 });
      const snapshot = (): Promise<string> => page.locator('main').ariaSnapshot();
      await expect
        .poll(snapshot)
        .toMatch(/heading "Running now" \[level=2\][\s\S]*columnheader "rate"[\s\S]*rowheader "slow run/);
      await expect
        .poll(snapshot)
        .toMatch(/heading "Devices" \[level=2\][\s\S]*columnheader "temperature"[\s\S]*heading "Jobs 2" \[level=2\]/);
      await page.locator('tr[data-key] a').click();
      await page.getByRole('img', { name: /^Rate over time/ }).waitFor();
      await page.locator('section[aria-label=Hits] li').first().waitFor();
      const roles = await expectNames(page);
      expect(roles.button).toBeGreaterThan(4);
      expect(roles).toMatchObject({ radio: 3, spinbutton: 1, searchbox: 1 });
      for (const part of [
        /- group "Controls":\n\s+- text: Controls\n\s+- button "Pause"\n\s+- button "Resume" \[disabled\]\n\s+- button "Stop"/,
        /img "Coverage: [\d.]+ % done, [\d,]+ to be checked, [\d,]+ on a device"/,
        /- group "Averaged over":[\s\S]*- radio "10 s" \[checked\]/,
        /- region "Hits":\n\s+- list:\n\s+- listitem:/,
        /- heading "Parameters" \[level=2\]/,
      ])
        await expect.poll(snapshot).toMatch(part);
    });

    test('works by keyboard alone', async () => {
      const page = await overview();
      await tabTo(page, /^slow$/);
      await page.keyboard.press('Enter');
      await expect.poll(async () => (await factsOf(page)).state).toBe('running');
      // As many hits as the arrows pass below; the link comes with the kernel's text.
      await page.locator('section[aria-label=Hits] li').nth(31).waitFor();
      await page.getByRole('link', { name: 'Open the kernel in the playground' }).waitFor();
      const order = await tabOrder(page);
      expect(order.slice(order.indexOf('Pause'))).toEqual([
        ...['Pause', 'Stop', 'Priority', 'Set', '10 s', 'CSV', 'JSON', 'Search in hits', 'Hits', 'Copy hit 0'],
        ...['Open the kernel in the playground', 'Copy the command'],
      ]);
      await tabTo(page, /^Pause$/);
      await page.keyboard.press('Enter');
      await expect.poll(async () => (await factsOf(page)).state).toBe('paused');
      // A button that its own action disables must not lose the user's place.
      await page.keyboard.press('Tab');
      await page.keyboard.press('Space');
      await expect.poll(async () => (await factsOf(page)).state).toBe('running');
      await tabTo(page, /^10 s$/);
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => page.getByRole('radio', { name: '60 s' }).isChecked()).toBe(true);
      // Tab reaches one row of a list, arrows lead to the others.
      await tabTo(page, /^Copy hit 0$/);
      for (let row = 0; row < 30; row++) await page.keyboard.press('ArrowDown');
      const focused = () => page.evaluate('document.activeElement.ariaLabel');
      await expect.poll(focused).toBe('Copy hit 1920');
      await page.keyboard.press('ArrowUp');
      await expect.poll(focused).toBe('Copy hit 1856');
      await tabTo(page, /^Hits$/);
      await page.keyboard.press('End');
      const top = () =>
        page.locator('section[aria-label=Hits]').evaluate((box: { scrollTop: number }) => box.scrollTop);
      await expect.poll(top).toBeGreaterThan(0);
      await tabTo(page, /^All jobs$/);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Running now' }).waitFor();
      await tabTo(page, /^Search in jobs$/);
      await page.keyboard.type('few');
      await expect.poll(() => page.locator('[data-test=jobs]').textContent()).toBe('1');
      expect(page.faults).toEqual([]);
    });
  });

  describe('the playground', () => {
    let site: ReturnType<typeof makeSite>;
    let server: Server;

    beforeAll(async () => {
      site = makeSite();
      server = await serve(site.folder, () => isolated);
    }, patience(60_000));

    afterAll(() => {
      server?.close();
      site?.remove();
    });

    const open = async (): Promise<Playground> => {
      const playground = await Playground.open(chromium.browser, `${addressOf(server)}/index.html`);
      onTestFinished(() => playground.close());
      await playground.settled();
      return playground;
    };

    test.for(['light', 'dark'] as const)('fits a phone and is readable, %s', async (colorScheme) => {
      const playground = await open();
      const { page } = playground;
      await page.emulateMedia({ colorScheme });
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(
        colorScheme === 'dark' ? 'rgb(20, 22, 26)' : 'rgb(251, 251, 250)',
      );
      await playground.write(FEW_HITS);
      await playground.run('page interpreter');
      for (const size of [DESK, PHONE]) {
        await page.setViewportSize(size);
        for (const tab of ['ir', 'cuda', 'wgsl', 'counts', 'run', 'steps']) {
          await playground.tab(tab);
          await expectFits(page);
          await expectContrast(page);
        }
      }
      // A mistake is readable too.
      await playground.write('const a: = 1;');
      await expectContrast(page);
    });

    test('has names and roles', async () => {
      const playground = await open();
      const { page } = playground;
      expect(await expectNames(page)).toMatchObject({ tab: 9, tabpanel: 1, combobox: 1 });
      const snapshot = (): Promise<string> => page.locator('#app').ariaSnapshot();
      await expect
        .poll(snapshot)
        .toMatch(
          /heading "Millrace playground" \[level=1\][\s\S]*combobox "Example"[\s\S]*button "Share"[\s\S]*status: .* is compiled for every target/,
        );
      await expect
        .poll(snapshot)
        .toMatch(
          /region "Code":[\s\S]*textbox "the kernel"[\s\S]*tablist "What the kernel becomes":[\s\S]*tab "WGSL" \[selected\][\s\S]*tabpanel "WGSL":/,
        );
      for (const tab of ['counts', 'run', 'steps']) {
        await playground.tab(tab);
        await expectNames(page);
      }
    });

    test('works by keyboard alone', async () => {
      const playground = await open();
      const { page } = playground;
      await page.setViewportSize(DESK);
      const order = await tabOrder(page);
      expect(order[0]).toMatch(/^Example/);
      expect(order.slice(1, 3)).toEqual(['Share', 'the kernel']);
      expect(order[3]).toBe('WGSL');
      // Chooses an example by its first letters.
      await page.reload();
      await playground.settled();
      await page.keyboard.press('Tab');
      await page.keyboard.type('search');
      await page.keyboard.press('Enter');
      await playground.status(/^(?!collatz).* is compiled for every target/);
      await tabTo(page, /^WGSL$/);
      for (const tab of ['C', 'WAT', 'Counts', 'Run']) {
        await page.keyboard.press('ArrowRight');
        await expect.poll(() => page.locator('[role=tab][aria-selected=true]').textContent()).toBe(tab);
      }
      await page.locator('#device option[value="page interpreter"]').waitFor({ state: 'attached' });
      await tabTo(page, /^Run$/);
      await page.keyboard.press('Enter');
      await page.locator('.run[data-state=done]').waitFor();
      expect(playground.complaints).toEqual([]);
    });
  });
});

/** A hundred hits. */
const FEW_HITS = `import { items, u32 } from 'millrace';
const kernel = items('few', { hit: { n: u32 } }, ({ index, emit }) => emit({ n: index.lo }));
export default { kernel, space: 100 };
`;

if (!executable) test('usable by everybody', ({ skip }) => skip('chromium is not installed'));
