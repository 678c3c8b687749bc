/**
 * Makes the end of a process wait for its threads. Node ends threads at any point, and at some points that is harmful:
 *
 * - Ending a thread while koffi starts or binds functions aborts the whole process: koffi's Node-API calls fail, and it
 *   answers that with an abort (seen in 1 of 200 processes that ended while a device was being opened).
 * - A runtime's own threads (OpenCL on a CPU) continue with what is queued, on JavaScript arrays that no longer exist.
 * - Dawn's Node binding aborts if its thread is ended while one of its promises is open.
 *
 * So a thread declares while it must not be ended, and the process's exit waits for that: some 20 ms for koffi,
 * milliseconds for a runtime. Once the process is ending, no thread that has none can start a new declaration.
 */

/** Words that the two threads share. */
const ExitWord = {
  /** The number of reasons why the thread must not be ended now. */
  holds: 0,
  /** 1: the process is about to end. */
  ending: 1,
  /** How long the process's exit waits for this thread, in ms. */
  maxWaitMs: 2,
} as const;

/**
 * The wait for a thread that is starting: longer than any machine takes. A thread that died while starting never
 * reports.
 */
const MAX_START_MS = 3000;

const threads = new Set<Int32Array>();

/**
 * For the thread that starts another: memory to pass to it. The new thread holds the exit until it has called
 * `threadStarted`.
 */
export function newExitHold(): { readonly memory: SharedArrayBuffer; end(): void } {
  const words = new Int32Array(new SharedArrayBuffer(12));
  words[ExitWord.holds] = 1;
  words[ExitWord.maxWaitMs] = MAX_START_MS;
  threads.add(words);
  return { memory: words.buffer as SharedArrayBuffer, end: () => void threads.delete(words) };
}

/** Called when the process is about to end. This is the only place where its main thread blocks. */
export function waitForThreads(): void {
  for (const words of threads) {
    Atomics.store(words, ExitWord.ending, 1);
    Atomics.notify(words, ExitWord.ending);
  }
  const began = performance.now();
  for (const words of threads) {
    for (let left = Atomics.load(words, ExitWord.holds); left > 0; left = Atomics.load(words, ExitWord.holds)) {
      const leftMs = began + Atomics.load(words, ExitWord.maxWaitMs) - performance.now();
      if (leftMs <= 0) break;
      Atomics.wait(words, ExitWord.holds, left, leftMs);
    }
  }
}

/** Set in the thread that received the memory; undefined on the main thread and in pages, where no process ends. */
let ownWords: Int32Array | undefined;

/** Called when the thread's modules are loaded. */
export function threadStarted(memory: SharedArrayBuffer): void {
  ownWords = new Int32Array(memory);
  endHold(ownWords);
}

/** Called when the thread ends by itself. */
export function threadEnded(): void {
  if (ownWords === undefined) return;
  Atomics.store(ownWords, ExitWord.holds, 0);
  Atomics.notify(ownWords, ExitWord.holds);
}

/** Keeps the process from ending, for at most `maxMs`, until the returned function is called. */
export function holdExit(maxMs: number): () => void {
  const words = ownWords;
  if (words === undefined) return () => undefined;
  if (Atomics.load(words, ExitWord.maxWaitMs) < maxMs) Atomics.store(words, ExitWord.maxWaitMs, maxMs);
  beginHold(words);
  let over = false;
  return () => {
    if (!over) endHold(words);
    over = true;
  };
}

/** Runs a short action that must not be interrupted by the process's end. */
export function uninterruptible<T>(action: () => T): T {
  if (ownWords === undefined) return action();
  beginHold(ownWords);
  try {
    return action();
  } finally {
    endHold(ownWords);
  }
}

/** Calls `action` when the process is about to end, in threads whose event loop runs. */
export function onProcessEnding(action: () => void): void {
  const words = ownWords;
  if (words === undefined) return;
  const change = Atomics.waitAsync(words, ExitWord.ending, 0);
  void Promise.resolve(change.value).then(() => {
    if (Atomics.load(words, ExitWord.ending) === 1) action();
  });
}

/**
 * If the process is ending, no action is begun: the thread sleeps until it is ended. Unless the process waits for it
 * already, because of another declaration, which the thread could not take back in its sleep.
 */
function beginHold(words: Int32Array): void {
  // The order matters; the main thread's is the opposite one. So at least one of the two sees the other.
  if (Atomics.add(words, ExitWord.holds, 1) > 0 || Atomics.load(words, ExitWord.ending) === 0) return;
  endHold(words);
  for (;;) Atomics.wait(words, ExitWord.ending, 1);
}

function endHold(words: Int32Array): void {
  Atomics.sub(words, ExitWord.holds, 1);
  Atomics.notify(words, ExitWord.holds);
}
