import { startThread, type Thread, workerBeside } from '../../device/pool/threads/threads.js';
import { MillraceError } from '../../kernel/error.js';

/**
 * Checks results with code that shares nothing with the kernel: a function, called in the engine's thread; or a
 * function of a module, called in a separate thread, so that checking many hits does not block the engine.
 */
export type Verify<Given> = Check<Given> | CheckModule;

/** True if the result is right. False, or a text that says why, if it is wrong. */
export type Opinion = boolean | string;

export type Check<Given> = (given: Given) => Opinion | Promise<Opinion>;

export interface CheckModule {
  /** An absolute URL: `new URL('./reference.js', import.meta.url)`. */
  readonly module: URL | string;
  /** Name of the exported function. It is called with the value to check and `data`. */
  readonly name: string;
  /** Plain data that the function needs, for example the job's values. */
  readonly data?: unknown;
}

export interface Verifier<Given> {
  /** True if there is no check: every result is accepted. */
  readonly isNone: boolean;
  /** Checks a value. Rejects if the check itself failed: then the result is unknown, and no device is at fault. */
  check(given: Given): Opinion | Promise<Opinion>;
  close(): void;
}

export function openVerifier<Given>(verify: Verify<Given> | undefined): Verifier<Given> {
  if (verify === undefined) return { isNone: true, check: () => true, close: () => undefined };
  if (typeof verify === 'function') return { isNone: false, check: verify, close: () => undefined };
  return new ThreadVerifier<Given>(verify);
}

export interface Refused<Given> {
  readonly given: Given;
  readonly why: string | undefined;
}

/**
 * Returns the first value that the check refuses. Returns without a promise if all checks are synchronous and take less
 * than `TURN_MS`; otherwise the event loop runs in between.
 */
export function checkAll<Given>(
  verifier: Verifier<Given>,
  all: readonly Given[],
): Refused<Given> | undefined | Promise<Refused<Given> | undefined> {
  if (verifier.isNone) return undefined;
  const opinions: (Opinion | Promise<Opinion>)[] = [];
  askInTurn(verifier, all, opinions);
  const isSaid = opinions.length === all.length && opinions.every((opinion) => typeof opinion !== 'object');
  return isSaid ? refusedOf(all, opinions as Opinion[]) : checkRest(verifier, all, opinions);
}

async function checkRest<Given>(
  verifier: Verifier<Given>,
  all: readonly Given[],
  opinions: (Opinion | Promise<Opinion>)[],
): Promise<Refused<Given> | undefined> {
  while (opinions.length < all.length) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    askInTurn(verifier, all, opinions);
  }
  return refusedOf(all, await Promise.all(opinions));
}

/** Calls the check until it has taken `TURN_MS` in this turn of the event loop. */
function askInTurn<Given>(
  verifier: Verifier<Given>,
  all: readonly Given[],
  opinions: (Opinion | Promise<Opinion>)[],
): void {
  const begun = performance.now();
  while (opinions.length < all.length) {
    const opinion = verifier.check(all[opinions.length] as Given);
    // All results are awaited together, later. One that rejects before then must not end the process.
    if (typeof opinion === 'object') opinion.catch(() => undefined);
    opinions.push(opinion);
    if (performance.now() - begun >= TURN_MS) return;
  }
}

function refusedOf<Given>(all: readonly Given[], opinions: readonly Opinion[]): Refused<Given> | undefined {
  const at = opinions.findIndex((opinion) => opinion !== true);
  const given = all[at];
  const why = opinions[at];
  return given && { given, why: typeof why === 'string' ? why : undefined };
}

const TURN_MS = 5;

/** Start data of the thread. */
export interface CheckerStart {
  readonly module: string;
  readonly name: string;
  readonly data: unknown;
}

export interface Question {
  readonly id: number;
  readonly given: unknown;
}

export type Answer =
  | { readonly id: number; readonly opinion: Opinion }
  | { readonly id: number; readonly failed: string };

interface Waiting {
  readonly resolve: (opinion: Opinion) => void;
  readonly reject: (error: Error) => void;
}

/** Runs checks in a thread. The thread starts with the first check: most searches have none for a long time. */
class ThreadVerifier<Given> implements Verifier<Given> {
  readonly isNone = false;
  readonly #verify: CheckModule;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Thread | undefined;
  #next = 0;
  #ended: MillraceError | undefined;

  constructor(verify: CheckModule) {
    this.#verify = verify;
  }

  check(given: Given): Promise<Opinion> {
    if (this.#ended) return Promise.reject(this.#ended);
    const thread = this.#start();
    const id = this.#next++;
    thread.keepAlive(true);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      thread.ready.then(
        () => thread.post({ id, given } satisfies Question),
        (cause) => this.#end(cause),
      );
    });
  }

  close(): void {
    this.#end(new Error('the job is over'));
    this.#thread?.terminate();
  }

  #start(): Thread {
    const { module, name, data } = this.#verify;
    this.#thread ??= startThread({
      file: workerBeside(import.meta.url, 'checker.js'),
      name: 'millrace check',
      data: { module: String(module), name, data } satisfies CheckerStart,
      died: (cause) => this.#end(cause),
      heard: (answer) => this.#answered(answer as Answer),
    });
    return this.#thread;
  }

  #answered(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) this.#thread?.keepAlive(false);
    if ('opinion' in answer) waiting?.resolve(answer.opinion);
    else waiting?.reject(this.#error(answer.failed));
  }

  #end(cause: unknown): void {
    this.#ended ??= this.#error(cause);
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }

  #error(cause: unknown): MillraceError {
    const { module, name } = this.#verify;
    const why = cause instanceof Error ? cause.message : String(cause);
    return new MillraceError({
      code: 'verify-failed',
      message: `the check ${name} could not be made: ${why.split('\n')[0]}`,
      asked: `${name} of ${String(module)}`,
      advice: 'the module must load by itself in a thread and export that function; what it threw is the cause',
      cause,
    });
  }
}
