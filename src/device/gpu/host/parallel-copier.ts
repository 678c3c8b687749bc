import { copyBytes } from '../../native/libc.js';

/**
 * Several threads copy host memory together. One core copies 6 to 10 GB/s; a bus takes 50. The thread that owns a
 * device calls `copy`; helpers (`copy-threads.ts`) take parts of it. Each part goes to the first thread that asks, the
 * owner included, so helpers that are late or not started yet delay no copy.
 *
 * Words (i32). Words that different threads write are 64 bytes apart.
 */
const Word = {
  /** Parts not yet taken; they are numbered from 0, and the last goes first. */
  remaining: 0,
  /** Parts that are copied. */
  done: 16,
  /** Incremented with every copy; helpers sleep on it. */
  wake: 32,
  stop: 33,
  /** The number of helpers, and of parts they have copied, modulo 2^32. */
  helpers: 48,
  helped: 49,
} as const;
/** Doubles: the current copy. They change only while no part is left and all parts are done. */
const Wide = { to: 32, from: 33, bytes: 34 } as const;
const BYTES = 512;

/** A part takes 10 µs: short compared to the wait for the last part, long compared to taking one (0.3 µs). */
const PART_BYTES = 2 ** 16;
/** A shorter copy is done before a helper would be awake. */
const MIN_BYTES = 4 * PART_BYTES;
/** How long a helper polls for the next copy before it sleeps, and the owner for the last part. */
const LINGER_MS = 0.1;

export const newCopyMemory = (): SharedArrayBuffer => new SharedArrayBuffer(BYTES);

/** The owner's side. There is only one owner. */
export class ParallelCopier {
  readonly #words: Int32Array;
  readonly #wide: Float64Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
    this.#wide = new Float64Array(memory);
  }

  /** Copies like `copyBytes`: complete when it returns. The ranges must not overlap. */
  copy(to: number, from: number, bytes: number): void {
    const words = this.#words;
    if (bytes < MIN_BYTES || Atomics.load(words, Word.helpers) === 0) {
      // SAFETY: the caller is responsible.
      copyBytes(to, from, bytes);
      return;
    }
    this.#wide[Wide.to] = to;
    this.#wide[Wide.from] = from;
    this.#wide[Wide.bytes] = bytes;
    const parts = Math.ceil(bytes / PART_BYTES);
    Atomics.store(words, Word.done, 0);
    Atomics.store(words, Word.remaining, parts); // from here on helpers may begin
    Atomics.add(words, Word.wake, 1);
    Atomics.notify(words, Word.wake);
    while (copyPart(words, this.#wide));
    this.#waitForParts(parts);
  }

  /** Helpers finish the parts they took within microseconds, unless the system has preempted one of them. */
  #waitForParts(parts: number): void {
    const words = this.#words;
    const until = performance.now() + LINGER_MS;
    for (let done = Atomics.load(words, Word.done); done < parts; done = Atomics.load(words, Word.done)) {
      if (performance.now() > until) Atomics.wait(words, Word.done, done);
    }
  }
}

/** A helper's main loop, until `stopHelpers`. */
export function runHelper(memory: SharedArrayBuffer): void {
  const words = new Int32Array(memory);
  const wide = new Float64Array(memory);
  Atomics.add(words, Word.helpers, 1);
  for (let idle = performance.now(); Atomics.load(words, Word.stop) === 0; ) {
    while (copyPart(words, wide, Word.helped)) idle = performance.now();
    if (performance.now() - idle < LINGER_MS) continue;
    const seen = Atomics.load(words, Word.wake);
    if (Atomics.load(words, Word.remaining) > 0 || Atomics.load(words, Word.stop) !== 0) continue;
    Atomics.wait(words, Word.wake, seen);
    idle = performance.now();
  }
  Atomics.sub(words, Word.helpers, 1);
}

/** Ends the helpers once they have copied the parts they took. */
export function stopHelpers(memory: SharedArrayBuffer): void {
  const words = new Int32Array(memory);
  Atomics.store(words, Word.stop, 1);
  Atomics.add(words, Word.wake, 1);
  Atomics.notify(words, Word.wake);
}

/** Returns the number of helpers and of the parts they have copied. */
export function helperCounts(memory: SharedArrayBuffer): { readonly helpers: number; readonly parts: number } {
  const words = new Int32Array(memory);
  return { helpers: Atomics.load(words, Word.helpers), parts: Atomics.load(words, Word.helped) };
}

/** Takes a part, copies it and counts it; false if none is left. */
function copyPart(words: Int32Array, wide: Float64Array, counter?: number): boolean {
  const left = Atomics.load(words, Word.remaining);
  if (left <= 0) return false;
  if (Atomics.compareExchange(words, Word.remaining, left, left - 1) !== left) return true; // another thread was faster
  // The part taken may belong to a later copy than the one whose count was read. The addresses are always those of the
  // later copy, which cannot end before this part is done.
  const at = (left - 1) * PART_BYTES;
  const bytes = Math.min(PART_BYTES, (wide[Wide.bytes] ?? 0) - at);
  // SAFETY: inside both ranges, which the owner's caller holds until `copy` returns; no other thread has this part.
  copyBytes((wide[Wide.to] ?? 0) + at, (wide[Wide.from] ?? 0) + at, bytes);
  if (counter !== undefined) Atomics.add(words, counter, 1);
  Atomics.add(words, Word.done, 1);
  Atomics.notify(words, Word.done);
  return true;
}
