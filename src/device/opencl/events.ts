import { Out } from '../gpu/native/api.js';
import type { Event } from './queue.js';
import { CL } from './runtime/api.js';
import type { Context } from './runtime/context.js';

/** What the driver says about events, without ever waiting for one. */
export class Events {
  readonly #context: Context;
  readonly #out = new Out();

  constructor(context: Context) {
    this.#context = context;
  }

  /** 0 when it has passed, less where it ended with an error, more while it is under way. */
  status(event: Event): number {
    const { api, errors } = this.#context;
    const code = api.clGetEventInfo(event, CL.EVENT_COMMAND_EXECUTION_STATUS, 4, this.#out.at, 0);
    errors.check('clGetEventInfo', code);
    return this.#out.int();
  }

  /** Nanoseconds of the device's clock; undefined where the platform tells none for such a command. */
  startedNs(event: Event): bigint | undefined {
    return this.#time(event, CL.PROFILING_COMMAND_START);
  }

  endedNs(event: Event): bigint | undefined {
    return this.#time(event, CL.PROFILING_COMMAND_END);
  }

  /** One more owner. */
  retain(event: Event): Event {
    this.#context.api.clRetainEvent(event);
    return event;
  }

  release(event: Event): void {
    this.#context.api.clReleaseEvent(event);
  }

  /** Waits in the driver. */
  block(event: Event): void {
    this.#context.api.clWaitForEvents(1, this.#out.put(event));
  }

  #time(event: Event, which: number): bigint | undefined {
    const code = this.#context.api.clGetEventProfilingInfo(event, which, 8, this.#out.at, 0);
    return code === 0 ? this.#out.time() : undefined;
  }
}
