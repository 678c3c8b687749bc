// A thread that stays for 100 ms, says so in word 0, then wants to do something whole, which it says in word 1.
import { stay, whole } from '../dist/device/pool/threads/stay.js';
import { inThread } from '../dist/device/pool/threads/threads.js';

inThread((/** @type {Int32Array} */ words, ready) => {
  const leave = stay(10_000);
  ready();
  Atomics.wait(words, 2, 0, 100);
  Atomics.store(words, 0, 1);
  leave();
  // By now the process is ending: the main thread has been waiting all the while.
  whole(() => Atomics.store(words, 1, 1));
});
