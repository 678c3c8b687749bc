/** How a line's epoch is sent to the device. `Queue` is the runtime's stream or queue. */
export interface EpochChannel<Queue> {
  /** The word from which the epoch is sent. */
  readonly source: Int32Array;
  /** Sends the word. Running kernels do not delay it. */
  send(): void;
  /** Delays the queue until the words sent have arrived. */
  delay(queue: Queue): void;
}

/** A line's epoch, as running kernels see it. Launches of an earlier epoch stop. */
export class Epoch<Queue> {
  /** The value passed to kernels: the device's pointer, or a handle of the runtime. */
  readonly device: number;
  readonly #board: Int32Array;
  readonly #word: number;
  readonly #channel: EpochChannel<Queue> | undefined;
  #isInFlight = false;
  /** Called at the end of the line. */
  readonly release: (() => void) | undefined;

  /** `word` is the index of the epoch on the board. Without a channel, kernels read the board itself. */
  constructor(device: number, board: Int32Array, word: number, channel?: EpochChannel<Queue>, release?: () => void) {
    this.device = device;
    this.#board = board;
    this.#word = word;
    this.#channel = channel;
    this.release = release;
  }

  now(): number {
    return Atomics.load(this.#board, this.#word);
  }

  /** Called when the epoch on the board has changed. */
  setEpoch(epoch: number): void {
    if (!this.#channel) return;
    // A write still in flight may carry the later epoch. What it cancels too early is cancelled anyway.
    Atomics.store(this.#channel.source, 0, epoch);
    this.#channel.send();
    this.#isInFlight = true;
  }

  /** Called before a launch: epochs already sent arrive before the launch reads its epoch. */
  delayLaunch(queue: Queue): void {
    if (!this.#isInFlight) return;
    this.#channel?.delay(queue);
    this.#isInFlight = false;
  }

  /** Stops every launch of the line. */
  stop(): void {
    this.setEpoch(Atomics.add(this.#board, this.#word, 1) + 1);
  }
}
