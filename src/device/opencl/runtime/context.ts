import { deviceAbsent } from '../../checks/absent.js';
import { OutParameters } from '../../gpu/native/api.js';
import { type OpenClApi, openclApi } from './api.js';
import type { OpenClErrors } from './errors.js';
import { type ClDevice, errorsOf, listDevices } from './info.js';
import { findOpenCl } from './library.js';

/** A context on one device, with its related objects. */
export interface Context {
  readonly api: OpenClApi;
  readonly errors: OpenClErrors;
  readonly device: ClDevice;
  readonly handle: number;
  /** True if the device's memory is the host's: nothing has to be copied between them. */
  readonly sharesHostMemory: boolean;
  release(memory: number): void;
  /** How many buffers have been released: a new one may get the same handle. */
  released(): number;
  close(): void;
}

/** Returns the loader and its devices; or why there are none. */
export function findDevices(
  wrap?: (api: OpenClApi) => OpenClApi,
):
  | { readonly api: OpenClApi; readonly path: string; readonly devices: readonly ClDevice[] }
  | { readonly reason: string } {
  const found = findOpenCl();
  if ('reason' in found) return found;
  const loaded = openclApi(found.path);
  const api = wrap?.(loaded) ?? loaded;
  const devices = listDevices(api);
  return 'reason' in devices ? devices : { api, path: found.path, devices };
}

/** Opens the device `opencl:<number>`. `forceCopies`: treats its memory as separate from the host's even if it is not. */
export function openContext(number: number, wrap?: (api: OpenClApi) => OpenClApi, forceCopies = false): Context {
  const found = findDevices(wrap);
  if ('reason' in found) throw deviceAbsent(`opencl:${number}`, found.reason);
  const { api, devices } = found;
  const device = devices[number];
  if (device === undefined) throw deviceAbsent(`opencl:${number}`, deviceListText(devices.map(({ name }) => name)));
  const errors = errorsOf(device);
  const out = new OutParameters();
  // SAFETY: a list of one device, and space for the code; no callback: the driver must never call into JavaScript.
  const handle = api.clCreateContext(0, 1, out.put(device.handle), 0, 0, out.cellAddress(1));
  errors.check('clCreateContext', out.int(1), 'opening the device');
  let count = 0;
  return {
    api,
    errors,
    device,
    handle,
    sharesHostMemory: device.isCpu && !forceCopies,
    release: (memory) => {
      api.clReleaseMemObject(memory);
      count++;
    },
    released: () => count,
    close: () => void api.clReleaseContext(handle),
  };
}

export const deviceListText = (names: readonly string[]): string =>
  `the OpenCL devices on this machine are ${names.map((name, i) => `opencl:${i} (${name})`).join(', ')}`;
