import { type Buffer, type Device, type QuerySet, Usage } from '../api.js';

/** The most times that one submission can record: 256 bytes, the granularity at which queries are resolved. */
export const MAX_STAMPS = 32;
/** The data that a submission returns about itself: its times, then status words. */
export const TICKET_BYTES = 4096;
/** WebGPU's limit on a query set: enough for 128 submissions. */
const QUERIES = 4096;

/** The resources of one submission. */
export interface Page {
  /** Mapped to learn that the submission has ended. */
  readonly ticket: Buffer;
  /** Queries for its times; undefined if the host has to take them. */
  readonly queries: Queries | undefined;
  /** A source to copy from: the mapping of a ticket waits for a submission only if that writes to it. */
  readonly dummySource: Buffer;
}

export interface Queries {
  readonly set: QuerySet;
  readonly first: number;
  readonly resolved: Buffer;
}

/** A pool of pages, which are reused. */
export class Pages {
  readonly #device: Device;
  readonly #free: Page[] = [];
  readonly #dummySource: Buffer;
  readonly #timestamps: boolean;
  #queries: Queries | undefined;

  /** `timestamps`: the device can record times. */
  constructor(device: Device, timestamps: boolean) {
    this.#device = device;
    this.#dummySource = device.createBuffer({ size: 16, usage: Usage.copySource });
    this.#timestamps = timestamps;
  }

  /** Always returns a page, since a mark cannot be postponed. */
  acquire(): Page {
    const free = this.#free.pop();
    if (free) return free;
    if (this.#timestamps) this.#queries = this.#next();
    return {
      ticket: this.#device.createBuffer({ size: TICKET_BYTES, usage: Usage.mapRead | Usage.copyTarget }),
      queries: this.#queries,
      dummySource: this.#dummySource,
    };
  }

  release(page: Page): void {
    this.#free.push(page);
  }

  #next(): Queries {
    const last = this.#queries;
    if (last && last.first + 2 * MAX_STAMPS <= QUERIES) return { ...last, first: last.first + MAX_STAMPS };
    const usage = Usage.queryResolve | Usage.copySource;
    return {
      set: this.#device.createQuerySet({ type: 'timestamp', count: QUERIES }),
      resolved: this.#device.createBuffer({ size: QUERIES * 8, usage }),
      first: 0,
    };
  }
}
