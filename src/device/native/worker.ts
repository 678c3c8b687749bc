import { parentPort, workerData } from 'node:worker_threads';
import { type Board, boardOver, Command, Copy, Fill, Launch, Pool } from './board.js';
import { copyBytes, type Entry, entryAt, fillWords, wordAt } from './libc.js';
import { newTask, Schedule, type Task } from './schedule.js';
import { enter, leave } from './turnstile.js';

/** What a worker is started with. */
export interface WorkerStart {
  readonly memory: SharedArrayBuffer;
  readonly threads: number;
}

/** A worker looks for new work this long before it sleeps: waking one costs about as much. */
const LINGER_MS = 0.02;

const { memory, threads } = workerData as WorkerStart;
const board = boardOver(memory);
parentPort?.postMessage('ready');
work(board, new Schedule(board, threads, () => process.hrtime.bigint(), wordAt));

/** The whole life of a worker: it never returns to its event loop, and ends when `stop` is set. */
function work({ words, numbers }: Board, schedule: Schedule): void {
  const task = newTask();
  const entries = new Map<number, Entry>();
  let held = false;
  let finished = 0;
  let nanoseconds = 0;
  while (Atomics.load(words, Pool.stop) === 0) {
    const seen = Atomics.load(words, Pool.work);
    enter(words);
    if (held) schedule.finish(task, finished, nanoseconds);
    const more = schedule.take(task);
    leave(words);
    held = more >= 0;
    if (!held) {
      idle(words, seen);
      continue;
    }
    if (more > 0) wake(words, more);
    const began = performance.now();
    finished = perform(task, numbers, entries);
    nanoseconds = (performance.now() - began) * 1e6;
  }
}

/** Does one slice; the result is how many of its units were done. */
function perform({ kind, slot, begin, end }: Task, numbers: Float64Array, entries: Map<number, Entry>): number {
  const field = (at: number): number => numbers[slot + at] ?? 0;
  switch (kind) {
    case Command.copy:
      copyBytes(field(Copy.to) + begin, field(Copy.from) + begin, end - begin);
      return end - begin;
    case Command.fill:
      fillWords(field(Fill.to) + begin * 4, field(Fill.word), end - begin);
      return end - begin;
    default: {
      const address = field(Launch.entry);
      let entry = entries.get(address);
      if (entry === undefined) {
        entry = entryAt(address);
        entries.set(address, entry);
      }
      // SAFETY: the block and every buffer it names are held by the main thread until this command is done.
      return Number(entry(field(Launch.block), begin, end));
    }
  }
}

function wake(words: Int32Array, count: number): void {
  Atomics.add(words, Pool.work, 1); // also where nobody sleeps yet: one may be about to
  if (Atomics.load(words, Pool.sleepers) > 0) Atomics.notify(words, Pool.work, count);
}

function idle(words: Int32Array, seen: number): void {
  const until = performance.now() + LINGER_MS;
  while (performance.now() < until) if (Atomics.load(words, Pool.work) !== seen) return;
  Atomics.add(words, Pool.sleepers, 1);
  Atomics.wait(words, Pool.work, seen);
  Atomics.sub(words, Pool.sleepers, 1);
}
