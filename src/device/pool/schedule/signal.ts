import { hasSharedMemory } from '../../host-memory.js';

/** The polling interval where Atomics.waitAsync is missing (browsers before 2025). */
const POLL_MS = 1;

/**
 * Resolves when a word of memory may have changed, after `ms` milliseconds at the latest; undefined if it no longer has
 * the value `seen`. The event loop runs meanwhile. A page that is not cross-origin isolated has no shared memory: there
 * both sides are in one thread, and `notifyChange` wakes the other directly.
 */
export function waitForChange(
  words: Int32Array,
  word: number,
  seen: number,
  ms = Number.POSITIVE_INFINITY,
): Promise<unknown> | undefined {
  if (!isShared(words)) return Atomics.load(words, word) === seen ? sleepHere(words, word, ms) : undefined;
  if (!Atomics.waitAsync) return new Promise((resolve) => setTimeout(resolve, POLL_MS));
  const change = Atomics.waitAsync(words, word, seen, ms);
  return change.async ? change.value : undefined;
}

/** Wakes everything that waits for a change of the word. */
export function notifyChange(words: Int32Array, word: number): void {
  Atomics.notify(words, word);
  for (const sleeper of sleepers) if (sleeper.memory === words.buffer && sleeper.word === word) sleeper.wake();
}

interface Sleeper {
  readonly memory: ArrayBufferLike;
  readonly word: number;
  wake(): void;
}

/** Those that wait for words of this thread's own memory: two for each device. */
const sleepers = new Set<Sleeper>();

function sleepHere(words: Int32Array, word: number, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      sleepers.delete(sleeper);
      clearTimeout(timer);
      resolve();
    };
    const sleeper: Sleeper = { memory: words.buffer, word, wake };
    const timer = Number.isFinite(ms) ? setTimeout(wake, ms) : undefined;
    sleepers.add(sleeper);
  });
}

const isShared = ({ buffer }: Int32Array): boolean => hasSharedMemory() && buffer instanceof SharedArrayBuffer;
