import type { MarkCompletion } from '../completion.js';
import type { BoundJob, Completion, Device, DeviceBuffer, FieldValues, Launch, Stream } from '../device.js';
import {
  type BaseBuffer,
  type CheckedLaunch,
  checkBuffer,
  checkCompletion,
  checkCopy,
  checkLaunch,
  checkRange,
  checkStreamOpen,
  checkWord,
} from './launch.js';

/**
 * The commands of one stream, as a device implements them. `CheckedStream` has checked every argument: buffers belong
 * to the device and have not been freed; ranges lie inside them and are never empty. Nothing here blocks.
 */
export interface StreamCommands<B extends BaseBuffer, J extends BoundJob, C extends MarkCompletion> {
  write(to: B, offset: number, data: ArrayBufferView): void;
  read(from: B, offset: number, into: ArrayBufferView): void;
  copy(from: B, fromOffset: number, to: B, toOffset: number, bytes: number): void;
  /** Fills whole words. */
  fill(buffer: B, offset: number, word: number, bytes: number): void;
  /** The values in `chunk` have the right names; their types are not checked yet. The count may be 0. */
  launch(job: J, chunk: FieldValues, launch: CheckedLaunch<B>): void;
  /** Called only with a completion that has not settled. */
  wait(completion: C): void;
  follow?(handle: number): void;
  /** `waited`: the completions that commands since the last mark waited for. */
  mark(waited: readonly C[]): C;
  cancel(): void;
  /** Called once. Queued commands still run. */
  close(): void;
}

/** Checks the arguments of a stream's commands, so that a mistake is the same error on every device, thrown at the call. */
export class CheckedStream<B extends BaseBuffer, J extends BoundJob, C extends MarkCompletion> implements Stream {
  readonly #device: Device & { checkOpen(): void };
  readonly #job: JobClass<J>;
  readonly #commands: StreamCommands<B, J, C>;
  #waited: C[] = [];
  #isClosed = false;
  readonly follow?: (handle: number) => void;

  /** `job`: the class of the device's jobs. */
  constructor(device: Device & { checkOpen(): void }, job: JobClass<J>, commands: StreamCommands<B, J, C>) {
    this.#device = device;
    this.#job = job;
    this.#commands = commands;
    if (!commands.follow) return;
    this.follow = (handle) => {
      this.#checkOpen();
      commands.follow?.(handle);
    };
  }

  write(buffer: DeviceBuffer, data: ArrayBufferView, offset = 0): void {
    const to = this.#checkedBuffer(buffer, 'write');
    checkRange('write', to, offset, data.byteLength, false);
    if (data.byteLength > 0) this.#commands.write(to, offset, data);
  }

  read(buffer: DeviceBuffer, into: ArrayBufferView, offset = 0): void {
    const from = this.#checkedBuffer(buffer, 'read');
    checkRange('read', from, offset, into.byteLength, false);
    if (into.byteLength > 0) this.#commands.read(from, offset, into);
  }

  copy(from: DeviceBuffer, to: DeviceBuffer, bytes: number, fromOffset = 0, toOffset = 0): void {
    const source = this.#checkedBuffer(from, 'copy (source)');
    const target = this.#checkedBuffer(to, 'copy (target)');
    checkCopy(source, target, bytes, fromOffset, toOffset);
    if (bytes > 0) this.#commands.copy(source, fromOffset, target, toOffset, bytes);
  }

  fill(buffer: DeviceBuffer, word: number, offset = 0, length?: number): void {
    const target = this.#checkedBuffer(buffer, 'fill');
    const bytes = length ?? target.bytes - offset;
    checkRange('fill', target, offset, bytes, true);
    const value = checkWord(word);
    if (bytes > 0) this.#commands.fill(target, offset, value, bytes);
  }

  launch(launch: Launch): void {
    this.#checkOpen();
    const checked = checkLaunch<B>(this.#device, launch);
    const { job, chunk = {} } = launch;
    if (!(job instanceof this.#job))
      throw new TypeError('not a job of this device: call bind() of a program that was compiled on it');
    this.#commands.launch(job, chunk, checked);
  }

  wait(completion: Completion): void {
    this.#checkOpen();
    const own = checkCompletion<C>(this.#device, completion);
    this.#waited.push(own);
    if (!own.isSettled) this.#commands.wait(own);
  }

  mark(): Completion {
    this.#checkOpen();
    const waited = this.#waited;
    this.#waited = [];
    return this.#commands.mark(waited);
  }

  cancel(): void {
    this.#checkOpen();
    this.#commands.cancel();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#commands.close();
  }

  #checkedBuffer(buffer: DeviceBuffer, role: string): B {
    this.#checkOpen();
    return checkBuffer<B>(this.#device, buffer, role);
  }

  #checkOpen(): void {
    this.#device.checkOpen();
    checkStreamOpen(this.#isClosed);
  }
}

type JobClass<J> = abstract new (...args: never[]) => J;
