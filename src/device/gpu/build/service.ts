import { MillraceError } from '../../../kernel/error.js';

/** A thread or a process that answers questions, one at a time. */
export interface Servant {
  ask(question: unknown): void;
  /** Whether this process stays alive for it: whoever asked waits for the answer. */
  keepAlive(needed: boolean): void;
  end(): void;
}

/** What a servant says; a fault is of that question alone. */
export type Reply = { readonly answer: unknown } | { readonly fault: string };

export interface ServiceOptions {
  /** Servants at a time, and how long an idle one stays. */
  readonly most: number;
  readonly idleMs: number;
  /** So many stay for good: of threads that load koffi one, since a new one would map memory that nothing unmaps. */
  readonly kept?: number;
  /** Starts one. It replies once to each question; `gone` says why there will be no more. */
  start(replied: (reply: Reply) => void, gone: (reason: string) => void): Servant;
  /** What failed, and what to do about it. */
  readonly failure: { readonly message: string; readonly asked: string; readonly advice: string };
}

interface Waiting {
  readonly question: unknown;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** Has questions answered that take long or may crash, beside the device's worker: what devices there are, compiling. */
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

  /** Ends all servants, whatever they are at. */
  end(): void {
    for (const post of this.#posts) post.end();
  }

  /** Gives questions to idle servants, and starts some while there are questions left. */
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

/** One servant and what it is at. */
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
