/**
 * Runs an action in the event loop's next turn: by setImmediate in Node; by a message in a page, where timers wait 4
 * ms.
 */
export function nextTurn(action: () => void): void {
  if (typeof setImmediate === 'function') {
    setImmediate(action);
    return;
  }
  const { port1, port2 } = new MessageChannel();
  Object.assign(port1, {
    onmessage: () => {
      port1.close();
      action();
    },
  });
  port2.postMessage(0);
}

/** Limits the bytes that a thread copies in one turn of its event loop, so that the loop stays responsive. */
export class TurnBudget {
  readonly #bytes: number;
  readonly #onNextTurn: () => void;
  #remaining: number;
  #isCounting = false;

  /** `again` is called in the next turn if bytes were refused in this one. */
  constructor(bytes: number, again: () => void) {
    this.#bytes = bytes;
    this.#remaining = bytes;
    this.#onNextTurn = again;
  }

  /** True if the thread has used up its share of this turn. */
  get isSpent(): boolean {
    return this.#isCounting && this.#remaining <= 0;
  }

  /** Counts bytes against this turn's share; false if it is used up. The first call of a turn always succeeds. */
  spend(bytes: number): boolean {
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#remaining = this.#bytes;
      nextTurn(() => {
        const wasSpent = this.isSpent;
        this.#isCounting = false;
        if (wasSpent) this.#onNextTurn();
      });
    }
    if (this.#remaining <= 0) return false;
    this.#remaining -= bytes;
    return true;
  }
}
