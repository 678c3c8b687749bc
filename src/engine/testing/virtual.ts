import { clockNs } from '../../device/clock.js';
import type {
  Completion,
  Device,
  DeviceBuffer,
  DeviceInfo,
  DeviceProgram,
  HostMemory,
  Launch,
  Report,
  Stream,
} from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';

/**
 * Makes several virtual devices from one, each with its own speed and faults, so that the interaction of devices can be
 * tested on a machine with one device. The device behind them does the work; times and faults are simulated.
 */
export function virtualDevices(backing: Device, specs: readonly FaultSpec[]): VirtualDevice[] {
  return specs.map((spec, at) => new VirtualDevice(backing, `virtual:${at}`, spec));
}

/** Speed and faults of a virtual device. Faults start at a launch number, so that they do not depend on the clock. */
export interface FaultSpec {
  readonly name?: string;
  /** Maximum items per second. Default: as fast as the device behind. A function gets the number of launches so far. */
  readonly speed?: number | ((launches: number) => number);
  /** From this launch on, completions fail and all other calls are refused, as when a card falls off its bus. */
  readonly disappearsAt?: number;
  /** From this launch on, nothing completes. */
  readonly hangsAt?: number;
  /** From this launch on, each ring has a false hit. */
  readonly liesAt?: number;
  /** From this launch on, hits are lost. */
  readonly missesAt?: number;
  /** From this launch on, a byte of each read is wrong (except in rings). */
  readonly garblesAt?: number;
  /** Compiling fails. */
  readonly failsToCompile?: boolean;
}

export class VirtualDevice implements Device {
  readonly info: DeviceInfo;
  readonly spec: FaultSpec;
  launches = 0;
  /** Buffers, streams and host memory in use. All 0 once everything has been closed. */
  readonly open = { buffers: 0, streams: 0, host: 0 };
  readonly #backing: Device;
  /** When the simulated hardware is free again, in milliseconds. */
  #busyUntil = 0;
  #isClosed = false;

  constructor(backing: Device, id: string, spec: FaultSpec = {}) {
    this.#backing = backing;
    this.spec = spec;
    this.info = { ...backing.info, id, name: spec.name ?? `${id} on ${backing.info.name}` };
  }

  async compile(...args: Parameters<Device['compile']>): Promise<DeviceProgram> {
    this.check();
    if (this.spec.failsToCompile) {
      throw new MillraceError({ code: 'device-compile', message: `${this.info.id} is set to fail to compile` });
    }
    return this.#backing.compile(...args);
  }

  async alloc(bytes: number): Promise<DeviceBuffer> {
    this.check();
    const buffer = await this.#backing.alloc(bytes);
    this.open.buffers++;
    const free = buffer.free.bind(buffer);
    let held = true;
    // The buffer itself, not a wrapper: the device behind identifies its buffers by reference.
    buffer.free = () => {
      if (held) this.open.buffers--;
      held = false;
      free();
    };
    return buffer;
  }

  async host(bytes: number): Promise<HostMemory> {
    this.check();
    const memory = await this.#backing.host(bytes);
    this.open.host++;
    let held = true;
    return {
      bytes: memory.bytes, // not as a buffer: faults are injected into transfers
      locked: memory.locked,
      free: () => {
        if (held) this.open.host--;
        held = false;
        memory.free();
      },
    };
  }

  stream(): Stream {
    this.check();
    const stream = this.#backing.stream();
    this.open.streams++;
    return new VirtualStream(this, stream);
  }

  /** Closes the virtual device. The device behind stays open: it belongs to the caller that opened it. */
  async close(): Promise<void> {
    this.#isClosed = true;
  }

