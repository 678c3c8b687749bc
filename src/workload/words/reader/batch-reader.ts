import type { DeviceInfo, Report, Stream } from '../../../device/device.js';
import { DeviceHealth, ignoreErrors } from '../../../engine/feed/device-health.js';
import { StallDetector } from '../../../engine/feed/stall.js';
import { type FlowSlot, Overflow } from '../../../engine/flow/flow.js';
import { type Batch, DEFAULT_SAMPLES, sampleRows } from '../../../engine/makers/batches.js';
import { minBigint, type Piece } from '../../../engine/work/space.js';

/** The requested rows, and the expected content of each. */
export interface RowRequest {
  readonly start: bigint;
  /** At least one. */
  readonly count: bigint;
  readonly rowBytes: number;
  /** Returns the expected row, a character for each byte. */
  expected(index: bigint): string;
  readonly signal?: AbortSignal | undefined;
}

/** A slot for a chunk. */
export interface SlotRef {
  readonly slot: FlowSlot<Uint8Array>;
  /** The number of its stream. */
  readonly stream: number;
}

/** The resources of a reader. */
export interface ReaderConfig {
  readonly info: DeviceInfo;
  readonly streams: readonly Stream[];
  /** Owned by the reader. */
  readonly slotRefs: SlotRef[];
  /** Rows of a chunk. */
  readonly maxRows: number;
}

/** Callbacks of a reader. */
export interface ReaderEvents {
  /** Returns a free slot, for the next reader. */
  slotFree(slotRef: SlotRef): void;
  ended(reader: BatchReader): void;
  /** True if no other reader uses its streams. */
  isOnlyReader(): boolean;
}

interface ChunkInFlight {
  readonly piece: Piece;
  readonly slotRef: SlotRef;
  readonly done: Promise<Report>;
  /** A sample of the expected rows. */
  expected: readonly ExpectedRow[] | undefined;
}

interface ExpectedRow {
  readonly row: number;
  readonly text: string;
}

/**
 * Makes a range of rows on one device, chunk by chunk, in order. It does not handle failures: at the first one (an error,
 * a short chunk, a wrong row) it ends after the last correct batch. A job does the rest: it retries, records the device's
 * fault and reports the reason.
 */
