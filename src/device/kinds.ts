import { MillraceError } from '../kernel/error.js';
import type { Device, DeviceInfo } from './device.js';

export interface OpenOptions {
  /** Worker threads of a CPU device. */
  readonly threads?: number;
  /** The most streams that may be open at a time. */
  readonly streams?: number;
  /**
   * How a GPU's worker learns that work is done: by looking (`poll`), or by a word that the device has set (`callback`,
   * CUDA; elsewhere it means `poll`). `sync` waits in the driver: the old way, kept to compare with.
   */
  readonly completion?: 'poll' | 'callback' | 'sync';
  /** Record the time of every call of the driver. */
  readonly telemetry?: boolean;
  /** Diagnostics, a line each: handles, caches, decisions. */
  readonly log?: (line: string) => void;
}

/** What the module of a device kind exports. */
export interface DeviceModule {
  /** The devices of this kind on this machine, without starting any; or why there is none. */
  probe(options?: OpenOptions): Promise<{ readonly infos: readonly DeviceInfo[] } | { readonly reason: string }>;
  /** Opens one; `device-absent` where there is none. `id` is the kind's, or one of its devices'. */
  open(id: string, options?: OpenOptions): Promise<Device>;
}

export interface DeviceKind {
  readonly id: string;
  readonly aliases: readonly string[];
  /** Modules are loaded when they are asked for: some bring native libraries. */
  load(): Promise<DeviceModule>;
}

export interface DeviceList {
  readonly devices: readonly DeviceInfo[];
  readonly absent: readonly { readonly id: string; readonly reason: string }[];
}

/** The kinds of devices that a program knows, best first: the order of `auto`. */
export class DeviceKinds {
  readonly #kinds: readonly DeviceKind[];

  constructor(kinds: readonly DeviceKind[]) {
    this.#kinds = kinds;
  }

  /** Everything that `open` would open here, best first, and why the rest is not there. */
  async list(options: OpenOptions = {}): Promise<DeviceList> {
    const found = await Promise.all(
      this.#kinds.map(async (kind) => ({ id: kind.id, answer: await probeKind(kind, options) })),
    );
    return {
      devices: found.flatMap(({ answer }) => ('infos' in answer ? answer.infos : [])),
      absent: found.flatMap(({ id, answer }) => ('reason' in answer ? [{ id, reason: answer.reason }] : [])),
    };
  }

  /** Opens a device by its name: `auto`, a kind (`native`, also `cpu`; `interpreter`), or a kind and a number. */
  async open(name: string, options: OpenOptions = {}): Promise<Device> {
    const wanted = name.trim().toLowerCase();
    if (wanted === 'auto') return this.#openBest(options);
    const [word = ''] = wanted.split(':');
    const kind = this.#kinds.find(({ id, aliases }) => id === word || aliases.includes(word));
    if (kind === undefined) throw await this.#unknown(name, options);
    const module = await kind.load().catch((cause) => {
      throw new MillraceError({
        code: 'device-absent',
        message: `device ${kind.id} cannot be loaded here`,
        asked: `device ${name}`,
        advice: cause instanceof Error ? cause.message : String(cause),
        cause,
      });
    });
    return this.#remember(await module.open(kind.id + wanted.slice(word.length), options), options);
  }

  /** Opens a list such as `native,interpreter`; all of them or none. */
  async openAll(names: string, options: OpenOptions = {}): Promise<Device[]> {
    const list = names.split(',').filter((name) => name.trim() !== '');
    if (list.length === 0) {
      throw new MillraceError({
        code: 'usage',
        message: 'no device is named',
        asked: `devices "${names}"`,
        advice: 'name one, or auto',
      });
    }
    const opened = await Promise.allSettled(list.map((name) => this.open(name, options)));
    const failed = opened.find((result) => result.status === 'rejected');
    const devices = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    if (failed === undefined) return devices;
    await Promise.all(devices.map((device) => device.close()));
    throw failed.reason;
  }

  async #openBest(options: OpenOptions): Promise<Device> {
    const reasons: string[] = [];
    for (const kind of this.#kinds) {
      const answer = await probeKind(kind, options);
      const first = 'infos' in answer ? answer.infos[0] : undefined;
      if (first) return this.#remember(await (await kind.load()).open(first.id, options), options);
      if ('reason' in answer) reasons.push(`${kind.id}: ${answer.reason}`);
    }
    throw new MillraceError({
      code: 'device-absent',
      message: 'there is no device here',
      asked: 'auto',
      advice: reasons.join('; '),
    });
  }

  #remember(device: Device, options: OpenOptions): Device {
    openers.set(device, () => this.open(device.info.id, options));
    return device;
  }

  async #unknown(name: string, options: OpenOptions): Promise<MillraceError> {
    const { devices, absent } = await this.list(options);
    const here = devices.map(({ id }) => id).join(', ');
    const missing = absent.map(({ id, reason }) => `${id} (not here: ${reason})`).join(', ');
    return new MillraceError({
      code: 'device-unknown',
      message: `there is no device called ${JSON.stringify(name)}`,
      asked: `device ${name}`,
      advice: `devices here are ${here}; auto takes the best${missing === '' ? '' : `; also known: ${missing}`}`,
    });
  }
}

const openers = new WeakMap<Device, () => Promise<Device>>();

/** Another device of the same name, opened in the same way. */
export function openAnother(device: Device): Promise<Device> {
  const open = openers.get(device);
  if (!open) throw new TypeError('only a device that was opened by its name can be opened again');
  return open();
}

/** A module that cannot even be loaded (a native addon for another platform, say) is an absent device. */
async function probeKind(kind: DeviceKind, options: OpenOptions): ReturnType<DeviceModule['probe']> {
  try {
    return await (await kind.load()).probe(options);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    return { reason: `it cannot be loaded: ${error instanceof Error ? error.message : String(error)}` };
  }
}
