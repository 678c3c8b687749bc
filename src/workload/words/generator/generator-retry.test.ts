import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Device } from '../../../device/device.js';
import { openDevice } from '../../../device/registry.js';
import { toByteString } from '../space/charset.js';
import { createGenerator, type Generator } from './generator.js';

let device: Device;
beforeAll(async () => {
  device = await openDevice('wasm', { threads: 1 });
});
afterAll(() => device?.close());

/** The device, whose first allocation fails. */
function shortOnce(): Device {
  let isShort = true;
  return new Proxy(device, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (name !== 'alloc' || !isShort) return value.apply(target, given);
        isShort = false;
        return Promise.reject(new Error('out of memory'));
      };
    },
  });
}

test.each<[string, (words: Generator) => Promise<unknown>]>([
  ['generateOnDevice', (words) => words.generateOnDevice(0n, 4)],
  ['generate', (words) => words.generate(0n, 4, new Uint8Array(64))],
])('%s works once memory is free again', async (_, call) => {
  const words = await createGenerator({ devices: shortOnce() });
  try {
    words.setCharset(2, 'abc');
    words.setMask([2, 2]);
    await expect(call(words)).rejects.toThrow('out of memory');
    await call(words);
    const bytes = new Uint8Array(64);
    const length = await words.generate(0n, 4, bytes);
    expect(toByteString(bytes.subarray(0, length))).toBe('aa\nab\nac\nba\n');
  } finally {
    await words.close();
  }
});
