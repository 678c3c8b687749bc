/**
 * How the end of a process waits for its threads. Node ends threads wherever they are, and some places are bad:
 *
 * - A thread that is ended while koffi starts or binds functions takes the whole process down: its calls of Node-API fail
 *   then, and it answers that with an abort (seen in 1 of 200 processes that ended while a device was being opened).
 * - A runtime's own threads (OpenCL on a CPU) go on with what is queued, on arrays of JavaScript that are gone.
 * - Dawn's Node binding aborts when its thread is ended while one of its promises is open.
 *
 * So a thread says while it must not be ended, and the process's end waits for that: some 20 ms for koffi, milliseconds
 * for a runtime. Once the process is ending no thread begins to stay any more.
 */

/** Words that the two threads share. */
const Word = {
  /** For how many reasons the thread must not be ended now. */
  stays: 0,
  /** 1: the process is about to end. */
  ending: 1,
  /** For how long the process's end waits for this thread, in ms. */
  patience: 2,
} as const;

/** For a thread that starts: longer than any machine takes. One that has died on the way never says so. */
const LOADING_MS = 3000;

const threads = new Set<Int32Array>();

/** For the thread that starts another: memory to give to it. It counts as staying until it has called `arrive`. */
export function newStay(): { readonly memory: SharedArrayBuffer; over(): void } {
  const words = new Int32Array(new SharedArrayBuffer(12));
  words[Word.stays] = 1;
  words[Word.patience] = LOADING_MS;
  threads.add(words);
  return { memory: words.buffer as SharedArrayBuffer, over: () => void threads.delete(words) };
}

/** The process is about to end; this is the one place where its main thread waits. */
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

/** In the thread that was given it; undefined on the main thread and in pages, where no process ends. */
let own: Int32Array | undefined;

/** Its modules are loaded. */
export function arrive(memory: SharedArrayBuffer): void {
  own = new Int32Array(memory);
  leave(own);
}

/** It ends by itself. */
export function depart(): void {
  if (own === undefined) return;
  Atomics.store(own, Word.stays, 0);
  Atomics.notify(own, Word.stays);
}

/** Keeps the process from ending, for so long at most, until what it gives is called. */
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

/** Something quick that must not be cut short. */
export function whole<T>(action: () => T): T {
  if (own === undefined) return action();
  enter(own);
  try {
    return action();
  } finally {
    leave(own);
  }
}

/** Calls back when the process is about to end, in threads whose event loop turns. */
export function whenEnding(action: () => void): void {
  const words = own;
  if (words === undefined) return;
  const change = Atomics.waitAsync(words, Word.ending, 0);
  void Promise.resolve(change.value).then(() => {
    if (Atomics.load(words, Word.ending) === 1) action();
  });
}

/** Where the process is ending nothing is begun: the thread sleeps until it is ended. */
function enter(words: Int32Array): void {
  // In this order, and the main thread's in the opposite one: at least one of the two sees the other.
  Atomics.add(words, Word.stays, 1);
  if (Atomics.load(words, Word.ending) === 0) return;
  leave(words);
  for (;;) Atomics.wait(words, Word.ending, 1);
}

function leave(words: Int32Array): void {
  Atomics.sub(words, Word.stays, 1);
  Atomics.notify(words, Word.stays);
}
