import { realBytes } from '../kernel/encoding.js';
import type { Encoder } from './encoder.js';
import type { Values } from './rows.js';
import type { EncodedStates } from './states.js';
import { checkBatch } from './validate.js';

export interface GatherOptions {
  /** Input of a batch; default 8 MiB, and never more samples than the encoder's batch. */
  readonly bytes?: number;
  /** The time that the first request waits for others, in milliseconds; default 0.5. */
  readonly wait?: number;
}

/** A request's part of a batch: some of its states. */
export interface GatheredStates {
  /** The states of all requests of the batch. */
  readonly states: EncodedStates;
  readonly first: number;
  readonly count: number;
  /** Returns a copy of this request's states. */
  read(): Promise<Float64Array | Float32Array>;
  /** Releases this part. The batch's memory is free when all of its requests are released. */
  release(): void;
}

/**
 * Gathers small requests into batches. A batch is encoded when it is full, when the next request would not fit, or when
 * its first request has waited long enough. A request of a whole batch does not wait. Each request is copied to the device
 * from its own array. Results come in the order of requests. If a batch is refused, all of its requests are.
 */
export class Gatherer {
  readonly #encoder: Encoder;
  readonly #most: number;
  readonly #wait: number;
  #waiting: Request[] = [];
  #samples = 0;
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(encoder: Encoder, { bytes = 8 * 2 ** 20, wait = 0.5 }: GatherOptions = {}) {
    this.#encoder = encoder;
    const { shape, precision } = encoder.plan;
    const fitting = Math.max(1, Math.floor(bytes / (shape.length * realBytes(precision))));
    this.#most = Math.min(encoder.batch, fitting);
    this.#wait = wait;
  }

  /** Submits one or more consecutive samples. They must not change until their states are complete. */
  submit(values: Values): Promise<GatheredStates> {
    const samples = values.length / this.#encoder.plan.shape.length;
    return new Promise((resolve, reject) => {
      checkBatch(this.#encoder.plan.shape, samples, values.length);
      if (this.#samples > 0 && this.#samples + samples > this.#most) this.#send();
      this.#waiting.push({ values, samples, resolve, reject });
      this.#samples += samples;
      if (this.#samples >= this.#most) this.#send();
      else this.#timer ??= setTimeout(() => this.#send(), this.#wait);
    });
  }

  /** Encodes waiting requests, and resolves when all submitted ones have succeeded or failed. */
  async flush(): Promise<void> {
    this.#send();
    await this.#last;
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const requests = this.#waiting;
    if (requests.length === 0) return;
    this.#waiting = [];
    this.#samples = 0;
    const parts = requests.map(({ values }) => values);
    const sent = this.#encoder.encodeParts(parts).then(
      (states) => share(states, requests),
      (error) => {
        for (const { reject } of requests) reject(error);
      },
    );
    this.#last = Promise.all([this.#last, sent]);
  }
}

interface Request {
  readonly values: Values;
  readonly samples: number;
  resolve(part: GatheredStates): void;
  reject(error: unknown): void;
}

function share(states: EncodedStates, requests: readonly Request[]): void {
  let held = requests.length;
  let first = 0;
  for (const { samples, resolve } of requests) {
    const own = first;
    first += samples;
    let isHeld = true;
    resolve({
      states,
      first: own,
      count: samples,
      read: () => states.read(own, samples),
      release: () => {
        if (isHeld) held -= 1;
        isHeld = false;
        if (held === 0) states.release();
      },
    });
  }
}
