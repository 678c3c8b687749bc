import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Booked } from '../../../console/ledger/job-session.js';
import { between, type Intervals } from '../../../engine/index.js';
import type { Books } from '../../../store/index.js';
import { type Bytes, latin } from '../space/charset.js';
import { extentOf } from '../space/extent.js';
import { separatorOf } from '../space/layout.js';
import type { Request } from '../space/request.js';
import type { Sink } from './sink.js';

/**
 * Words in a file as a job of the ledger: what is done are the words that are safe in the file, counted from the first
 * that is wanted. Undefined for what cannot be gone on with: a pipe, a device, words whose bytes cannot be told.
 */
export function bookWords(
  request: Request,
  file: string,
  about: Readonly<Record<string, unknown>>,
): Booked | undefined {
  const { space, range, layout } = request;
  const isPlace = statSync(file, { throwIfNoEntry: false })?.isFile() ?? true;
  if (!isPlace || bytesOf(request, range.length) === undefined) return undefined;
  const masks = space.segments.map(({ words }) => [words.order, words.size, words.mask.map((one) => one.join('\0'))]);
  const text = JSON.stringify(masks, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return {
    command: 'words',
    name: `words -o ${file}`,
    params: { ...about, layout, from: range.start, masks: Buffer.from(text, 'latin1'), file: resolve(file) },
    kernel: 'words 1',
    space: { start: 0n, length: range.length },
    anew: true,
    isThere: (completed) => isThere(request, file, completed),
  };
}

/** How far a file has come: words, and the bytes they take. */
export function reachedIn(request: Request, completed: Intervals): { readonly words: bigint; readonly bytes: bigint } {
  const words = completed.firstMissing(0n);
  return { words, bytes: bytesOf(request, words) ?? 0n };
}

/** Bytes of the first words. */
const bytesOf = ({ space, range: { start }, layout }: Request, words: bigint): bigint | undefined =>
  extentOf(space, start, start + words, separatorOf(layout).length);

/** Whether a file still has the words that were written to it: it is as long, and the last of them stands in its place. */
function isThere(request: Request, file: string, completed: Intervals): boolean {
  const { words, bytes } = reachedIn(request, completed);
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? -1;
  if (words === 0n || BigInt(size) < bytes) return words === 0n;
  const { space, range, layout } = request;
  const last = `${space.wordAt(range.start + words - 1n) ?? ''}${separatorOf(layout)}`;
  return readAt(file, bytes - BigInt(last.length), last.length) === last;
}

function readAt(path: string, from: bigint, length: number): Bytes {
  const file = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(length);
    return latin(bytes.subarray(0, readSync(file, bytes, 0, length, from)));
  } finally {
    closeSync(file);
  }
}

/**
 * Writes down how far a file has come. A word counts when the disk has it: about once a second the file is made safe,
 * while the next words are written, and what was there when that began counts when it is done.
 */
export class WrittenWords {
  readonly #books: Books;
  readonly #sink: Sink;
  #counted: bigint;
  #begunMs = performance.now();
  #syncing: Promise<void> | undefined;
  #fault: unknown;

  constructor(books: Books, sink: Sink, words: bigint) {
    this.#books = books;
    this.#sink = sink;
    this.#counted = words;
  }

  /** So many words are in the file, or on their way to the disk. Throws where they cannot be written down. */
  reached(words: bigint): void {
    if (this.#fault !== undefined) throw this.#fault;
    if (this.#syncing || performance.now() - this.#begunMs < SAFE_MS) return;
    this.#begunMs = performance.now();
    this.#syncing = this.#makeSafe(words)
      .catch((error: unknown) => {
        this.#fault = error;
      })
      .finally(() => {
        this.#syncing = undefined;
      });
  }

  /** It has ended, here. Once all words are there nobody will go on with it, and nobody waits for the disk. */
  async end(words: bigint, isComplete: boolean): Promise<void> {
    if (isComplete) return this.#count(words);
    await this.#syncing;
    await this.#makeSafe(words);
  }

  async #makeSafe(words: bigint): Promise<void> {
    await this.#sink.sync?.();
    await this.#count(words);
  }

  async #count(words: bigint): Promise<void> {
    if (words <= this.#counted) return;
    const rest = [...this.#books.completed.missing(between(this.#counted, words))];
    this.#counted = words;
    await Promise.all(rest.map((range) => this.#books.add(range, [])));
  }
}

const SAFE_MS = 1000;
