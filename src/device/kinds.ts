import { firstLine, MillraceError } from '../kernel/error.js';
import type { Kernel } from '../kernel/index.js';
import { limitMemory } from './checks/limited.js';
import type { CompileOptions, Device, DeviceInfo, Sensors } from './device.js';
import { unlessAborted, withTimeout } from './timeout.js';
import { thisEngine } from './wasm/engine.js';

export interface OpenOptions {
  /** Worker threads of a CPU device. */
  readonly threads?: number;
  /** `auto` chooses among the devices on this kind of processor only. */
  readonly processor?: DeviceInfo['processor'];
  /** The most bytes that the device's buffers may take. */
  readonly memory?: number;
  /** The most streams that may be open at a time. */
  readonly streams?: number;
  /**
   * How a GPU's worker learns that work is done: by polling (`poll`), or from a word that the device sets (`callback`,
   * CUDA only; elsewhere it means `poll`). `sync` blocks in the driver and exists for comparison.
   */
  readonly completion?: 'poll' | 'callback' | 'sync';
  /** Records the time of every driver call. */
  readonly telemetry?: boolean;
  /**
   * Kernels that will be compiled. Their device-independent part is prepared while the driver starts and this thread is
   * idle.
   */
  readonly expect?: readonly ExpectedKernel[];
  /** Receives diagnostics line by line: handles, caches, decisions. */
  readonly log?: (line: string) => void;
  /** Stops waiting for drivers and compilers. A device that opens later is closed. */
  readonly signal?: AbortSignal;
}

export interface ExpectedKernel {
  readonly kernel: Kernel;
  readonly compile?: CompileOptions;
}

/** The exports of a device kind's module. */
export interface DeviceModule {
  /** Lists the devices of this kind on this machine without starting any, or says why there is none. */
  probe(options?: OpenOptions): Promise<ProbeResult>;
  /**
   * Opens a device. Throws `device-absent` if it does not exist. `id` names the kind, meaning its first device, or one
   * device.
   */
  open(id: string, options?: OpenOptions): Promise<Device>;
  /** Does the part of compiling a kernel that needs no device. */
  prepare?(kernel: Kernel, options?: CompileOptions): void;
  /** Reads a device's sensors without opening it; undefined if it reports nothing. */
  sensors?(id: string): Promise<Sensors | undefined>;
  /** What `millrace doctor` reports about this kind beyond its devices: libraries, drivers, permissions. */
  diagnose?(): Promise<readonly Diagnostic[]>;
}

export type ProbeResult = { readonly infos: readonly DeviceInfo[] } | { readonly reason: string };

/** One line of a report on a machine. */
export interface Diagnostic {
  /** The thing that was examined: `compiler`, `driver`. */
  readonly what: string;
  /** `missing`: a feature does not work without it. `warning`: it works, but not as it should. */
  readonly state: 'ok' | 'warning' | 'missing';
  /** What was found, and where. */
  readonly found: string;
  /** What to do about it. */
  readonly advice?: string;
}

export interface DeviceKind {
  readonly id: DeviceInfo['kind'];
  readonly aliases: readonly string[];
  /** True if its threads use every core, so that two such kinds in one list must share them. */
  readonly usesAllCores?: boolean;
  /** Loads the module. Modules are loaded on demand because some load native libraries. */
  load(): Promise<DeviceModule>;
}

/** A step of `auto`: the devices of a kind; with `processor`, only those on it. */
export interface Preference {
  readonly kind: DeviceInfo['kind'];
  readonly processor?: DeviceInfo['processor'];
}

export interface DeviceList {
  readonly devices: readonly DeviceInfo[];
  readonly absent: readonly { readonly id: string; readonly reason: string }[];
}

/** The known device kinds, and the order in which `auto` prefers them, best first. */
export class DeviceKinds {
  readonly #kinds: readonly DeviceKind[];
  readonly #order: readonly Preference[];

  /** `order` defaults to the order of `kinds`. */
  constructor(kinds: readonly DeviceKind[], order: readonly Preference[] = kinds.map(({ id }) => ({ kind: id }))) {
    this.#kinds = kinds;
    this.#order = order;
  }

