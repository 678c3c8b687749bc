import type { DeviceInfo, Report, Stream } from '../../../device/device.js';
import { attempt, Conduct } from '../../../engine/feed/device-health.js';
import { Silence } from '../../../engine/feed/stall.js';
import { type FlowSlot, Overflow } from '../../../engine/flow/flow.js';
import { type Batch, SAMPLES, sampled } from '../../../engine/makers/batches.js';
import { least, type Piece } from '../../../engine/work/space.js';

/** The requested rows, and the expected content of each. */
export interface Asked {
  readonly start: bigint;
  /** At least one. */
  readonly count: bigint;
  readonly rowBytes: number;
  /** Returns the expected row, a character for each byte. */
  expected(index: bigint): string;
  readonly signal?: AbortSignal | undefined;
}

/** A slot for a chunk. */
export interface Place {
  readonly slot: FlowSlot<Uint8Array>;
  /** The number of its stream. */
  readonly stream: number;
}

/** The resources of a course. */
export interface Track {
  readonly info: DeviceInfo;
  readonly streams: readonly Stream[];
  /** The course's own. */
  readonly places: Place[];
  /** Rows of a chunk. */
  readonly most: number;
}

/** Callbacks of a course. */
export interface CourseEvents {
  /** Returns a free place, for the next course. */
  back(place: Place): void;
  over(course: Course): void;
  /** True if no other course uses its streams. */
  isAlone(): boolean;
}

interface Flying {
  readonly piece: Piece;
  readonly place: Place;
  readonly done: Promise<Report>;
  /** A sample of the expected rows. */
  expected: readonly Expected[] | undefined;
}

interface Expected {
  readonly row: number;
  readonly text: string;
}

/**
 * Makes a range of rows on one device, chunk by chunk, in order. It does not handle failures: at the first one (an error,
 * a short chunk, a wrong row) it ends after the last correct batch. A job does the rest: it retries, records the device's
 * fault and reports the reason.
 */
