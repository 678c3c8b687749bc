/**
 * Makes the end of a process wait for its threads. Node ends threads at any point, and at some points that is harmful:
 *
 * - Ending a thread while koffi starts or binds functions aborts the whole process: koffi's Node-API calls fail, and it
 *   answers that with an abort (seen in 1 of 200 processes that ended while a device was being opened).
 * - A runtime's own threads (OpenCL on a CPU) continue with what is queued, on JavaScript arrays that no longer exist.
 * - Dawn's Node binding aborts if its thread is ended while one of its promises is open.
 *
 * So a thread declares while it must not be ended, and the process's exit waits for that: some 20 ms for koffi,
 * milliseconds for a runtime. Once the process is ending, no thread can start a new declaration.
 */

/** Words that the two threads share. */
const Word = {
  /** The number of reasons why the thread must not be ended now. */
  stays: 0,
  /** 1: the process is about to end. */
  ending: 1,
  /** How long the process's exit waits for this thread, in ms. */
  patience: 2,
} as const;

/**
 * The wait for a thread that is starting: longer than any machine takes. A thread that died while starting never
 * reports.
 */
const LOADING_MS = 3000;

const threads = new Set<Int32Array>();

/**
 * For the thread that starts another: memory to pass to it. The new thread counts as staying until it has called
 * `arrive`.
 */
export function newStay(): { readonly memory: SharedArrayBuffer; over(): void } {
  const words = new Int32Array(new SharedArrayBuffer(12));
  words[Word.stays] = 1;
  words[Word.patience] = LOADING_MS;
  threads.add(words);
  return { memory: words.buffer as SharedArrayBuffer, over: () => void threads.delete(words) };
}

/** Called when the process is about to end. This is the only place where its main thread blocks. */
export function waitForThreads(): void {
  for (const words of threads) {
    Atomics.store(words, Word.ending, 1);
    Atomics.notify(words, Word.ending);
  }
  const began = performance.now();
  for (const words of threads) {
    for (let left = Atomics.load(words, Word.stays); left > 0; left = Atomics.load(words, Word.stays)) {
      const patience = began + Atomics.load(words, Word.patience) - performance.now();
      if (patience <= 0) break;
      Atomics.wait(words, Word.stays, left, patience);
    }
  }
}

/** Set in the thread that received the memory; undefined on the main thread and in pages, where no process ends. */
let own: Int32Array | undefined;

/** Called when the thread's modules are loaded. */
export function arrive(memory: SharedArrayBuffer): void {
  own = new Int32Array(memory);
  leave(own);
}

/** Called when the thread ends by itself. */
export function depart(): void {
  if (own === undefined) return;
  Atomics.store(own, Word.stays, 0);
  Atomics.notify(own, Word.stays);
}

/** Keeps the process from ending, for at most `patienceMs`, until the returned function is called. */
export function stay(patienceMs: number): () => void {
  const words = own;
  if (words === undefined) return () => undefined;
  if (Atomics.load(words, Word.patience) < patienceMs) Atomics.store(words, Word.patience, patienceMs);
  enter(words);
  let over = false;
  return () => {
    if (!over) leave(words);
    over = true;
  };
}

/** Runs a short action that must not be interrupted by the process's end. */
export function whole<T>(action: () => T): T {
  if (own === undefined) return action();
  enter(own);
  try {
    return action();
  } finally {
    leave(own);
  }
}

/** Calls `action` when the process is about to end, in threads whose event loop runs. */
export function whenEnding(action: () => void): void {
  const words = own;
  if (words === undefined) return;
  const change = Atomics.waitAsync(words, Word.ending, 0);
  void Promise.resolve(change.value).then(() => {
    if (Atomics.load(words, Word.ending) === 1) action();
  });
}

/** If the process is ending, no action is begun: the thread sleeps until it is ended. */
function enter(words: Int32Array): void {
  // The order matters; the main thread's is the opposite one. So at least one of the two sees the other.
  Atomics.add(words, Word.stays, 1);
  if (Atomics.load(words, Word.ending) === 0) return;
  leave(words);
  for (;;) Atomics.wait(words, Word.ending, 1);
}

function leave(words: Int32Array): void {
  Atomics.sub(words, Word.stays, 1);
  Atomics.notify(words, Word.stays);
}
