import { Fifo } from '../../device/gpu/wire/fifo.js';
import { MillraceError } from '../../kernel/error.js';
import { partitionPoint } from '../work/bisect.js';
import { Intervals } from '../work/intervals.js';
import type { ChunkSource } from '../work/source.js';
import { between, type Piece, type Range, rangeOf } from '../work/space.js';

/** Input rows: arrays of any size that hold whole rows. */
export type InputRows = Iterable<ArrayBufferView> | AsyncIterable<ArrayBufferView>;

interface InputArray {
  readonly start: bigint;
  readonly end: bigint;
  readonly bytes: Uint8Array;
}

/**
 * The source of a `transform`. Rows are numbered as they arrive and kept until they are done, because another device
 * may have to run them again. Reads at most `max` rows beyond those that are done.
 */
export class InputSource implements ChunkSource<Uint8Array> {
  readonly completed = Intervals.none;
  readonly #input: InputRows;
  readonly #rowBytes: number;
  readonly #max: bigint;
  readonly #release: (rows: ArrayBufferView) => void;
  /** Ascending, without gaps. */
  readonly #arrays = new Fifo<InputArray>();
  #iterator: RowIterator | undefined;
  #done = Intervals.none;
  #end = 0n;
  #taken = 0n;
  #isEnded = false;
  #reading: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** `release` is called with an array's rows when they are no longer needed. */
  constructor(
    input: InputRows,
    rowBytes: number,
    max: number,
    release: (rows: ArrayBufferView) => void = () => undefined,
  ) {
    this.#input = input;
    this.#rowBytes = rowBytes;
    this.#max = BigInt(max);
    this.#release = release;
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

  commit(piece: Piece): void {
    this.#done = this.#done.add(rangeOf(piece));
    const done = this.#done.firstMissing(0n);
    for (let { first } = this.#arrays; first && first.end <= done; { first } = this.#arrays) {
      this.#arrays.shift();
      this.#release(first.bytes);
    }
    this.#read();
  }

  giveBack(): void {}

  dropFrom(): void {}

  /**
   * Ends the input by its iterator's `return`, and waits for it. A generator handles `return` only after a pending
   * read, which may never end, so the wait is limited to `MAX_CLOSE_MS` while a read is pending.
   */
  async close(): Promise<void> {
    this.#isEnded = true;
    await this.#endIterator(this.#iterator);
    for (let rows = this.#arrays.shift(); rows; rows = this.#arrays.shift()) this.#release(rows.bytes);
  }

  /** Yields a piece's rows, in one array or several. */
  *rows({ start, count }: Piece): Generator<Uint8Array> {
    const end = start + BigInt(count);
    for (let position = this.#positionOf(start); ; position++) {
      const array = this.#arrays.at(position);
      if (array === undefined || array.start >= end) return;
      const from = start > array.start ? start : array.start;
      const rows = Number((end < array.end ? end : array.end) - from);
      const offset = Number(from - array.start) * this.#rowBytes;
      yield array.bytes.subarray(offset, offset + rows * this.#rowBytes);
    }
  }

  row(index: bigint): Uint8Array {
    const [row = new Uint8Array(0)] = this.rows({ start: index, count: 1 });
    return row;
  }

  /** Returns the position of the first array that ends after `start`. */
  #positionOf(start: bigint): number {
    return partitionPoint(this.#arrays.length, (at) => (this.#arrays.at(at)?.end ?? start) <= start);
  }

  async #endIterator(iterator: RowIterator | undefined): Promise<void> {
    const ended = Promise.resolve(iterator?.return?.());
    if (this.#reading === undefined) {
      await ended;
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, MAX_CLOSE_MS);
    });
    await Promise.race([Promise.all([ended, this.#reading]), late]).finally(() => clearTimeout(timer));
  }

  #read(): void {
    if (this.#reading || this.#isEnded) return;
    this.#reading = this.#readAhead()
      .catch((error) => {
        this.#failure = { error };
        this.#isEnded = true;
      })
      .then(() => {
        this.#reading = undefined;
        this.#wake?.();
      });
  }

  async #readAhead(): Promise<void> {
    while (!this.#isEnded && this.#end - this.#done.firstMissing(0n) < this.#max) {
      const next = await this.#next();
      if (!next.done && !this.#isEnded) this.#add(next.value);
      else if (next.done) this.#isEnded = true;
      else this.#release(next.value);
      this.#wake?.();
    }
  }

  async #next(): Promise<IteratorResult<ArrayBufferView>> {
    this.#iterator ??= iteratorOf(this.#input);
    let isOpen = false;
    try {
      const next = await this.#iterator.next();
      isOpen = !next.done;
      return next;
    } finally {
      // An iterator that is done, or has failed, needs no `return`.
      if (!isOpen) this.#iterator = undefined;
    }
  }

  #add(view: ArrayBufferView): void {
    const rows = view.byteLength / this.#rowBytes;
    if (!Number.isInteger(rows)) {
      throw new MillraceError({
        code: 'input-format',
        message: `${view.byteLength} bytes are not a whole number of rows`,
        asked: `rows of ${this.#rowBytes} bytes`,
        advice: 'cut the input between rows',
      });
    }
    if (rows === 0) return;
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    const start = this.#end;
    this.#end += BigInt(rows);
    this.#arrays.push({ start, end: this.#end, bytes });
  }
}

/** How long `close` waits for a pending read. */
const MAX_CLOSE_MS = 500;

type RowIterator = Iterator<ArrayBufferView> | AsyncIterator<ArrayBufferView>;

const iteratorOf = (input: InputRows): RowIterator =>
  Symbol.asyncIterator in input ? input[Symbol.asyncIterator]() : input[Symbol.iterator]();
