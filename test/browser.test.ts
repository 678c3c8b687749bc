import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeviceList } from '../src/device/kinds.js';

/** What a page gets: the files that the build made for it, in headless Chromium. */
const dist = fileURLToPath(new URL('../dist/browser/', import.meta.url));
const executable = findChromium();

describe('the files for a page', () => {
  test('need nothing that a page has not', () => {
    const files = readdirSync(dist);
    expect(files).toEqual(expect.arrayContaining(['millrace.js', 'kernel.js', 'worker.js', 'wabt.js']));
    for (const name of files) {
      const text = readFileSync(join(dist, name), 'utf8');
      const imports = text.matchAll(
        /^\s*(?:import|export)\b[^;'"]*?\bfrom\s*['"]([^'"]+)|\bimport\s*\(?\s*['"]([^'"]+)/gm,
      );
      for (const [, from, alone] of imports) expect(files, name).toContain((from ?? alone)?.replace(/^\.\//, ''));
      expect(text, name).not.toMatch(/\bkoffi\b/);
      // wabt asks for `fs` where it runs in Node; nothing else may ask for anything.
      const required = [...text.matchAll(/\b_*require\(\s*['"]([^'"]+)['"]/g)].map(([, what]) => what);
      expect(required, name).toEqual(name === 'wabt.js' ? ['fs'] : []);
    }
  });
});

describe.skipIf(!executable)('in Chromium', () => {
  let server: Server;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    server = await serve();
    browser = await chromium.launch({
      executablePath: executable ?? '',
      args: [
        ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
        ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
      ],
    });
    page = await browser.newPage();
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  test('the self-test passes on wasm, with threads and SIMD', { timeout: 300_000 }, async () => {
    const result = (await page.evaluate(selfTest)) as { info: unknown; passed: number; failures: string[] };
    expect(result.info).toMatchObject({ id: 'wasm', limits: { lanes: 4 } });
    expect(result.failures).toEqual([]);
    expect(result.passed).toBeGreaterThan(50);
    expect(complaints).toEqual([]);
  });

  test('without the headers that threads need wasm is absent and says so', async () => {
    const open = await browser.newPage();
    await open.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/open`);
    const list = "import('/millrace.js').then((millrace) => millrace.listDevices())";
    const { devices, absent } = (await open.evaluate(list)) as DeviceList;
    expect(devices.map(({ id }) => id)).toEqual(['interpreter']);
    expect(absent).toEqual([{ id: 'wasm', reason: expect.stringContaining('Cross-Origin-Opener-Policy') }]);
    await open.close();
  });
});

if (!executable) test('in Chromium', ({ skip }) => skip('chromium is not installed'));

/** Runs in the page. As text: what vitest makes of an import does not work there. */
const selfTest = `(async () => {
  const { openDevice, runConformance } = await import('/millrace.js');
  const device = await openDevice('wasm');
  const failures = [];
  const { passed } = await runConformance(device, {
    onResult: ({ name, status, reason }) => {
      if (status === 'failed') failures.push(name + ': ' + reason);
    },
  });
  await device.close();
  return { info: device.info, passed, failures };
})()`;

/** The build's files; every page but `/open` is cross-origin isolated, which is what shared memory needs. */
function serve(): Promise<Server> {
  const types: Readonly<Record<string, string>> = { '.js': 'text/javascript' };
  const isolated = {
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Embedder-Policy': 'require-corp',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
  const server = createServer(({ url = '/' }, response) => {
    const headers = url === '/open' ? {} : isolated;
    if (extname(url) === '') {
      response
        .writeHead(200, { 'Content-Type': 'text/html', ...headers })
        .end('<!doctype html><title>millrace</title>');
      return;
    }
    try {
      const body = readFileSync(join(dist, normalize(`/${url}`)));
      response
        .writeHead(200, { 'Content-Type': types[extname(url)] ?? 'application/octet-stream', ...headers })
        .end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function findChromium(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}