  /**
   * Lists the devices that `open` can open here, best first, and why the other kinds are absent. Probes all kinds at
   * once.
   */
  async list(options: OpenOptions = {}): Promise<DeviceList> {
    const answers = await Promise.all(this.#kinds.map((kind) => probeKind(kind, options)));
    const rank = (info: DeviceInfo) => this.#order.findIndex((preference) => isPreferred(preference, info));
    return {
      devices: answers.flatMap((answer) => ('infos' in answer ? answer.infos : [])).sort((a, b) => rank(a) - rank(b)),
      absent: answers.flatMap((answer, at) =>
        'reason' in answer ? [{ id: this.#kinds[at]?.id ?? '', reason: answer.reason }] : [],
      ),
    };
  }

  /** Opens a device by its name: `auto`, a kind (`native`, also `cpu`; `cuda`, its first), or one of several (`cuda:1`). */
  async open(name: string, options: OpenOptions = {}): Promise<Device> {
    const normalized = name.trim().toLowerCase();
    if (normalized === 'auto') return this.#openBest(options);
    const { kind, id } = this.#resolveName(normalized);
    if (kind === undefined) throw await this.#unknownDeviceError(name, options);
    const module = await kind.load().catch((cause) => {
      throw new MillraceError({
        code: 'device-absent',
        message: `device ${kind.id} cannot be loaded`,
        asked: `device ${name}`,
        advice: cause instanceof Error ? cause.message : String(cause),
        cause,
      });
    });
    return this.#registerOpener(await openAndPrepare(module, id, options), options);
  }

  /**
   * Opens a list such as `cuda:0,native`: all of them, or none if one fails. A device that is named twice, by whatever
   * names, is returned once.
   */
  async openAll(names: string, options: OpenOptions = {}): Promise<Device[]> {
    const list = uniqueBy(
      names.split(',').filter((name) => name.trim() !== ''),
      (name) => this.#resolveName(name.trim().toLowerCase()).id,
    );
    if (list.length === 0) {
      throw new MillraceError({
        code: 'usage',
        message: 'the list of devices is empty',
        asked: `devices "${names}"`,
        advice: 'give a device id, or auto',
      });
    }
    const threads = options.threads === undefined ? this.#threadsOf(list) : () => ({});
    const opening = list.map((name) => this.open(name, { ...options, ...threads(name) }));
    const opened = await Promise.allSettled(
      opening.map((device) => unlessAborted(device, options.signal, (late) => late.close())),
    );
    const failed = opened.find((result) => result.status === 'rejected');
    const devices = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    // Only an open device tells what `auto` and `cuda` stand for.
    const used = failed === undefined ? uniqueBy(devices, ({ info }) => info.id) : [];
    await Promise.all(devices.filter((device) => !used.includes(device)).map((device) => device.close()));
    if (failed === undefined) return used;
    throw failed.reason;
  }

  /**
   * Returns the threads of each device in a list if several kinds would use all cores. The best of them gets all cores
   * but one for each of the others: threads that take turns on a core would slow the faster kind down to the mean of
   * both.
   */
  #threadsOf(names: readonly string[]): (name: string) => Pick<OpenOptions, 'threads'> {
    const kindOf = (name: string): DeviceKind | undefined => this.#resolveName(name.trim().toLowerCase()).kind;
    const sharing = new Set(names.flatMap((name) => kindOf(name) ?? []).filter(({ usesAllCores }) => usesAllCores));
    if (sharing.size < 2) return () => ({});
    const best = this.#order.find(({ kind }) => [...sharing].some(({ id }) => id === kind))?.kind;
    const cores = thisEngine().threads;
    return (name) => {
      const kind = kindOf(name);
      if (kind === undefined || !sharing.has(kind)) return {};
      return { threads: kind.id === best ? Math.max(1, cores - sharing.size + 1) : 1 };
    };
  }

  /** Reads a device's sensors without opening it; undefined if it reports nothing or is absent. */
  async sensors(id: string): Promise<Sensors | undefined> {
    const { kind } = this.#resolveName(id);
    const read = async () => (await kind?.load())?.sensors?.(id);
    return withTimeout(read(), TIMEOUT_MS, () => undefined).catch(() => undefined);
  }

  /** Collects each kind's diagnostics beyond its devices. */
  async diagnose(): Promise<{ readonly kind: string; readonly findings: readonly Diagnostic[] }[]> {
    return Promise.all(
      this.#kinds.map(async (kind) => {
        const ask = async () => (await (await kind.load()).diagnose?.()) ?? [];
        const late = (): readonly Diagnostic[] => [{ what: kind.id, state: 'warning', found: noAnswer }];
        const findings = await withTimeout(ask(), TIMEOUT_MS, late).catch((error): readonly Diagnostic[] => [
          { what: kind.id, state: 'warning', found: firstLine(error) },
        ]);
        return { kind: kind.id, findings };
      }),
    );
  }

