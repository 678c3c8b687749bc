import { absent } from '../checks/absent.js';
import type { DriverHost } from '../gpu/worker/driver.js';
import { serve } from '../gpu/worker/serve.js';
import { WebGpuDriver } from './driver.js';
import { describe, deviceWishes } from './info.js';
import { leaveInTime } from './leave.js';
import { type AdapterChoice, findAdapter, keepDrivers, promisesSpin } from './library.js';
import { timed } from './submit/timed.js';

/** The start data of the device's thread. */
export interface WebGpuStart {
  readonly number: number;
  readonly choice: AdapterChoice;
}

serve<WebGpuStart>('asynchronous', (own, host) => {
  leaveInTime(async () => (await opening).close()); // before any promise is open
  const opening = open(own, host);
  return opening;
});

async function open({ number, choice }: WebGpuStart, host: DriverHost): Promise<WebGpuDriver> {
  const found = await findAdapter(choice);
  if (!found) throw absent(`webgpu:${number}`, 'its adapter is not there any more');
  keepDrivers();
  const { adapter, gpu } = found;
  const { info } = describe(found, number);
  const wishes = deviceWishes(adapter);
  const device = timed(await adapter.requestDevice(wishes), host.calls);
  host.log(`${info.id}: ${info.name}, features: ${wishes.requiredFeatures.join(', ') || 'none'}`);
  const timestamps = wishes.requiredFeatures.includes('timestamp-query');
  return WebGpuDriver.open({ gpu, device, limits: adapter.limits, info, timestamps, spins: promisesSpin() }, host);
}
