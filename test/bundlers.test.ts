import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Stats } from 'webpack';
import { addressOf, executable, isolated, launchChromium, serve } from './page.js';
import { isShort, patience } from './tier.js';

/**
 * An app that imports the packed package as any other, built by each bundler with its defaults and opened in Chromium. The
 * settings below name files and headers and nothing of Millrace.
 */
const root = fileURLToPath(new URL('..', import.meta.url));

/** Searches on every device of a page. The check is a module of its own, which the thread of checks imports. */
const app = `
  import { items, listDevices, search } from 'millrace';
  import { u32, when } from 'millrace/kernel';
  const marked = items('marked', { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
    when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo }));
  });
  const text = 'export const isRight = ({ index, n }, every) => Number(index) === n && n % every === 7;';
  const module = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  globalThis.result = (async () => {
    const { devices } = await listDevices();
    const found = {};
    for (const { id, kind } of devices) {
      const verify = { module, name: 'isRight', data: 4999 };
      found[kind] = [];
      for await (const { n } of search(marked, { devices: id, job: { every: 4999 }, space: 10_000, verify }))
        found[kind].push(n);
    }
    return found;
  })();
`;
const page = '<!doctype html><title>app</title><script type="module" src="./main.js"></script>';

describe.skipIf(isShort || !executable)('an app in Chromium, built by', () => {
  let folder = '';
  let browser: Browser;

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-bundlers-')));
    const modules = join(folder, 'node_modules');
    mkdirSync(modules);
    const filename = npm('pack', '--silent', '--ignore-scripts', '--pack-destination', folder).trim();
    execFileSync('tar', ['-xzf', join(folder, filename)], { cwd: modules });
    renameSync(join(modules, 'package'), join(modules, 'millrace'));
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
    writeFileSync(join(folder, 'main.js'), app);
    writeFileSync(join(folder, 'index.html'), page);
    browser = await launchChromium();
  }, patience(300_000));

  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const everywhere = { wasm: [7, 5006], webgpu: [7, 5006], interpreter: [7, 5006] };

  /** Opens the page and returns what its search found. `workers`: whether they come from files or from their texts. */
  async function open(url: string, workers: 'files' | 'texts'): Promise<unknown> {
    const complaints: string[] = [];
    const started: string[] = [];
    const opened = await browser.newPage();
    opened.on('worker', (worker) => started.push(worker.url()));
    opened.on('pageerror', (error) => complaints.push(String(error)));
    await opened.goto(url);
    await opened.waitForFunction('globalThis.result !== undefined', undefined, { timeout: patience(60_000) });
    const found = await opened.evaluate('globalThis.result');
    expect(complaints).toEqual([]);
    expect(started.some((from) => from.startsWith('blob:') === (workers === 'texts'))).toBe(true);
    if (workers === 'files') expect(started.filter((from) => from.startsWith('blob:'))).toEqual([]);
    await opened.close();
    return found;
  }

  async function openFolder(
    name: string,
    workers: 'files' | 'texts' = 'files',
    headers: Record<string, string> = isolated,
  ): Promise<unknown> {
    const server: Server = await serve(join(folder, name), () => headers);
    try {
      return await open(`${addressOf(server)}/index.html`, workers);
    } finally {
      server.close();
    }
  }

  test('Vite, in development', { timeout: patience(300_000) }, async () => {
    const { createServer } = await import('vite');
    const server = await createServer({ root: folder, logLevel: 'error', server: { headers: isolated, port: 0 } });
    try {
      await server.listen();
      expect(await open(server.resolvedUrls?.local[0] ?? '', 'files')).toEqual(everywhere);
    } finally {
      await server.close();
    }
  });

  test('Vite, built', { timeout: patience(300_000) }, async () => {
    const { build } = await import('vite');
    await build({ root: folder, logLevel: 'error', build: { outDir: 'vite' } });
    expect(await openFolder('vite')).toEqual(everywhere);
    // Without the headers, and under the strictest policy that WebAssembly and workers permit.
    const { interpreter, webgpu } = everywhere;
    expect(await openFolder('vite', 'files', {})).toEqual({ interpreter, webgpu });
    const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' blob:; worker-src 'self'";
    expect(await openFolder('vite', 'files', { ...isolated, 'Content-Security-Policy': policy })).toEqual(everywhere);
  });

  test('webpack', { timeout: patience(300_000) }, async () => {
    const output = { path: join(folder, 'webpack'), filename: 'main.js' };
    const { default: webpack } = await import('webpack');
    // Without its remarks on the sizes of files.
    const options = { mode: 'production', context: folder, entry: './main.js', output, performance: false } as const;
    const compiler = webpack(options);
    const stats = await new Promise<Stats | undefined>((resolve, reject) =>
      compiler?.run((error, done) => (error ? reject(error) : resolve(done))),
    );
    const { errors, warnings } = stats?.toJson({ all: false, errors: true, warnings: true }) ?? {};
    expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
    writeFileSync(join(output.path, 'index.html'), page);
    expect(await openFolder('webpack')).toEqual(everywhere);
  });

  test.for(['esm', 'iife'] as const)('esbuild, format %s', { timeout: patience(300_000) }, async (format) => {
    const name = `esbuild-${format}`;
    const outfile = join(folder, name, 'main.js');
    const { build } = await import('esbuild');
    const { warnings } = await build({
      entryPoints: [join(folder, 'main.js')],
      bundle: true,
      minify: true,
      format,
      outfile,
      logLevel: 'silent',
    });
    // A script has no URL, of which esbuild warns: the texts of the workers are in the bundle for that.
    expect(warnings.filter(({ id }) => id !== 'empty-import-meta')).toEqual([]);
    writeFileSync(join(folder, name, 'index.html'), page);
    expect(await openFolder(name, 'texts')).toEqual(everywhere);
  });
});

if (!executable) test('in Chromium', ({ skip }) => skip('chromium is not installed'));

function npm(...args: string[]): string {
  return execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
