import { describe, expect, test } from 'vitest';
import { isShort } from '../../../../test/tier.js';
import { listDevices, openDevice } from '../../registry.js';

const { absent } = await listDevices();
const reason = absent.find(({ id }) => id === 'webgpu')?.reason;

/** More than all staging buffers of one direction hold, and not whole words. */
const BYTES = 40 * 2 ** 20 + 7;

describe('WebGPU transfers', () => {
  test.skipIf(isShort)('that are longer than the staging buffers, of two streams at a time', async (ctx) => {
    if (reason !== undefined) ctx.skip(reason);
    const device = await openDevice('webgpu');
    try {
      const lanes = await Promise.all(
        [0x9e37_79b1, 0x85eb_ca6b].map(async (factor) => {
          const [sent, received] = [await device.host(BYTES), await device.host(BYTES)];
          for (let i = 0; i < BYTES; i++) sent.bytes[i] = Math.imul(i, factor) >>> 24;
          return { sent, received, memory: await device.alloc(BYTES + 1), stream: device.stream() };
        }),
      );
      const last = new Uint8Array(4);
      for (const { sent, memory, stream } of lanes) {
        stream.fill(memory, 0xffff_ffff);
        stream.write(memory, sent.bytes);
      }
      for (const { received, memory, stream } of lanes) {
        stream.read(memory, received.bytes);
        stream.read(memory, last, BYTES - 3);
        await stream.mark().done;
        expect(last[3]).toBe(255); // the byte behind a write that ends inside a word
      }
      for (const { sent, received, stream } of lanes) {
        expect(Buffer.compare(Buffer.from(received.bytes), Buffer.from(sent.bytes))).toBe(0);
        stream.close();
      }
    } finally {
      await device.close();
    }
  });
});
