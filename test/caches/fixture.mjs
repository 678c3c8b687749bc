// Writes a cache of compiled programs in the current format: `node test/caches/fixture.mjs test/fixtures/cache-1`.
// test/fixtures has one per format. entries.mjs lists the contents; test/cache-upgrade.test.ts reads them.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const [, , folder = ''] = process.argv;
const { DiskCache } = await import('../../dist/device/cache/cache.js');
const { compile } = await import('../../dist/device/native/compile.js');
const { buildCached } = await import('../../dist/device/gpu/build/build.js');
const { BINARY, compiler, cpu, gpu, native } = await import('./entries.mjs');

// A fake compiler, so that the fixture does not depend on a machine.
const tools = mkdtempSync(join(tmpdir(), 'millrace-fixture-'));
writeFileSync(
  join(tools, compiler.path),
  `#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf '${BINARY}' > "$2"\n`,
);
chmodSync(join(tools, compiler.path), 0o755);
process.env.PATH = `${tools}${delimiter}${process.env.PATH}`;

const cache = await DiskCache.open({ MILLRACE_CACHE_DIR: folder });
await compile(native, compiler, cpu, cache);
for (const { source: given, options } of gpu) {
  const source = /** @type {import('../../dist/device/gpu/worker/driver.js').GpuSource} */ (
    /** @type {unknown} */ (given)
  );
  const binary = new TextEncoder().encode(BINARY);
  await buildCached(source, { ...options, cache, compile: async () => ({ binary }) });
  const refused = { compiler: 'none', line: 1, message: 'refused' };
  await buildCached(source, { ...options, key: 'f'.repeat(64), cache, compile: async () => refused }).catch(() => {});
}
// A killed process leaves this behind.
mkdirSync(join(folder, '.new-killed'));
writeFileSync(join(folder, '.new-killed', 'kernel.c'), 'half a text');
rmSync(tools, { recursive: true });
