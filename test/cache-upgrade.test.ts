import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DiskCache } from '../src/device/cache/cache.js';
import { buildCached } from '../src/device/gpu/build/build.js';
import type { GpuSource } from '../src/device/gpu/worker/driver.js';
import { COMPILER_VARIABLES, type CSource, compile } from '../src/device/native/compile.js';
import { BINARY, compiler, cpu, gpu, native } from './caches/entries.mjs';
import { millrace } from './command-line.js';

/**
 * Caches of compiled programs from earlier versions: entries are used or rebuilt, never an error.
 * caches/fixture.mjs wrote them. Tunings are in the ledger, whose fixtures store-upgrade.test.ts has.
 */
const fixtures = fileURLToPath(new URL('fixtures', import.meta.url));
const known = readdirSync(fixtures).filter((name) => name.startsWith('cache-'));
const newest = `cache-${known.length}`;

let tools = '';
const folders: string[] = [];
beforeAll(() => {
  for (const name of COMPILER_VARIABLES) delete process.env[name]; // they are part of a program's key
  tools = mkdtempSync(join(tmpdir(), 'millrace-fixture-'));
  const writes = `#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf '${BINARY}' > "$2"\n`;
  writeFileSync(join(tools, compiler.path), writes, { mode: 0o755 });
});
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
afterAll(() => rmSync(tools, { recursive: true, force: true }));

/** A copy of a fixture, private as in a user's home. */
function copyOf(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-caches-'));
  folders.push(folder);
  cpSync(join(fixtures, name), folder, { recursive: true });
  chmodSync(folder, 0o700);
  return folder;
}

const open = (folder: string): Promise<DiskCache> => DiskCache.open({ MILLRACE_CACHE_DIR: folder });

/** Requests every entry as a device does: its binary, and whether it was cached. */
async function askFor(cache: DiskCache): Promise<{ readonly binary: string; readonly cached: boolean }[]> {
  const path = process.env.PATH;
  process.env.PATH = `${tools}${delimiter}${path}`;
  try {
    const library = await compile(native as unknown as CSource, compiler, cpu, cache);
    const built = gpu.map(async ({ source, options }) => {
      const made = async () => ({ binary: new TextEncoder().encode(BINARY) });
      const { binary, cached } = await buildCached(source as unknown as GpuSource, {
        ...options,
        cache,
        compile: made,
      });
      return { binary: new TextDecoder().decode(binary), cached };
    });
    return [{ binary: readFileSync(library.path, 'utf8'), cached: library.cached }, ...(await Promise.all(built))];
  } finally {
    process.env.PATH = path;
  }
}

describe.each(known)('%s', (name) => {
  it('is used or rebuilt', async (ctx) => {
    if (process.platform === 'win32') return ctx.skip('the compiler of the fixture is a shell script');
    const cache = await open(copyOf(name));
    expect(cache.warning).toBeUndefined();
    const first = await askFor(cache);
    expect(first.map(({ binary }) => binary)).toEqual([BINARY, BINARY, BINARY]);
    // The newest fixture is used. For older ones, changed flags and texts are new entries.
    if (name === newest) expect(first.map(({ cached }) => cached)).toEqual([true, true, true]);
    expect((await askFor(cache)).map(({ cached }) => cached)).toEqual([true, true, true]);
  });

  it('is rebuilt if an entry lacks the file that this version looks for', async (ctx) => {
    if (process.platform === 'win32') return ctx.skip('the compiler of the fixture is a shell script');
    const folder = copyOf(name);
    for (const entry of readdirSync(folder).filter((one) => /^[0-9a-f]{64}$/.test(one))) {
      const manifest = join(folder, entry, 'SHA256SUMS');
      const lines = readFileSync(manifest, 'utf8').split('\n');
      writeFileSync(manifest, lines.filter((line) => !/\.(so|cubin|bin)$/.test(line)).join('\n'));
    }
    const made = await askFor(await open(folder));
    expect(made).toEqual([BINARY, BINARY, BINARY].map((binary) => ({ binary, cached: false })));
  });

  it('is shown and cleared', async () => {
    const folder = copyOf(name);
    const env = { MILLRACE_CACHE_DIR: folder };
    const shown = await millrace(['cache', '--json'], { env });
    const kinds = shown.events.at(-1)?.kinds as { readonly kind: string; readonly entries: number }[];
    expect(kinds.map(({ kind, entries }) => [kind, entries]).sort()).toEqual([
      ['cuda', 1],
      ['native', 1],
      ['opencl', 1],
      ['refused text', 2],
      ['unfinished', 1],
    ]);
    const cleared = await millrace(['cache', '--clear', '--json'], { env });
    // Another process may still be writing an unfinished entry that is less than an hour old.
    expect([cleared.status, cleared.events.at(-1)?.deleted]).toEqual([0, 5]);
    expect(readdirSync(folder)).toEqual(['.new-killed']);
  });
});
