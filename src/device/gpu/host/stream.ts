import { launchBlock } from '../../../kernel/abi/grid.js';
import { MillraceError } from '../../../kernel/error.js';
import type { StreamCommands } from '../../checks/checked-stream.js';
import type { CheckedLaunch } from '../../checks/launch.js';
import { LineCompletion } from '../../completion.js';
import type { FieldValues } from '../../device.js';
import {
  COPY_WORDS,
  CommandKind,
  FILL_WORDS,
  FOLLOW_WORDS,
  LAUNCH_WORDS,
  WAIT_WORDS,
  writeWide,
} from '../wire/commands.js';
import type { GpuBuffer } from './buffer.js';
import type { MarkQueue } from './mark-queue.js';
import type { GpuJob } from './program.js';
import { sendTransfer } from './staging-ring.js';
import type { Streams } from './streams.js';

/** Puts the commands of a stream into the ring. */
export class GpuStream implements StreamCommands<GpuBuffer, GpuJob, LineCompletion> {
  readonly #owner: Streams;
  readonly #queue: MarkQueue;

  constructor(owner: Streams, queue: MarkQueue) {
    this.#owner = owner;
    this.#queue = queue;
  }

  write(to: GpuBuffer, offset: number, data: ArrayBufferView): void {
    if (!this.#direct(CommandKind.write, to, offset, data)) this.#queue.staging.write(to.number, offset, data);
    this.#watch();
  }

  read(from: GpuBuffer, offset: number, into: ArrayBufferView): void {
    if (!this.#direct(CommandKind.read, from, offset, into)) this.#queue.staging.read(from.number, offset, into);
    this.#watch();
  }

  copy(source: GpuBuffer, fromOffset: number, target: GpuBuffer, toOffset: number, bytes: number): void {
    const { writer } = this.#queue;
    const at = writer.begin(CommandKind.copy, COPY_WORDS);
    writer.words[at] = source.number;
    writer.words[at + 1] = target.number;
    writeWide(writer.words, at + 2, fromOffset);
    writeWide(writer.words, at + 4, toOffset);
    writeWide(writer.words, at + 6, bytes);
    this.#send();
  }

  fill(target: GpuBuffer, offset: number, word: number, bytes: number): void {
    const { writer } = this.#queue;
    const at = writer.begin(CommandKind.fill, FILL_WORDS);
    writer.words[at] = target.number;
    writer.words[at + 1] = word;
    writeWide(writer.words, at + 2, offset);
    writeWide(writer.words, at + 4, bytes);
    this.#send();
  }

  launch(job: GpuJob, chunk: FieldValues, launch: CheckedLaunch<GpuBuffer>): void {
    const { base, count, countFrom, buffers, ring, ringCapacity } = launch;
    const bound = ring ? [...buffers, ring] : buffers;
    const bytes = bound.map((buffer) => buffer.bytes);
    const parameters = job.parameters.words(base, ringCapacity, chunk, bytes);
    if (count === 0) return;
    const { writer } = this.#queue;
    const block = launchBlock(job.program.shape, { count, epoch: this.#owner.epoch(writer.line), bytes }, parameters);
    let at = writer.begin(CommandKind.launch, LAUNCH_WORDS + bound.length + block.length);
    const { words } = writer;
    words[at] = job.program.code.number;
    words[at + 1] = bound.length;
    words[at + 2] = countFrom?.buffer.number ?? 0;
    writeWide(words, at + 3, (countFrom?.word ?? 0) * 4);
    at += LAUNCH_WORDS;
    for (const { number } of bound) words[at++] = number;
    words.set(block, at);
    this.#send();
  }

  wait({ line, number }: LineCompletion): void {
    const { writer } = this.#queue;
    if (line === writer.line) return; // a stream runs in order, so its own marks have completed by then
    const at = writer.begin(CommandKind.wait, WAIT_WORDS);
    writer.words[at] = line;
    writer.words[at + 1] = number;
    this.#send();
  }

  follow(handle: number): void {
    const { info } = this.#owner.device;
    if (info.kind !== 'cuda' || !Number.isSafeInteger(handle) || handle <= 0) {
      throw new MillraceError({
        code: 'launch-arguments',
        message: `${handle} is not a stream that ${info.id} can wait for`,
        asked: `follow(${handle})`,
        advice: 'give the handle of a CUDA stream; on other devices, wait for that work before queueing commands',
      });
    }
    const { writer } = this.#queue;
    const at = writer.begin(CommandKind.follow, FOLLOW_WORDS);
    writeWide(writer.words, at, handle);
    this.#send();
  }

  mark(waited: readonly LineCompletion[]): LineCompletion {
    const { line } = this.#queue.writer;
    const completion = new LineCompletion(this.#owner.device, line, this.#owner.nextMark(line), waited);
    this.#queue.mark(completion);
    this.#owner.watch();
    return completion;
  }

  cancel(): void {
    this.#owner.cancel(this.#queue.writer.line);
  }

  close(): void {
    this.#owner.closeStream(this.#queue);
  }

  /** Transfers by address, or in shared memory that the worker knows; false if the bytes have to be staged. */
  #direct(kind: number, buffer: GpuBuffer, offset: number, view: ArrayBufferView): boolean {
    const { addressOf } = this.#owner;
    const host = this.#owner.hostNumber(view.buffer);
    if (!addressOf && host === undefined) return false;
    // Runtimes that take no addresses copy shared memory too.
    if (host === undefined || !addressOf) this.#owner.expectStaging?.(view.byteLength);
    // SAFETY: the array is held until a mark after this command has completed.
    this.#queue.hold(view);
    sendTransfer(this.#queue.writer, kind, {
      memory: buffer.number,
      offset,
      bytes: view.byteLength,
      host: host ?? 0,
      address: addressOf?.(view),
      at: view.byteOffset,
    });
    return true;
  }

  #send(): void {
    this.#queue.writer.send();
    this.#watch();
  }

  #watch(): void {
    if (this.#queue.isBusy) this.#owner.watch();
  }
}