  /** Throws the error of a device that is gone, if this one is. */
  check(): void {
    if (this.#isClosed) throw goneError(this.info.id, 'device-closed', 'has been closed');
    if (this.hasFault('disappearsAt')) throw goneError(this.info.id, 'device-failed', 'has disappeared');
  }

  /** True if a fault has started. */
  hasFault(fault: 'disappearsAt' | 'hangsAt' | 'liesAt' | 'missesAt' | 'garblesAt'): boolean {
    return this.launches > (this.spec[fault] ?? Number.POSITIVE_INFINITY);
  }

  /** Reserves the simulated hardware for `items` items. Returns start and end, in milliseconds. */
  reserve(items: number): { readonly from: number; readonly to: number } | undefined {
    const { speed } = this.spec;
    if (speed === undefined) return undefined;
    const perSecond = typeof speed === 'number' ? speed : speed(this.launches);
    const from = Math.max(nowMs(), this.#busyUntil);
    const to = from + (1000 * items) / perSecond;
    this.#busyUntil = to;
    return { from, to };
  }

  /** Frees the reserved time that was not used. */
  cancelReservation(): void {
    this.#busyUntil = 0;
  }
}

/** A read before the next mark, which a fault may corrupt. */
interface PendingRead {
  readonly words: Uint32Array;
  readonly ring: DeviceProgram | undefined;
}

class VirtualStream implements Stream {
  readonly #device: VirtualDevice;
  readonly #stream: Stream;
  readonly #rings = new Map<DeviceBuffer, DeviceProgram>();
  #pendingReads: PendingRead[] = [];
  #items = 0;
  #cancels = new Set<() => void>();
  #isClosed = false;

  constructor(device: VirtualDevice, stream: Stream) {
    this.#device = device;
    this.#stream = stream;
  }

  write(...args: Parameters<Stream['write']>): void {
    this.#device.check();
    this.#stream.write(...args);
  }

  read(buffer: DeviceBuffer, into: ArrayBufferView, offset?: number): void {
    this.#device.check();
    this.#stream.read(buffer, into, offset);
    const words = new Uint32Array(into.buffer, into.byteOffset, into.byteLength >> 2);
    this.#pendingReads.push({ words, ring: this.#rings.get(buffer) });
  }

  copy(...args: Parameters<Stream['copy']>): void {
    this.#device.check();
    this.#stream.copy(...args);
  }

  fill(...args: Parameters<Stream['fill']>): void {
    this.#device.check();
    this.#stream.fill(...args);
  }

  launch(launch: Launch): void {
    this.#device.check();
    this.#stream.launch(launch);
    this.#device.launches++;
    this.#items += typeof launch.count === 'number' ? launch.count : launch.count.max;
    if (launch.ring) this.#rings.set(launch.ring, launch.job.program);
  }

  wait(completion: Completion): void {
    this.#device.check();
    this.#stream.wait(completion instanceof VirtualCompletion ? completion.backing : completion);
  }

  mark(): Completion {
    this.#device.check();
    const backing = this.#stream.mark();
    const items = this.#items;
    const reads = this.#pendingReads;
    this.#items = 0;
    this.#pendingReads = [];
    return new VirtualCompletion(backing, this.#simulate(backing, items, reads));
  }

  cancel(): void {
    this.#device.check();
    this.#stream.cancel();
    for (const cancel of this.#cancels) cancel();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#device.open.streams--;
    this.#stream.close();
  }

  async #simulate(backing: Completion, items: number, reads: readonly PendingRead[]): Promise<Report> {
    const device = this.#device;
    const { id } = device.info;
    const fault = {
      gone: device.hasFault('disappearsAt'),
      hangs: device.hasFault('hangsAt'),
      lies: device.hasFault('liesAt'),
      misses: device.hasFault('missesAt'),
      garbles: device.hasFault('garblesAt'),
    };
    let cancelled = false;
    const cancel = (): void => {
      cancelled = true;
    };
    this.#cancels.add(cancel);
    const time = device.reserve(items);
    try {
      const report = await backing.done;
      if (fault.hangs) return await new Promise<never>(() => undefined);
      if (fault.gone || device.hasFault('disappearsAt')) throw goneError(id, 'device-failed', 'has disappeared');
      if (time) await this.#sleepUntil(time.to);
      if (device.hasFault('disappearsAt')) throw goneError(id, 'device-failed', 'has disappeared');
      if (cancelled && time) {
        device.cancelReservation();
        return { ...report, complete: false };
      }
      for (const { words, ring } of reads) {
        if (ring && fault.lies) addFalseHit(words, ring, items);
        if (ring && fault.misses) words[0] = 0;
        if (!ring && fault.garbles && words.length > 0) words[0] = (words[0] ?? 0) ^ 0x100;
      }
      if (!time) return report;
      return { ...report, startedNs: nanoseconds(time.from), endedNs: nanoseconds(time.to) };
    } finally {
      this.#cancels.delete(cancel);
    }
  }

  /** Sleeps until a moment or until the stream is cancelled. */
  #sleepUntil(moment: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#cancels.delete(end);
        resolve();
      };
      const timer = setTimeout(end, Math.max(0, moment - nowMs()));
      this.#cancels.add(end);
    });
  }
}

class VirtualCompletion implements Completion {
  readonly backing: Completion;
  readonly done: Promise<Report>;

  constructor(backing: Completion, done: Promise<Report>) {
    this.backing = backing;
    this.done = done;
    this.done.catch(() => undefined); // callers may ignore a completion
  }
}

/** Adds a false hit at the last item, with meaningless words. */
function addFalseHit(words: Uint32Array, { ring }: DeviceProgram, items: number): void {
  const count = words[0] ?? 0;
  const at = ring.headerWords + count * ring.recordWords;
  if (at + ring.recordWords > words.length) return;
  words[0] = count + 1;
  words[at] = items - 1;
  for (let word = 1; word < ring.recordWords; word++) words[at + word] = 0x5eed + word;
}

/** Milliseconds on the clock of all devices, since this module was loaded. */
const nowMs = (): number => Number(clockNs() - ZERO_NS) / 1e6;
const nanoseconds = (ms: number): bigint => ZERO_NS + BigInt(Math.ceil(ms * 1e6));
const ZERO_NS = clockNs();

function goneError(id: string, code: 'device-closed' | 'device-failed', why: string): MillraceError {
  return new MillraceError({ code, message: `${id} ${why}`, asked: `work on ${id}`, advice: 'use another device' });
}
