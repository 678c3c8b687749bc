import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type OutgoingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { patience } from './tier.js';

/** The system's Chromium, if it is installed. */
export const executable = findChromium();

export const launchChromium = (...more: readonly string[]): Promise<Browser> =>
  chromium.launch({
    executablePath: executable ?? '',
    timeout: patience(60_000),
    args: [
      ...['--headless', '--no-sandbox', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
      ...['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan'],
      // SwiftShader writes zeros a word at a time, which takes most of its compile time.
      '--disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension',
      ...more,
    ],
  });

/** Starts a Chromium before the tests of a `describe`, and ends it after them. */
export function useChromium(...more: readonly string[]): { readonly browser: Browser } {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchChromium(...more);
  }, patience(60_000));
  afterAll(() => browser?.close());
  return {
    get browser() {
      if (!browser) throw new Error('the browser starts with the first test');
      return browser;
    },
  };
}

/** The headers of a page that may share memory with its threads. */
export const isolated = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const types: Readonly<Record<string, string>> = { '.js': 'text/javascript', '.html': 'text/html', '.css': 'text/css' };

/** Serves a folder's files; a path without an extension is an empty page. */
export function serve(folder: string, headersOf: (path: string) => OutgoingHttpHeaders): Promise<Server> {
  const server = createServer(({ url = '/' }, response) => {
    const headers = headersOf(url);
    if (extname(url) === '') {
      response
        .writeHead(200, { 'Content-Type': 'text/html', ...headers })
        .end('<!doctype html><title>millrace</title>');
      return;
    }
    try {
      const body = readFileSync(join(folder, normalize(`/${url}`)));
      response
        .writeHead(200, { 'Content-Type': types[extname(url)] ?? 'application/octet-stream', ...headers })
        .end(body);
    } catch {
      response.writeHead(404, headers).end();
    }
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

export const addressOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function findChromium(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}
