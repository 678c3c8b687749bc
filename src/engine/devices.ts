import type { Device } from '../device/device.js';
import type { OpenOptions } from '../device/kinds.js';
import { MillraceError } from '../kernel/error.js';
import { Engine, type EngineOptions } from './engine.js';

/** Where a job runs: on an engine shared with other jobs, or on devices for this job alone, given open or by name. */
export type DeviceSelection =
  | { readonly engine: Engine }
  | ({
      readonly engine?: never;
      /**
       * Default `auto`, the best available device. Devices given by name are opened for the job and closed after it.
       */
      readonly devices?: Device | readonly Device[] | string;
    } & EngineOptions);

/** Opens the devices in a list of names, for example `cuda:0,cpu`. */
export type OpenDevices = (names: string, options: OpenOptions) => Promise<Device[]>;

let openByName: OpenDevices | undefined;

/**
 * Sets the function that opens devices by name. The package's entry points call it: Node and browsers have different
 * devices.
 */
export function openDevicesWith(open: OpenDevices): void {
  openByName = open;
}

/** Opens the engine that `selection` describes. `tunedOptions` gives streams and slots if `selection` does not. */
export async function openEngine(
  selection: DeviceSelection,
  tunedOptions?: (devices: readonly Device[]) => Promise<EngineOptions['perDevice']>,
): Promise<{ readonly engine: Engine; close(): Promise<void> }> {
  if (selection.engine) return { engine: selection.engine, close: async () => undefined };
  const { devices = 'auto', ...options } = selection;
  const completion = completionOf(options.pipeline);
  const opened = typeof devices === 'string' ? await opener()(devices, { completion }) : [];
  const used = typeof devices === 'string' ? opened : Array.isArray(devices) ? devices : [devices as Device];
  const closeOpened = () => Promise.all(opened.map((device) => device.close()));
  try {
    const perDevice = options.perDevice ?? (await tunedOptions?.(used));
    const engine = new Engine(used, { ...options, ...(perDevice && { perDevice }) });
    return {
      engine,
      close: async () => {
        await engine.close();
        await closeOpened();
      },
    };
  } catch (error) {
    await closeOpened();
    throw error;
  }
}

/** Opens the one device of a launch. A device that is given open stays open. */
export async function openDevice(
  devices: Device | string = 'auto',
): Promise<{ readonly device: Device; close(): Promise<void> }> {
  if (typeof devices !== 'string') return { device: devices, close: async () => undefined };
  const [device, ...others] = await opener()(devices, {});
  if (device && others.length === 0) return { device, close: () => device.close() };
  await Promise.all([device, ...others].map((one) => one?.close()));
  throw new MillraceError({
    code: 'usage',
    message: `a launch runs on one device, not on ${others.length + 1}`,
    asked: `devices "${devices}"`,
    advice: 'name one device; search, generate, transform and reduce use several',
  });
}

/** Returns how devices should detect completion with the given pipeline. */
export const completionOf = (pipeline: EngineOptions['pipeline'] = 'poll'): 'poll' | 'callback' | 'sync' =>
  pipeline === 'persistent' ? 'poll' : pipeline;

function opener(): OpenDevices {
  if (openByName) return openByName;
  throw new MillraceError({
    code: 'usage',
    message: 'this entry point cannot open devices by name',
    asked: 'a job without devices',
    advice: 'give opened devices, or import `millrace` or `millrace/browser`',
  });
}
