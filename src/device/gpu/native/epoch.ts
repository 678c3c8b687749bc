/** How a line's epoch is sent to the device. `Queue` is the runtime's stream or queue. */
export interface EpochChannel<Queue> {
  /** The word that the epoch is sent from. */
  readonly source: Int32Array;
  /** Sends the word. No kernel holds it up. */
  send(): void;
  /** Holds the queue back until the words that were sent have arrived. */
  hold(queue: Queue): void;
}

/** A line's epoch, as running kernels see it: launches of an earlier epoch stop. */
export class Epoch<Queue> {
  /** What kernels are given: the device's pointer, or a handle of the runtime. */
  readonly device: number;
  readonly #board: Int32Array;
  readonly #word: number;
  readonly #channel: EpochChannel<Queue> | undefined;
  #isMoving = false;
  /** Called at the end of the line. */
  readonly release: () => void;

  /** `word` of the board is the epoch. Without a channel kernels read the board itself. */
  constructor(
    device: number,
    board: Int32Array,
    word: number,
    channel?: EpochChannel<Queue>,
    release = (): void => undefined,
  ) {
    this.device = device;
    this.#board = board;
    this.#word = word;
    this.#channel = channel;
    this.release = release;
  }

  now(): number {
    return Atomics.load(this.#board, this.#word);
  }

  /** The epoch on the board has changed. */
  moved(epoch: number): void {
    if (!this.#channel) return;
    // A write that is still under way then brings the later epoch: what it cancels too early is cancelled anyhow.
    Atomics.store(this.#channel.source, 0, epoch);
    this.#channel.send();
    this.#isMoving = true;
  }

  /** Before a launch: epochs that were sent arrive before it looks. */
  before(queue: Queue): void {
    if (!this.#isMoving) return;
    this.#channel?.hold(queue);
    this.#isMoving = false;
  }

  /** Stops every launch of the line. */
  stop(): void {
    this.moved(Atomics.add(this.#board, this.#word, 1) + 1);
  }
}
