import { type Deferred, deferred } from './deferred.js';
import type { Completion, Report } from './device.js';

/** The part of a completion that all devices share. It settles once, after the completions that its commands waited for. */
export class MarkCompletion implements Completion {
  /** The identity of the owner. Only streams of the same device can wait for this completion. */
  readonly device: object;
  /** Completions of other streams that commands since the last mark waited for. */
  #dependencies: readonly MarkCompletion[];
  readonly #done: Deferred<Report> = deferred();
  #isSettled = false;

  constructor(device: object, waited: readonly MarkCompletion[]) {
    this.device = device;
    this.#dependencies = waited;
    // A caller may ignore a completion without causing an unhandled rejection. Callers who await it get the error.
    this.done.catch(() => undefined);
  }

  get done(): Promise<Report> {
    return this.#done.promise;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  resolve(report: Report): void {
    const waited = this.#end();
    this.#done.resolve(waited.length === 0 ? report : withDependencies(report, waited));
  }

  reject(error: unknown): void {
    this.#end();
    this.#done.reject(error);
  }

  #end(): readonly MarkCompletion[] {
    const waited = this.#dependencies;
    this.#isSettled = true;
    this.#dependencies = []; // otherwise each completion would keep all earlier ones alive
    return waited;
  }
}

/** A mark on a numbered line. Another stream waits for it by line and number. */
export class LineCompletion extends MarkCompletion {
  readonly line: number;
  readonly number: number;

  constructor(device: object, line: number, number: number, waited: readonly LineCompletion[]) {
    super(device, waited);
    this.line = line;
    this.number = number;
  }
}

/**
 * Work that depends on failed or incomplete work is failed or incomplete itself. The completions in `waited` have all
 * settled.
 */
async function withDependencies(report: Report, waited: readonly MarkCompletion[]): Promise<Report> {
  const reports = await Promise.all(waited.map((completion) => completion.done));
  return { ...report, complete: report.complete && reports.every((other) => other.complete) };
}
