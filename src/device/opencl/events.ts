import { OutParameters } from '../gpu/native/api.js';
import type { Event } from './queue.js';
import { CL } from './runtime/api.js';
import type { Context } from './runtime/context.js';

/** Queries events without blocking. */
export class Events {
  readonly #context: Context;
  readonly #out = new OutParameters();

  constructor(context: Context) {
    this.#context = context;
  }

  /** 0 if it has completed, negative if it ended with an error, positive while it is running. */
  status(event: Event): number {
    const { api, errors } = this.#context;
    const code = api.clGetEventInfo(event, CL.EVENT_COMMAND_EXECUTION_STATUS, 4, this.#out.address, 0);
    errors.check('clGetEventInfo', code);
    return this.#out.int();
  }

  /** Nanoseconds of the device's clock; undefined if the platform reports none for this kind of command. */
  startedNs(event: Event): bigint | undefined {
    return this.#time(event, CL.PROFILING_COMMAND_START);
  }

  endedNs(event: Event): bigint | undefined {
    return this.#time(event, CL.PROFILING_COMMAND_END);
  }

  /** Adds an owner. */
  retain(event: Event): Event {
    this.#context.api.clRetainEvent(event);
    return event;
  }

  release(event: Event): void {
    this.#context.api.clReleaseEvent(event);
  }

  /** Blocks in the driver. */
  block(event: Event): void {
    this.#context.api.clWaitForEvents(1, this.#out.put(event));
  }

  #time(event: Event, which: number): bigint | undefined {
    const code = this.#context.api.clGetEventProfilingInfo(event, which, 8, this.#out.address, 0);
    return code === 0 ? this.#out.time() : undefined;
  }
}
