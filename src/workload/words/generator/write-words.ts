import type { Range } from '../../../engine/work/space.js';
import { MillraceError } from '../../../kernel/error.js';
import { ShortWriteError, type Sink } from '../files/sink.js';
import type { Keyspace } from '../space/keyspace.js';
import { separatorOf } from '../space/layout.js';
import { widthOf } from '../space/mask.js';
import { type WordOptions, wordBatches } from './batches.js';

/** The progress of writing. */
export interface WriteProgress {
  /** The index of the next word; `--skip` with this value resumes. */
  next: bigint;
  bytes: bigint;
  /** The reader closed the pipe before the end. */
  isClosed: boolean;
}

/**
 * Writes words to a sink, in order, updates `progress`, and calls `onProgress` after each batch. Returns if the reader
 * closes the pipe. Any other failure of the sink is an error that says how many complete words were written.
 */
export async function writeWords(
  space: Keyspace,
  range: Range,
  options: WordOptions,
  sink: Sink,
  progress: WriteProgress = { next: range.start, bytes: 0n, isClosed: false },
  onProgress: (next: bigint) => void = () => undefined,
): Promise<WriteProgress> {
  for await (const batch of wordBatches(space, range, options)) {
    try {
      await sink.write(batch.bytes);
    } catch (error) {
      if (!(error instanceof ShortWriteError)) throw error;
      const complete = completeWords(space, options, batch, error.written);
      progress.next = batch.start + BigInt(complete.words);
      progress.bytes += BigInt(complete.bytes);
      progress.isClosed = error.isClosedPipe;
      if (error.isClosedPipe) return progress;
      await sink.truncateBy?.(error.written - complete.bytes).catch(() => undefined);
      throw writeError(sink, progress, error);
    } finally {
      batch.release();
    }
    progress.next = batch.start + BigInt(batch.count);
    progress.bytes += BigInt(batch.bytes.length);
    onProgress(progress.next);
  }
  return progress;
}

/** Returns the number of complete words in a batch's first bytes, and their bytes. */
function completeWords(
  space: Keyspace,
  { layout }: WordOptions,
  batch: { readonly start: bigint; readonly bytes: Uint8Array },
  written: number,
): { readonly words: number; readonly bytes: number } {
  const separator = separatorOf(layout);
  const [part] = space.parts(batch.start, batch.start + 1n);
  const width = part && widthOf(part.words.mask);
  if (width !== undefined) {
    const words = Math.floor(written / (width + separator.length));
    return { words, bytes: words * (width + separator.length) };
  }
  // Words of several lengths are never packed; but a separator may also be a character of a word.
  let words = 0;
  let bytes = 0;
  for (;;) {
    const word = space.wordAt(batch.start + BigInt(words));
    if (word === undefined || bytes + word.length + separator.length > written) return { words, bytes };
    bytes += word.length + separator.length;
    words++;
  }
}

const writeError = ({ name, sync }: Sink, { next, bytes }: WriteProgress, cause: ShortWriteError): MillraceError =>
  new MillraceError({
    code: 'io',
    message: `cannot write to ${name}: ${cause.message}; the words before ${next} are written, ${bytes} bytes`,
    asked: `words in ${name}`,
    advice: `free disk space, then ${sync ? 'run the same command again, or ' : ''}resume with --skip ${next} >> FILE`,
    cause,
  });
