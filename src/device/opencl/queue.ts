import { OutParameters } from '../gpu/native/api.js';
import type { NativeQueue } from '../gpu/native/line.js';
import { CL, type OpenClCall } from './runtime/api.js';
import type { Context } from './runtime/context.js';

/** An event of the driver. Its owner releases it. */
export type Event = number;

/** Commands between two flushes without a mark: a command that is not flushed may never start. */
const FLUSH_EVERY = 16;

/**
 * An in-order queue that records the times of its commands. No call here waits for the device: enqueueing takes 5 to 10
 * µs and returns the command's event.
 */
export class CommandQueue implements NativeQueue<Event> {
  readonly handle: number;
  readonly #context: Context;
  readonly #out = new OutParameters();
  #unflushed = 0;

  constructor(context: Context) {
    const { api, errors, device, handle } = context;
    this.#context = context;
    this.handle = api.clCreateCommandQueue(handle, device.handle, CL.QUEUE_PROFILING_ENABLE, this.#out.address);
    errors.check('clCreateCommandQueue', this.#out.int(), 'opening a stream');
  }

  /** `from` is held, and must not change, until the event has completed. */
  write(memory: number, offset: number, from: number, bytes: number): Event {
    const { api } = this.#context;
    const at = this.#out.address;
    // SAFETY: both ranges were checked when the command was queued, or are the driver's own.
    const code = api.clEnqueueWriteBuffer(this.handle, memory, 0, offset, bytes, from, 0, 0, at);
    return this.#eventOf('clEnqueueWriteBuffer', code, () => `a write of ${bytes} bytes`);
  }

  read(memory: number, offset: number, into: number, bytes: number): Event {
    const { api } = this.#context;
    const at = this.#out.address;
    // SAFETY: as above, in the other direction.
    const code = api.clEnqueueReadBuffer(this.handle, memory, 0, offset, bytes, into, 0, 0, at);
    return this.#eventOf('clEnqueueReadBuffer', code, () => `a read of ${bytes} bytes`);
  }

  copy(from: number, fromOffset: number, to: number, toOffset: number, bytes: number): Event {
    const { api } = this.#context;
    const at = this.#out.address;
    // SAFETY: both ranges were checked when the command was queued, and do not overlap.
    const code = api.clEnqueueCopyBuffer(this.handle, from, to, fromOffset, toOffset, bytes, 0, 0, at);
    return this.#eventOf('clEnqueueCopyBuffer', code, () => `a copy of ${bytes} bytes`);
  }

  /** Fills whole words. */
  fill(memory: number, offset: number, word: number, bytes: number): Event {
    const { api } = this.#context;
    const at = this.#out.address;
    // SAFETY: the pattern is copied while the call lasts; the range was checked when the command was queued.
    const pattern = this.#out.put(word, 1);
    const code = api.clEnqueueFillBuffer(this.handle, memory, pattern, 4, offset, bytes, 0, 0, at);
    return this.#eventOf('clEnqueueFillBuffer', code, () => `a fill of ${bytes} bytes`);
  }

  kernel(kernel: number, groups: number, workgroup: number, doing: () => string): Event {
    const { api } = this.#context;
    const [global, local] = [this.#out.put(groups * workgroup, 1), this.#out.put(workgroup, 2)];
    // SAFETY: one dimension, its two sizes in separate cells; the arguments were set by the caller.
    const code = api.clEnqueueNDRangeKernel(this.handle, kernel, 1, 0, global, local, 0, 0, this.#out.address);
    return this.#eventOf('clEnqueueNDRangeKernel', code, doing);
  }

  /** Returns an event after everything queued so far. */
  marker(): Event {
    const code = this.#context.api.clEnqueueMarkerWithWaitList(this.handle, 0, 0, this.#out.address);
    return this.#eventOf('clEnqueueMarkerWithWaitList', code, () => 'a mark');
  }

  /** Delays the following commands until the event, of any queue that has been flushed, has completed. */
  wait(event: Event): void {
    const code = this.#context.api.clEnqueueBarrierWithWaitList(this.handle, 1, this.#out.put(event, 1), 0);
    this.#context.errors.check('clEnqueueBarrierWithWaitList', code, 'waiting for another stream');
  }

  flush(): void {
    if (this.#unflushed === 0) return;
    this.#unflushed = 0;
    this.#context.errors.check('clFlush', this.#context.api.clFlush(this.handle));
  }

  /** Blocks. Only called at shutdown. */
  finish(): void {
    this.#context.api.clFinish(this.handle);
  }

  destroy(): void {
    this.#context.api.clReleaseCommandQueue(this.handle);
  }

  #eventOf(call: OpenClCall, code: number, doing: () => string): Event {
    if (code !== 0) throw this.#context.errors.errorFor(call, code, doing());
    const event = this.#out.wide();
    if (++this.#unflushed >= FLUSH_EVERY) this.flush();
    return event;
  }
}
