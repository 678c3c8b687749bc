import { CopyThreads } from '../../gpu/host/copy-threads.js';
import type { OpenOptions } from '../../kinds.js';
import { workerUrl } from '../../pool/threads/threads.js';
import { openWebGpu, type WebGpuDevice } from '../device.js';

export { diagnose, prepare, probe } from '../device.js';

/** WebGPU in Node: threads copy what large transfers move. */
export const open = (id: string, options: OpenOptions = {}): Promise<WebGpuDevice> =>
  openWebGpu(id, options, { worker: workerUrl(import.meta.url), copyThreads: new CopyThreads() });
