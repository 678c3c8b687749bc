// The thread of a webgpu device whose GPUDevice is destroyed, unknown to the driver, when word 0 of `lose` becomes 1.

import { serve } from '../../dist/device/gpu/worker/serve.js';
import { WebGpuDriver } from '../../dist/device/webgpu/driver.js';
import { describeAdapter, deviceRequest } from '../../dist/device/webgpu/info.js';
import { listAdapters, promisesSpin } from '../../dist/device/webgpu/library.js';
import { shutDownBeforeExit } from '../../dist/device/webgpu/shut-down.js';

serve('asynchronous', (/** @type {{ lose: Int32Array }} */ { lose }, host) => {
  shutDownBeforeExit(async () => (await opening).close());
  const opening = open(lose, host);
  return opening;
});

/** @param {Int32Array} lose @param {import('../../dist/device/gpu/worker/driver.js').DriverHost} host */
async function open(lose, host) {
  const found = await listAdapters();
  const first = 'adapters' in found ? found.adapters[0] : undefined;
  if (!first) throw new Error('no adapter');
  const device = await first.adapter.requestDevice(deviceRequest(first.adapter));
  const { value } = Atomics.waitAsync(lose, 0, 0);
  void Promise.resolve(value).then(() => device.destroy());
  const { info } = describeAdapter(first, 0);
  const parts = {
    gpu: first.gpu,
    device,
    limits: first.adapter.limits,
    info,
    timestamps: false,
    spins: promisesSpin(),
  };
  return WebGpuDriver.open(parts, host);
}