export class BatchReader {
  readonly #request: RowRequest;
  readonly #config: ReaderConfig;
  readonly #free: SlotRef[];
  readonly #events: ReaderEvents;
  readonly #end: bigint;
  readonly #inFlight: ChunkInFlight[] = [];
  #next: bigint;
  #chunks = 0;
  /** Nothing more is submitted. */
  #isStopped = false;
  #isEnded = false;
  #isWaiting = false;
  /** Duration of the last chunk. */
  #chunkMs: number | undefined;
  #stall: StallDetector | undefined;
  #health: DeviceHealth | undefined;
  /** Ends the current wait for a chunk or a slot. */
  #endWait = NOOP;
  #slotReady = NOOP;
  readonly #stop = (): void => {
    this.#isStopped = true;
    this.#endWait();
    this.#slotReady();
  };
  /** Rows in the batches returned so far. */
  rowsRead = 0n;

  constructor(request: RowRequest, config: ReaderConfig, events: ReaderEvents) {
    this.#request = request;
    this.#config = config;
    this.#free = config.slotRefs;
    this.#events = events;
    this.#next = request.start;
    this.#end = request.start + request.count;
    request.signal?.addEventListener('abort', this.#stop, { once: true });
  }

  /** Submits chunks to all free slots, so that the device has the next chunk before it completes the last. */
  fill(): void {
    while (!this.#isStopped && this.#next < this.#end && this.#free.length > 0) {
      const piece = {
        start: this.#next,
        count: Number(minBigint(BigInt(this.#config.maxRows), this.#end - this.#next)),
      };
      const slotRef = this.#takeSlot();
      try {
        const { done } = slotRef.slot.submit(piece);
        done.catch(NOOP); // handled when it is this chunk's turn
        this.#inFlight.push({ piece, slotRef, done, expected: undefined });
      } catch {
        this.#free.push(slotRef);
        this.#isStopped = true; // earlier chunks may still be correct
        return;
      }
      this.#next += BigInt(piece.count);
    }
  }

  /** Returns the next batch; undefined after the last one or a failure. Rejects if aborted or if the device hangs. */
  async next(): Promise<Batch | undefined> {
    for (;;) {
      this.#request.signal?.throwIfAborted();
      const [first] = this.#inFlight;
      if (first !== undefined) {
        const report = await this.#report(first);
        this.#request.signal?.throwIfAborted();
        if (this.#health?.fault) throw this.#health.fault;
        return this.#complete(first, report);
      }
      if (this.#isStopped || this.#next >= this.#end) return undefined;
      // The consumer holds all slots.
      await new Promise<void>((resolve) => {
        this.#slotReady = resolve;
      });
    }
  }

  /** Advances the clock. The time limit for a device that does not answer is that of a job. */
  tick(ms: number): void {
    if (!this.#isWaiting) return;
    const { info } = this.#config;
    this.#stall ??= new StallDetector(1, 1);
    this.#health ??= new DeviceHealth(info, this.#stop);
    if (!this.#stall.add(0, ms, this.#chunkMs)) return;
    const seconds = (this.#stall.silentMs(0) / 1000).toFixed(1);
    this.#health.recordFault('stalled', `${info.id} has not answered for ${seconds} s`);
  }

  /**
   * Cancels the chunks in flight, or awaits them if cancelling would affect other readers. Slots are returned when they
   * are no longer used. Returns undefined if there is nothing to wait for.
   */
  end(): Promise<void> | undefined {
    if (this.#isEnded) return undefined;
    this.#isEnded = true;
    this.#stop();
    this.#request.signal?.removeEventListener('abort', this.#stop);
    for (const slotRef of this.#free.splice(0)) this.#events.slotFree(slotRef);
    if (this.#inFlight.length > 0) return this.#cancel();
    this.#events.ended(this);
    return undefined;
  }

  /** Returns the report of a chunk; undefined if it failed or the wait was given up. */
  #report(first: ChunkInFlight): Promise<Report | undefined> {
    // Done while the device works, so that only the comparison is left after its last chunk.
    for (const chunk of this.#inFlight) chunk.expected ??= this.#sampleExpected(chunk.piece);
    this.#isWaiting = true;
    return new Promise((resolve) => {
      this.#endWait = () => resolve(undefined);
      first.done.then(resolve, this.#endWait);
    });
  }

  #complete(first: ChunkInFlight, report: Report | undefined): Batch | undefined {
    this.#isWaiting = false;
    if (this.#isEnded) return undefined;
    const { piece, slotRef, expected = this.#sampleExpected(piece) } = first;
    const bytes = report?.complete ? slotRef.slot.reap(piece) : undefined;
    if (bytes === undefined || bytes instanceof Overflow || !this.#matches(bytes, expected)) {
      this.#stop();
      return undefined;
    }
    this.#inFlight.shift();
    this.#stall?.reset(0);
    if (report) this.#chunkMs = Number(report.endedNs - report.startedNs) / 1e6;
    this.rowsRead += BigInt(piece.count);
    return new ReaderBatch(piece, bytes, () => this.#onRelease(slotRef));
  }

  #onRelease(slotRef: SlotRef): void {
    if (this.#isEnded) {
      this.#events.slotFree(slotRef);
      return;
    }
    this.#free.push(slotRef);
    this.fill();
    this.#slotReady();
  }

  /** Chunk k goes to stream k mod streams, or to another if that one has no free slot. */
  #takeSlot(): SlotRef {
    const stream = this.#chunks++ % this.#config.streams.length;
    const at = this.#free.findIndex((slotRef) => slotRef.stream === stream);
    const [slotRef] = this.#free.splice(Math.max(0, at), 1);
    return slotRef as SlotRef;
  }

  #sampleExpected(piece: Piece): ExpectedRow[] {
    return sampleRows(piece, DEFAULT_SAMPLES).map((row) => ({
      row,
      text: this.#request.expected(piece.start + BigInt(row)),
    }));
  }

  #matches(bytes: Uint8Array, expected: readonly ExpectedRow[]): boolean {
    const { rowBytes } = this.#request;
    return expected.every(({ row, text }) => isTextAt(bytes, row * rowBytes, text));
  }

  async #cancel(): Promise<void> {
    const chunks = this.#inFlight.splice(0);
    const busy = new Set(chunks.map(({ slotRef }) => slotRef.stream));
    if (this.#events.isOnlyReader()) for (const at of busy) ignoreErrors(() => this.#config.streams[at]?.cancel());
    const settled = chunks.map(({ done, slotRef }) => {
      const back = (): void => this.#events.slotFree(slotRef);
      return done.then(back, back);
    });
    // Does not wait forever for a device that does not confirm the cancellation.
    let late: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([
      Promise.all(settled),
      new Promise((resolve) => {
        late = setTimeout(resolve, LATE_MS);
      }),
    ]);
    clearTimeout(late);
    this.#events.ended(this);
  }
}

function isTextAt(bytes: Uint8Array, from: number, text: string): boolean {
  for (let at = 0; at < text.length; at++) if (bytes[from + at] !== text.charCodeAt(at)) return false;
  return true;
}

const LATE_MS = 2000;
const NOOP = (): void => undefined;

class ReaderBatch implements Batch {
  readonly start: bigint;
  readonly count: number;
  readonly bytes: Uint8Array;
  #release: (() => void) | undefined;

  constructor({ start, count }: Piece, bytes: Uint8Array, release: () => void) {
    this.start = start;
    this.count = count;
    this.bytes = bytes;
    this.#release = release;
  }

  release(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }
}
