import { MillraceError } from '../../kernel/error.js';
import { launchBlock } from '../../kernel/grid.js';
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
import type { GpuBuffer } from './buffer.js';
import { COPY_WORDS, FILL_WORDS, FOLLOW_WORDS, Kind, LAUNCH_WORDS, putWide, WAIT_WORDS } from './commands.js';
import { GpuCompletion } from './completion.js';
import { GpuJob } from './program.js';
import type { Queue } from './queue.js';
import { sendTransfer } from './stage.js';
import type { Streams } from './streams.js';

/** Checks commands and puts them into the ring. Nothing here waits. */
export class GpuStream implements Stream {
  readonly #owner: Streams;
  readonly #queue: Queue;
  #waited: GpuCompletion[] = [];
  #closed = false;

  constructor(owner: Streams, queue: Queue) {
    this.#owner = owner;
    this.#queue = queue;
  }

  write(buffer: DeviceBuffer, data: ArrayBufferView, offset = 0): void {
    const to = this.#buffer(buffer, 'write');
    checkRange('write', to, offset, data.byteLength, false);
    if (data.byteLength === 0) return;
    if (!this.#direct(Kind.write, to, offset, data)) this.#queue.stage.write(to.number, offset, data);
    this.#watch();
  }

  read(buffer: DeviceBuffer, into: ArrayBufferView, offset = 0): void {
    const from = this.#buffer(buffer, 'read');
    checkRange('read', from, offset, into.byteLength, false);
    if (into.byteLength === 0) return;
    if (!this.#direct(Kind.read, from, offset, into)) this.#queue.stage.read(from.number, offset, into);
    this.#watch();
  }

  copy(from: DeviceBuffer, to: DeviceBuffer, bytes: number, fromOffset = 0, toOffset = 0): void {
    const source = this.#buffer(from, 'copy (source)');
    const target = this.#buffer(to, 'copy (target)');
    checkCopy(source, target, bytes, fromOffset, toOffset);
    if (bytes === 0) return;
    const { lane } = this.#queue;
    const at = lane.begin(Kind.copy, COPY_WORDS);
    lane.words[at] = source.number;
    lane.words[at + 1] = target.number;
    putWide(lane.words, at + 2, fromOffset);
    putWide(lane.words, at + 4, toOffset);
    putWide(lane.words, at + 6, bytes);
    this.#send();
  }

  fill(buffer: DeviceBuffer, word: number, offset = 0, length?: number): void {
    const target = this.#buffer(buffer, 'fill');
    const bytes = length ?? target.bytes - offset;
    checkRange('fill', target, offset, bytes, true);
    const value = checkWord(word);
    if (bytes === 0) return;
    const { lane } = this.#queue;
    const at = lane.begin(Kind.fill, FILL_WORDS);
    lane.words[at] = target.number;
    lane.words[at + 1] = value;
    putWide(lane.words, at + 2, offset);
    putWide(lane.words, at + 4, bytes);
    this.#send();
  }

  launch(launch: Launch): void {
    this.#open();
    const { device } = this.#owner;
    const { base, count, countFrom, buffers, ring, ringCapacity } = checkLaunch<GpuBuffer>(device, launch);
    const { job, chunk = {} } = launch;
    if (!(job instanceof GpuJob)) throw new TypeError('a job of this device comes from bind() of its program');
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

  wait(completion: Completion): void {
    this.#open();
    const own = ownCompletion<GpuCompletion>(this.#owner.device, completion);
    this.#waited.push(own);
    // Its number may be used again 2^32 marks later; and a stream has passed its own marks by the time it gets here.
    if (own.settled || own.line === this.#queue.lane.line) return;
    const { lane } = this.#queue;
    const at = lane.begin(Kind.wait, WAIT_WORDS);
    lane.words[at] = own.line;
    lane.words[at + 1] = own.number;
    this.#send();
  }

  follow(handle: number): void {
    this.#open();
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

  mark(): Completion {
    this.#open();
    const { line } = this.#queue.lane;
    const waited = this.#waited;
    this.#waited = [];
    const completion = new GpuCompletion(this.#owner.device, line, this.#owner.nextMark(line), waited);
    this.#queue.mark(completion);
    this.#owner.watch();
    return completion;
  }

  cancel(): void {
    this.#open();
    this.#owner.cancel(this.#queue.lane.line);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#owner.closed(this.#queue);
  }

  /** By its address, or in shared memory that the worker knows; false where the bytes have to be staged. */
  #direct(kind: number, buffer: GpuBuffer, offset: number, view: ArrayBufferView): boolean {
    const { addressOf } = this.#owner;
    const host = this.#owner.hostNumber(view.buffer);
    if (!addressOf && host === undefined) return false;
    if (host === undefined) this.#owner.staging?.(view.byteLength);
    // SAFETY: the array is held until a mark behind this command has passed.
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

  #buffer(buffer: DeviceBuffer, role: string): GpuBuffer {
    this.#open();
    return heldBuffer<GpuBuffer>(this.#owner.device, buffer, role);
  }

  #open(): void {
    this.#owner.checkOpen();
    checkStreamOpen(this.#closed);
  }
}
