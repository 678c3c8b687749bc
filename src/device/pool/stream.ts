import type { Completion, DeviceBuffer, Launch, Stream } from '../device.js';
import {
  checkCopy,
  checkLaunch,
  checkRange,
  checkStreamOpen,
  checkWord,
  heldBuffer,
  ownCompletion,
} from '../launch.js';
import { Command, Line, lineWord } from './board.js';
import type { PoolBuffer } from './buffer.js';
import { PoolCompletion } from './completion.js';
import type { PoolDevice } from './device.js';
import { PoolJob } from './program.js';
import type { Held, Pending, Queue } from './queue.js';
import type { Held as Used } from './uses.js';

/** How workers get at the host's memory: by its address, or through memory that both reach. */
export interface HostTransfers {
  /** Puts the commands of a transfer on the queue. */
  write(queue: Queue, to: PoolBuffer, offset: number, data: ArrayBufferView): void;
  read(queue: Queue, from: PoolBuffer, offset: number, into: ArrayBufferView): void;
  /** Words where workers can read them until the command that needs them is done: then `held.after` lets go of them. */
  lend(words: Uint32Array): { readonly address: number; readonly keep?: unknown; giveBack?(): void };
}

/** Checks commands and puts them on a queue. Nothing here waits. */
export class PoolStream implements Stream {
  readonly #device: PoolDevice;
  readonly #queue: Queue;
  readonly #host: HostTransfers;
  /** Where this stream's control words are, for generated code. */
  readonly #control: number;
  #waited: PoolCompletion[] = [];
  #closed = false;

  /** `boardAddress`: where workers see the board. */
  constructor(device: PoolDevice, queue: Queue, host: HostTransfers, boardAddress: number) {
    this.#device = device;
    this.#queue = queue;
    this.#host = host;
    this.#control = boardAddress + (lineWord(queue.line) + Line.epoch) * 4;
  }

  write(buffer: DeviceBuffer, data: ArrayBufferView, offset = 0): void {
    const to = this.#buffer(buffer, 'write');
    checkRange('write', to, offset, data.byteLength, false);
    this.#host.write(this.#queue, to, offset, data);
    this.#watch();
  }

  read(buffer: DeviceBuffer, into: ArrayBufferView, offset = 0): void {
    const from = this.#buffer(buffer, 'read');
    checkRange('read', from, offset, into.byteLength, false);
    this.#host.read(this.#queue, from, offset, into);
    this.#watch();
  }

  copy(from: DeviceBuffer, to: DeviceBuffer, bytes: number, fromOffset = 0, toOffset = 0): void {
    const source = this.#buffer(from, 'copy (source)');
    const target = this.#buffer(to, 'copy (target)');
    checkCopy(source, target, bytes, fromOffset, toOffset);
    const command = [Command.copy, target.address + toOffset, source.address + fromOffset, bytes];
    this.#push(command, { uses: [source, target] });
  }

  fill(buffer: DeviceBuffer, word: number, offset = 0, length?: number): void {
    const target = this.#buffer(buffer, 'fill');
    const bytes = length ?? target.bytes - offset;
    checkRange('fill', target, offset, bytes, true);
    this.#push([Command.fill, target.address + offset, checkWord(word), bytes / 4], { uses: [target] });
  }

  launch(launch: Launch): void {
    this.#open();
    const checked = checkLaunch<PoolBuffer>(this.#device, launch);
    const { job } = launch;
    if (!(job instanceof PoolJob)) throw new TypeError('a job of this device comes from bind() of its program');
    const { base, count, countFrom, buffers, ring, ringCapacity } = checked;
    const parameters = this.#host.lend(job.parameters.words(base, ringCapacity, launch.chunk ?? {}));
    const { epoch } = this.#queue;
    const block = this.#host.lend(launchBlock(parameters.address, this.#control, epoch, buffers, ring));
    const { code, lanes } = job.program;
    const uses: Used[] = [code, ...buffers];
    if (ring) uses.push(ring);
    if (countFrom) uses.push(countFrom.buffer);
    const countAt = countFrom ? countFrom.buffer.address + countFrom.word * 4 : 0;
    // SAFETY: the code, the block, the parameters and every buffer are held until the launch is done.
    const command = [Command.launch, code.entry, block.address, count, countAt, lanes, code.number, epoch];
    const after = (): boolean => {
      parameters.giveBack?.();
      block.giveBack?.();
      return true;
    };
    this.#push(command, { uses, data: [parameters.keep, block.keep], after });
  }

  wait(completion: Completion): void {
    this.#open();
    const own = ownCompletion<PoolCompletion>(this.#device, completion);
    this.#waited.push(own);
    if (own.settled) return; // its number may be used again 2^32 marks later
    this.#queue.push([Command.wait, own.line, own.number], {});
  }

  mark(): Completion {
    this.#open();
    const waited = this.#waited;
    this.#waited = [];
    const mark = new PoolCompletion(
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

  #push(command: Pending, held: Held): void {
    this.#queue.push(command, held);
    this.#watch();
  }

  #watch(): void {
    if (this.#queue.busy) this.#device.watch();
  }

  #buffer(buffer: DeviceBuffer, role: string): PoolBuffer {
    this.#open();
    return heldBuffer<PoolBuffer>(this.#device, buffer, role);
  }

  #open(): void {
    this.#device.checkOpen();
    checkStreamOpen(this.#closed);
  }
}

/** `launch` in the ABI of generated code: parameters, control words, epoch, then address and size of each binding, the ring last. */
function launchBlock(
  parameters: number,
  control: number,
  epoch: number,
  buffers: readonly PoolBuffer[],
  ring: PoolBuffer | undefined,
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
