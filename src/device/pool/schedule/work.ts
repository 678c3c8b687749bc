import { clockNs } from '../../clock.js';
import { type PoolBoard, PoolWord } from '../board.js';
import { acquireLock, releaseLock } from './lock.js';
import { newSliceTask, SliceScheduler, type SliceTask } from './schedule.js';

/** Executes slices on a device's worker. */
export interface Executor {
  /** Prepares a slice's command; not part of the measured time. */
  prepare(task: SliceTask): void;
  /** Executes the slice and returns how many of its units were done. */
  perform(task: SliceTask): number;
  /** Reads a word of device memory. */
  wordAt(address: number): number;
}

/** How long a worker polls for new work before it sleeps: waking one costs about as much. */
const SPIN_MS = 0.02;

/** A worker's main loop. It never returns to its event loop, and ends when `stop` is set. */
export function runWorker(board: PoolBoard, threads: number, executor: Executor): void {
  const { words } = board;
  const schedule = new SliceScheduler(board, threads, clockNs, (address) => executor.wordAt(address));
  const task = newSliceTask();
  let hasTask = false;
  let finished = 0;
  let spentNs = 0;
  while (Atomics.load(words, PoolWord.stop) === 0) {
    const seen = Atomics.load(words, PoolWord.workSignal);
    acquireLock(words);
    if (hasTask) schedule.finishSlice(task, finished, spentNs);
    const more = schedule.takeSlice(task);
    releaseLock(words);
    hasTask = more >= 0;
    if (!hasTask) {
      waitForWork(words, seen);
      continue;
    }
    if (more > 0) wakeWorkers(words, more);
    executor.prepare(task);
    const began = performance.now();
    finished = executor.perform(task);
    spentNs = (performance.now() - began) * 1e6;
  }
}

function wakeWorkers(words: Int32Array, count: number): void {
  Atomics.add(words, PoolWord.workSignal, 1); // even if no worker sleeps yet: one may be about to
  if (Atomics.load(words, PoolWord.sleepers) > 0) Atomics.notify(words, PoolWord.workSignal, count);
}

function waitForWork(words: Int32Array, seen: number): void {
  const until = performance.now() + SPIN_MS;
  while (performance.now() < until) if (Atomics.load(words, PoolWord.workSignal) !== seen) return;
  Atomics.add(words, PoolWord.sleepers, 1);
  Atomics.wait(words, PoolWord.workSignal, seen);
  Atomics.sub(words, PoolWord.sleepers, 1);
}
