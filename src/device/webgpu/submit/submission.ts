import { type Buffer, type Device, type Encoder, MAP_READ, MAP_WRITE, type Pass } from '../api.js';
import { MAX_STAMPS, type Page, TICKET_BYTES } from '../memory/pages.js';

/** When the host saw a submission begin and end, in milliseconds of its clock. */
export interface HostTimes {
  readonly startedMs: number;
  readonly endedMs: number;
}

const STAMP_BYTES = MAX_STAMPS * 8;

/** When the queue's last pass ended, on the device's clock. */
export interface LastPass {
  endedNs: bigint;
}

/** Commands that go to the queue together, and actions for when they have ended. */
export class Submission {
  readonly encoder: Encoder;
  readonly page: Page;
  readonly #last: LastPass;
  readonly #toHost: (ns: bigint) => bigint;
  /** The expected time of its commands on the device, as far as known. */
  expectedMs = 0;
  /** The same of its launches alone, with `UNKNOWN_MS` for those of an unknown pace. */
  assumedMs = 0;
  /** Bytes of writes that the runtime holds for it. */
  stagedBytes = 0;
  submittedMs = 0;
  isAwaited = false;
  hasEnded = false;
  /** True if something was recorded that must come before what is written directly to the queue. */
  isUsed = false;
  readonly #stamps: ((ns: bigint) => void)[] = [];
  readonly #wordReads: { readonly at: number; use(words: Uint32Array): void }[] = [];
  readonly #maps: { readonly buffer: Buffer; readonly mode: number; use(bytes: ArrayBuffer): void }[] = [];
  readonly #endActions: ((times: HostTimes) => void)[] = [];
  #ticketUsed = STAMP_BYTES;

  /** `toHost` converts the device's clock, or milliseconds of the host, to the clock of all devices. */
  constructor(device: Device, page: Page, last: LastPass, toHost: (ns: bigint) => bigint) {
    this.encoder = device.createCommandEncoder();
    this.page = page;
    this.#last = last;
    this.#toHost = toHost;
  }

  /** True if there is space for `stamps` times and `bytes` bytes of status words. */
  hasSpace(stamps: number, bytes: number): boolean {
    return this.#stamps.length + stamps <= MAX_STAMPS && this.#ticketUsed + bytes <= TICKET_BYTES;
  }

  /** Records the time at this point, in nanoseconds. */
  stamp(edge: 'start' | 'end', received: (ns: bigint) => void): void {
    const { queries } = this.page;
    const use = (ns: bigint): void => received(this.#toHost(edge === 'start' && queries ? this.#since(ns) : ns));
    if (!queries) {
      this.#endActions.push(({ startedMs, endedMs }) =>
        use(BigInt(Math.round((edge === 'start' ? startedMs : endedMs) * 1e6))),
      );
      return;
    }
    const index = this.#query(use);
    const at = edge === 'start' ? { beginningOfPassWriteIndex: index } : { endOfPassWriteIndex: index };
    this.encoder.beginComputePass({ timestampWrites: { querySet: queries.set, ...at } }).end();
  }

  /** Begins a pass and measures its time: on the device's clock, or on the host's, which sees the whole submission. */
  timedPass(use: (ms: number) => void): Pass {
    this.isUsed = true;
    const { queries } = this.page;
    if (!queries) {
      this.#endActions.push(({ startedMs, endedMs }) => use(endedMs - startedMs));
      return this.encoder.beginComputePass();
    }
    let began = 0n;
    const timestampWrites = {
      querySet: queries.set,
      beginningOfPassWriteIndex: this.#query((ns) => {
        began = ns;
      }),
      endOfPassWriteIndex: this.#query((ns) => {
        const since = this.#since(began);
        this.#last.endedNs = ns;
        use(Math.max(0, Number(ns - since) / 1e6));
      }),
    };
    return this.encoder.beginComputePass({ timestampWrites });
  }

  /** Copies some words to the ticket and passes them to `use` at the end. */
  readWords(from: Buffer, offset: number, words: number, use: (words: Uint32Array) => void): void {
    this.encoder.copyBufferToBuffer(from, offset, this.page.ticket, this.#ticketUsed, words * 4);
    this.#wordReads.push({ at: this.#ticketUsed, use: (all) => use(all.subarray(0, words)) });
    this.#ticketUsed += words * 4;
  }

  /** Maps a buffer at the end and passes its bytes to `use`. */
  map(buffer: Buffer, use: (bytes: ArrayBuffer) => void): void {
    this.#maps.push({ buffer, mode: MAP_READ, use });
  }

  /** Maps a buffer at the end, for bytes of the host; it stays mapped. */
  mapForWriting(buffer: Buffer, use: (bytes: ArrayBuffer) => void): void {
    this.#maps.push({ buffer, mode: MAP_WRITE, use });
  }

  onEnd(use: (times: HostTimes) => void): void {
    this.#endActions.push(use);
  }

  /** Completes the recording. */
  finish(): object {
    const { ticket, queries, dummySource } = this.page;
    if (queries && this.#stamps.length > 0) {
      const at = queries.first * 8;
      this.encoder.resolveQuerySet(queries.set, queries.first, this.#stamps.length, queries.resolved, at);
      this.encoder.copyBufferToBuffer(queries.resolved, at, ticket, 0, this.#stamps.length * 8);
    }
    this.encoder.copyBufferToBuffer(dummySource, 0, ticket, TICKET_BYTES - 4, 4);
    return this.encoder.finish();
  }

  /**
   * Resolves when all of it has ended and can be read. Call only after it was submitted: a mapped buffer cannot be
   * used.
   */
  async waitForEnd(): Promise<void> {
    const maps = [{ buffer: this.page.ticket, mode: MAP_READ }, ...this.#maps];
    // Settles when the last of them has: none may be open when the thread ends (`shut-down.ts`).
    const settled = await Promise.allSettled(maps.map(({ buffer, mode }) => buffer.mapAsync(mode)));
    for (const map of settled) if (map.status === 'rejected') throw map.reason;
  }

  /** Distributes the results. A mapped range can be taken only once. */
  collect(times: HostTimes): void {
    const { ticket } = this.page;
    const range = ticket.getMappedRange();
    const stamps = new BigUint64Array(range, 0, this.#stamps.length);
    this.#stamps.forEach((use, i) => {
      use(stamps[i] ?? 0n);
    });
    for (const { at, use } of this.#wordReads) use(new Uint32Array(range, at));
    ticket.unmap();
    for (const { buffer, mode, use } of this.#maps) {
      use(buffer.getMappedRange());
      if (mode === MAP_READ) buffer.unmap();
    }
    for (const use of this.#endActions) use(times);
  }

  /** A device may record a beginning when it reads the command, while the previous pass still runs: its end counts. */
  #since(began: bigint): bigint {
    return began > this.#last.endedNs ? began : this.#last.endedNs;
  }

  #query(use: (ns: bigint) => void): number {
    return (this.page.queries?.first ?? 0) + this.#stamps.push(use) - 1;
  }
}
