import { type Buffer, type Device, type QuerySet, Usage } from '../api.js';

/** Times that one submission can take: 256 bytes of them, the grain at which queries are resolved. */
export const STAMPS = 32;
/** What a submission brings back of itself: its times, then status words. */
export const TICKET_BYTES = 4096;
/** WebGPU's limit on a query set: those of 128 submissions. */
const QUERIES = 4096;

/** What one submission needs of its own. */
export interface Page {
  /** Is mapped to learn that the submission has ended. */
  readonly ticket: Buffer;
  /** Where it may take times; undefined where the host has to. */
  readonly queries: Queries | undefined;
  /** Something to copy from: only a ticket that a submission writes to waits for it. */
  readonly anything: Buffer;
}

export interface Queries {
  readonly set: QuerySet;
  readonly first: number;
  readonly resolved: Buffer;
}

/** Pages are used again and again. */
export class Pages {
  readonly #device: Device;
  readonly #free: Page[] = [];
  readonly #anything: Buffer;
  readonly #timestamps: boolean;
  #queries: Queries | undefined;

  /** `timestamps`: the device can take the time. */
  constructor(device: Device, timestamps: boolean) {
    this.#device = device;
    this.#anything = device.createBuffer({ size: 16, usage: Usage.copySource });
    this.#timestamps = timestamps;
  }

  /** There is always one more, since a mark cannot be put off. */
  take(): Page {
    const free = this.#free.pop();
    if (free) return free;
    if (this.#timestamps) this.#queries = this.#next();
    return {
      ticket: this.#device.createBuffer({ size: TICKET_BYTES, usage: Usage.mapRead | Usage.copyTarget }),
      queries: this.#queries,
      anything: this.#anything,
    };
  }

  give(page: Page): void {
    this.#free.push(page);
  }

  #next(): Queries {
    const last = this.#queries;
    if (last && last.first + 2 * STAMPS <= QUERIES) return { ...last, first: last.first + STAMPS };
    const usage = Usage.queryResolve | Usage.copySource;
    return {
      set: this.#device.createQuerySet({ type: 'timestamp', count: QUERIES }),
      resolved: this.#device.createBuffer({ size: QUERIES * 8, usage }),
      first: 0,
    };
  }
}
