import type { Device } from './device/device.js';
import { DeviceKinds, type DeviceList, type OpenOptions } from './device/kinds.js';
import { openDevicesWith } from './engine/index.js';

/**
 * Millrace in a page: the kernel language, the engine, the devices available in a page, and the self-test. The build
 * bundles it into `dist/browser/millrace.js`, with the files of its threads in the same folder (`worker.js`,
 * `webgpu-worker.js`, `checker.js`). The threads of `wasm` need a page that is cross-origin isolated.
 */
export type {
  ConformanceOptions,
  Totals,
} from './device/conformance/index.js';
export { type CaseResult, conformanceCases, runConformance } from './device/conformance/index.js';
export type * from './device/device.js';
export * from './engine/index.js';
export * from './kernel/index.js';
export { type Challenge, proofs as uhashProofs } from './workload/uhash/job/flow.js';

const kinds = new DeviceKinds(
  [
    { id: 'webgpu', aliases: [], load: () => import('./device/webgpu/device.js') },
    { id: 'wasm', aliases: ['cpu'], load: () => import('./device/wasm/device.js') },
    { id: 'interpreter', aliases: [], load: () => import('./device/interpreter/device.js') },
  ],
  // WebGPU on a CPU is for tests: WebAssembly is faster.
  [{ kind: 'webgpu', processor: 'gpu' }, { kind: 'wasm' }, { kind: 'webgpu' }, { kind: 'interpreter' }],
);

/** Lists the devices that `openDevice` can open in this page, best first, and why the others are unavailable. */
export const listDevices = (options?: OpenOptions): Promise<DeviceList> => kinds.list(options);

/** Opens a device by its name: `auto`, `webgpu`, `wasm`, `interpreter`. */
export const openDevice = (name: string, options?: OpenOptions): Promise<Device> => kinds.open(name, options);

openDevicesWith((names, options) => kinds.openAll(names, options));
