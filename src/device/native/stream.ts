import { MillraceError } from '../../kernel/error.js';
import type { Completion, DeviceBuffer, Launch, Stream } from '../device.js';
import { checkCopy, checkLaunch, checkRange, checkWord, heldBuffer } from '../launch.js';
import { Command, Line, lineWord } from './board.js';
import type { NativeBuffer } from './buffer.js';
import { NativeCompletion } from './completion.js';
import type { NativeDevice } from './device.js';
import { addressOf } from './libc.js';
import { NativeJob } from './program.js';
import type { Queue } from './queue.js';

/** Checks commands and puts them on a queue. Nothing here waits. */
export class NativeStream implements Stream {
  readonly #device: NativeDevice;
  readonly #queue: Queue;
  /** Where this stream's control words are, for generated code. */
  readonly #control: number;
  #waited: NativeCompletion[] = [];
  #closed = false;

  constructor(device: NativeDevice, queue: Queue, boardAddress: number) {
    this.#device = device;
    this.#queue = queue;
    this.#control = boardAddress + (lineWord(queue.line) + Line.epoch) * 4;
  }

  write(buffer: DeviceBuffer, data: ArrayBufferView, offset = 0): void {
    const to = this.#buffer(buffer, 'write');
    checkRange('write', to, offset, data.byteLength, false);
    // SAFETY: `data` is held until the copy is done.
    this.#copy(to.address + offset, addressOf(data), data.byteLength, [to], [data]);
  }

  read(buffer: DeviceBuffer, into: ArrayBufferView, offset = 0): void {
    const from = this.#buffer(buffer, 'read');
    checkRange('read', from, offset, into.byteLength, false);
    // SAFETY: `into` is held until the copy is done.
    this.#copy(addressOf(into), from.address + offset, into.byteLength, [from], [into]);
  }

  copy(from: DeviceBuffer, to: DeviceBuffer, bytes: number, fromOffset = 0, toOffset = 0): void {
    const source = this.#buffer(from, 'copy (source)');
    const target = this.#buffer(to, 'copy (target)');
    checkCopy(source, target, bytes, fromOffset, toOffset);
    this.#copy(target.address + toOffset, source.address + fromOffset, bytes, [source, target], []);
  }

  fill(buffer: DeviceBuffer, word: number, offset = 0, length?: number): void {
    const target = this.#buffer(buffer, 'fill');
    const bytes = length ?? target.bytes - offset;
    checkRange('fill', target, offset, bytes, true);
    this.#push([Command.fill, target.address + offset, checkWord(word), bytes / 4], [target], []);
  }

  launch(launch: Launch): void {
    this.#open();
    const checked = checkLaunch<NativeBuffer>(this.#device, launch);
    const { job } = launch;
    if (!(job instanceof NativeJob)) throw new TypeError('a job of this device comes from bind() of its program');
    const { base, count, countFrom, buffers, ring, ringCapacity } = checked;
    const parameters = job.parameters.words(base, ringCapacity, launch.chunk ?? {});
    const { epoch } = this.#queue;
    const block = launchBlock(addressOf(parameters), this.#control, epoch, buffers, ring);
    const held = [...buffers];
    if (ring) held.push(ring);
    if (countFrom) held.push(countFrom.buffer);
    const countAt = countFrom ? countFrom.buffer.address + countFrom.word * 4 : 0;
    const { entry, lanes, number } = job.program;
    // SAFETY: the block, the parameters and every buffer are held until the launch is done.
    const command = [Command.launch, entry, addressOf(block), count, countAt, lanes, number, epoch];
    this.#push(command, held, [block, parameters]);
  }

  wait(completion: Completion): void {
    this.#open();
    if (!(completion instanceof NativeCompletion) || completion.device !== this.#device) {
      throw new MillraceError({
        code: 'launch-arguments',
        message: 'a stream can wait for completions of its own device only',
        asked: 'wait() for a completion of another device',
        advice: 'await its `done` before queueing what depends on it',
      });
    }
    this.#waited.push(completion);
    if (completion.settled) return; // its number may be used again 2^32 marks later
    this.#queue.push([Command.wait, completion.line, completion.number], {});
  }

  mark(): Completion {
    this.#open();
    const waited = this.#waited;
    this.#waited = [];
    const mark = new NativeCompletion(
      this.#device,
      this.#queue.line,
      this.#queue.nextMark(),
      waited,
      this.#device.explainTrap,
    );
    this.#queue.push([Command.mark], { mark });
    this.#device.watch();
    return mark;
  }

  cancel(): void {
    this.#open();
    this.#queue.cancel();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#device.closeStream(this.#queue);
  }

  #copy(to: number, from: number, bytes: number, buffers: readonly NativeBuffer[], data: readonly unknown[]): void {
    this.#push([Command.copy, to, from, bytes], buffers, data);
  }

  #push(command: readonly number[], buffers: readonly NativeBuffer[], data: readonly unknown[]): void {
    this.#queue.push(command, { buffers, data });
    if (this.#queue.busy) this.#device.watch();
  }

  #buffer(buffer: DeviceBuffer, role: string): NativeBuffer {
    this.#open();
    return heldBuffer<NativeBuffer>(this.#device, buffer, role);
  }

  #open(): void {
    this.#device.checkOpen();
    if (!this.#closed) return;
    throw new MillraceError({
      code: 'device-closed',
      message: 'this stream has been closed',
      asked: 'a command on it',
      advice: 'open another with stream()',
    });
  }
}

/** `launch` in the C ABI: parameters, control words, epoch, then address and size of each binding, the ring last. */
function launchBlock(
  parameters: number,
  control: number,
  epoch: number,
  buffers: readonly NativeBuffer[],
  ring: NativeBuffer | undefined,
): Uint32Array {
  const words = new Uint32Array(2 * (3 + 2 * (buffers.length + 1)));
  let at = 0;
  const put = (value: number): void => {
    words[at++] = value % 2 ** 32;
    words[at++] = Math.floor(value / 2 ** 32);
  };
  put(parameters);
  put(control);
  put(epoch >>> 0);
  for (const buffer of buffers) {
    put(buffer.address);
    put(buffer.bytes);
  }
  put(ring?.address ?? 0);
  put(ring?.bytes ?? 0);
  return words;
}
