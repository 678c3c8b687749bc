import type { Device, DeviceInfo } from '../../device/device.js';
import type { Kernel } from '../../kernel/index.js';
import type { EngineOptions } from '../engine.js';
import type { Flow } from '../flow/flow.js';
import type { Setting, Tunable, TuningRecord } from './tune.js';

/**
 * What was measured before, and whoever keeps it. A job asks when it comes to a device: what is known is used, else the
 * device's own choices are. Nothing here decides an answer, only how soon it comes.
 */

/** What a tuning is about. Any other kernel, device, driver or set of candidates is another one. */
export interface TuningAbout {
  readonly workload: string;
  readonly kernels: readonly Kernel[];
  readonly device: string;
  readonly driver: string;
  readonly candidates: string;
}

/** Where tunings are kept. */
export interface TuningShelf {
  find(about: TuningAbout): Promise<TuningRecord | undefined>;
  /** Undefined: what is known is forgotten. */
  keep(about: TuningAbout, record: TuningRecord | undefined): Promise<void>;
}

let theShelf: TuningShelf | undefined;

/** Says where tunings are kept; undefined: nowhere. The package's entry for Node and the command do. */
export function keepTuningsOn(shelf: TuningShelf | undefined): void {
  theShelf = shelf;
  known = new WeakMap();
}

export function tuningAbout({ name, kernels, axes }: Tunable, info: DeviceInfo): TuningAbout {
  const { kind, name: hardware, units, versions } = info;
  return {
    workload: name,
    kernels: kernels(info),
    device: `${kind}, ${hardware}, ${units} units`,
    driver: Object.entries(versions)
      .map(([what, version]) => `${what} ${version}`)
      .sort()
      .join(', '),
    candidates: JSON.stringify(axes(info)),
  };
}

/** What is set for a workload on a device: read once, then remembered while the device is open. */
export async function settingFor<S extends Setting>(device: Device, tunable: Tunable<S>): Promise<S> {
  return ((await tuningFor(device, tunable))?.setting ?? {}) as S;
}

/** A flow that is made on each device with the setting that is kept for it. */
export function tunedFlow<S extends Setting, Result>(
  tunable: Tunable<S>,
  make: (setting: S) => Flow<Result>,
): Flow<Result> {
  return {
    name: make({} as S).name,
    open: async (device, options) => make(await settingFor(device, tunable)).open(device, options),
  };
}

/** Streams and slots that suit devices, for the engine that is to feed them. */
export async function tunedFeeding<S extends Setting & Feeding>(
  devices: readonly Device[],
  tunable: Tunable<S>,
): Promise<ReadonlyMap<Device, Feeding>> {
  const settings = await Promise.all(devices.map((device) => settingFor(device, tunable)));
  return new Map(
    devices.map((device, at) => {
      const { streams, slots } = settings[at] ?? ({} as Feeding);
      return [device, { ...(streams !== undefined && { streams }), ...(slots !== undefined && { slots }) }];
    }),
  );
}

type Feeding = Pick<EngineOptions, 'streams' | 'slots'>;

/** Undefined where nothing is known. A shelf that cannot be read is as good as an empty one. */
export function tuningFor<S extends Setting>(
  device: Device,
  tunable: Tunable<S>,
): Promise<TuningRecord<S> | undefined> {
  const shelf = theShelf;
  if (shelf === undefined) return Promise.resolve(undefined);
  const own = known.get(device) ?? new Map<string, Promise<TuningRecord | undefined>>();
  known.set(device, own);
  const asked =
    own.get(tunable.name) ?? shelf.find(tuningAbout(tunable as unknown as Tunable, device.info)).catch(() => undefined);
  own.set(tunable.name, asked);
  return asked as Promise<TuningRecord<S> | undefined>;
}

/** A tuning is there, or gone: kept, and used by jobs that come to the device from now on. */
export async function keepTuning<S extends Setting>(
  device: Device,
  tunable: Tunable<S>,
  record: TuningRecord<S> | undefined,
): Promise<void> {
  known.get(device)?.delete(tunable.name);
  await theShelf?.keep(tuningAbout(tunable as unknown as Tunable, device.info), record);
}

let known = new WeakMap<Device, Map<string, Promise<TuningRecord | undefined>>>();
