import type { MillraceError } from '../../kernel/error.js';
import type { Completion, Report } from '../device.js';
import { type Board, Mark, Outcome } from './board.js';

/** Says what a trap was about, from the numbers in a mark's slot. */
export type ExplainTrap = (program: number, site: number, index: number, length: number) => MillraceError;

/** A mark on a stream of a pool. */
export class PoolCompletion implements Completion {
  readonly done: Promise<Report>;
  /** Which mark of which line: what another stream waits for. */
  readonly line: number;
  readonly number: number;
  /** The owner's identity: only streams of the same device can wait for it. */
  readonly device: object;
  readonly #explain: ExplainTrap;
  /** Completions of other streams that commands since the last mark waited for. */
  #waited: readonly PoolCompletion[];
  #resolve: (report: Report | Promise<Report>) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;
  #settled = false;

  constructor(device: object, line: number, number: number, waited: readonly PoolCompletion[], explain: ExplainTrap) {
    this.device = device;
    this.line = line;
    this.number = number;
    this.#waited = waited;
    this.#explain = explain;
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

  settle({ numbers, bigs }: Board, slot: number): void {
    this.#settled = true;
    const waited = this.#waited;
    this.#waited = []; // or each completion would keep all earlier ones
    const field = (at: number): number => numbers[slot + at] ?? 0;
    const outcome = field(Mark.outcome);
    if (outcome === Outcome.trapped) {
      this.#reject(this.#explain(field(Mark.program), field(Mark.site), field(Mark.index), field(Mark.length)));
      return;
    }
    const report: Report = {
      startedNs: bigs[slot + Mark.started] ?? 0n,
      endedNs: bigs[slot + Mark.ended] ?? 0n,
      complete: outcome === Outcome.complete,
    };
    this.#resolve(waited.length === 0 ? report : withWaited(report, waited));
  }

  fail(error: Error): void {
    this.#settled = true;
    this.#reject(error);
  }
}

/** What rests on failed or unfinished work is failed or unfinished itself. These have all passed already. */
async function withWaited(report: Report, waited: readonly PoolCompletion[]): Promise<Report> {
  const reports = await Promise.all(waited.map((completion) => completion.done));
  return { ...report, complete: report.complete && reports.every((other) => other.complete) };
}
