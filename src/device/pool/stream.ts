import type { StreamCommands } from '../checks/checked-stream.js';
import type { CheckedLaunch } from '../checks/launch.js';
import type { FieldValues } from '../device.js';
import { CommandKind, StreamWord, streamWordOffset } from './board.js';
import type { PoolBuffer } from './buffer.js';
import { PoolCompletion } from './completion.js';
import type { PoolDevice } from './device.js';
import type { PoolJob } from './program.js';
import type { CommandResources, PendingCommand, PoolQueue } from './queue.js';
import type { RefCounted as Used } from './ref-count.js';

/** How workers access host memory: by its address, or through shared memory. */
export interface HostTransfers {
  /** Queues the commands of a transfer. */
  write(queue: PoolQueue, to: PoolBuffer, offset: number, data: ArrayBufferView): void;
  read(queue: PoolQueue, from: PoolBuffer, offset: number, into: ArrayBufferView): void;
  /** Puts words where workers can read them until the command that needs them is done and `CommandResources.finish` releases them. */
  stageWords(words: Uint32Array): { readonly address: number; readonly keepAlive?: unknown; release?(): void };
}

/** Puts the commands of a stream on a queue. */
export class PoolStream implements StreamCommands<PoolBuffer, PoolJob, PoolCompletion> {
  readonly #device: PoolDevice;
  readonly #queue: PoolQueue;
  readonly #transfers: HostTransfers;
  /** The address of this stream's control words, for generated code. */
  readonly #controlAddress: number;

  /** `boardAddress`: the board's address as workers see it. */
  constructor(device: PoolDevice, queue: PoolQueue, host: HostTransfers, boardAddress: number) {
    this.#device = device;
    this.#queue = queue;
    this.#transfers = host;
    this.#controlAddress = boardAddress + (streamWordOffset(queue.stream) + StreamWord.epoch) * 4;
  }

  write(to: PoolBuffer, offset: number, data: ArrayBufferView): void {
    this.#transfers.write(this.#queue, to, offset, data);
    this.#watch();
  }

  read(from: PoolBuffer, offset: number, into: ArrayBufferView): void {
    this.#transfers.read(this.#queue, from, offset, into);
    this.#watch();
  }

  copy(from: PoolBuffer, fromOffset: number, to: PoolBuffer, toOffset: number, bytes: number): void {
    this.#push([CommandKind.copy, to.address + toOffset, from.address + fromOffset, bytes], { uses: [from, to] });
  }

  fill(buffer: PoolBuffer, offset: number, word: number, bytes: number): void {
    this.#push([CommandKind.fill, buffer.address + offset, word, bytes / 4], { uses: [buffer] });
  }

  launch(job: PoolJob, chunk: FieldValues, launch: CheckedLaunch<PoolBuffer>): void {
    const { base, count, countFrom, buffers, ring, ringCapacity } = launch;
    const bytes = buffers.map((buffer) => buffer.bytes);
    const parameters = this.#transfers.stageWords(job.parameters.words(base, ringCapacity, chunk, bytes));
    const { epoch } = this.#queue;
    const block = this.#transfers.stageWords(
      launchBlock(parameters.address, this.#controlAddress, epoch, buffers, ring),
    );
    const { code, lanes } = job.program;
    const uses: Used[] = [code, ...buffers];
    if (ring) uses.push(ring);
    if (countFrom) uses.push(countFrom.buffer);
    const countAt = countFrom ? countFrom.buffer.address + countFrom.word * 4 : 0;
    // SAFETY: the code, the block, the parameters and every buffer are held until the launch is done.
    const command = [CommandKind.launch, code.entry, block.address, count, countAt, lanes, code.number, epoch];
    const finish = (): boolean => {
      parameters.release?.();
      block.release?.();
      return true;
    };
    this.#push(command, { uses, keepAlive: [parameters.keepAlive, block.keepAlive], finish });
  }

  wait({ line, number }: PoolCompletion): void {
    this.#queue.push([CommandKind.wait, line, number], {});
  }

  mark(waited: readonly PoolCompletion[]): PoolCompletion {
    const { stream } = this.#queue;
    const { explainTrap } = this.#device;
    const mark = new PoolCompletion(this.#device, stream, this.#queue.nextMark(), waited, explainTrap);
    this.#queue.push([CommandKind.mark], { mark });
    this.#device.watch();
    return mark;
  }

  cancel(): void {
    this.#queue.cancel();
  }

  close(): void {
    this.#device.closeStream(this.#queue);
  }

  #push(command: PendingCommand, resources: CommandResources): void {
    this.#queue.push(command, resources);
    this.#watch();
  }

  #watch(): void {
    if (this.#queue.isBusy) this.#device.watch();
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
