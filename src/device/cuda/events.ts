import { OutParameters } from '../gpu/native/api.js';
import type { CudaApi } from './runtime/api.js';
import type { CudaErrors } from './runtime/errors.js';

/** A pool of events of one kind: creating one takes 2 to 3 µs and an unknown amount of memory in the driver. */
export class Events {
  readonly #api: CudaApi;
  readonly #errors: CudaErrors;
  readonly #flags: number;
  readonly #out = new OutParameters();
  readonly #free: number[] = [];
  readonly #all: number[] = [];

  constructor(api: CudaApi, errors: CudaErrors, flags: number) {
    this.#api = api;
    this.#errors = errors;
    this.#flags = flags;
  }

  /** Records an event on the stream. */
  record(stream: number): number {
    const event = this.#free.pop() ?? this.#create();
    const code = this.#api.cuEventRecord(event, stream);
    if (code !== 0) this.#free.push(event);
    this.#errors.check('cuEventRecord', code);
    return event;
  }

  release(event: number): void {
    this.#free.push(event);
  }

  destroyAll(): void {
    for (const event of this.#all) this.#api.cuEventDestroy(event);
    this.#all.length = 0;
    this.#free.length = 0;
  }

  #create(): number {
    this.#errors.check('cuEventCreate', this.#api.cuEventCreate(this.#out.address, this.#flags));
    const event = this.#out.wide();
    this.#all.push(event);
    return event;
  }
}
