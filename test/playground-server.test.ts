import { tmpdir } from 'node:os';
import { afterAll, describe, expect, test } from 'vitest';
import { RunningCommand } from './dashboard.js';
import { executable, useChromium } from './page.js';
import { Playground } from './playground/page.js';
import { isShort, patience } from './tier.js';

/** `millrace playground` in headless Chromium. src/web/playground/server.test.ts tests its requests. */
describe.skipIf(!executable || isShort)('the playground of a server', { timeout: patience(120_000) }, () => {
  const chromium = useChromium();
  let command: RunningCommand;

  afterAll(() => void command?.kill('SIGKILL'));

  test('runs kernels in the page and on its own devices, which get data, never code', async () => {
    command = new RunningCommand(tmpdir(), ['playground', '--json']);
    const url = await command.url;
    const playground = await Playground.open(chromium.browser, url);
    const { page } = playground;
    const faults: string[] = [];
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    const posted: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && posted.push(request.postData() ?? ''));
    await playground.settled();
    expect(await playground.fault()).toBeUndefined();
    expect(page.url()).not.toContain('token');
    await playground.tab('run');
    await page.locator('#device option[value="server wasm"]').waitFor({ state: 'attached' });
    for (const device of ['page wasm', 'page webgpu:0', 'server wasm'])
      expect((await playground.run(device)).hits, device).toContainEqual(['77030', '350']);
    const runs = posted.filter((text) => text.includes('"task"'));
    expect(runs).toHaveLength(1);
    expect(runs[0]).not.toContain('whileTrue');
    expect(runs[0]).not.toContain('import');
    // The same kernel on the server gives the same figures, and the interpreter of the page agrees.
    await playground.choose('gaps');
    expect((await playground.run('server wasm', true)).verdict).toBe('the interpreter gives the same');
    // A mistake that only a run finds has its line.
    await playground.write(`import { items, rw, u32 } from 'millrace';
const kernel = items('far', { buffers: { x: rw(u32) } }, ({ item, buffers }) => {
  buffers.x.set(item.add(5), 1);
});
export default { kernel, space: 4, buffers: { x: 4 } };
`);
    expect((await playground.run('server wasm')).summary).toMatch(/^line 3: /);
    // Chromium tries to keep the style of text that is replaced in an editable element, which the policy refuses.
    expect(faults.filter((text) => !/422|^Applying inline style/.test(text))).toEqual([]);
    expect(playground.complaints).toEqual([]);
    const host = new URL(url).host;
    expect(playground.requests.filter((one) => !one.startsWith('blob:') && new URL(one).host !== host)).toEqual([]);

    // Without the token the page works, with the browser's devices alone.
    const stranger = await Playground.open(chromium.browser, url.replace(/#.*/, ''));
    await stranger.settled();
    await stranger.tab('run');
    await stranger.page.locator('#device option[value="page wasm"]').waitFor({ state: 'attached' });
    expect(await stranger.page.locator('#device option[value^="server"]').count()).toBe(0);

    command.kill('SIGINT');
    expect(await command.ended).toBe(0);
  });
});

if (!executable) test('the playground of a server', ({ skip }) => skip('chromium is not installed'));
