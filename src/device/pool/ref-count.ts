/** A resource that commands in flight use. */
export interface RefCounted {
  retain(): void;
  release(): void;
}

/** The owner of a resource. */
export interface RefCountOwner {
  /** Called when the resource is closed and no command in flight uses it. */
  reclaim(): void;
  /**
   * Called if the resource is closed while commands use it. The owner must check the queues again, or `reclaim` is
   * called late.
   */
  onDelayedFree(): void;
}

/** Counts the commands in flight that use a resource. Main thread only. */
export class RefCount implements RefCounted {
  readonly #owner: RefCountOwner;
  #count = 0;
  #isClosed = false;

  constructor(owner: RefCountOwner) {
    this.#owner = owner;
  }

  retain(): void {
    this.#count++;
  }

  release(): void {
    this.#count--;
    if (this.#count === 0 && this.#isClosed) this.#owner.reclaim();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#count === 0) this.#owner.reclaim();
    else this.#owner.onDelayedFree();
  }
}
