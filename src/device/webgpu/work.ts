import { deviceAbsent } from '../checks/absent.js';
import type { WorkerStart } from '../gpu/wire/messages.js';
import type { DriverHost } from '../gpu/worker/driver.js';
import { serving } from '../gpu/worker/serve.js';
import type { ThreadWork } from '../pool/threads/threads.js';
import { WebGpuDriver } from './driver.js';
import { describeAdapter, deviceRequest } from './info.js';
import { type AdapterChoice, findAdapter, pinDrivers, promisesSpin } from './library.js';
import type { CopyBytes } from './memory/transfers.js';
import { shutDownBeforeExit } from './shut-down.js';
import { withCallTimes } from './submit/timed.js';

/** The start data of the device's thread. */
export interface WebGpuStart {
  readonly number: number;
  readonly choice: AdapterChoice;
}

/**
 * The work of the device's thread. In a page without shared memory the page's own thread does it. `copyFor`: how large
 * pieces of transfers are copied (`Transfers`).
 */
export const webGpuWork = (copyFor?: (host: DriverHost) => CopyBytes): ThreadWork<WorkerStart<WebGpuStart>> =>
  serving<WebGpuStart>('asynchronous', (own, host) => {
    shutDownBeforeExit(async () => (await opening).close()); // before any promise is open
    const opening = open(own, host, copyFor?.(host));
    return opening;
  });

async function open({ number, choice }: WebGpuStart, host: DriverHost, copy?: CopyBytes): Promise<WebGpuDriver> {
  const found = await findAdapter(choice);
  if (!found) throw deviceAbsent(`webgpu:${number}`, 'its adapter is gone');
  pinDrivers();
  const { adapter, gpu } = found;
  const { limits } = adapter;
  const { info } = describeAdapter(found, number);
  const request = deviceRequest(adapter);
  const device = withCallTimes(await adapter.requestDevice(request), host.calls);
  host.log(`${info.id}: ${info.name}, features: ${request.requiredFeatures.join(', ') || 'none'}`);
  const timestamps = request.requiredFeatures.includes('timestamp-query');
  return WebGpuDriver.open({ gpu, device, limits, info, timestamps, spins: promisesSpin(), copy }, host);
}
