import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWebServer, type WebServer } from './server.js';

let folder = '';
let server: WebServer;
let token = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-web-'));
  writeFileSync(join(folder, 'page.html'), '<!doctype html><meta name="csp-nonce" content="NONCE">');
  writeFileSync(join(folder, 'page.js'), 'export {};');
  server = await startWebServer({
    address: { host: '127.0.0.1', port: 0 },
    pages: { '/': { file: 'page.html', policy: { 'script-src': ["'wasm-unsafe-eval'"] } } },
    routes: [
      { method: 'GET', path: '/api/jobs/:id', handle: ({ params }) => ({ json: params }) },
      { method: 'POST', path: '/api/stop', handle: async ({ body }) => ({ json: { got: await body() } }) },
      {
        method: 'GET',
        path: '/api/list',
        handle: () => ({ download: 'a b.csv', type: 'text/csv', parts: ['1\n', '2\n'] }),
      },
      {
        method: 'GET',
        path: '/api/events',
        handle: () => ({
          open: (send) => {
            send('snapshot', { big: 2n ** 100n });
            return () => undefined;
          },
        }),
      },
    ],
    first: () => ({ jobs: 3 }),
    asked: 'a test',
    folder,
  });
  token = new URL(server.url).hash.replace('#token=', '');
});

afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A request with exactly these headers, which `fetch` would not send. `until` ends a stream. */
function ask(path: string, given: Record<string, string> = {}, method = 'GET', body = '', until = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { host: `127.0.0.1:${server.port}`, ...given };
    const sent = request({ host: '127.0.0.1', port: server.port, path, method, headers }, (response) => {
      let text = '';
      const done = (): void => resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
        if (until !== '' && text.includes(until)) {
          done();
          sent.destroy();
        }
      });
      response.on('end', done);
    });
    sent.on('error', reject).end(body);
  });
}

const own = (): Record<string, string> => ({ origin: `http://127.0.0.1:${server.port}` });

async function cookie(): Promise<string> {
  const { headers } = await ask('/api/session', own(), 'POST', JSON.stringify({ token }));
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

describe('the server of pages', () => {
  test('gives the page to everybody, with a policy that allows nothing from other hosts and a new nonce each time', async () => {
    const [one, two] = [await ask('/'), await ask('/')];
    expect(one.status).toBe(200);
    const policy = String(one.headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'nonce-");
    const [, nonce] = /'nonce-([^']+)'/.exec(policy) ?? [];
    expect(one.text).toContain(`content="${nonce}"`);
    expect(two.text).not.toBe(one.text);
    expect((await ask('/page.js')).headers['content-type']).toContain('text/javascript');
    for (const path of ['/page.html', '/../server.test.ts', '/%2e%2e/package.json'])
      expect((await ask(path)).status, path).toBe(401);
  });

  test('needs the token for everything else, and does not tell what exists', async () => {
    for (const path of ['/api/jobs/1', '/api/events', '/api/none']) expect((await ask(path)).status).toBe(401);
    for (const wrong of ['', 'x', token.slice(1), `${token}x`, 5, null]) {
      const answer = await ask('/api/session', own(), 'POST', JSON.stringify({ token: wrong }));
      expect([answer.status, answer.headers['set-cookie']]).toEqual([401, undefined]);
    }
    const value = await cookie();
    expect((await ask('/api/jobs/a%2Fb', { cookie: value })).text).toBe('{"id":"a/b"}');
    expect((await ask('/api/jobs/1', { cookie: `other=1; ${value}` })).status).toBe(200);
    expect((await ask('/api/jobs/1', { cookie: value.replace('=', '=x') })).status).toBe(401);
    expect((await ask('/api/none', { cookie: value })).status).toBe(404);
    const { headers } = await ask('/api/session', own(), 'POST', JSON.stringify({ token }));
    expect(headers['set-cookie']?.[0]).toMatch(/^millrace-\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/);
  });

  test('answers a request for the session only with the token or the cookie', async () => {
    const start = (headers: Record<string, string>, body: object) =>
      ask('/api/session', { ...own(), ...headers }, 'POST', JSON.stringify(body));
    const value = await cookie();
    for (const one of [await start({}, { token }), await start({ cookie: value }, {})])
      expect([one.status, one.text]).toEqual([200, '{"jobs":3}']);
    const refused = [
      await start({}, {}),
      await start({ cookie: value.replace('=', '=x') }, {}),
      await start({ cookie: value }, { token: 'x' }),
    ];
    expect(refused.map(({ status, text }) => [status, text.includes('jobs')])).toEqual(refused.map(() => [401, false]));
    expect((await start({ cookie: value, origin: 'http://other.example' }, {})).status).toBe(403);
  });

  test('does not answer to names that could be rebound, nor to requests of other sites', async () => {
    const value = { cookie: await cookie() };
    const { port } = server;
    const hosts = [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `127.0.0.1:${port + 1}`,
      `127.0.0.1.evil:${port}`,
    ];
    for (const host of hosts) expect((await ask('/api/jobs/1', { ...value, host })).status, host).toBe(421);
    expect((await ask('/', { host: `evil.example:${port}` })).status).toBe(421);
    expect((await ask('/api/jobs/1', { ...value, host: `localhost:${port}` })).status).toBe(200);
    const foreign = [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { origin: `https://127.0.0.1:${port}` },
      { ...own(), 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of foreign) {
      expect((await ask('/api/jobs/1', { ...value, ...headers })).status).toBe(403);
      expect((await ask('/api/stop', { ...value, ...headers }, 'POST', '{}')).status).toBe(403);
    }
    expect((await ask('/api/stop', value, 'POST', '{}')).status).toBe(403);
    expect((await ask('/api/stop', { ...value, ...own() }, 'POST', '{"a":1}')).text).toBe('{"got":{"a":1}}');
  });

  test('sends events, downloads and errors', async () => {
    const value = { cookie: await cookie() };
    const events = await ask('/api/events', value, 'GET', '', '\n\nevent');
    expect(events.headers['content-type']).toBe('text/event-stream');
    const all = await ask('/api/events', value, 'GET', '', '}\n');
    expect(all.text).toBe('retry: 1000\n\nevent: snapshot\ndata: {"big":"1267650600228229401496703205376"}\n\n');
    const list = await ask('/api/list', value);
    expect(list.headers['content-disposition']).toBe('attachment; filename="a_b.csv"');
    expect(list.text).toBe('1\n2\n');
    const broken = await ask('/api/stop', { ...value, ...own() }, 'POST', '{');
    expect([broken.status, JSON.parse(broken.text)]).toEqual([
      400,
      { code: 'input-format', message: "the request's body: it is not JSON" },
    ]);
    const long = await ask('/api/stop', { ...value, ...own() }, 'POST', `"${'x'.repeat(2 << 20)}"`);
    expect(long.status).toBe(400);
  });

  test('says which address it cannot listen on', async () => {
    const address = { host: '127.0.0.1', port: server.port };
    await expect(startWebServer({ address, pages: {}, routes: [], asked: '--dashboard', folder })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${server.port}`,
    );
  });
});
