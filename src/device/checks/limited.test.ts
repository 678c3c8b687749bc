import { afterEach, expect, it } from 'vitest';
import type { Device } from '../device.js';
import { openDevice } from '../registry.js';

let device: Device | undefined;
afterEach(() => device?.close());

it('a device with a memory limit reports it and allocates no more', async () => {
  device = await openDevice('interpreter', { memory: 1000 });
  expect(device.info.memoryBytes).toBe(1000);
  expect(device.info.limits.bufferBytes).toBe(1000);
  const first = await device.alloc(600);
  await expect(device.alloc(600)).rejects.toMatchObject({ code: 'device-memory' });
  const second = await device.alloc(400);
  first.free();
  first.free(); // a second free has no effect
  await expect(device.alloc(601)).rejects.toThrow('--max-memory');
  await device.alloc(600);
  second.free();
});

it('a limit above the memory of the device has no effect', async () => {
  device = await openDevice('interpreter', { memory: Number.MAX_SAFE_INTEGER });
  const { info } = device;
  await device.close();
  device = await openDevice('interpreter');
  expect(info.memoryBytes).toBe(device.info.memoryBytes);
});
