/** Something that commands in flight use. */
export interface Held {
  hold(): void;
  release(): void;
}

/** Who takes it back. */
export interface UsesOwner {
  /** It is closed, and no command in flight uses it. */
  give(): void;
  /** It was closed while commands use it: the owner must look at the queues again, or `give` comes late. */
  onDelayedFree(): void;
}

/** Counts the commands in flight that use something. Main thread only. */
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
