import type { StreamCommands } from '../checks/checked-stream.js';
import type { CheckedLaunch } from '../checks/launch.js';
import type { Values } from '../device.js';
import { Command, Line, lineWord } from './board.js';
import type { PoolBuffer } from './buffer.js';
import { PoolCompletion } from './completion.js';
import type { PoolDevice } from './device.js';
import type { PoolJob } from './program.js';
import type { Held, Pending, Queue } from './queue.js';
import type { Held as Used } from './uses.js';

/** How workers access host memory: by its address, or through shared memory. */
export interface HostTransfers {
  /** Queues the commands of a transfer. */
  write(queue: Queue, to: PoolBuffer, offset: number, data: ArrayBufferView): void;
  read(queue: Queue, from: PoolBuffer, offset: number, into: ArrayBufferView): void;
  /** Puts words where workers can read them until the command that needs them is done and `held.after` releases them. */
  lend(words: Uint32Array): { readonly address: number; readonly keep?: unknown; giveBack?(): void };
}

/** Puts the commands of a stream on a queue. */
export class PoolStream implements StreamCommands<PoolBuffer, PoolJob, PoolCompletion> {
  readonly #device: PoolDevice;
  readonly #queue: Queue;
  readonly #host: HostTransfers;
  /** The address of this stream's control words, for generated code. */
  readonly #control: number;

  /** `boardAddress`: the board's address as workers see it. */
  constructor(device: PoolDevice, queue: Queue, host: HostTransfers, boardAddress: number) {
    this.#device = device;
    this.#queue = queue;
    this.#host = host;
    this.#control = boardAddress + (lineWord(queue.line) + Line.epoch) * 4;
  }

  write(to: PoolBuffer, offset: number, data: ArrayBufferView): void {
    this.#host.write(this.#queue, to, offset, data);
    this.#watch();
  }

  read(from: PoolBuffer, offset: number, into: ArrayBufferView): void {
    this.#host.read(this.#queue, from, offset, into);
    this.#watch();
  }

  copy(from: PoolBuffer, fromOffset: number, to: PoolBuffer, toOffset: number, bytes: number): void {
    this.#push([Command.copy, to.address + toOffset, from.address + fromOffset, bytes], { uses: [from, to] });
  }

  fill(buffer: PoolBuffer, offset: number, word: number, bytes: number): void {
    this.#push([Command.fill, buffer.address + offset, word, bytes / 4], { uses: [buffer] });
  }

  launch(job: PoolJob, chunk: Values, launch: CheckedLaunch<PoolBuffer>): void {
    const { base, count, countFrom, buffers, ring, ringCapacity } = launch;
    const parameters = this.#host.lend(job.parameters.words(base, ringCapacity, chunk));
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

  wait({ line, number }: PoolCompletion): void {
    this.#queue.push([Command.wait, line, number], {});
  }

  mark(waited: readonly PoolCompletion[]): PoolCompletion {
    const { line } = this.#queue;
    const { explainTrap } = this.#device;
    const mark = new PoolCompletion(this.#device, line, this.#queue.nextMark(), waited, explainTrap);
    this.#queue.push([Command.mark], { mark });
    this.#device.watch();
    return mark;
  }

  cancel(): void {
    this.#queue.cancel();
  }

  close(): void {
    this.#device.closeStream(this.#queue);
  }

  #push(command: Pending, held: Held): void {
    this.#queue.push(command, held);
    this.#watch();
  }

  #watch(): void {
    if (this.#queue.busy) this.#device.watch();
  }
}

/**
 * Builds `launch` of the generated code's ABI: parameters, control words, epoch, then address and size of each binding,
 * the ring last.
 */
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
