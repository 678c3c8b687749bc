import { clockNs } from '../../clock.js';
import { type Board, Pool } from '../board.js';
import { newTask, Schedule, type Task } from './schedule.js';
import { enter, leave } from './turnstile.js';

/** Executes slices on a device's worker. */
export interface Executor {
  /** Prepares a slice's command; not part of the measured time. */
  prepare(task: Task): void;
  /** Executes the slice and returns how many of its units were done. */
  perform(task: Task): number;
  /** Reads a word of device memory. */
  wordAt(address: number): number;
}

/** How long a worker polls for new work before it sleeps: waking one costs about as much. */
const LINGER_MS = 0.02;

/** A worker's main loop. It never returns to its event loop, and ends when `stop` is set. */
export function work(board: Board, threads: number, executor: Executor): void {
  const { words } = board;
  const schedule = new Schedule(board, threads, clockNs, (address) => executor.wordAt(address));
  const task = newTask();
  let held = false;
  let finished = 0;
  let spent = 0;
  while (Atomics.load(words, Pool.stop) === 0) {
    const seen = Atomics.load(words, Pool.work);
    enter(words);
    if (held) schedule.finish(task, finished, spent);
    const more = schedule.take(task);
    leave(words);
    held = more >= 0;
    if (!held) {
      idle(words, seen);
      continue;
    }
    if (more > 0) wake(words, more);
    executor.prepare(task);
    const began = performance.now();
    finished = executor.perform(task);
    spent = (performance.now() - began) * 1e6;
  }
}

function wake(words: Int32Array, count: number): void {
  Atomics.add(words, Pool.work, 1); // even if no worker sleeps yet: one may be about to
  if (Atomics.load(words, Pool.sleepers) > 0) Atomics.notify(words, Pool.work, count);
}

function idle(words: Int32Array, seen: number): void {
  const until = performance.now() + LINGER_MS;
  while (performance.now() < until) if (Atomics.load(words, Pool.work) !== seen) return;
  Atomics.add(words, Pool.sleepers, 1);
  Atomics.wait(words, Pool.work, seen);
  Atomics.sub(words, Pool.sleepers, 1);
}