export class Course {
  readonly #asked: Asked;
  readonly #track: Track;
  readonly #free: Place[];
  readonly #events: CourseEvents;
  readonly #end: bigint;
  readonly #flying: Flying[] = [];
  #next: bigint;
  #turn = 0;
  /** Nothing more is submitted. */
  #isStopped = false;
  #isOver = false;
  #isWaiting = false;
  /** Duration of the last chunk. */
  #chunkMs: number | undefined;
  #silence: Silence | undefined;
  #conduct: Conduct | undefined;
  /** Ends the current wait for a chunk or a place. */
  #giveUp = NOTHING;
  #hasPlace = NOTHING;
  readonly #stop = (): void => {
    this.#isStopped = true;
    this.#giveUp();
    this.#hasPlace();
  };
  /** Rows in the batches given so far. */
  given = 0n;

  constructor(asked: Asked, track: Track, events: CourseEvents) {
    this.#asked = asked;
    this.#track = track;
    this.#free = track.places;
    this.#events = events;
    this.#next = asked.start;
    this.#end = asked.start + asked.count;
    asked.signal?.addEventListener('abort', this.#stop, { once: true });
  }

  /** Submits chunks to all free places, so that the device has the next chunk before it completes the last. */
  fill(): void {
    while (!this.#isStopped && this.#next < this.#end && this.#free.length > 0) {
      const piece = { start: this.#next, count: Number(least(BigInt(this.#track.most), this.#end - this.#next)) };
      const place = this.#takePlace();
      try {
        const { done } = place.slot.submit(piece);
        this.#flying.push({ piece, place, done, expected: undefined });
      } catch {
        this.#free.push(place);
        this.#isStopped = true; // earlier chunks may still be correct
        return;
      }
      this.#next += BigInt(piece.count);
    }
  }

  /** Returns the next batch; undefined after the last one or a failure. Rejects if aborted or if the device hangs. */
  async next(): Promise<Batch | undefined> {
    for (;;) {
      this.#asked.signal?.throwIfAborted();
      const [first] = this.#flying;
      if (first !== undefined) {
        const report = await this.#report(first);
        this.#asked.signal?.throwIfAborted();
        if (this.#conduct?.fault) throw this.#conduct.fault;
        return this.#land(first, report);
      }
      if (this.#isStopped || this.#next >= this.#end) return undefined;
      // The consumer holds all places.
      await new Promise<void>((resolve) => {
        this.#hasPlace = resolve;
      });
    }
  }

  /** Advances the clock. The time limit for a device that does not answer is that of a job. */
  tick(ms: number): void {
    if (!this.#isWaiting) return;
    const { info } = this.#track;
    this.#silence ??= new Silence(1, 1);
    this.#conduct ??= new Conduct(info, this.#stop);
    if (!this.#silence.add(0, ms, this.#chunkMs)) return;
    const seconds = (this.#silence.msOf(0) / 1000).toFixed(1);
    this.#conduct.blame('stalled', `${info.id} has not answered for ${seconds} s`);
  }

  /**
   * Cancels the chunks in flight, or awaits them if cancelling would affect other courses. Places are returned when they
   * are no longer used. Returns undefined if there is nothing to wait for.
   */
  end(): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    this.#isOver = true;
    this.#stop();
    this.#asked.signal?.removeEventListener('abort', this.#stop);
    for (const place of this.#free.splice(0)) this.#events.back(place);
    if (this.#flying.length > 0) return this.#cancel();
    this.#events.over(this);
    return undefined;
  }

  /** Returns the report of a chunk; undefined if it failed or the wait was given up. */
  #report(first: Flying): Promise<Report | undefined> {
    // Done while the device works, so that only the comparison is left after its last chunk.
    for (const chunk of this.#flying) chunk.expected ??= this.#expect(chunk.piece);
    this.#isWaiting = true;
    return new Promise((resolve) => {
      this.#giveUp = () => resolve(undefined);
      first.done.then(resolve, this.#giveUp);
    });
  }

  #land(first: Flying, report: Report | undefined): Batch | undefined {
    this.#isWaiting = false;
    if (this.#isOver) return undefined;
    const { piece, place, expected = this.#expect(piece) } = first;
    const bytes = report?.complete ? place.slot.reap(piece) : undefined;
    if (bytes === undefined || bytes instanceof Overflow || !this.#areRight(bytes, expected)) {
      this.#stop();
      return undefined;
    }
    this.#flying.shift();
    this.#silence?.end(0);
    if (report) this.#chunkMs = Number(report.endedNs - report.startedNs) / 1e6;
    this.given += BigInt(piece.count);
    return new CourseBatch(piece, bytes, () => this.#freed(place));
  }

  #freed(place: Place): void {
    if (this.#isOver) {
      this.#events.back(place);
      return;
    }
    this.#free.push(place);
    this.fill();
    this.#hasPlace();
  }

  /** Chunk k goes to stream k mod streams, or to another if that one has no free place. */
  #takePlace(): Place {
    const stream = this.#turn++ % this.#track.streams.length;
    const at = this.#free.findIndex((place) => place.stream === stream);
    const [place] = this.#free.splice(Math.max(0, at), 1);
    return place as Place;
  }

  #expect(piece: Piece): Expected[] {
    return sampled(piece, SAMPLES).map((row) => ({ row, text: this.#asked.expected(piece.start + BigInt(row)) }));
  }

  #areRight(bytes: Uint8Array, expected: readonly Expected[]): boolean {
    const { rowBytes } = this.#asked;
    return expected.every(({ row, text }) => isTextAt(bytes, row * rowBytes, text));
  }

  async #cancel(): Promise<void> {
    const flying = this.#flying.splice(0);
    const busy = new Set(flying.map(({ place }) => place.stream));
    if (this.#events.isAlone()) for (const at of busy) attempt(() => this.#track.streams[at]?.cancel());
    const settled = flying.map(({ done, place }) => {
      const back = (): void => this.#events.back(place);
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
    this.#events.over(this);
  }
}

function isTextAt(bytes: Uint8Array, from: number, text: string): boolean {
  for (let at = 0; at < text.length; at++) if (bytes[from + at] !== text.charCodeAt(at)) return false;
  return true;
}

const LATE_MS = 2000;
const NOTHING = (): void => undefined;

class CourseBatch implements Batch {
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
