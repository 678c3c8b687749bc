import { MillraceError } from '../../../kernel/error.js';

/** A helper thread or process that answers questions, one at a time. */
export interface Servant {
  ask(question: unknown): void;
  /** Sets whether the helper keeps this process alive: it must while a caller awaits the answer. */
  keepAlive(needed: boolean): void;
  end(): void;
}

/** A helper's reply. A fault concerns only that question. */
export type Reply = { readonly answer: unknown } | { readonly fault: string };

export interface ServiceOptions {
  /** The most helpers at a time, and how long an idle one is kept. */
  readonly most: number;
  readonly idleMs: number;
  /**
   * How many helpers are kept for good: one, for threads that load koffi, since a new one would map memory that is
   * never unmapped.
   */
  readonly kept?: number;
  /** Starts a helper. It replies once to each question; `gone` reports why it can no longer reply. */
  start(replied: (reply: Reply) => void, gone: (reason: string) => void): Servant;
  /** The error of a failed question. */
  readonly failure: { readonly message: string; readonly asked: string; readonly advice: string };
}

interface Waiting {
  readonly question: unknown;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** Answers questions that take long or may crash, outside the device's worker: listing devices, compiling. */
export class Service<Question extends { readonly kind: string }, Answers extends Record<Question['kind'], unknown>> {
  readonly #options: ServiceOptions;
  readonly #posts = new Set<Post>();
  readonly #queue: Waiting[] = [];

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  ask<K extends Question['kind']>(question: Extract<Question, { kind: K }>): Promise<Answers[K]> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ question, resolve: resolve as (answer: unknown) => void, reject });
      this.#serve();
    });
  }

  /** Ends all helpers, even busy ones. */
  end(): void {
    for (const post of this.#posts) post.end();
  }

  /** Gives questions to idle helpers, and starts helpers while questions are left. */
  #serve(): void {
    for (const post of this.#posts) if (!post.busy) this.#give(post);
    while (this.#queue.length > 0 && this.#posts.size < this.#options.most) {
      const post = new Post(this.#options, {
        free: () => this.#serve(),
        gone: () => this.#posts.delete(post),
        isSpare: () => this.#posts.size > (this.#options.kept ?? 0),
      });
      this.#posts.add(post);
      this.#give(post);
    }
  }

  #give(post: Post): void {
    const next = this.#queue.shift();
    if (next) post.take(next);
  }
}

/** One helper and its current question. */
class Post {
  readonly #options: ServiceOptions;
  readonly #servant: Servant;
  readonly #free: () => void;
  readonly #gone: () => void;
  readonly #isSpare: () => boolean;
  #at: Waiting | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ServiceOptions, owner: { free(): void; gone(): void; isSpare(): boolean }) {
    this.#options = options;
    this.#free = owner.free;
    this.#gone = owner.gone;
    this.#isSpare = owner.isSpare;
    this.#servant = options.start(
      (reply) => this.#replied(reply),
      (reason) => this.#lost(reason),
    );
  }

  get busy(): boolean {
    return this.#at !== undefined;
  }

  take(waiting: Waiting): void {
    clearTimeout(this.#idle);
    this.#at = waiting;
    this.#servant.keepAlive(true);
    this.#servant.ask(waiting.question);
  }

  end(): void {
    this.#servant.end();
  }

  #replied(reply: Reply): void {
    const waiting = this.#at;
    this.#at = undefined;
    this.#servant.keepAlive(false);
    this.#idle = setTimeout(() => {
      if (!this.#isSpare()) return;
      this.#gone();
      this.end();
    }, this.#options.idleMs);
    this.#idle.unref();
    if ('fault' in reply) waiting?.reject(this.#failure(reply.fault));
    else waiting?.resolve(reply.answer);
    this.#free();
  }

  #lost(reason: string): void {
    this.#gone();
    clearTimeout(this.#idle);
    this.#at?.reject(this.#failure(reason));
    this.#at = undefined;
    this.#free();
  }

  #failure(reason: string): MillraceError {
    const { message, asked, advice } = this.#options.failure;
    return new MillraceError({ code: 'device-failed', message: `${message}: ${reason}`, asked, advice });
  }
}
