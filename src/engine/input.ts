import { MillraceError } from '../kernel/error.js';
import { Intervals } from './intervals.js';
import type { ChunkSource } from './source.js';
import { between, type Piece, type Range, rangeOf } from './space.js';

/** Rows as they come: arrays of any size that hold whole rows. */
export type RowsGiven = Iterable<ArrayBufferView> | AsyncIterable<ArrayBufferView>;

interface Arrived {
  readonly start: bigint;
  readonly rows: number;
  readonly bytes: Uint8Array;
}

/**
 * The source of a `transform`: rows are numbered as they arrive, and kept until they are done, since a device that fails
 * leaves them to another. It reads ahead, but no further than `most` rows beyond what is done.
 */
export class InputSource implements ChunkSource<Uint8Array> {
  readonly completed = Intervals.none;
  readonly #rowBytes: number;
  readonly #most: number;
  readonly #iterator: Iterator<ArrayBufferView> | AsyncIterator<ArrayBufferView>;
  readonly #arrived: Arrived[] = [];
  #done = Intervals.none;
  #end = 0n;
  #taken = 0n;
  #isEnded = false;
  #isReading = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #release: (rows: ArrayBufferView) => void;
  #wake: () => void = () => undefined;

  /** `release` is called with the rows of an array when nobody needs them any more. */
  constructor(
    given: RowsGiven,
    rowBytes: number,
    most: number,
    release: (rows: ArrayBufferView) => void = () => undefined,
  ) {
    this.#rowBytes = rowBytes;
    this.#most = most;
    this.#release = release;
    this.#iterator = Symbol.asyncIterator in given ? given[Symbol.asyncIterator]() : given[Symbol.iterator]();
  }

  get isExhausted(): boolean {
    return this.#isEnded && this.#taken === this.#end && this.#failure === undefined;
  }

  watch(wake: () => void): void {
    this.#wake = wake;
    this.#read();
  }

  take(): Range | undefined {
    if (this.#failure) throw this.#failure.error;
    const range = between(this.#taken, this.#end);
    this.#taken = this.#end;
    return range.length === 0n ? undefined : range;
  }

  done(piece: Piece): void {
    this.#done = this.#done.add(rangeOf(piece));
    const done = this.#done.firstMissing(0n);
    for (let [first] = this.#arrived; first && first.start + BigInt(first.rows) <= done; [first] = this.#arrived) {
      this.#arrived.shift();
      this.#release(first.bytes);
    }
    this.#read();
  }

  giveBack(): void {
    void this.#iterator.return?.();
    this.#isEnded = true;
  }

  lower(): void {}

  /** A piece's rows, in one array or several. */
  *rows({ start, count }: Piece): Generator<Uint8Array> {
    const end = start + BigInt(count);
    for (const { start: first, rows, bytes } of this.#arrived) {
      const from = start > first ? start : first;
      const last = first + BigInt(rows);
      const to = end < last ? end : last;
      if (from >= to) continue;
      yield bytes.subarray(Number(from - first) * this.#rowBytes, Number(to - first) * this.#rowBytes);
    }
  }

  row(index: bigint): Uint8Array {
    const [row = new Uint8Array(0)] = this.rows({ start: index, count: 1 });
    return row;
  }

  #read(): void {
    if (this.#isReading || this.#isEnded) return;
    this.#isReading = true;
    void this.#readAhead()
      .catch((error) => {
        this.#failure = { error };
        this.#isEnded = true;
      })
      .then(() => {
        this.#isReading = false;
        this.#wake();
      });
  }

  async #readAhead(): Promise<void> {
    while (!this.#isEnded && this.#end - this.#done.firstMissing(0n) < BigInt(this.#most)) {
      const next = await this.#iterator.next();
      if (next.done) this.#isEnded = true;
      else this.#add(next.value);
      this.#wake();
    }
  }

  #add(view: ArrayBufferView): void {
    const rows = view.byteLength / this.#rowBytes;
    if (!Number.isInteger(rows)) {
      throw new MillraceError({
        code: 'input-format',
        message: `${view.byteLength} bytes are no whole number of rows`,
        asked: `rows of ${this.#rowBytes} bytes`,
        advice: 'cut the input between rows',
      });
    }
    if (rows === 0) return;
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    this.#arrived.push({ start: this.#end, rows, bytes });
    this.#end += BigInt(rows);
  }
}
