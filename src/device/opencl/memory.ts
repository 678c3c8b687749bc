import { freemem } from 'node:os';
import { MillraceError } from '../../kernel/error.js';
import { formatBytes, formatCount } from '../checks/launch.js';
import { OutParameters } from '../gpu/native/api.js';
import type { DeviceMemoryPool, NativeMemory } from '../gpu/native/line.js';
import { mapPages, unmapPages } from '../native/libc.js';
import type { Events } from './events.js';
import type { CommandQueue, Event } from './queue.js';
import { CL } from './runtime/api.js';
import type { Context } from './runtime/context.js';
import { isOutOfMemory } from './runtime/errors.js';

/** Device memory, identified by its handle. */
export interface Memory extends NativeMemory {
  /** Its address, on a CPU. */
  readonly address: number;
}

/** Bytes kept mapped after the end on a CPU: compiled code may load a whole vector that starts at the last element. */
const MARGIN = 64;
const PAGE = 4096;

/**
 * Allocations, zeroed. On a GPU a command on a separate queue zeroes them, and all other queues wait for it. On a CPU
 * buffers are pages that the system zeroes when they are first touched, and that the platform uses in place.
 */
export class DeviceMemory implements DeviceMemoryPool<Memory> {
  readonly #context: Context;
  readonly #events: Events;
  readonly #queue: CommandQueue;
  readonly #out = new OutParameters();
  readonly #allocated = new Set<Memory>();
  #used = 0;
  /** Incremented when the queue gets a command that others must wait for; `lastEvent` is its event. */
  commandCount = 0;
  lastEvent: Event | undefined;

  constructor(context: Context, events: Events, queue: CommandQueue) {
    this.#context = context;
    this.#events = events;
    this.#queue = queue;
  }

  alloc(bytes: number): Memory {
    // Checked beforehand as far as possible: platforms promise more memory than there is, and fail when it is used.
    if (this.#used + bytes > this.#context.device.memoryBytes) throw this.#outOfMemory(bytes);
    const memory = this.#context.sharesHostMemory ? this.#pages(bytes) : this.#buffer(bytes);
    this.#allocated.add(memory);
    this.#used += bytes;
    return memory;
  }

  /** Writes words to memory that is not in use yet. The caller holds them until that command has completed. */
  fill(memory: Memory, from: number, bytes: number): void {
    this.#commandQueued(this.#queue.write(memory.device, 0, from, bytes));
  }

  /** Called when no command still to run refers to the memory. */
  free(memory: Memory): void {
    if (!this.#allocated.delete(memory)) return;
    this.#used -= memory.bytes;
    this.#context.release(memory.device);
    if (memory.address !== 0) unmapPages(memory.address, mappedBytes(memory.bytes));
  }

  freeAll(): void {
    for (const memory of [...this.#allocated]) this.free(memory);
    if (this.lastEvent !== undefined) this.#events.release(this.lastEvent);
    this.lastEvent = undefined;
  }

  #pages(bytes: number): Memory {
    const address = mapPages(mappedBytes(bytes));
    if (address === 0) throw this.#outOfMemory(bytes);
    try {
      return { device: this.#create(bytes, CL.MEM_USE_HOST_PTR, address), bytes, address };
    } catch (error) {
      unmapPages(address, mappedBytes(bytes));
      throw error;
    }
  }

  #buffer(bytes: number): Memory {
    const memory: Memory = { device: this.#create(bytes, 0, 0), bytes, address: 0 };
    const { api } = this.#context;
    // Platforms allocate when memory is first used, so this is the call that reports a lack of memory.
    // SAFETY: all of what was just made; the pattern is copied while the call lasts.
    const code = api.clEnqueueFillBuffer(
      this.#queue.handle,
      memory.device,
      this.#out.put(0, 1),
      4,
      0,
      bytes,
      0,
      0,
      this.#out.address,
    );
    if (code === 0) {
      this.#commandQueued(this.#out.wide());
      return memory;
    }
    this.#context.release(memory.device);
    if (isOutOfMemory(code)) throw this.#outOfMemory(bytes);
    throw this.#context.errors.errorFor('clEnqueueFillBuffer', code, `zeroing ${bytes} bytes`);
  }

  #create(bytes: number, flags: number, host: number): number {
    const { api, errors, handle } = this.#context;
    // SAFETY: `host` is 0, or pages that are unmapped after the buffer has been released.
    const memory = api.clCreateBuffer(handle, CL.MEM_READ_WRITE | flags, bytes, host, this.#out.address);
    const code = this.#out.int();
    if (isOutOfMemory(code)) throw this.#outOfMemory(bytes);
    errors.check('clCreateBuffer', code, `alloc(${bytes})`);
    return memory;
  }

  #commandQueued(event: Event): void {
    if (this.lastEvent !== undefined) this.#events.release(this.lastEvent);
    this.lastEvent = event;
    this.commandCount++;
    this.#context.errors.check('clFlush', this.#context.api.clFlush(this.#queue.handle)); // others wait for it
  }

  #outOfMemory(bytes: number): MillraceError {
    const { device } = this.#context;
    const free = device.isCpu ? ` (${formatBytes(freemem())} of this machine's memory are free)` : '';
    return new MillraceError({
      code: 'device-memory',
      message: `opencl:${device.number} (${device.name}): not enough device memory for ${formatBytes(bytes)}`,
      asked: `alloc(${bytes}), with ${formatBytes(this.#used)} in ${formatCount(this.#allocated.size, 'buffer')} of this device allocated`,
      advice: `the device has ${formatBytes(device.memoryBytes)}${free}, and at most ${formatBytes(device.bufferBytes)} per buffer: free buffers, use smaller ones, or end other programs that use it`,
    });
  }
}

const mappedBytes = (bytes: number): number => Math.ceil((bytes + MARGIN) / PAGE) * PAGE;
