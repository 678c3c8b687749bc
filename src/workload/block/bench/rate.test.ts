import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isShort } from '../../../../test/tier.js';
import type { Device } from '../../../device/device.js';
import { listDevices, openDevice } from '../../../device/registry.js';
import { peers } from './peers.js';
import { rateOf } from './rate.js';

describe('the kernel as a candidate', () => {
  let device: Device | undefined;
  beforeAll(async () => {
    const { devices } = await listDevices();
    if (devices.some(({ id }) => id === 'native')) device = await openDevice('native', { threads: 1 });
  });
  afterAll(() => device?.close());

  it('checks its hits, and gives the same digest each time', async (ctx) => {
    if (!device) return ctx.skip('no C compiler');
    const candidate = await rateOf(device, 5);
    expect(candidate.name).toBe('native, 1 thread');
    const [first, second] = [await candidate.run(), await candidate.run()];
    expect(first.work).toBeGreaterThan(1e5);
    expect(second).toEqual(first);
  });
});

describe('peers', async () => {
  // openssl measures for a second in a separate process, while the other tests run.
  const [crypto, command] = await peers(5);
  const openssl = isShort ? undefined : command?.run();

  it('node:crypto hashes a known message', async () => {
    const { work, digest } = await crypto!.run();
    // 8 times 64 MiB in blocks of 64 bytes, two to a hash; sha256sum of 64 MiB of the byte 0x5a.
    expect(work).toBe(2 ** 22);
    expect(digest).toBe('103f23a15401a701b73587902f16e3b5b3bf38a039d5c94b675a9a8e84dbd5b5');
  });
  it.skipIf(isShort)('the output of openssl speed is parsed', async (ctx) => {
    if (!openssl) return ctx.skip('no openssl command');
    const { work, seconds } = await openssl;
    expect(work).toBeGreaterThan(1e5);
    expect(seconds).toBe(1);
  });
});
