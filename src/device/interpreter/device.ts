import type { MillraceError } from '../../kernel/error.js';
import type { Kernel } from '../../kernel/index.js';
import { deviceAbsent } from '../checks/absent.js';
import { CheckedStream } from '../checks/checked-stream.js';
import { checkAllocation, deviceClosed } from '../checks/launch.js';
import type { Device, DeviceBuffer, DeviceInfo, HostMemory, Stream } from '../device.js';
import { sharedMemory } from '../host-memory.js';
import { InterpreterBuffer } from './buffer.js';
import { InterpreterJob, InterpreterProgram } from './program.js';
import { InterpreterScheduler } from './schedule.js';
import { InterpreterStream } from './stream.js';

/** The definition of the language as a device: slow, available everywhere, and the reference for all others. */
export class InterpreterDevice implements Device {
  readonly info: DeviceInfo = info;
  /** For this device's streams. */
  readonly scheduler = new InterpreterScheduler();
  #closed: MillraceError | undefined;

  async compile(kernel: Kernel): Promise<InterpreterProgram> {
    this.checkOpen();
    const started = performance.now();
    const program = kernel.trace();
    return new InterpreterProgram(this, program, performance.now() - started, kernel.untrusted);
  }

  async alloc(bytes: number): Promise<DeviceBuffer> {
    this.checkOpen();
    checkAllocation(this, bytes);
    return new InterpreterBuffer(this, bytes);
  }

  async host(bytes: number): Promise<HostMemory> {
    this.checkOpen();
    return sharedMemory(bytes);
  }

  stream(): Stream {
    this.checkOpen();
    return new CheckedStream(this, InterpreterJob, new InterpreterStream(this));
  }

  async close(): Promise<void> {
    this.#closed ??= deviceClosed(this);
    for (const line of this.scheduler.queues) line.fail(this.#closed);
    this.scheduler.queues.clear();
  }

  checkOpen(): void {
    if (this.#closed) throw this.#closed;
  }
}

/** The size limit of V8's arrays. */
const BUFFER_BYTES = 2 ** 32;

const info: DeviceInfo = {
  id: 'interpreter',
  kind: 'interpreter',
  processor: 'cpu',
  name: 'interpreter, on one thread of JavaScript',
  memoryBytes: 4 * BUFFER_BYTES,
  units: 1,
  capabilities: ['u64', 'f64', 'exact-floats', 'atomics'],
  limits: { bufferBytes: BUFFER_BYTES, lanes: 1 },
  versions: {},
};

export async function probe(): Promise<{ readonly infos: readonly DeviceInfo[] }> {
  return { infos: [info] };
}

export async function open(id: string): Promise<InterpreterDevice> {
  if (id === info.id) return new InterpreterDevice();
  throw deviceAbsent(id, 'the only interpreter is interpreter');
}
