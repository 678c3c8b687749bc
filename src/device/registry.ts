import { deviceAbsent } from './checks/absent.js';
import type { Device, Sensors } from './device.js';
import { DeviceKinds, type DeviceList, type DeviceModule, type Diagnostic, type OpenOptions } from './kinds.js';
import { type OptionalPackage, whyNotInstalled } from './packages.js';

export type { DeviceKind, DeviceList, DeviceModule, Diagnostic, ExpectedKernel, OpenOptions } from './kinds.js';

const kinds = new DeviceKinds(
  [
    { id: 'cuda', aliases: [], load: () => needing('koffi', () => import('./cuda/device.js')) },
    { id: 'opencl', aliases: [], load: () => needing('koffi', () => import('./opencl/device.js')) },
    { id: 'webgpu', aliases: [], load: () => import('./webgpu/node/device.js') },
    { id: 'native', aliases: ['cpu'], usesAllCores: true, load: () => import('./native/device.js') },
    { id: 'wasm', aliases: [], usesAllCores: true, load: () => import('./wasm/node/device.js') },
    { id: 'interpreter', aliases: [], load: () => import('./interpreter/device.js') },
  ],
  // GPU runtimes that run on a CPU come last: C and WebAssembly are several times as fast there. They exist for tests.
  [
    { kind: 'cuda', processor: 'gpu' },
    { kind: 'opencl', processor: 'gpu' },
    { kind: 'webgpu', processor: 'gpu' },
    { kind: 'native' },
    { kind: 'wasm' },
    { kind: 'opencl' },
    { kind: 'webgpu' },
    { kind: 'interpreter' },
  ],
);

/** Loads a kind's module. Its devices are absent if the package that the module needs is not installed. */
async function needing(name: OptionalPackage, load: () => Promise<DeviceModule>): Promise<DeviceModule> {
  const reason = whyNotInstalled(name);
  if (reason === undefined) return load();
  return { probe: async () => ({ reason }), open: (id) => Promise.reject(deviceAbsent(id, reason)) };
}

/** Lists the devices that `openDevice` can open here, best first, and why the other kinds are absent. */
export const listDevices = (options?: OpenOptions): Promise<DeviceList> => kinds.list(options);

/** Opens a device by its name: `auto`, a kind (`native`, also `cpu`; `cuda`, its first), or one of several (`cuda:1`). */
export const openDevice = (name: string, options?: OpenOptions): Promise<Device> => kinds.open(name, options);

/** Opens a list such as `cuda:0,native`: each device in it once, or none if one fails. */
export const openDevices = (names: string, options?: OpenOptions): Promise<Device[]> => kinds.openAll(names, options);

/** Reads a device's sensors without opening it; undefined if it reports nothing. */
export const readSensors = (id: string): Promise<Sensors | undefined> => kinds.sensors(id);

/** Collects each kind's diagnostics of this machine beyond its devices, for a report. */
export const diagnoseDevices = (): Promise<{ readonly kind: string; readonly findings: readonly Diagnostic[] }[]> =>
  kinds.diagnose();
