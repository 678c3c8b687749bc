import { MillraceError } from '../../../kernel/error.js';

/** A helper thread or process that answers questions, one at a time. */
export interface Helper {
  ask(question: unknown): void;
  /** Sets whether the helper keeps this process alive: it must while a caller awaits the answer. */
  keepAlive(needed: boolean): void;
  end(): void;
}

/** A helper's reply. A fault concerns only that question. */
export type Reply = { readonly answer: unknown } | { readonly fault: string };

export interface HelperPoolOptions {
  /** The most helpers at a time, and how long an idle one is kept. */
  readonly maxHelpers: number;
  readonly idleMs: number;
  /**
   * How many helpers are kept for good: one, for threads that load koffi, since a new one would map memory that is
   * never unmapped.
   */
  readonly keptHelpers?: number;
  /** Starts a helper. It replies once to each question; `gone` reports why it can no longer reply. */
  start(replied: (reply: Reply) => void, gone: (reason: string) => void): Helper;
  /** The error of a failed question. */
  readonly failure: { readonly message: string; readonly asked: string; readonly advice: string };
}

interface PendingQuestion {
  readonly question: unknown;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** Answers questions that take long or may crash, outside the device's worker: listing devices, compiling. */
export class HelperPool<Question extends { readonly kind: string }, Answers extends Record<Question['kind'], unknown>> {
  readonly #options: HelperPoolOptions;
  readonly #slots = new Set<Slot>();
  readonly #queue: PendingQuestion[] = [];

  constructor(options: HelperPoolOptions) {
    this.#options = options;
  }

  ask<K extends Question['kind']>(question: Extract<Question, { kind: K }>): Promise<Answers[K]> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ question, resolve: resolve as (answer: unknown) => void, reject });
      this.#assign();
    });
  }

  /** Ends all helpers, even busy ones. */
  end(): void {
    for (const slot of this.#slots) slot.end();
  }

  /** Gives questions to idle helpers, and starts helpers while questions are left. */
  #assign(): void {
    for (const slot of this.#slots) if (!slot.isBusy) this.#assignNext(slot);
    while (this.#queue.length > 0 && this.#slots.size < this.#options.maxHelpers) {
      const slot = new Slot(this.#options, {
        free: () => this.#assign(),
        gone: () => this.#slots.delete(slot),
        isSpare: () => this.#slots.size > (this.#options.keptHelpers ?? 0),
      });
      this.#slots.add(slot);
      this.#assignNext(slot);
    }
  }

  #assignNext(slot: Slot): void {
    const next = this.#queue.shift();
    if (next) slot.ask(next);
  }
}

/** One helper and its current question. */
class Slot {
  readonly #options: HelperPoolOptions;
  readonly #helper: Helper;
  readonly #free: () => void;
  readonly #gone: () => void;
  readonly #isSpare: () => boolean;
  #current: PendingQuestion | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: HelperPoolOptions, owner: { free(): void; gone(): void; isSpare(): boolean }) {
    this.#options = options;
    this.#free = owner.free;
    this.#gone = owner.gone;
    this.#isSpare = owner.isSpare;
    this.#helper = options.start(
      (reply) => this.#replied(reply),
      (reason) => this.#lost(reason),
    );
  }

  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  ask(waiting: PendingQuestion): void {
    clearTimeout(this.#idleTimer);
    this.#current = waiting;
    this.#helper.keepAlive(true);
    this.#helper.ask(waiting.question);
  }

  end(): void {
    this.#helper.end();
  }

  #replied(reply: Reply): void {
    const waiting = this.#current;
    this.#current = undefined;
    this.#helper.keepAlive(false);
    this.#idleTimer = setTimeout(() => {
      if (!this.#isSpare()) return;
      this.#gone();
      this.end();
    }, this.#options.idleMs);
    this.#idleTimer.unref();
    if ('fault' in reply) waiting?.reject(this.#failure(reply.fault));
    else waiting?.resolve(reply.answer);
    this.#free();
  }

  #lost(reason: string): void {
    this.#gone();
    clearTimeout(this.#idleTimer);
    this.#current?.reject(this.#failure(reason));
    this.#current = undefined;
    this.#free();
  }

  #failure(reason: string): MillraceError {
    const { message, asked, advice } = this.#options.failure;
    return new MillraceError({ code: 'device-failed', message: `${message}: ${reason}`, asked, advice });
  }
}
