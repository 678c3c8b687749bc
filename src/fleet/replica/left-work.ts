import { isProvenanceKey, isTrustKey } from '../trust/index.js';
import type { StateFile } from './state-file.js';

/**
 * What is known of the work of a job that was left, until the job is open that does the same work in another form: who did what
 * counts, and what waits for audits. It is kept by the id in the ledger: the coordinator may die in between.
 */
export class LeftWork {
  readonly #state: StateFile;

  constructor(state: StateFile) {
    this.#state = state;
  }

  /** Keeps what is known of a job. `witness` is undefined if the job itself is not known here. */
  leave(job: string, ledgerId: string, witness: string | undefined): void {
    const left = scopeOf(ledgerId);
    if (witness !== undefined) this.#state.apply([{ scope: left, key: WITNESS, value: witness }]);
    this.#state.move(job, left, witness === undefined ? isProvenanceKey : isTrustKey);
  }

  /**
   * Gives it to the job that does the work from now on. Reports with other witnesses cannot be compared with those of this job: what
   * waits for audits does not count, and is then done again.
   */
  takeOver(job: string, ledgerId: string, witness: string): void {
    const left = scopeOf(ledgerId);
    const isSame = this.#state.scope(left).get(WITNESS) === witness;
    this.#state.move(left, job, isSame ? isTrustKey : isProvenanceKey);
  }
}

const scopeOf = (ledgerId: string): string => `left.${ledgerId}`;
const WITNESS = 'witness';