  /**
   * Opens the first device in order of preference. Probes a kind only when its turn comes: starting a driver takes up
   * to a second.
   */
  async #openBest(options: OpenOptions): Promise<Device> {
    const answers = new Map<string, ProbeResult>();
    const wanted = ({ processor }: Partial<DeviceInfo>): boolean =>
      processor === undefined || options.processor === undefined || processor === options.processor;
    for (const preference of this.#order.filter(wanted)) {
      const kind = this.#kinds.find(({ id }) => id === preference.kind);
      if (!kind) continue;
      const answer = answers.get(kind.id) ?? (await probeKind(kind, options));
      answers.set(kind.id, answer);
      const first = 'infos' in answer && answer.infos.find((info) => isPreferred(preference, info) && wanted(info));
      if (first) return this.#registerOpener(await openAndPrepare(await kind.load(), first.id, options), options);
    }
    const reasons = [...answers].map(
      ([id, answer]) => `${id}: ${'reason' in answer ? answer.reason : 'no suitable device'}`,
    );
    throw new MillraceError({
      code: 'device-absent',
      message: 'no device is available',
      asked: 'auto',
      advice: reasons.join('; '),
    });
  }

  /** Resolves a name to its kind, and replaces an alias in it with the kind's id. */
  #resolveName(name: string): { readonly kind: DeviceKind | undefined; readonly id: string } {
    const [word = ''] = name.split(':');
    const kind = this.#kinds.find(({ id, aliases }) => id === word || aliases.includes(word));
    return { kind, id: (kind?.id ?? word) + name.slice(word.length) };
  }

  #registerOpener(device: Device, options: OpenOptions): Device {
    openers.set(device, () => this.open(device.info.id, options));
    return options.memory === undefined ? device : limitMemory(device, options.memory);
  }

  async #unknownDeviceError(name: string, options: OpenOptions): Promise<MillraceError> {
    const { devices, absent } = await this.list(options);
    const here = devices.map(({ id }) => id).join(', ');
    const missing = absent.map(({ id, reason }) => `${id} (${reason})`).join(', ');
    return new MillraceError({
      code: 'device-unknown',
      message: `there is no device called ${JSON.stringify(name)}`,
      asked: `device ${name}`,
      advice: `available: ${here}; auto chooses the best${missing === '' ? '' : `; not available: ${missing}`}`,
    });
  }
}

/** Keeps the first of the items that have the same key. */
function uniqueBy<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const known = new Set<string>();
  return items.filter((item) => {
    const key = keyOf(item);
    const isNew = !known.has(key);
    known.add(key);
    return isNew;
  });
}

/** Opens a device. Expected kernels are prepared after the driver has been asked to start, not before. */
function openAndPrepare(module: DeviceModule, id: string, options: OpenOptions): Promise<Device> {
  const opening = module.open(id, options);
  try {
    for (const { kernel, compile } of options.expect ?? []) module.prepare?.(kernel, compile);
  } catch {
    // The caller who compiles the kernel gets the error.
  }
  return opening;
}

const isPreferred = ({ kind, processor }: Preference, info: DeviceInfo): boolean =>
  info.kind === kind && (processor === undefined || info.processor === processor);

const openers = new WeakMap<Device, () => Promise<Device>>();

/** Opens another device of the same name, with the same options. */
export function openAnother(device: Device): Promise<Device> {
  const open = openers.get(device);
  if (!open) throw new TypeError('this device was not opened by its name, so it cannot be opened again');
  return open();
}

/** How long a driver may take to list its devices. A working driver starts within a second. */
const TIMEOUT_MS = 10_000;
const noAnswer = `no answer within ${TIMEOUT_MS / 1000} s`;

/**
 * Probes a kind. A module that cannot be loaded (a native addon for another platform), fails or never answers counts as
 * an absent device.
 */
async function probeKind(kind: DeviceKind, options: OpenOptions): Promise<ProbeResult> {
  const probe = async () => (await kind.load()).probe(options);
  try {
    return await withTimeout(probe(), TIMEOUT_MS, () => ({ reason: noAnswer }));
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'usage') throw error; // the caller's mistake, not the device's
    const known = error instanceof MillraceError;
    return { reason: known ? firstLine(error) : `cannot be loaded: ${firstLine(error)}` };
  }
}
