/** Runs an action in the event loop's next turn: in Node by setImmediate; in a page, where timers wait 4 ms, by a message. */
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

/** What a thread may copy in one turn of its event loop, so that the loop keeps turning. */
export class TurnShare {
  readonly #bytes: number;
  readonly #again: () => void;
  #left: number;
  #turning = false;

  /** `again`: called in the next turn, where something was refused in this one. */
  constructor(bytes: number, again: () => void) {
    this.#bytes = bytes;
    this.#left = bytes;
    this.#again = again;
  }

  /** Has the thread done its share of this turn? */
  get spent(): boolean {
    return this.#turning && this.#left <= 0;
  }

  /** Counts bytes against this turn; the first of a turn always pass. */
  spend(bytes: number): boolean {
    if (!this.#turning) {
      this.#turning = true;
      this.#left = this.#bytes;
      nextTurn(() => {
        const wasSpent = this.spent;
        this.#turning = false;
        if (wasSpent) this.#again();
      });
    }
    if (this.#left <= 0) return false;
    this.#left -= bytes;
    return true;
  }
}
