import { realBytes } from '../kernel/encoding.js';
import type { Encoder } from './encoder.js';
import type { Values } from './rows.js';
import type { EncodedStates } from './states.js';
import { checkBatch } from './validate.js';

export interface GatherOptions {
  /** Input of a batch; default 8 MiB, and never more samples than the encoder's batch. */
  readonly maxBytes?: number;
  /** The time that the first request waits for others, in milliseconds; default 0.5. */
  readonly maxWaitMs?: number;
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
  readonly #maxSamples: number;
  readonly #maxWaitMs: number;
  #pending: PendingRequest[] = [];
  #samples = 0;
  #timer: NodeJS.Timeout | undefined;
  #lastBatch: Promise<unknown> = Promise.resolve();

  constructor(encoder: Encoder, { maxBytes = 8 * 2 ** 20, maxWaitMs = 0.5 }: GatherOptions = {}) {
    this.#encoder = encoder;
    const { shape, precision } = encoder.plan;
    const fitting = Math.max(1, Math.floor(maxBytes / (shape.length * realBytes(precision))));
    this.#maxSamples = Math.min(encoder.batch, fitting);
    this.#maxWaitMs = maxWaitMs;
  }

  /** Submits one or more consecutive samples. They must not change until their states are complete. */
  submit(values: Values): Promise<GatheredStates> {
    const samples = values.length / this.#encoder.plan.shape.length;
    return new Promise((resolve, reject) => {
      checkBatch(this.#encoder.plan.shape, samples, values.length);
      if (this.#samples > 0 && this.#samples + samples > this.#maxSamples) this.#encodePending();
      this.#pending.push({ values, samples, resolve, reject });
      this.#samples += samples;
      if (this.#samples >= this.#maxSamples) this.#encodePending();
      else this.#timer ??= setTimeout(() => this.#encodePending(), this.#maxWaitMs);
    });
  }

  /** Encodes waiting requests, and resolves when all submitted ones have succeeded or failed. */
  async flush(): Promise<void> {
    this.#encodePending();
    await this.#lastBatch;
  }

  #encodePending(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const requests = this.#pending;
    if (requests.length === 0) return;
    this.#pending = [];
    this.#samples = 0;
    const parts = requests.map(({ values }) => values);
    const sent = this.#encoder.encodeParts(parts).then(
      (states) => shareStates(states, requests),
      (error) => {
        for (const { reject } of requests) reject(error);
      },
    );
    this.#lastBatch = Promise.all([this.#lastBatch, sent]);
  }
}

interface PendingRequest {
  readonly values: Values;
  readonly samples: number;
  resolve(part: GatheredStates): void;
  reject(error: unknown): void;
}

function shareStates(states: EncodedStates, requests: readonly PendingRequest[]): void {
  let unreleased = requests.length;
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
        if (isHeld) unreleased -= 1;
        isHeld = false;
        if (unreleased === 0) states.release();
      },
    });
  }
}
