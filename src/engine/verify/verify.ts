import { startThread, type Thread, workerUrl } from '../../device/pool/threads/threads.js';
import { MillraceError } from '../../kernel/error.js';

/**
 * Checks results with code that shares nothing with the kernel: a function, called in the engine's thread; or a
 * function of a module, called in a separate thread, so that checking many hits does not block the engine.
 */
export type Verify<Given> = Check<Given> | CheckModule;

/** True if the result is right. False, or a text that says why, if it is wrong. */
export type VerifyResult = boolean | string;

export type Check<Given> = (given: Given) => VerifyResult | Promise<VerifyResult>;

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
  check(given: Given): VerifyResult | Promise<VerifyResult>;
  close(): void;
}

export function openVerifier<Given>(verify: Verify<Given> | undefined): Verifier<Given> {
  if (verify === undefined) return { isNone: true, check: () => true, close: () => undefined };
  if (typeof verify === 'function') return { isNone: false, check: verify, close: () => undefined };
  return new ThreadVerifier<Given>(verify);
}

export interface FailedCheck<Given> {
  readonly value: Given;
  readonly reason: string | undefined;
}

/**
 * Returns the first value that the check refuses. Returns without a promise if all checks are synchronous and take less
 * than `TURN_MS`; otherwise the event loop runs in between.
 */
export function checkAll<Given>(
  verifier: Verifier<Given>,
  all: readonly Given[],
): FailedCheck<Given> | undefined | Promise<FailedCheck<Given> | undefined> {
  if (verifier.isNone) return undefined;
  const results: (VerifyResult | Promise<VerifyResult>)[] = [];
  checkOneTurn(verifier, all, results);
  const isComplete = results.length === all.length && results.every((result) => typeof result !== 'object');
  return isComplete ? firstFailed(all, results as VerifyResult[]) : checkRest(verifier, all, results);
}

async function checkRest<Given>(
  verifier: Verifier<Given>,
  all: readonly Given[],
  results: (VerifyResult | Promise<VerifyResult>)[],
): Promise<FailedCheck<Given> | undefined> {
  while (results.length < all.length) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    checkOneTurn(verifier, all, results);
  }
  return firstFailed(all, await Promise.all(results));
}

/** Calls the check until it has taken `TURN_MS` in this turn of the event loop. */
function checkOneTurn<Given>(
  verifier: Verifier<Given>,
  all: readonly Given[],
  results: (VerifyResult | Promise<VerifyResult>)[],
): void {
  const begun = performance.now();
  while (results.length < all.length) {
    const result = verifier.check(all[results.length] as Given);
    // All results are awaited together, later. One that rejects before then must not end the process.
    if (typeof result === 'object') result.catch(() => undefined);
    results.push(result);
    if (performance.now() - begun >= TURN_MS) return;
  }
}

function firstFailed<Given>(all: readonly Given[], results: readonly VerifyResult[]): FailedCheck<Given> | undefined {
  const at = results.findIndex((result) => result !== true);
  const value = all[at];
  const reason = results[at];
  return value && { value, reason: typeof reason === 'string' ? reason : undefined };
}

const TURN_MS = 5;

/** Start data of the thread. */
export interface CheckerStart {
  readonly module: string;
  readonly name: string;
  readonly data: unknown;
}

export interface CheckRequest {
  readonly id: number;
  readonly given: unknown;
}

export type CheckReply =
  | { readonly id: number; readonly result: VerifyResult }
  | { readonly id: number; readonly failed: string };

interface PendingCheck {
  readonly resolve: (result: VerifyResult) => void;
  readonly reject: (error: Error) => void;
}

/** Runs checks in a thread. The thread starts with the first check: most searches have none for a long time. */
class ThreadVerifier<Given> implements Verifier<Given> {
  readonly isNone = false;
  readonly #verify: CheckModule;
  readonly #pending = new Map<number, PendingCheck>();
  #thread: Thread | undefined;
  #next = 0;
  #failure: MillraceError | undefined;

  constructor(verify: CheckModule) {
    this.#verify = verify;
  }

  check(given: Given): Promise<VerifyResult> {
    if (this.#failure) return Promise.reject(this.#failure);
    const thread = this.#start();
    const id = this.#next++;
    thread.keepAlive(true);
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      thread.ready.then(
        () => thread.post({ id, given } satisfies CheckRequest),
        (cause) => this.#end(cause),
      );
    });
  }

  close(): void {
    this.#end(new Error('the job has ended'));
    this.#thread?.terminate();
  }

  #start(): Thread {
    const { module, name, data } = this.#verify;
    this.#thread ??= startThread({
      file: workerUrl(import.meta.url, 'checker.js'),
      name: 'millrace check',
      data: { module: String(module), name, data } satisfies CheckerStart,
      died: (cause) => this.#end(cause),
      onMessage: (answer) => this.#settle(answer as CheckReply),
    });
    return this.#thread;
  }

  #settle(answer: CheckReply): void {
    const waiting = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if (this.#pending.size === 0) this.#thread?.keepAlive(false);
    if ('result' in answer) waiting?.resolve(answer.result);
    else waiting?.reject(this.#error(answer.failed));
  }

  #end(cause: unknown): void {
    this.#failure ??= this.#error(cause);
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }

  #error(cause: unknown): MillraceError {
    const { module, name } = this.#verify;
    const why = cause instanceof Error ? cause.message : String(cause);
    return new MillraceError({
      code: 'verify-failed',
      message: `the check ${name} failed: ${why.split('\n')[0]}`,
      asked: `${name} of ${String(module)}`,
      advice: 'the module must load in a thread and export that function; the cause is the error it threw',
      cause,
    });
  }
}
