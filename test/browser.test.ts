import { readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeviceList } from '../src/device/kinds.js';
import { addressOf, executable, isolated, launchChromium, serve } from './page.js';
import { Playground } from './playground/page.js';
import { byTier, patience } from './tier.js';

/** The files that the build makes for web pages, in headless Chromium. */
const dist = fileURLToPath(new URL('../dist/browser/', import.meta.url));

describe('the files for a page', () => {
  test('need nothing that a page lacks', () => {
    const files = readdirSync(dist);
    expect(files).toEqual(
      expect.arrayContaining([
        ...['millrace.js', 'language.js', 'kernel.js', 'devices.js', 'wabt.js', 'worker-texts.js'],
        ...['millrace-wasm-worker.js', 'millrace-webgpu-worker.js', 'millrace-check-worker.js'],
      ]),
    );
    for (const name of files) {
      const text = readFileSync(join(dist, name), 'utf8');
      const imports = text.matchAll(
        /^\s*(?:import|export)\b[^;'"]*?\bfrom\s*['"]([^'"]+)|\bimport\s*\(?\s*['"]([^'"]+)/gm,
      );
      for (const [, from, alone] of imports) expect(files, name).toContain((from ?? alone)?.replace(/^\.\//, ''));
      const code = text.replace(/\/\*[\s\S]*?\*\//g, ''); // comments may name modules that Node loads
      expect(code, name).not.toMatch(/\bkoffi\b|dawn\.node/);
      const required = [...text.matchAll(/\b_*require\(\s*['"]([^'"]+)['"]/g)].map(([, what]) => what);
      expect(required, name).toEqual([]);
    }
  });
});

describe.skipIf(!executable)('in Chromium', () => {
  let server: Server;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    server = await serve(dist, (path) => (path === '/open' ? {} : isolated));
    browser = await launchChromium();
    page = await browser.newPage();
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(`${addressOf(server)}/`);
  }, patience(60_000));

  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  test('lists the devices of a page, best first', async () => {
    const list = "import('/millrace.js').then((millrace) => millrace.listDevices())";
    const { devices } = (await page.evaluate(list)) as DeviceList;
    // SwiftShader is WebGPU on a CPU, where WebAssembly is faster.
    expect(devices.map(({ id, processor }) => `${id} on ${processor}`)).toEqual([
      'wasm on cpu',
      'webgpu:0 on cpu',
      'interpreter on cpu',
    ]);
  });

  test('searches on two devices: hits are in order and checked by a module of the page', async () => {
    // Multiples of 4999 plus 7; the check recomputes each and rejects any other.
    const wanted = Array.from({ length: 21 }, (_, k) => 7 + 4999 * k);
    expect(await page.evaluate(searchIn('wasm,webgpu'))).toEqual({ found: wanted, first: 7 + 4999 * 4 });
    expect(complaints).toEqual([]);
  });

  test.for([
    { device: 'wasm', info: { id: 'wasm', limits: { lanes: 4 } } },
    { device: 'webgpu', info: { id: 'webgpu:0', kind: 'webgpu', details: { architecture: 'swiftshader' } } },
  ])('the self-test passes on $device', { timeout: patience(300_000) }, async ({ device, info }) => {
    // SwiftShader in a page takes a minute for all cases, and test/conformance.test.ts runs them too.
    const some = device === 'wasm' ? [''] : ['u32', 'control/', 'hits/', 'tiles/', 'streams/'];
    const few = ['u32/from memory, a gang', 'hits/a ring', 'tiles/scan', 'streams/'];
    const parts = byTier(few, some, ['']);
    const result = (await page.evaluate(selfTest(device, parts))) as {
      info: unknown;
      passed: number;
      failures: string[];
    };
    expect(result.info).toMatchObject(info);
    expect(result.failures).toEqual([]);
    expect(result.passed).toBeGreaterThan(byTier(14, 40));
    expect(complaints).toEqual([]);
  });

  test('the playground compiles and runs what is written in it', { timeout: patience(120_000) }, async () => {
    const files = fileURLToPath(new URL('../dist/web/files/', import.meta.url));
    const pages = await serve(files, () => isolated);
    const playground = await Playground.open(browser, `${addressOf(pages)}/playground.html`);
    await playground.settled();
    expect(await playground.fault()).toBeUndefined();
    // Among the numbers up to 100,000 the one with most steps is 77,031, with 350.
    const { hits } = await playground.run('page wasm');
    expect(hits).toContainEqual(['77030', '350']);
    expect(playground.complaints).toEqual([]);
    await playground.close();
    pages.close();
  });

  // SwiftShader takes four seconds for its kernels, which test/uhash.test.ts runs too.
  test.for(byTier(['wasm'], ['wasm', 'webgpu']))(
    'computes UniversalHash on %s',
    { timeout: patience(300_000) },
    async (device) => {
      const names = byTier(['nonce_2p32'], ['challenge32_nonce2', 'nonce_2p32']); // each compiles again
      const vectors = uhashVectors.filter(({ name }) => names.includes(name));
      expect(await page.evaluate(uhashIn(device, vectors))).toEqual(vectors.map(({ hash }) => hash));
      expect(complaints).toEqual([]);
    },
  );

  test('without the headers that threads need, only wasm is absent, with a reason', {
    timeout: patience(120_000),
  }, async () => {
    const open = await browser.newPage();
    open.on('pageerror', (error) => complaints.push(String(error)));
    await open.goto(`${addressOf(server)}/open`);
    expect(await open.evaluate('typeof SharedArrayBuffer')).toBe('undefined');
    const list = "import('/millrace.js').then((millrace) => millrace.listDevices())";
    const { devices, absent } = (await open.evaluate(list)) as DeviceList;
    expect(devices.map(({ id }) => id)).toEqual(['webgpu:0', 'interpreter']);
    expect(absent).toEqual([{ id: 'wasm', reason: expect.stringContaining('Cross-Origin-Opener-Policy') }]);
    const refused = await open.evaluate("import('/millrace.js').then((m) => m.openDevice('wasm')).catch(String)");
    expect(refused).toContain('Cross-Origin-Embedder-Policy: require-corp');
    expect(await open.evaluate(searchIn('interpreter', 10_000))).toEqual({ found: [7, 5006], first: 5006 });
    expect(await open.evaluate(searchIn('webgpu', 10_000))).toEqual({ found: [7, 5006], first: 5006 });
    // The page's own thread runs the driver: transfers, marks, cancelling, opening and closing.
    for (const device of byTier([], ['interpreter', 'webgpu'])) {
      const parts = ['streams/', 'hits/', 'memory/', 'tiles/scan'];
      const result = (await open.evaluate(selfTest(device, parts))) as { passed: number; failures: string[] };
      expect(result.failures, device).toEqual([]);
      expect(result.passed, device).toBeGreaterThan(20);
    }
    expect(complaints).toEqual([]);
    await open.close();
  });

  test('a lost GPU fails the work in flight, and the device can be opened again', {
    timeout: patience(120_000),
  }, async () => {
    await page.evaluate(startWork);
    const session = await browser.newBrowserCDPSession();
    // No answer comes if the process ends before it is sent.
    session.send('Browser.crashGpuProcess').catch(() => undefined);
    const { error, sum } = (await page.evaluate(endWork)) as { error: { code: string; message: string }; sum: number };
    expect(error.code).toBe('device-failed');
    expect(error.message).toContain('device webgpu:0 was lost');
    expect(sum).toBe((1000 * 999) / 2);
  });
});

if (!executable) test('in Chromium', ({ skip }) => skip('chromium is not installed'));

/** Run in the page. A string, because imports rewritten by vitest do not work there. */
const selfTest = (name: string, parts: readonly string[]): string => `(async () => {
  const { openDevice, runConformance } = await import('/millrace.js');
  const device = await openDevice('${name}');
  const failures = [];
  let passed = 0;
  for (const filter of ${JSON.stringify(parts)}) {
    const result = await runConformance(device, {
      filter,
      onResult: ({ name, status, reason }) => {
        if (status === 'failed') failures.push(name + ': ' + reason);
      },
    });
    passed += result.passed;
  }
  await device.close();
  return { info: device.info, passed, failures };
})()`;

/** All hits in `length` numbers, and the first one of the last four fifths. */
const searchIn = (devices: string, length = 100_000): string => `(async () => {
  const { items, search, when } = await import('/millrace.js');
  const marked = items('marked', { job: { every: 'u32' }, hit: { n: 'u32' } }, ({ job, index, emit }) => {
    when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo }));
  });
  const text = 'export const isRight = ({ index, n }, every) => Number(index) === n && n % every === 7;';
  const module = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const options = { devices: '${devices}', job: { every: 4999 }, verify: { module, name: 'isRight', data: 4999 } };
  const found = [];
  for await (const { n } of search(marked, { ...options, space: ${length} })) found.push(n);
  const space = { start: ${length / 5}n, length: ${(4 * length) / 5}n };
  const first = await search(marked, { ...options, space, mode: 'first' }).first();
  return { found, first: first.n };
})()`;

interface UhashVector {
  readonly name: string;
  readonly input_hex: string;
  readonly nonce: string;
  readonly hash: string;
}
const { hash_vectors: uhashVectors } = JSON.parse(
  readFileSync(new URL('./data/uhash/vectors.json', import.meta.url), 'utf8'),
) as { hash_vectors: readonly UhashVector[] };

/** The hash of each vector; an input is a header and the nonce. */
const uhashIn = (devices: string, vectors: readonly UhashVector[]): string => `(async () => {
  const { search, uhashProofs } = await import('/millrace.js');
  const hashes = [];
  for (const { input_hex: input, nonce } of ${JSON.stringify(vectors)}) {
    const header = Uint8Array.from(input.slice(0, -16).match(/../g), (byte) => parseInt(byte, 16));
    const flow = uhashProofs({ header, difficulty: 0 }, { batch: 3, wanted: 'digests' });
    const space = { start: BigInt(nonce), length: 1n };
    for await (const { hash } of search(flow, { devices: '${devices}', space }))
      hashes.push([...hash].map((byte) => byte.toString(16).padStart(2, '0')).join(''));
  }
  return hashes;
})()`;

const startWork = `(async () => {
  const { items, openDevice, rw } = await import('/millrace.js');
  const kernel = items('sum', { buffers: { x: rw('u32') } }, ({ item, buffers }) => buffers.x.set(item, item));
  globalThis.open = async () => {
    const device = await openDevice('webgpu');
    const job = (await device.compile(kernel)).bind({});
    const x = await device.alloc(4000);
    const stream = device.stream();
    const run = (count) => {
      stream.launch({ job, count, buffers: { x } });
      return stream.mark().done;
    };
    const sum = async () => {
      const words = new Uint32Array(1000);
      stream.read(x, words);
      await stream.mark().done;
      return words.reduce((a, b) => a + b, 0);
    };
    return { device, run, sum };
  };
  const { run } = await open();
  await run(1000);
  // One after the other until it is over.
  globalThis.ended = (async () => {
    for (;;) await run(1000);
  })().catch(({ code, message }) => ({ code, message }));
})()`;

const endWork = `(async () => {
  const error = await ended;
  // The browser needs a moment to start its GPU process again.
  for (let tries = 0; ; tries++) {
    try {
      const { run, sum, device } = await open();
      await run(1000);
      const result = await sum();
      await device.close();
      return { error, sum: result };
    } catch (cause) {
      if (tries === 150) throw cause;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
})()`;
