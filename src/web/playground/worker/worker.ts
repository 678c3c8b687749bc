import type { Device } from '../../../device/device.js';
import type { DeviceList } from '../../../device/kinds.js';
import { faultOf } from '../faults.js';
import { launchTask } from '../launch.js';
import type { DevicesData, WorkerReply, WorkerRequest } from '../messages.js';
import { readTask } from '../task.js';
import { compileKernel } from './compile.js';
import { stepsOf } from './steps.js';

/** The devices of a page. */
export interface PageDevices {
  list(): Promise<DeviceList>;
  open(id: string): Promise<Device>;
}

interface WorkerScope {
  onmessage: (event: { data: WorkerRequest & { readonly id: number } }) => void;
  postMessage(reply: WorkerReply): void;
}

/**
 * The page's worker: compiles kernels, steps through them and runs them on the devices of the page. It sees no code of the
 * user, only kernels as data. The page ends it if it takes too long.
 */
export function answerRequests(devices: PageDevices): void {
  const scope = globalThis as unknown as WorkerScope;
  const opened = openedOnce(devices);
  const answer = async (id: number, request: WorkerRequest): Promise<Done> => {
    switch (request.ask) {
      case 'compile':
        compileKernel(request.kernel, request.first, (part) => scope.postMessage({ id, part }));
        return null;
      case 'steps':
        return stepsOf(readTask(request.task), request.index);
      case 'devices':
        return devicesData(await devices.list());
      case 'run': {
        const { device, task, limitMs } = request;
        const onProgress = (tried: bigint): void => scope.postMessage({ id, part: { tried } });
        const options = { onProgress, ...(limitMs !== undefined && { limitMs }) };
        return launchTask(await opened(device), readTask(task), options);
      }
    }
  };
  scope.onmessage = async ({ data: { id, ...request } }) => {
    try {
      scope.postMessage({ id, done: await answer(id, request as WorkerRequest) });
    } catch (error) {
      scope.postMessage({ id, fault: faultOf(error) });
    }
  };
}

type Done = Extract<WorkerReply, { done: unknown }>['done'];

const devicesData = ({ devices, absent }: DeviceList): DevicesData => ({
  devices: devices.map(({ id, name }) => ({ id, name })),
  absent,
});

/** Devices stay open for the next run. One that cannot be opened is tried again. */
function openedOnce({ open }: PageDevices): (id: string) => Promise<Device> {
  const known = new Map<string, Promise<Device>>();
  return (id) => {
    const opening = known.get(id) ?? open(id);
    known.set(id, opening);
    opening.catch(() => known.delete(id));
    return opening;
  };
}
