import { Epoch } from '../gpu/native/epoch.js';
import { LINES } from '../gpu/wire/board.js';
import type { DeviceMemory, Memory } from './memory.js';
import type { Pinned, PinnedMemory } from './pinned.js';
import type { CudaStream } from './stream.js';

/** Each in a line of the cache of its own. */
const STRIDE = 128;

/**
 * How epochs reach running kernels: as words of the device's memory, written through a stream that has nothing else to do
 * and is not held up by what runs in others. Not as words of the host's memory that kernels would look at: an H200 makes
 * 0.9 million such looks a second, so 29,000 workgroups of 16 rounds ran at half speed. Only where this thread waits in the
 * driver (`sync`) and can send nothing, kernels look at the board itself.
 */
export class Epochs {
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
    pinned: PinnedMemory,
    memory: DeviceMemory,
    streams: { service: CudaStream; control: CudaStream },
    board: Int32Array,
    isWaiting: boolean,
  ) {
    this.#board = board;
    this.#mapped = isWaiting ? pinned.register(board.buffer as SharedArrayBuffer) : undefined;
    this.#source = pinned.alloc(4 * LINES);
    const { bytes } = this.#source;
    this.#words = new Int32Array(bytes.buffer, bytes.byteOffset, LINES);
    this.#memory = memory.alloc(STRIDE * LINES);
    this.control = streams.control;
    this.control.follow(streams.service.handle); // which zeroes it
  }

  /** `word` of the board is the line's epoch. */
  open(line: number, word: number): Epoch<CudaStream> {
    const board = this.#board;
    if (this.#mapped) return new Epoch(this.#mapped.device + board.byteOffset + 4 * word, board, word);
    const { control } = this;
    const device = this.#memory.device + STRIDE * line;
    const epoch = new Epoch<CudaStream>(device, board, word, {
      source: this.#words.subarray(line, line + 1),
      send: () => control.write(device, 0, this.#source.address + 4 * line, 4, `the epoch of stream ${line}`),
      hold: (stream) => stream.follow(control.handle),
    });
    epoch.moved(epoch.now());
    return epoch;
  }
}
