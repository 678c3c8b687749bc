import type { Completion, Report } from './device.js';

/** The part of a completion that all devices share: it settles once, and not before what its commands waited for. */
export class MarkCompletion implements Completion {
  readonly done: Promise<Report>;
  /** The owner's identity: only streams of the same device can wait for it. */
  readonly device: object;
  /** Completions of other streams that commands since the last mark waited for. */
  #waited: readonly MarkCompletion[];
  #resolve: (report: Report | Promise<Report>) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #settled = false;

  constructor(device: object, waited: readonly MarkCompletion[]) {
    this.device = device;
    this.#waited = waited;
    this.done = new Promise<Report>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Nobody has to look at a completion; whoever does gets the error.
    this.done.catch(() => undefined);
  }

  get settled(): boolean {
    return this.#settled;
  }

  pass(report: Report): void {
    const waited = this.#end();
    this.#resolve(waited.length === 0 ? report : withWaited(report, waited));
  }

  fail(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): readonly MarkCompletion[] {
    const waited = this.#waited;
    this.#settled = true;
    this.#waited = []; // or each completion would keep all earlier ones
    return waited;
  }
}

/** A mark on a numbered line: number and line are what another stream waits for. */
export class LineCompletion extends MarkCompletion {
  readonly line: number;
  readonly number: number;

  constructor(device: object, line: number, number: number, waited: readonly LineCompletion[]) {
    super(device, waited);
    this.line = line;
    this.number = number;
  }
}

/** What rests on failed or unfinished work is failed or unfinished itself. These have all passed already. */
async function withWaited(report: Report, waited: readonly MarkCompletion[]): Promise<Report> {
  const reports = await Promise.all(waited.map((completion) => completion.done));
  return { ...report, complete: report.complete && reports.every((other) => other.complete) };
}
