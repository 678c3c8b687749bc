import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isShort } from '../../../test/tier.js';
import { encodeKernel, items, type Kernel, loop, rw, u32, when, whileTrue } from '../../kernel/index.js';
import { startWebServer, type WebServer } from '../server/server.js';
import { playgroundPages } from './pages.js';
import { PlaygroundServer } from './server.js';
import { fromWire, toWire } from './wire.js';

const squares = items('squares', { job: { least: u32 }, hit: { square: u32 } }, ({ job, index, emit }) => {
  const square = index.lo.mul(index.lo);
  when(square.ge(job.least), () => emit({ square }));
});
/** Emits as many hits at an index as its job says. */
const many = items('many', { job: { hits: u32 }, hit: { n: u32 } }, ({ job, emit }) =>
  loop(job.hits, (n) => emit({ n })),
);
const far = items('far', { buffers: { x: rw(u32) } }, ({ item, buffers }) => buffers.x.set(item.add(5), 1));

describe('the server of the playground', () => {
  const devices = new PlaygroundServer();
  let folder = '';
  let server: WebServer;
  let origin = '';
  let cookie = '';

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-playground-'));
    for (const name of ['playground.html', 'frame.html']) writeFileSync(join(folder, name), `<title>${name}</title>`);
    const address = { host: '127.0.0.1', port: 0 };
    server = await startWebServer({
      address,
      pages: playgroundPages('/'),
      routes: devices.routes,
      asked: 'a test',
      folder,
    });
    origin = new URL(server.url).origin;
    const token = new URL(server.url).hash.replace('#token=', '');
    const session = await ask('/api/session', { token });
    cookie = session.headers.get('set-cookie')?.split(';')[0] ?? '';
  });

  afterAll(async () => {
    await server.close();
    await devices.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${origin}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { origin, cookie, 'content-type': 'application/json', ...headers },
    });

  const task = (kernel: Kernel, rest: object = {}): unknown =>
    toWire({ kernel: encodeKernel(kernel), job: {}, chunk: {}, buffers: {}, start: 0n, length: 10n, ...rest });
  const run = (given: unknown, device = 'interpreter'): Promise<Response> =>
    ask('/api/playground/run', { device, task: given });

  test('runs a kernel that came as data', async () => {
    const response = await run(task(squares, { job: { least: 50 } }));
    expect(response.status).toBe(200);
    expect(fromWire(await response.json())).toMatchObject({
      device: 'interpreter',
      tried: 10n,
      hits: [
        { index: 8n, fields: { square: 64 } },
        { index: 9n, fields: { square: 81 } },
      ],
    });
  });

  test.skipIf(isShort)('needs the token, the origin of its own page, and a device that exists', async () => {
    expect((await ask('/api/playground/run', {}, { cookie: '' })).status).toBe(401);
    expect((await ask('/api/playground/run', {}, { origin: 'http://evil.example' })).status).toBe(403);
    expect((await fetch(`${origin}/api/playground/devices`)).status).toBe(401);
    expect((await run(task(squares, { job: { least: 1 } }), 'pdp11')).status).toBe(422);
    const listed = await fetch(`${origin}/api/playground/devices`, { headers: { cookie } });
    expect(await listed.json()).toMatchObject({
      devices: expect.arrayContaining([{ id: 'interpreter', name: expect.any(String) }]),
    });
  });

  test('refuses what is not a kernel as data', async () => {
    const code = "items('x', {}, () => steal())";
    for (const given of [code, { kernel: code }, null, { ...Object(task(squares)), kernel: { $bytes: 'AAAA' } }]) {
      const response = await run(given);
      expect([400, 422], JSON.stringify(given)).toContain(response.status);
      expect(await response.json()).toHaveProperty('message');
    }
    expect(await (await run(task(squares))).json()).toMatchObject({ message: expect.stringContaining('least') });
    const large = await run(task(far, { buffers: { x: 2 ** 40 } }));
    expect(await large.json()).toMatchObject({ message: expect.stringContaining('too large') });
  });

  test('reports an access outside a buffer, with its line', async () => {
    const response = await run(task(far, { buffers: { x: 4 } }));
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ message: expect.stringContaining('buffer x of 4 elements') });
  });

  test('reports what is too much for a page: hits at one index, items that write buffers', async () => {
    const most = await run(task(many, { job: { hits: 4096 }, length: 1n }));
    expect((fromWire(await most.json()) as { hits: unknown[] }).hits).toHaveLength(4096);
    const more = await run(task(many, { job: { hits: 4097 }, start: 7n, length: 1n }));
    expect(more.status).toBe(422);
    expect(await more.json()).toMatchObject({
      message: expect.stringContaining('more than 4096 hits from index 7 on'),
    });
    const wide = await run(task(far, { buffers: { x: 4 }, length: 2n ** 24n + 1n }));
    expect(await wide.json()).toMatchObject({ message: expect.stringContaining('at most 16777216 items here') });
    // Launches do not cross a multiple of 2^32.
    const across = await run(task(far, { buffers: { x: 99 }, start: 2n ** 32n - 5n, length: 10n }));
    expect(await across.json()).toMatchObject({ message: expect.stringContaining('runs in one launch') });
  });

  test.skipIf(isShort)('stops a kernel without an end when its page has gone', async () => {
    const endless = items('endless', { buffers: { x: rw(u32) } }, ({ buffers }) =>
      whileTrue(
        () => buffers.x.at(0).eq(0),
        () => undefined,
      ),
    );
    const gone = new AbortController();
    const asked = fetch(`${origin}/api/playground/run`, {
      method: 'POST',
      body: JSON.stringify({ device: 'wasm', task: task(endless, { buffers: { x: 1 } }) }),
      headers: { origin, cookie, 'content-type': 'application/json' },
      signal: gone.signal,
    });
    setTimeout(() => gone.abort(), 500);
    await expect(asked).rejects.toThrow();
    // The device is free again.
    const response = await run(task(squares, { job: { least: 81 } }), 'wasm');
    expect(fromWire(await response.json())).toMatchObject({ hits: [{ index: 9n }] });
  });

  test('its frame has an opaque origin wherever it is opened', async () => {
    const frame = await fetch(`${origin}/frame.html`);
    expect(frame.headers.get('content-security-policy')).toBe("sandbox allow-scripts; frame-ancestors 'self'");
    const page = await fetch(`${origin}/`);
    expect(page.headers.get('cross-origin-embedder-policy')).toBe('require-corp');
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self' 'wasm-unsafe-eval'");
    expect(page.headers.get('content-security-policy')).not.toContain('unsafe-inline');
  });
});
