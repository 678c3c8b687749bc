import type { Device } from './device/device.js';
import { DeviceKinds, type DeviceList, type OpenOptions } from './device/kinds.js';

/**
 * Millrace in a page: the kernel language, the devices that a page can have, and the self-test. The build makes one file
 * of it, `dist/browser/millrace.js`, with `worker.js` beside it. Threads need a page that is cross-origin isolated.
 */
export type {
  ConformanceOptions,
  Totals,
} from './device/conformance/index.js';
export { type CaseResult, conformanceCases, runConformance } from './device/conformance/index.js';
export type * from './device/device.js';
export * from './kernel/index.js';

const kinds = new DeviceKinds([
  { id: 'wasm', aliases: ['cpu'], load: () => import('./device/wasm/device.js') },
  { id: 'interpreter', aliases: [], load: () => import('./device/interpreter/device.js') },
]);

/** What `openDevice` would open in this page, best first, and why the rest is not there. */
export const listDevices = (options?: OpenOptions): Promise<DeviceList> => kinds.list(options);

/** Opens a device by its name: `auto`, `wasm`, `interpreter`. */
export const openDevice = (name: string, options?: OpenOptions): Promise<Device> => kinds.open(name, options);
