/** A resource that commands in flight use. */
export interface Held {
  hold(): void;
  release(): void;
}

/** The owner of a resource. */
export interface UsesOwner {
  /** Called when the resource is closed and no command in flight uses it. */
  give(): void;
  /**
   * Called if the resource is closed while commands use it. The owner must check the queues again, or `give` comes
   * late.
   */
  onDelayedFree(): void;
}

/** Counts the commands in flight that use a resource. Main thread only. */
export class Uses implements Held {
  readonly #owner: UsesOwner;
  #count = 0;
  #isClosed = false;

  constructor(owner: UsesOwner) {
    this.#owner = owner;
  }

  hold(): void {
    this.#count++;
  }

  release(): void {
    this.#count--;
    if (this.#count === 0 && this.#isClosed) this.#owner.give();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#count === 0) this.#owner.give();
    else this.#owner.onDelayedFree();
  }
}
