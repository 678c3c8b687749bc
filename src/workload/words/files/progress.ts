import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JobDescription } from '../../../console/ledger/job-session.js';
import { between, type Intervals } from '../../../engine/index.js';
import type { WorkLog } from '../../../store/index.js';
import { type ByteString, toByteString } from '../space/charset.js';
import { separatorOf } from '../space/layout.js';
import { outputBytes } from '../space/output-size.js';
import type { WordRequest } from '../space/request.js';
import type { Sink } from './sink.js';

/**
 * Describes words in a file as a job of the ledger. Its completed indices are the words synced to the file, counted from
 * the first requested word. Undefined if the output cannot be resumed: a pipe, a device, words of unknown size.
 */
export function ledgerJobFor(
  request: WordRequest,
  file: string,
  details: Readonly<Record<string, unknown>>,
): JobDescription | undefined {
  const { space, range, layout } = request;
  const canResume = statSync(file, { throwIfNoEntry: false })?.isFile() ?? true;
  if (!canResume || bytesOf(request, range.length) === undefined) return undefined;
  const masks = space.segments.map(({ words }) => [words.order, words.size, words.mask.map((one) => one.join('\0'))]);
  const text = JSON.stringify(masks, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return {
    command: 'words',
    name: `words -o ${file}`,
    params: { ...details, layout, from: range.start, masks: Buffer.from(text, 'latin1'), file: resolve(file) },
    kernel: 'words 1',
    space: { start: 0n, length: range.length },
    restartIfFinished: true,
    hasOutput: (completed) => hasWrittenWords(request, file, completed),
  };
}

/** Returns the progress of a file: complete words and their bytes. */
export function progressIn(
  request: WordRequest,
  completed: Intervals,
): { readonly words: bigint; readonly bytes: bigint } {
  const words = completed.firstMissing(0n);
  return { words, bytes: bytesOf(request, words) ?? 0n };
}

/** Bytes of the first words. */
const bytesOf = ({ space, range: { start }, layout }: WordRequest, words: bigint): bigint | undefined =>
  outputBytes(space, start, start + words, separatorOf(layout).length);

/** True if a file still has the words written to it: it is long enough, and the last word is in its place. */
function hasWrittenWords(request: WordRequest, file: string, completed: Intervals): boolean {
  const { words, bytes } = progressIn(request, completed);
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? -1;
  if (words === 0n || BigInt(size) < bytes) return words === 0n;
  const { space, range, layout } = request;
  const last = `${space.wordAt(range.start + words - 1n) ?? ''}${separatorOf(layout)}`;
  return readAt(file, bytes - BigInt(last.length), last.length) === last;
}

function readAt(path: string, from: bigint, length: number): ByteString {
  const file = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(length);
    return toByteString(bytes.subarray(0, readSync(file, bytes, 0, length, from)));
  } finally {
    closeSync(file);
  }
}

/**
 * Records the progress of a file. A word counts once it is on disk. The file is synced about once a second, while
 * further words are written; words written before a sync began count when the sync has ended.
 */
export class ProgressRecorder {
  readonly #workLog: WorkLog;
  readonly #sink: Sink;
  #recorded: bigint;
  #lastSyncMs = performance.now();
  #syncing: Promise<void> | undefined;
  #error: unknown;

  constructor(workLog: WorkLog, sink: Sink, words: bigint) {
    this.#workLog = workLog;
    this.#sink = sink;
    this.#recorded = words;
  }

  /** Reports that the first `words` words were written, synced or not. Throws if progress cannot be recorded. */
  onWritten(words: bigint): void {
    if (this.#error !== undefined) throw this.#error;
    if (this.#syncing || performance.now() - this.#lastSyncMs < SYNC_INTERVAL_MS) return;
    this.#lastSyncMs = performance.now();
    this.#syncing = this.#syncAndRecord(words)
      .catch((error: unknown) => {
        this.#error = error;
      })
      .finally(() => {
        this.#syncing = undefined;
      });
  }

  /** Ends recording. A complete file will not be resumed, so this does not wait for its sync. */
  async end(words: bigint, isComplete: boolean): Promise<void> {
    if (isComplete) return this.#record(words);
    await this.#syncing;
    await this.#syncAndRecord(words);
  }

  async #syncAndRecord(words: bigint): Promise<void> {
    await this.#sink.sync?.();
    await this.#record(words);
  }

  async #record(words: bigint): Promise<void> {
    if (words <= this.#recorded) return;
    const rest = [...this.#workLog.completed.missing(between(this.#recorded, words))];
    this.#recorded = words;
    await Promise.all(rest.map((range) => this.#workLog.add(range, [])));
  }
}

const SYNC_INTERVAL_MS = 1000;
