export * from './device/device.js';
export { listDevices, openDevice, openDevices } from './device/registry.js';
export * from './kernel/index.js';
