import { PoolWord } from '../board.js';

/**
 * The workers' lock: one word, 0 free, 1 held, 2 held with a thread asleep. It is held for about a microsecond at a
 * time, so a thread that finds it held retries a few times before it sleeps. The main thread never takes it.
 */
export function acquireLock(words: Int32Array): void {
  for (let attempt = 0; attempt < 64; attempt++) {
    if (Atomics.compareExchange(words, PoolWord.lock, 0, 1) === 0) return;
  }
  while (Atomics.exchange(words, PoolWord.lock, 2) !== 0) Atomics.wait(words, PoolWord.lock, 2);
}

export function releaseLock(words: Int32Array): void {
  if (Atomics.exchange(words, PoolWord.lock, 0) === 2) Atomics.notify(words, PoolWord.lock, 1);
}
