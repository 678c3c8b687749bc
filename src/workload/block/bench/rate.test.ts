import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isShort } from '../../../../test/tier.js';
import type { Device, Report, Stream } from '../../../device/device.js';
import { listDevices, openDevice } from '../../../device/registry.js';
import { virtualDevices } from '../../../engine/index.js';
import { blockTunable } from '../job/tune.js';
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

  it.skipIf(isShort)('of a device that loses hits has no rate', async (ctx) => {
    if (!device) return ctx.skip('no C compiler');
    const [lossy] = virtualDevices(device, [{ missesAt: 0 }]);
    await expect(rateOf(lossy!, 5)).rejects.toMatchObject({
      code: 'device-failed',
      message: expect.stringContaining('virtual:0 reported 0 hits instead of 231'),
    });
  });
});

it.skipIf(isShort)(
  'a trial of a tuning finds the nonce of the first block, with any number of streams',
  async (ctx) => {
    const { devices } = await listDevices();
    if (!devices.some(({ id }) => id === 'native')) return ctx.skip('no C compiler');
    const device = await openDevice('native', { threads: 1 });
    let marks = 0;
    // The first launch seems to take ten seconds, so that the window of a trial has a hundred nonces.
    const slow = wrapped(
      device,
      'stream',
      (stream: Device['stream']) => () =>
        wrapped(stream(), 'mark', (mark: Stream['mark']) => () => {
          const made = mark();
          const later = (report: Report): Report => ({ ...report, endedNs: report.startedNs + 10n ** 10n });
          return marks++ === 0 ? { done: made.done.then(later) } : made;
        }),
    );
    try {
      for (const setting of [{}, { streams: 1, slots: 2 }]) {
        const trial = await blockTunable.open(slow, setting, 'job');
        const { work, digest } = await trial.run(0);
        await trial.close();
        expect({ work, digest }).toEqual({ work: 104, digest: '2083236893' });
      }
      marks = 0;
      const launches = await blockTunable.open(slow, {}, 'launches');
      expect(await launches.run(0)).toMatchObject({ digest: '2083236893' });
      await launches.close();
    } finally {
      await device.close();
    }
  },
);

/** An object with another function in place of one of its own. */
function wrapped<T extends object, F>(object: T, replaced: keyof T, by: (own: F) => F): T {
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      const bound = typeof value === 'function' ? value.bind(target) : value;
      return name === replaced ? by(bound as F) : bound;
    },
  });
}

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
