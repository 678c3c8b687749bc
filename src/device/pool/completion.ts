import type { MillraceError } from '../../kernel/error.js';
import { LineCompletion } from '../completion.js';
import { MarkField, Outcome, type PoolBoard } from './board.js';

/** Builds the error of a trap from the numbers in a mark's slot. */
export type ExplainTrap = (program: number, site: number, index: number, length: number) => MillraceError;

/** A mark on a stream of a pool. */
export class PoolCompletion extends LineCompletion {
  readonly #explain: ExplainTrap;

  constructor(device: object, line: number, number: number, waited: readonly PoolCompletion[], explain: ExplainTrap) {
    super(device, line, number, waited);
    this.#explain = explain;
  }

  settle({ doubles, bigints }: PoolBoard, slot: number): void {
    const field = (at: number): number => doubles[slot + at] ?? 0;
    const outcome = field(MarkField.outcome);
    if (outcome === Outcome.trapped) {
      this.reject(
        this.#explain(field(MarkField.program), field(MarkField.site), field(MarkField.index), field(MarkField.length)),
      );
      return;
    }
    this.resolve({
      startedNs: bigints[slot + MarkField.started] ?? 0n,
      endedNs: bigints[slot + MarkField.ended] ?? 0n,
      complete: outcome === Outcome.complete,
    });
  }
}
