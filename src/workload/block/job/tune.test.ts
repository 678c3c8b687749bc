import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { byTier, isShort } from '../../../../test/tier.js';
import type { CompileOptions, Device } from '../../../device/device.js';
import { openDevice } from '../../../device/registry.js';
import { Engine, search } from '../../../engine/index.js';
import { tune } from '../../../engine/tune/tune.js';
import { items, type Kernel, u32, when } from '../../../kernel/index.js';
import { EASY_SCAN, genesis } from '../kernel/genesis.js';
import { type BlockSetting, nonceFlow } from '../kernel/nonce-flow.js';
import { checkNonce, headerPrefix } from '../kernel/reference.js';
import { blockTunable } from './tune.js';

let device: Device;
beforeAll(async () => {
  device = await openDevice('wasm', { threads: 1 });
});
afterAll(() => device.close());

/** The device with a compiler that returns another program for some options. */
function poisoned(kernel: Kernel, isMeant: (options: CompileOptions) => boolean): Device {
  return new Proxy(device, {
    get(target, name) {
      if (name === 'compile')
        return (asked: Kernel, options: CompileOptions = {}) =>
          target.compile(isMeant(options) ? kernel : asked, options);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Like the search kernel, but it claims one fixed nonce. */
const claims = (nonce: number) =>
  items('block', { job: { header: [u32, 19], target: [u32, 8] }, hit: { nonce: u32 } }, ({ index, emit }) =>
    when(index.lo.eq(nonce), () => emit({ nonce: index.lo })),
  ) as unknown as Kernel;

describe('a poisoned candidate', () => {
  it.skipIf(isShort)('that claims an invalid nonce is named, and none is chosen', async () => {
    const wrong = poisoned(claims(5), ({ lanes }) => lanes === 1);
    await expect(tune(wrong, blockTunable, { rounds: 1 })).rejects.toMatchObject({
      code: 'device-failed',
      message: expect.stringContaining('candidate lanes 1 reported nonce 5, whose hash is not below the target'),
    });
  });

  it.skipIf(isShort)('that misses hits of the others is named too', async () => {
    const wrong = poisoned(claims(2 ** 31), ({ lanes }) => lanes === 1);
    await expect(tune(wrong, blockTunable, { rounds: 1 })).rejects.toMatchObject({
      code: 'device-failed',
      message: expect.stringContaining('candidate lanes 1 and default give different results'),
    });
  });
});

describe('every setting', () => {
  const prefix = headerPrefix(genesis);
  const some: BlockSetting[] = [{ perThread: 2, lanes: 1 }];
  const settings = byTier(some, [
    ...some,
    {},
    { lanes: 1 },
    { perThread: 2 },
    { perThread: 4, lanes: 1 },
    { pipes: 1 },
  ]);

  it.each(settings)('%j finds the same nonces in an unaligned range', async (setting) => {
    const [from, to] = [3, 4094];
    const expected = Array.from({ length: to - from }, (_, at) => from + at).filter(
      (nonce) => checkNonce(prefix, EASY_SCAN.target, nonce).valid,
    );
    const engine = new Engine([device]);
    try {
      const flow = nonceFlow({ prefix, target: EASY_SCAN.target, max: 1001 }, setting);
      const found: number[] = [];
      const space = { start: BigInt(from), length: BigInt(to - from) };
      for await (const { index, nonce } of search(flow, { engine, space })) {
        expect(index).toBe(BigInt(nonce));
        found.push(nonce);
      }
      expect(found).toEqual(expected);
      expect(found.length).toBeGreaterThan(5);
    } finally {
      await engine.close();
    }
  });
});
