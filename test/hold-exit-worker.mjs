// Holds the exit for 100 ms, begins an uninterruptible action meanwhile and sets word 0, then tries another, which would
// set word 1.
import { holdExit, uninterruptible } from '../dist/device/pool/threads/hold-exit.js';
import { runInThread } from '../dist/device/pool/threads/threads.js';

runInThread((/** @type {Int32Array} */ words, ready) => {
  const leave = holdExit(10_000);
  ready();
  Atomics.wait(words, 2, 0, 100);
  // The process waits for this thread, so the thread must not be made to sleep for ever.
  uninterruptible(() => Atomics.store(words, 0, 1));
  leave();
  // By now the process is ending: the main thread has been waiting all the while.
  uninterruptible(() => Atomics.store(words, 1, 1));
});
