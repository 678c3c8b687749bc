import type { Device } from './device/device.js';
import { DeviceKinds, type DeviceList, type OpenOptions } from './device/kinds.js';
import { definePageWorkers, type PageWorker } from './device/pool/threads/threads.js';
import { openDevicesWith } from './engine/index.js';

/**
 * Millrace in a page: the kernel language, the engine, the devices available in a page, and the self-test. The build
 * bundles it into `dist/browser/millrace.js`, with the files of its threads in the same folder. Threads of `wasm` need a
 * page that is cross-origin isolated (docs/browser.md).
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

declare const Worker: new (file: URL, options: { readonly type: 'module'; readonly name: string }) => PageWorker;

// Literally in this form, by which bundlers find workers. The files are beside the bundle (scripts/bundle.mjs); their
// names are long because an app may have a worker.js of its own.
definePageWorkers(
  {
    'worker.js': () =>
      new Worker(new URL('./millrace-wasm-worker.js', import.meta.url), { type: 'module', name: 'millrace wasm' }),
    'webgpu-worker.js': () =>
      new Worker(new URL('./millrace-webgpu-worker.js', import.meta.url), { type: 'module', name: 'millrace webgpu' }),
    'checker.js': () =>
      new Worker(new URL('./millrace-check-worker.js', import.meta.url), { type: 'module', name: 'millrace check' }),
  },
  async () => (await import('./worker-texts.js')).workerTexts,
);

openDevicesWith((names, options) => kinds.openAll(names, options));
