import { clockNs } from '../clock.js';
import type { MarkCompletion } from '../completion.js';

/** One queued command, called repeatedly until it is done. */
export type QueuedCommand =
  /** Works until `until` (milliseconds of performance.now()); returns true when it is done. */
  | { readonly kind: 'work'; run(until: number): boolean; readonly incomplete?: () => boolean }
  | { readonly kind: 'wait'; readonly completion: MarkCompletion }
  | { readonly kind: 'mark'; readonly completion: MarkCompletion };

/** A stream's commands and their outcome since its last mark. */
export class InterpreterQueue {
  readonly commands: QueuedCommand[] = [];
  /** True if no new commands come: the queue is removed once it is empty. */
  isClosed = false;
  #startedNs: bigint | undefined;
  #isComplete = true;
  #failure: { readonly error: unknown } | undefined;

  /** Continues the first command; false if there is nothing to do now. */
  advance(until: number): boolean {
    const step = this.commands[0];
    if (step === undefined) return false;
    if (step.kind === 'wait') {
      if (!step.completion.isSettled) return false;
    } else {
      this.#startedNs ??= clockNs();
      if (step.kind === 'mark') this.#pass(step.completion);
      else if (!this.#failure && !this.#work(step, until)) return true;
    }
    this.commands.shift();
    return true;
  }

  fail(error: unknown): void {
    for (const step of this.commands) if (step.kind === 'mark') step.completion.reject(error);
    this.commands.length = 0;
  }

  #work(step: Extract<QueuedCommand, { kind: 'work' }>, until: number): boolean {
    try {
      if (!step.run(until)) return false;
      if (step.incomplete?.()) this.#isComplete = false;
    } catch (error) {
      this.#failure = { error };
    }
    return true;
  }

  #pass(completion: MarkCompletion): void {
    if (this.#failure) completion.reject(this.#failure.error);
    else
      completion.resolve({ startedNs: this.#startedNs ?? clockNs(), endedNs: clockNs(), complete: this.#isComplete });
    this.#startedNs = undefined;
    this.#isComplete = true;
    this.#failure = undefined;
  }
}

/** How long the interpreter keeps the thread before the event loop gets its turn. */
const TURN_MS = 5;

/** Runs the queues of a device, each in order, all in turn, on the calling thread. */
export class InterpreterScheduler {
  readonly queues = new Set<InterpreterQueue>();
  #isRunning = false;

  /** Called for a new command. It starts after the caller's turn, so that calls on a stream return at once. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    nextTurn(() => this.#runTurn());
  }

  #runTurn(): void {
    const until = performance.now() + TURN_MS;
    let active: boolean;
    do {
      active = false;
      for (const line of this.queues) {
        if (line.advance(until)) active = true;
        else if (line.isClosed && line.commands.length === 0) this.queues.delete(line);
      }
    } while (active && performance.now() < until);
    this.#isRunning = false;
    if (active) this.start();
  }
}

/** setImmediate keeps the process alive while there is work, and only then; browsers do not have it. */
function nextTurn(turn: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(turn);
  else setTimeout(turn, 0);
}
