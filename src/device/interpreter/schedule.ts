import { clockNs } from '../clock.js';
import type { MarkCompletion } from '../completion.js';

/** One queued command, called repeatedly until it is done. */
export type Step =
  /** Works until `until` (milliseconds of performance.now()); returns true when it is done. */
  | { readonly kind: 'work'; run(until: number): boolean; readonly incomplete?: () => boolean }
  | { readonly kind: 'wait'; readonly completion: MarkCompletion }
  | { readonly kind: 'mark'; readonly completion: MarkCompletion };

/** A stream's commands and their outcome since its last mark. */
export class Line {
  readonly steps: Step[] = [];
  /** True if no new commands come: the line is removed once it is empty. */
  closed = false;
  #startedNs: bigint | undefined;
  #complete = true;
  #failure: { readonly error: unknown } | undefined;

  /** Continues the first command; false if there is nothing to do now. */
  advance(until: number): boolean {
    const step = this.steps[0];
    if (step === undefined) return false;
    if (step.kind === 'wait') {
      if (!step.completion.settled) return false;
    } else {
      this.#startedNs ??= clockNs();
      if (step.kind === 'mark') this.#pass(step.completion);
      else if (!this.#failure && !this.#work(step, until)) return true;
    }
    this.steps.shift();
    return true;
  }

  fail(error: unknown): void {
    for (const step of this.steps) if (step.kind === 'mark') step.completion.fail(error);
    this.steps.length = 0;
  }

  #work(step: Extract<Step, { kind: 'work' }>, until: number): boolean {
    try {
      if (!step.run(until)) return false;
      if (step.incomplete?.()) this.#complete = false;
    } catch (error) {
      this.#failure = { error };
    }
    return true;
  }

  #pass(completion: MarkCompletion): void {
    if (this.#failure) completion.fail(this.#failure.error);
    else completion.pass({ startedNs: this.#startedNs ?? clockNs(), endedNs: clockNs(), complete: this.#complete });
    this.#startedNs = undefined;
    this.#complete = true;
    this.#failure = undefined;
  }
}

/** How long the interpreter keeps the thread before the event loop gets its turn. */
const TURN_MS = 5;

/** Runs the lines of a device, each in order, all in turn, on its own thread. */
export class Schedule {
  readonly lines = new Set<Line>();
  #running = false;

  /** Called for a new command. It starts after the caller's turn, so that calls on a stream return at once. */
  kick(): void {
    if (this.#running) return;
    this.#running = true;
    nextTurn(() => this.#turn());
  }

  #turn(): void {
    const until = performance.now() + TURN_MS;
    let active: boolean;
    do {
      active = false;
      for (const line of this.lines) {
        if (line.advance(until)) active = true;
        else if (line.closed && line.steps.length === 0) this.lines.delete(line);
      }
    } while (active && performance.now() < until);
    this.#running = false;
    if (active) this.kick();
  }
}

/** setImmediate keeps the process alive while there is work, and only then; browsers do not have it. */
function nextTurn(turn: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(turn);
  else setTimeout(turn, 0);
}
