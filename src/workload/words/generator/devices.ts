import { buildVersion } from '../../../console/command/version.js';
import { listDevices } from '../../../device/registry.js';
import { Status, WordsError } from './status.js';

/** Lists devices for generators, as the C interface does. */

export const wordsVersion = (): string => buildVersion();

export async function isCudaAvailable(): Promise<boolean> {
  const { devices } = await listDevices();
  return devices.some(({ kind }) => kind === 'cuda');
}

/** Returns the names of all GPUs, as `createGenerator` takes them, or the best device if there is no GPU. */
export async function everyGpu(): Promise<string> {
  const { devices } = await listDevices();
  const [best] = devices;
  // Of one runtime only: every runtime lists the same card.
  const all = devices.filter(({ kind, processor }) => processor === 'gpu' && kind === best?.kind);
  return all.length === 0 ? 'auto' : all.map(({ id }) => id).join(',');
}

export async function deviceCount(): Promise<number> {
  return (await listDevices()).devices.length;
}

export interface DeviceProperties {
  /** The name for `createGenerator`. */
  readonly id: string;
  readonly name: string;
  /** CUDA's compute capability; 0 on other devices. */
  readonly major: number;
  readonly minor: number;
  readonly memoryBytes: number;
  readonly units: number;
}

/** Returns the properties of a device by its number, from 0. */
export async function deviceProperties(number: number): Promise<DeviceProperties> {
  const { devices } = await listDevices();
  const info = devices[number];
  if (info === undefined) {
    const asked = `device ${number}`;
    throw new WordsError(
      Status.badParameter,
      `no device ${number}: there are ${devices.length} devices`,
      asked,
      'count from 0',
    );
  }
  const [major = 0, minor = 0] = (info.details?.['compute capability'] ?? '').split('.').map(Number);
  return { id: info.id, name: info.name, major, minor, memoryBytes: info.memoryBytes, units: info.units };
}
