import type { Completion, Report } from '../device.js';

/** A mark on an interpreter stream. */
export class InterpreterCompletion implements Completion {
  readonly done: Promise<Report>;
  readonly device: object;
  /** Completions of other streams that commands since the last mark waited for. */
  #waited: readonly InterpreterCompletion[];
  #resolve: (report: Report | Promise<Report>) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #passed = false;

  constructor(device: object, waited: readonly InterpreterCompletion[]) {
    this.device = device;
    this.#waited = waited;
    this.done = new Promise<Report>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Nobody has to look at a completion; whoever does gets the error.
    this.done.catch(() => undefined);
  }

  get passed(): boolean {
    return this.#passed;
  }

  /** What rests on failed or unfinished work is failed or unfinished itself. */
  pass(report: Report): void {
    const waited = this.#waited;
    this.#end();
    const others = Promise.all(waited.map((completion) => completion.done));
    this.#resolve(
      others.then((reports) => ({ ...report, complete: report.complete && reports.every((other) => other.complete) })),
    );
  }

  fail(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#passed = true;
    this.#waited = []; // or each completion would keep all earlier ones
  }
}
