import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { deviceTrial, fuzzDevice, fuzzPasses, passesTrial } from '../src/device/conformance/fuzz/run.js';
import { listDevices, openDevice } from '../src/device/registry.js';

/** Where the random kernels begin. A failure names its own seed, which goes into the lists below once it is mended. */
const SEED = 20_090_103;
const long = process.env['MILLRACE_LONG'] === '1';
const minutes = (n: number): number => n * 60_000;

const cacheDirectory = await mkdtemp(join(tmpdir(), 'millrace-test-'));
process.env['MILLRACE_CACHE_DIR'] = cacheDirectory;
afterAll(() => rm(cacheDirectory, { recursive: true, force: true }));

const { absent } = await listDevices();

describe('random kernels', () => {
  test('mean the same before and after the passes', { timeout: minutes(30) }, async () => {
    const { passed, firstFailure } = await fuzzPasses({ seed: SEED, seconds: long ? 600 : 10 });
    expect(firstFailure).toBeUndefined();
    expect(passed).toBeGreaterThan(0);
  });

  describe.each(['native'])('on %s', (name) => {
    test('give what the interpreter gives', { timeout: minutes(40) }, async ({ skip }) => {
      const missing = absent.find(({ id }) => id === name);
      if (missing) return skip(missing.reason);
      const device = await openDevice(name);
      try {
        const { passed, firstFailure } = await fuzzDevice(device, { seed: SEED, seconds: long ? 900 : 40 });
        expect(firstFailure).toBeUndefined();
        expect(passed).toBeGreaterThan(0);
      } finally {
        await device.close();
      }
    });
  });
});
