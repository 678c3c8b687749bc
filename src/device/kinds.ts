import { firstLine, MillraceError } from '../kernel/error.js';
import type { Kernel } from '../kernel/index.js';
import { limitMemory } from './checks/limited.js';
import type { CompileOptions, Device, DeviceInfo, Sensors } from './device.js';
import { inTime } from './patience.js';

export interface OpenOptions {
  /** Worker threads of a CPU device. */
  readonly threads?: number;
  /** The most bytes that its buffers may take. */
  readonly memory?: number;
  /** The most streams that may be open at a time. */
  readonly streams?: number;
  /**
   * How a GPU's worker learns that work is done: by looking (`poll`), or by a word that the device has set (`callback`,
   * CUDA; elsewhere it means `poll`). `sync` waits in the driver: the old way, kept to compare with.
   */
  readonly completion?: 'poll' | 'callback' | 'sync';
  /** Record the time of every call of the driver. */
  readonly telemetry?: boolean;
  /** What will be compiled: the part that needs no device is done while a driver starts, which leaves this thread idle. */
  readonly expect?: readonly Expected[];
  /** Diagnostics, a line each: handles, caches, decisions. */
  readonly log?: (line: string) => void;
  /** Stops waiting for drivers and compilers: a device that opens later is closed. */
  readonly signal?: AbortSignal;
}

export interface Expected {
  readonly kernel: Kernel;
  readonly compile?: CompileOptions;
}

/** What the module of a device kind exports. */
export interface DeviceModule {
  /** The devices of this kind on this machine, without starting any; or why there is none. */
  probe(options?: OpenOptions): Promise<Probed>;
  /** Opens one; `device-absent` where there is none. `id` is the kind's, which means its first, or one of its devices'. */
  open(id: string, options?: OpenOptions): Promise<Device>;
  /** Does as much of the way from a kernel to a program of this kind as needs no device. */
  prepare?(kernel: Kernel, options?: CompileOptions): void;
  /** What a device says about itself just now, without opening it; undefined where it says nothing. */
  sensors?(id: string): Promise<Sensors | undefined>;
  /** What `millrace doctor` should tell of this kind beyond its devices: libraries, drivers, permissions. */
  diagnose?(): Promise<readonly Finding[]>;
}

export type Probed = { readonly infos: readonly DeviceInfo[] } | { readonly reason: string };

/** One line of a report on a machine. */
export interface Finding {
  /** What was looked at: `compiler`, `driver`. */
  readonly what: string;
  /** `missing`: something does not work for want of it; `warning`: it works, but not as it should. */
  readonly state: 'ok' | 'warning' | 'missing';
  /** What was found, and where. */
  readonly found: string;
  /** What to do about it. */
  readonly advice?: string;
}

export interface DeviceKind {
  readonly id: DeviceInfo['kind'];
  readonly aliases: readonly string[];
  /** Modules are loaded when they are asked for: some bring native libraries. */
  load(): Promise<DeviceModule>;
}

/** A step of `auto`: the devices of a kind; with `on`, only those on such a processor. */
export interface Preference {
  readonly kind: DeviceInfo['kind'];
  readonly on?: DeviceInfo['processor'];
}

export interface DeviceList {
  readonly devices: readonly DeviceInfo[];
  readonly absent: readonly { readonly id: string; readonly reason: string }[];
}

/** The kinds of devices that a program knows, and the order in which `auto` prefers them: best first. */
export class DeviceKinds {
  readonly #kinds: readonly DeviceKind[];
  readonly #order: readonly Preference[];

  /** Without an order, that of the kinds. */
  constructor(kinds: readonly DeviceKind[], order: readonly Preference[] = kinds.map(({ id }) => ({ kind: id }))) {
    this.#kinds = kinds;
    this.#order = order;
  }

