import type { Device, DeviceInfo } from '../../device/device.js';
import type { Kernel } from '../../kernel/index.js';
import type { EngineOptions } from '../engine.js';
import type { Flow } from '../flow/flow.js';
import type { Setting, Tunable, TuningRecord } from './tune.js';

/**
 * Stored tunings. A job looks them up when it opens on a device and uses the stored setting, else the device's
 * defaults. A tuning never changes an answer, only its time.
 */

/** The key of a tuning. Another kernel, device, driver or set of candidates is another key. */
export interface TuningSubject {
  readonly workload: string;
  readonly kernels: readonly Kernel[];
  readonly device: string;
  readonly driver: string;
  readonly candidates: string;
}

/** Stores tunings. */
export interface TuningStore {
  find(subject: TuningSubject): Promise<TuningRecord | undefined>;
  /** Stores a record. Undefined deletes the stored one. */
  save(subject: TuningSubject, record: TuningRecord | undefined): Promise<void>;
}

let tuningStore: TuningStore | undefined;

/** Sets the store of tunings. Undefined: none. The package's entry point for Node and the command call it. */
export function setTuningStore(store: TuningStore | undefined): void {
  tuningStore = store;
  tuningCache = new WeakMap();
}

export function tuningSubject({ name, kernels, axes }: Tunable, info: DeviceInfo): TuningSubject {
  const { kind, name: hardware, units, versions } = info;
  return {
    workload: name,
    kernels: kernels(info),
    device: `${kind}, ${hardware}, ${units} units`,
    driver: Object.entries(versions)
      .map(([component, version]) => `${component} ${version}`)
      .sort()
      .join(', '),
    candidates: JSON.stringify(axes(info)),
  };
}

/** Returns the setting of a workload on a device. It is read once and cached while the device is open. */
export async function settingFor<S extends Setting>(device: Device, tunable: Tunable<S>): Promise<S> {
  return ((await tuningFor(device, tunable))?.setting ?? {}) as S;
}

/** Makes a flow that uses the stored setting of each device. */
export function tunedFlow<S extends Setting, Result>(
  tunable: Tunable<S>,
  make: (setting: S) => Flow<Result>,
): Flow<Result> {
  return {
    name: make({} as S).name,
    open: async (device, options) => make(await settingFor(device, tunable)).open(device, options),
  };
}

/** Returns the tuned streams and slots of devices, for the engine's `perDevice` option. */
export async function tunedStreams<S extends Setting & StreamSettings>(
  devices: readonly Device[],
  tunable: Tunable<S>,
): Promise<ReadonlyMap<Device, StreamSettings>> {
  const settings = await Promise.all(devices.map((device) => settingFor(device, tunable)));
  return new Map(
    devices.map((device, at) => {
      const { streams, slots } = settings[at] ?? ({} as StreamSettings);
      return [device, { ...(streams !== undefined && { streams }), ...(slots !== undefined && { slots }) }];
    }),
  );
}

type StreamSettings = Pick<EngineOptions, 'streams' | 'slots'>;

/** Returns the stored tuning. Undefined if there is none or the store cannot be read. */
export function tuningFor<S extends Setting>(
  device: Device,
  tunable: Tunable<S>,
): Promise<TuningRecord<S> | undefined> {
  const store = tuningStore;
  if (store === undefined) return Promise.resolve(undefined);
  const own = tuningCache.get(device) ?? new Map<string, Promise<TuningRecord | undefined>>();
  tuningCache.set(device, own);
  const reading =
    own.get(tunable.name) ??
    store.find(tuningSubject(tunable as unknown as Tunable, device.info)).catch(() => undefined);
  own.set(tunable.name, reading);
  return reading as Promise<TuningRecord<S> | undefined>;
}

/** Stores or deletes a tuning. Jobs that open on the device from now on use it. */
export async function saveTuning<S extends Setting>(
  device: Device,
  tunable: Tunable<S>,
  record: TuningRecord<S> | undefined,
): Promise<void> {
  tuningCache.get(device)?.delete(tunable.name);
  await tuningStore?.save(tuningSubject(tunable as unknown as Tunable, device.info), record);
}

let tuningCache = new WeakMap<Device, Map<string, Promise<TuningRecord | undefined>>>();
