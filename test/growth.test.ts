import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { listDevices, openDevice } from '../src/device/registry.js';
import { processSize } from './process-size.mjs';
import { byTier, isLong, isShort } from './tier.js';

/**
 * Devices that are opened and closed leave nothing in the process. Without their workarounds, a cycle left three mappings
 * for each thread that loaded koffi, and SwiftShader an open file. `test/cycles.mjs` is the same test by hand,
 * `test/programs.mjs` that for kernels.
 */
const cacheDirectory = await mkdtemp(join(tmpdir(), 'millrace-test-'));
process.env.MILLRACE_CACHE_DIR = cacheDirectory;
afterAll(() => rm(cacheDirectory, { recursive: true, force: true }));
const { absent } = await listDevices();

test.for([
  // Enough cycles to exceed the limits below if each leaves something. A thread takes 60 ms to start.
  ...(isShort ? [] : [{ name: 'native', cycles: isLong ? 400 : 8, threads: 10 }]),
  { name: 'opencl', cycles: byTier(10, 60, 400), threads: 1 },
  ...(isShort ? [] : [{ name: 'webgpu', cycles: isLong ? 100 : 5, threads: 1 }]),
  ...(isLong ? [{ name: 'wasm', cycles: 400, threads: 4 }] : []),
])('$name leaks nothing in $cycles cycles', { timeout: 3_600_000 }, async ({ name, cycles, threads }, { skip }) => {
  const missing = absent.find(({ id }) => id === name);
  if (missing) return skip(`no device ${name}: ${missing.reason}`);
  if (process.platform !== 'linux') return skip('only Linux shows a process its mappings');
  const run = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const device = await openDevice(name, { threads });
      const stream = device.stream();
      const [buffer, host] = [await device.alloc(4096), await device.host(4096)];
      stream.fill(buffer, i);
      stream.read(buffer, host.bytes);
      await stream.mark().done;
      expect(host.bytes[4]).toBe(i & 255);
      host.free();
      await device.close();
    }
    return processSize();
  };
  // Allocators and engines cache memory, some of it late. A leak grows in every round.
  let before = await run(byTier(1, 2));
  const grown: { readonly files: number; readonly mappings: number }[] = [];
  for (let round = 0; round < 3; round++) {
    const after = await run(cycles);
    grown.push({ files: after.files - before.files, mappings: after.mappings - before.mappings });
    before = after;
    if (grown.some(({ files, mappings }) => files <= 2 && mappings < 60)) return;
  }
  expect(grown).toEqual([]);
});
