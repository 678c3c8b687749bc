import { waitForChange } from '../../pool/schedule/signal.js';
import { runInThread, type ThreadPort, type ThreadWork } from '../../pool/threads/threads.js';
import { nextTurn } from '../../turn.js';
import { CallTimer } from '../native/calls.js';
import { boardIn, Word, wakeWorker } from '../wire/board.js';
import { serializeError, type WorkerCall, type WorkerMessage, type WorkerStart } from '../wire/messages.js';
import { type Driver, type DriverHost, FatalError } from './driver.js';
import { Loop } from './loop.js';

/**
 * The main function of a device's worker: opens the driver and runs it in the loop until the device is closed.
 *
 *   serve<CudaStart>('synchronous', (own, host) => new CudaDriver(own, host));
 *
 * `own` is what the device passed as `LinkOptions.startData`. If `open` throws, opening the device fails with that error.
 * Synchronous: the thread never returns to its event loop, so promises of the driver would never settle. Asynchronous:
 * the event loop runs between turns, for runtimes that answer by promises.
 */
export function serve<Own>(mode: LoopMode, open: OpenDriver<Own>): void {
  runInThread(serving(mode, open));
}

type LoopMode = 'synchronous' | 'asynchronous';
type OpenDriver<Own> = (own: Own, host: DriverHost) => Driver | Promise<Driver>;

/** The work of `serve`, for runtimes that may also run in the page's own thread. */
export function serving<Own>(mode: LoopMode, open: OpenDriver<Own>): ThreadWork<WorkerStart<Own>> {
  return (start, ready, port) => {
    const board = boardIn(start.board);
    const { words } = board;
    const post = (message: WorkerMessage): void => port.post(message);
    const host: DriverHost = {
      words,
      completion: start.completion,
      calls: new CallTimer(start.telemetry),
      ...(start.copyMemory && { copyMemory: start.copyMemory }),
      log: (line) => post({ kind: 'log', line }),
      wake: () => wakeWorker(words),
    };
    const life: WorkerLifecycle = {
      words,
      port,
      open: () => open(start.startData, host),
      started: (driver) => {
        post({ kind: 'opened', info: driver.info });
        ready();
        return new Loop(board, driver, { completion: host.completion, calls: host.calls, post });
      },
      // If the error comes from a command, the main thread gets the error for all others.
      ended: (kind, error) => post({ kind, error: serializeError(error instanceof FatalError ? error.error : error) }),
    };
    return mode === 'asynchronous' ? runAsynchronous(life) : runSynchronous(life);
  };
}

/** How long an idle worker polls for work before it sleeps: waking one costs about as much. */
const LINGER_MS = 0.05;
/** Shorter sleeps are skipped: the system's timers are not that precise. */
const MIN_SLEEP_MS = 0.01;
/** The shortest sleep between turns of an event loop: Node ends a shorter wait at once. */
const TIMER_MS = 1;

interface WorkerLifecycle {
  readonly words: Int32Array;
  readonly port: ThreadPort;
  open(): Driver | Promise<Driver>;
  started(driver: Driver): Loop;
  ended(kind: 'refused' | 'fatal', error: unknown): void;
}

function runSynchronous({ words, port, open, started, ended }: WorkerLifecycle): void {
  let driver: Driver | undefined;
  try {
    const opened = open();
    if (opened instanceof Promise)
      throw new TypeError('a driver that is opened by a promise needs an asynchronous loop');
    driver = opened;
    const loop = started(driver);
    for (let received = 0; Atomics.load(words, Word.stop) === 0; ) {
      const seen = Atomics.load(words, Word.work);
      for (; received !== Atomics.load(words, Word.messages); received = (received + 1) | 0) {
        const taken = port.receive?.();
        if (taken) loop.handleCall(taken.message as WorkerCall);
      }
      const ms = loop.runTurn();
      if (ms > 0) sleep(words, seen, ms, loop.isActive);
    }
    loop.drainForClose();
  } catch (error) {
    ended(driver ? 'fatal' : 'refused', error);
  }
  if (driver?.close() === false) process.exit(); // this thread must not be reused
}

/** Sleeps until `work` is incremented, for at most `ms` milliseconds. */
function sleep(words: Int32Array, seen: number, ms: number, linger: boolean): void {
  if (linger) {
    const until = performance.now() + Math.min(LINGER_MS, ms);
    while (performance.now() < until) if (Atomics.load(words, Word.work) !== seen) return;
    if (ms <= LINGER_MS) return;
  }
  if (ms < MIN_SLEEP_MS) return;
  Atomics.store(words, Word.sleeping, 1);
  Atomics.wait(words, Word.work, seen, ms);
  Atomics.store(words, Word.sleeping, 0);
}

async function runAsynchronous({ words, port, open, started, ended }: WorkerLifecycle): Promise<void> {
  const calls: WorkerCall[] = [];
  port.listen((message) => {
    calls.push(message as WorkerCall);
    wakeWorker(words);
  });
  let driver: Driver | undefined;
  try {
    driver = await open();
    const loop = started(driver);
    while (Atomics.load(words, Word.stop) === 0) {
      const seen = Atomics.load(words, Word.work);
      for (let call = calls.shift(); call; call = calls.shift()) loop.handleCall(call);
      const ms = loop.runTurn();
      const napMs = Math.min(ms, driver.napMs ?? 0);
      if (napMs > 0) sleep(words, seen, napMs, false);
      await pause(words, seen, napMs > 0 ? 0 : ms);
    }
    loop.drainForClose();
  } catch (error) {
    ended(driver ? 'fatal' : 'refused', error);
  }
  await driver?.close();
}

/** Like `sleep`, while the event loop turns at least once. */
async function pause(words: Int32Array, seen: number, ms: number): Promise<void> {
  if (ms <= 0) return new Promise((resolve) => nextTurn(resolve));
  Atomics.store(words, Word.sleeping, 1);
  await (waitForChange(words, Word.work, seen, Math.max(ms, TIMER_MS)) ??
    new Promise<void>((resolve) => nextTurn(resolve)));
  Atomics.store(words, Word.sleeping, 0);
}
