import { MillraceError } from '../../../kernel/error.js';
import type { DeviceTelemetry } from '../../device.js';
import { newMemory } from '../../host-memory.js';
import type { Grids } from '../resident/grids.js';
import { ResidentMemory } from '../resident/memory.js';
import { type Requests, serializeError, type WorkerCall, type WorkerMessage } from '../wire/messages.js';
import type { SharedHostMemory } from './command-reader.js';
import { type Driver, FatalError } from './driver.js';
import type { ResourceTable, TrackedResource } from './resource-table.js';

export interface RequestHandlerOptions {
  readonly memories: ResourceTable<unknown>;
  readonly hosts: ResourceTable<SharedHostMemory>;
  readonly programs: ResourceTable<unknown>;
  readonly grids: Grids | undefined;
  telemetry(): DeviceTelemetry;
  post(message: WorkerMessage): void;
  /** Called when a promise of the driver rejected with an error that ends the device. */
  fatal(error: FatalError): void;
}

/** Answers the main thread's requests. If the driver returns no promise, the answer is sent before `handle` returns. */
export class RequestHandler {
  readonly #driver: Driver;
  readonly #options: RequestHandlerOptions;
  /** The program of each resident grid. */
  readonly #gridPrograms = new Map<number, TrackedResource<unknown>>();
  /** Requests for memory that wait for other memory to be freed. */
  #waitingForMemory: WorkerCall[] = [];

  constructor(driver: Driver, options: RequestHandlerOptions) {
    this.#driver = driver;
    this.#options = options;
  }

  handle(call: WorkerCall): void {
    try {
      const answer = this.#perform(call);
      if (answer instanceof Promise) {
        answer.then(
          (value) => this.#reply(call, value),
          (error) => this.#failed(call, error, (fatal) => this.#options.fatal(fatal)),
        );
      } else {
        this.#reply(call, answer);
      }
    } catch (error) {
      this.#failed(call, error, (fatal) => {
        throw fatal;
      });
    }
  }

  /** Called when memory has been freed. */
  retryAllocations(): void {
    const calls = this.#waitingForMemory;
    this.#waitingForMemory = [];
    for (const call of calls) this.handle(call);
  }

  #perform(call: WorkerCall): unknown {
    const { memories, hosts, programs, telemetry } = this.#options;
    switch (call.kind) {
      case 'alloc':
        return thenOrNow(this.#driver.alloc(call.ask.bytes), (memory) => {
          memories.add(call.ask.number, memory);
          return this.#driver.pointer?.(memory);
        });
      case 'adopt': {
        const { number, pointer, bytes } = call.ask;
        return memories.add(number, this.#driver.adopt?.(pointer, bytes));
      }
      case 'host':
        return this.#host(call.ask);
      case 'share':
        return hosts.add(call.ask.number, { memory: call.ask.memory, locked: undefined });
      case 'load':
        return thenOrNow(this.#driver.load(call.ask), (program) => {
          programs.add(call.ask.number, program);
          return this.#driver.occupancy?.(program);
        });
      case 'grid':
        return this.#grid(call.ask);
      case 'dismiss':
        return this.#dismiss(call.ask.number);
      case 'sensors':
        return this.#driver.sensors?.();
      case 'telemetry':
        return telemetry();
      case 'handles':
        return this.#driver.handles?.() ?? [];
    }
  }

  #host({ number, bytes }: Requests['host']['ask']): Requests['host']['answer'] {
    const locked = this.#driver.lock?.(bytes);
    const shared = locked?.bytes ?? new Uint8Array(newMemory(bytes));
    // Memory of the runtime is not shared; this thread's own is, with the main thread.
    const memory = locked && !(shared.buffer instanceof SharedArrayBuffer) ? undefined : shared.buffer;
    this.#options.hosts.add(number, { memory, locked });
    if (locked && memory === undefined) return { locked: true, address: locked.address };
    return { locked: locked !== undefined, shared };
  }

  #grid({ number, program, memory, sizes, block, buffers }: Requests['grid']['ask']): boolean {
    const { grids, memories, programs } = this.#options;
    if (grids === undefined) return false;
    const shared = new ResidentMemory(memory, sizes);
    const bound = buffers.map((buffer) => memories.get(buffer).value);
    const held = programs.get(program);
    const isOpen = grids.open(number, shared, { program: held.value, memory: shared, block, buffers: bound });
    if (isOpen) {
      held.retainForGrid();
      this.#gridPrograms.set(number, held);
    }
    return isOpen;
  }

  /** The program of a grid that does not stop is kept until the device is closed. */
  #dismiss(number: number): undefined {
    if (this.#options.grids?.close(number)) this.#gridPrograms.get(number)?.releaseFromGrid();
    this.#gridPrograms.delete(number);
  }

  #reply({ call }: WorkerCall, answer: unknown): void {
    this.#options.post({ kind: 'answer', call, answer });
  }

  #failed(call: WorkerCall, error: unknown, fatal: (error: FatalError) => void): void {
    const full = error instanceof MillraceError && error.code === 'device-memory';
    if (error instanceof FatalError) fatal(error);
    else if (full && this.#options.memories.hasPendingFrees) this.#waitingForMemory.push(call);
    else this.#options.post({ kind: 'error', call: call.call, error: serializeError(error) });
  }
}

/** Calls `use` at once if the value is not a promise. */
function thenOrNow<T, R>(value: T | Promise<T>, use: (value: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}
