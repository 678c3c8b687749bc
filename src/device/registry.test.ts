import { expect, test, vi } from 'vitest';
import { listDevices, openDevice, openDevices } from './registry.js';

const noCompiler = <T>(action: () => Promise<T>): Promise<T> => {
  vi.stubEnv('MILLRACE_CC', '/nonexistent/cc');
  return action().finally(() => vi.unstubAllEnvs());
};

test('the interpreter is always available', async () => {
  const { devices } = await listDevices();
  expect(devices.map(({ id }) => id)).toContain('interpreter');
});

test('without a compiler native is absent, and the list says why', async () => {
  const { devices, absent } = await noCompiler(listDevices);
  const ids = devices.map(({ id }) => id);
  expect(ids).not.toContain('native');
  expect(ids).toEqual(expect.arrayContaining(['wasm', 'interpreter']));
  expect(absent).toContainEqual({
    id: 'native',
    reason: expect.stringMatching(/MILLRACE_CC.*\/nonexistent\/cc not found/),
  });
});

test('without a compiler native cannot be opened, for the same reason; auto takes the next best', async () => {
  await noCompiler(async () => {
    for (const name of ['native', 'cpu', ' CPU ']) {
      await expect(openDevice(name)).rejects.toMatchObject({
        code: 'device-absent',
        message: expect.stringMatching(/not found/),
      });
    }
    const best = await openDevice('auto');
    const hasGpu = (await listDevices()).devices.some(({ processor }) => processor === 'gpu');
    expect(best.info.processor === 'gpu' ? 'gpu' : best.info.id).toBe(hasGpu ? 'gpu' : 'wasm');
    await best.close();
  });
});

test('the error for an unknown name lists the devices', async () => {
  for (const name of ['gpu', '', 'natve', 'interpreter2']) {
    await expect(openDevice(name)).rejects.toMatchObject({
      code: 'device-unknown',
      message: expect.stringMatching(/there is no device called .*\n.*\n.*interpreter/),
    });
  }
});

test('a device number that does not exist is absent', async () => {
  await expect(openDevice('interpreter:1')).rejects.toMatchObject({ code: 'device-absent' });
});

test('openDevices opens all devices of a list or none', async () => {
  const devices = await openDevices('interpreter, wasm', { threads: 1 });
  expect(devices.map(({ info }) => info.id)).toEqual(['interpreter', 'wasm']);
  await Promise.all(devices.map((device) => device.close()));
  await expect(openDevices('interpreter,nothing')).rejects.toMatchObject({ code: 'device-unknown' });
  await expect(openDevices(' , ')).rejects.toMatchObject({ code: 'usage' });
});
