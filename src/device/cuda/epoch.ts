import { LINES } from '../gpu/board.js';
import type { DeviceMemory, Memory } from './memory.js';
import type { Pinned } from './pinned.js';
import type { CudaStream, Parts } from './stream.js';

/** Where kernels look for a line's epoch: launches of another stop. */
export interface Epoch {
  /** Its address on the device. */
  readonly device: number;
  /** Which word of the board it is. */
  readonly word: number;
  /** It has moved on. */
  moved(epoch: number): void;
  /** Before a launch: epochs that were sent are there before it looks. */
  before(stream: CudaStream): void;
}

/** Each in a line of the cache of its own. */
const STRIDE = 128;

/**
 * How epochs reach running kernels: as words of the device's memory, written through a stream that has nothing else to do
 * and is not held up by what runs in others. Not as words of the host's memory that kernels would look at: an H200 makes
 * 0.9 million such looks a second, so 29,000 workgroups of 16 rounds ran at half speed. Only where this thread waits in the
 * driver (`sync`) and can send nothing, kernels look at the board itself.
 */
export class Epochs {
  readonly #parts: Parts;
  /** What they are sent through. */
  readonly control: CudaStream;
  readonly #memory: Memory;
  /** What is written from, a word a line. */
  readonly #source: Pinned;
  readonly #words: Int32Array;
  readonly #board: Int32Array;
  /** The board as kernels see it, where they look at it. */
  readonly #mapped: Pinned | undefined;

  constructor(
    parts: Parts,
    memory: DeviceMemory,
    streams: { service: CudaStream; control: CudaStream },
    board: Int32Array,
    isWaiting: boolean,
  ) {
    this.#parts = parts;
    this.#board = board;
    this.#mapped = isWaiting ? parts.pinned.register(board.buffer as SharedArrayBuffer) : undefined;
    this.#source = parts.pinned.alloc(4 * LINES);
    const { bytes } = this.#source;
    this.#words = new Int32Array(bytes.buffer, bytes.byteOffset, LINES);
    this.#memory = memory.alloc(STRIDE * LINES);
    this.control = streams.control;
    this.control.follow(streams.service); // which zeroes it
  }

  /** `word` of the board is the line's epoch. */
  open(line: number, word: number): Epoch {
    if (this.#mapped) {
      const device = this.#mapped.device + this.#board.byteOffset + 4 * word;
      return { device, word, moved: () => undefined, before: () => undefined };
    }
    let isMoving = false;
    const moved = (epoch: number): void => {
      // A write that is still under way then brings the later epoch: what it cancels too early is cancelled anyhow.
      Atomics.store(this.#words, line, epoch | 0);
      this.#send(line);
      isMoving = true;
    };
    moved(Atomics.load(this.#board, word));
    return {
      device: this.#memory.address + STRIDE * line,
      word,
      moved,
      before: (stream) => {
        if (isMoving) stream.follow(this.control);
        isMoving = false;
      },
    };
  }

  #send(line: number): void {
    const { api, errors } = this.#parts.context;
    const [to, from] = [this.#memory.address + STRIDE * line, this.#source.address + 4 * line];
    // SAFETY: a word of either, both held as long as the device.
    const code = api.cuMemcpyHtoDAsync(to, from, 4, this.control.handle);
    errors.check('cuMemcpyHtoDAsync', code, `the epoch of stream ${line}`);
  }
}
