import type { Device } from './device.js';
import { DeviceKinds, type DeviceList, type OpenOptions } from './kinds.js';

export type { DeviceKind, DeviceList, DeviceModule, OpenOptions } from './kinds.js';

/** Best first: the order of `auto`. */
const kinds = new DeviceKinds([
  { id: 'native', aliases: ['cpu'], load: () => import('./native/device.js') },
  { id: 'wasm', aliases: [], load: () => import('./wasm/device.js') },
  { id: 'interpreter', aliases: [], load: () => import('./interpreter/device.js') },
]);

/** Everything that `openDevice` would open here, best first, and why the rest is not there. */
export const listDevices = (options?: OpenOptions): Promise<DeviceList> => kinds.list(options);

/** Opens a device by its name: `auto`, a kind (`native`, also `cpu`; `interpreter`), or a kind and a number. */
export const openDevice = (name: string, options?: OpenOptions): Promise<Device> => kinds.open(name, options);

/** Opens a list such as `native,interpreter`; all of them or none. */
export const openDevices = (names: string, options?: OpenOptions): Promise<Device[]> => kinds.openAll(names, options);