  /** Everything that `open` would open here, best first, and why the rest is not there. All kinds are asked at once. */
  async list(options: OpenOptions = {}): Promise<DeviceList> {
    const answers = await Promise.all(this.#kinds.map((kind) => probeKind(kind, options)));
    const rank = (info: DeviceInfo) => this.#order.findIndex((preference) => fits(preference, info));
    return {
      devices: answers.flatMap((answer) => ('infos' in answer ? answer.infos : [])).sort((a, b) => rank(a) - rank(b)),
      absent: answers.flatMap((answer, at) =>
        'reason' in answer ? [{ id: this.#kinds[at]?.id ?? '', reason: answer.reason }] : [],
      ),
    };
  }

  /** Opens a device by its name: `auto`, a kind (`native`, also `cpu`; `cuda`, its first), or one of several (`cuda:1`). */
  async open(name: string, options: OpenOptions = {}): Promise<Device> {
    const wanted = name.trim().toLowerCase();
    if (wanted === 'auto') return this.#openBest(options);
    const { kind, id } = this.#named(wanted);
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
    return this.#remember(await opened(module, id, options), options);
  }

  /** Opens a list such as `cuda:0,native`; all of them or none. */
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
    const opening = list.map((name) => this.open(name, options));
    const opened = await Promise.allSettled(opening.map((device) => unlessAborted(device, options.signal)));
    const failed = opened.find((result) => result.status === 'rejected');
    const devices = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    if (failed === undefined) return devices;
    await Promise.all(devices.map((device) => device.close()));
    throw failed.reason;
  }

  /** What a device says about itself just now, without opening it; undefined where it says nothing or is not there. */
  async sensors(id: string): Promise<Sensors | undefined> {
    const { kind } = this.#named(id);
    const read = async () => (await kind?.load())?.sensors?.(id);
    return inTime(read(), PATIENCE_MS, () => undefined).catch(() => undefined);
  }

  /** What each kind has to say beyond its devices. */
  async diagnose(): Promise<{ readonly kind: string; readonly findings: readonly Finding[] }[]> {
    return Promise.all(
      this.#kinds.map(async (kind) => {
        const ask = async () => (await (await kind.load()).diagnose?.()) ?? [];
        const late = (): readonly Finding[] => [{ what: kind.id, state: 'warning', found: noAnswer }];
        const findings = await inTime(ask(), PATIENCE_MS, late).catch((error): readonly Finding[] => [
          { what: kind.id, state: 'warning', found: firstLine(error) },
        ]);
        return { kind: kind.id, findings };
      }),
    );
  }

  /** By the order, asking each kind when its turn comes and not before: starting a driver takes up to a second. */
  async #openBest(options: OpenOptions): Promise<Device> {
    const answers = new Map<string, Probed>();
    for (const preference of this.#order) {
      const kind = this.#kinds.find(({ id }) => id === preference.kind);
      if (!kind) continue;
      const answer = answers.get(kind.id) ?? (await probeKind(kind, options));
      answers.set(kind.id, answer);
      const first = 'infos' in answer && answer.infos.find((info) => fits(preference, info));
      if (first) return this.#remember(await opened(await kind.load(), first.id, options), options);
    }
    const reasons = [...answers].map(([id, answer]) => `${id}: ${'reason' in answer ? answer.reason : 'none fits'}`);
    throw new MillraceError({
      code: 'device-absent',
      message: 'there is no device here',
      asked: 'auto',
      advice: reasons.join('; '),
    });
  }

  /** The kind that a name means, and the name with the kind's own word in it. */
  #named(name: string): { readonly kind: DeviceKind | undefined; readonly id: string } {
    const [word = ''] = name.split(':');
    const kind = this.#kinds.find(({ id, aliases }) => id === word || aliases.includes(word));
    return { kind, id: (kind?.id ?? word) + name.slice(word.length) };
  }

  #remember(device: Device, options: OpenOptions): Device {
    openers.set(device, () => this.open(device.info.id, options));
    return options.memory === undefined ? device : limitMemory(device, options.memory);
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

/** A device that comes too late is closed. */
function unlessAborted(opening: Promise<Device>, signal: AbortSignal | undefined): Promise<Device> {
  if (signal === undefined) return opening;
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason);
      opening.then(
        (device) => device.close(),
        () => undefined, // it is not wanted any more
      );
    };
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    opening.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** What is expected is prepared when the driver has been asked to start, not before. */
function opened(module: DeviceModule, id: string, options: OpenOptions): Promise<Device> {
  const opening = module.open(id, options);
  try {
    for (const { kernel, compile } of options.expect ?? []) module.prepare?.(kernel, compile);
  } catch {
    // Whoever compiles it is told.
  }
  return opening;
}

const fits = ({ kind, on }: Preference, info: DeviceInfo): boolean =>
  info.kind === kind && (on === undefined || info.processor === on);

const openers = new WeakMap<Device, () => Promise<Device>>();

/** Another device of the same name, opened in the same way. */
export function openAnother(device: Device): Promise<Device> {
  const open = openers.get(device);
  if (!open) throw new TypeError('only a device that was opened by its name can be opened again');
  return open();
}

/** How long a driver may take to say what it has: starting one takes a second or less where it works. */
const PATIENCE_MS = 10_000;
const noAnswer = `it did not answer within ${PATIENCE_MS / 1000} s`;

/** A module that cannot be loaded (a native addon for another platform), fails or never answers is an absent device. */
async function probeKind(kind: DeviceKind, options: OpenOptions): Promise<Probed> {
  const probe = async () => (await kind.load()).probe(options);
  try {
    return await inTime(probe(), PATIENCE_MS, () => ({ reason: noAnswer }));
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'usage') throw error; // the asker's mistake, not the device's
    const known = error instanceof MillraceError;
    return { reason: known ? firstLine(error) : `it cannot be loaded: ${firstLine(error)}` };
  }
}
