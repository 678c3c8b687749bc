import { launchBlock } from '../../../kernel/abi/grid.js';
import { MillraceError } from '../../../kernel/error.js';
import type { StreamCommands } from '../../checks/checked-stream.js';
import type { CheckedLaunch } from '../../checks/launch.js';
import { LineCompletion } from '../../completion.js';
import type { Values } from '../../device.js';
import { COPY_WORDS, FILL_WORDS, FOLLOW_WORDS, Kind, LAUNCH_WORDS, putWide, WAIT_WORDS } from '../wire/commands.js';
import type { GpuBuffer } from './buffer.js';
import type { GpuJob } from './program.js';
import type { Queue } from './queue.js';
import { sendTransfer } from './stage.js';
import type { Streams } from './streams.js';

/** Puts the commands of a stream into the ring. */
export class GpuStream implements StreamCommands<GpuBuffer, GpuJob, LineCompletion> {
  readonly #owner: Streams;
  readonly #queue: Queue;

  constructor(owner: Streams, queue: Queue) {
    this.#owner = owner;
    this.#queue = queue;
  }

  write(to: GpuBuffer, offset: number, data: ArrayBufferView): void {
    if (!this.#direct(Kind.write, to, offset, data)) this.#queue.stage.write(to.number, offset, data);
    this.#watch();
  }

  read(from: GpuBuffer, offset: number, into: ArrayBufferView): void {
    if (!this.#direct(Kind.read, from, offset, into)) this.#queue.stage.read(from.number, offset, into);
    this.#watch();
  }

  copy(source: GpuBuffer, fromOffset: number, target: GpuBuffer, toOffset: number, bytes: number): void {
    const { lane } = this.#queue;
    const at = lane.begin(Kind.copy, COPY_WORDS);
    lane.words[at] = source.number;
    lane.words[at + 1] = target.number;
    putWide(lane.words, at + 2, fromOffset);
    putWide(lane.words, at + 4, toOffset);
    putWide(lane.words, at + 6, bytes);
    this.#send();
  }

  fill(target: GpuBuffer, offset: number, word: number, bytes: number): void {
    const { lane } = this.#queue;
    const at = lane.begin(Kind.fill, FILL_WORDS);
    lane.words[at] = target.number;
    lane.words[at + 1] = word;
    putWide(lane.words, at + 2, offset);
    putWide(lane.words, at + 4, bytes);
    this.#send();
  }

  launch(job: GpuJob, chunk: Values, launch: CheckedLaunch<GpuBuffer>): void {
    const { base, count, countFrom, buffers, ring, ringCapacity } = launch;
    const parameters = job.parameters.words(base, ringCapacity, chunk);
    if (count === 0) return;
    const { lane } = this.#queue;
    const bound = ring ? [...buffers, ring] : buffers;
    const bytes = bound.map((buffer) => buffer.bytes);
    const block = launchBlock(job.program.shape, { count, epoch: this.#owner.epoch(lane.line), bytes }, parameters);
    let at = lane.begin(Kind.launch, LAUNCH_WORDS + bound.length + block.length);
    const { words } = lane;
    words[at] = job.program.code.number;
    words[at + 1] = bound.length;
    words[at + 2] = countFrom?.buffer.number ?? 0;
    putWide(words, at + 3, (countFrom?.word ?? 0) * 4);
    at += LAUNCH_WORDS;
    for (const { number } of bound) words[at++] = number;
    words.set(block, at);
    this.#send();
  }

  wait({ line, number }: LineCompletion): void {
    const { lane } = this.#queue;
    if (line === lane.line) return; // a stream has passed its own marks when it gets here
    const at = lane.begin(Kind.wait, WAIT_WORDS);
    lane.words[at] = line;
    lane.words[at + 1] = number;
    this.#send();
  }

  follow(handle: number): void {
    const { info } = this.#owner.device;
    if (info.kind !== 'cuda' || !Number.isSafeInteger(handle) || handle <= 0) {
      throw new MillraceError({
        code: 'launch-arguments',
        message: `${handle} is no stream that ${info.id} can wait for`,
        asked: `follow(${handle})`,
        advice: 'give the handle of a CUDA stream, on a device of CUDA; elsewhere wait before you call',
      });
    }
    const { lane } = this.#queue;
    const at = lane.begin(Kind.follow, FOLLOW_WORDS);
    putWide(lane.words, at, handle);
    this.#send();
  }

  mark(waited: readonly LineCompletion[]): LineCompletion {
    const { line } = this.#queue.lane;
    const completion = new LineCompletion(this.#owner.device, line, this.#owner.nextMark(line), waited);
    this.#queue.mark(completion);
    this.#owner.watch();
    return completion;
  }

  cancel(): void {
    this.#owner.cancel(this.#queue.lane.line);
  }

  close(): void {
    this.#owner.closed(this.#queue);
  }

  /** Transfers by address, or in shared memory that the worker knows; false if the bytes have to be staged. */
  #direct(kind: number, buffer: GpuBuffer, offset: number, view: ArrayBufferView): boolean {
    const { addressOf } = this.#owner;
    const host = this.#owner.hostNumber(view.buffer);
    if (!addressOf && host === undefined) return false;
    if (host === undefined) this.#owner.staging?.(view.byteLength);
    // SAFETY: the array is held until a mark after this command has passed.
    this.#queue.hold(view);
    sendTransfer(this.#queue.lane, kind, {
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
    this.#queue.lane.send();
    this.#watch();
  }

  #watch(): void {
    if (this.#queue.busy) this.#owner.watch();
  }
}
