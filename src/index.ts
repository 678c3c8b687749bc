import { openDevices } from './device/registry.js';
import { openDevicesWith } from './engine/index.js';

export * from './device/device.js';
export { listDevices, openDevice, openDevices } from './device/registry.js';
export * from './engine/index.js';
export * from './kernel/index.js';

openDevicesWith(openDevices);
