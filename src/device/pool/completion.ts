import type { MillraceError } from '../../kernel/error.js';
import { LineCompletion } from '../completion.js';
import { type Board, Mark, Outcome } from './board.js';

/** Builds the error of a trap from the numbers in a mark's slot. */
export type ExplainTrap = (program: number, site: number, index: number, length: number) => MillraceError;

/** A mark on a stream of a pool. */
export class PoolCompletion extends LineCompletion {
  readonly #explain: ExplainTrap;

  constructor(device: object, line: number, number: number, waited: readonly PoolCompletion[], explain: ExplainTrap) {
    super(device, line, number, waited);
    this.#explain = explain;
  }

  settle({ numbers, bigs }: Board, slot: number): void {
    const field = (at: number): number => numbers[slot + at] ?? 0;
    const outcome = field(Mark.outcome);
    if (outcome === Outcome.trapped) {
      this.fail(this.#explain(field(Mark.program), field(Mark.site), field(Mark.index), field(Mark.length)));
      return;
    }
    this.pass({
      startedNs: bigs[slot + Mark.started] ?? 0n,
      endedNs: bigs[slot + Mark.ended] ?? 0n,
      complete: outcome === Outcome.complete,
    });
  }
}
