import { Epoch } from '../gpu/native/epoch.js';
import { LINES } from '../gpu/wire/board.js';
import type { DeviceMemory, Memory } from './memory.js';
import type { PinnedMemory, PinnedRegion } from './pinned.js';
import type { CudaStream } from './stream.js';

/** Each epoch has its own cache line. */
const STRIDE = 128;

/**
 * Sends epochs to running kernels as words of device memory, written through a stream that has no other work and is not
 * delayed by other streams. Kernels do not poll words of host memory: an H200 makes 0.9 million such reads a second, so
 * 29,000 workgroups of 16 rounds ran at half speed. Only if this thread blocks in the driver (`sync`) and cannot send
 * anything do kernels read the board itself.
 */
export class Epochs {
  /** The stream through which epochs are sent. */
  readonly control: CudaStream;
  readonly #memory: Memory;
  /** The source of the writes, one word per line. */
  readonly #source: PinnedRegion;
  readonly #words: Int32Array;
  readonly #board: Int32Array;
  /** The board as kernels see it, if they read it. */
  readonly #mapped: PinnedRegion | undefined;

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
    this.control.follow(streams.service.handle); // which zeroes the memory
  }

  /** `word` is the index of the line's epoch on the board. */
  open(line: number, word: number): Epoch<CudaStream> {
    const board = this.#board;
    if (this.#mapped) return new Epoch(this.#mapped.device + board.byteOffset + 4 * word, board, word);
    const { control } = this;
    const device = this.#memory.device + STRIDE * line;
    const epoch = new Epoch<CudaStream>(device, board, word, {
      source: this.#words.subarray(line, line + 1),
      send: () => control.write(device, 0, this.#source.address + 4 * line, 4, `the epoch of stream ${line}`),
      delay: (stream) => stream.follow(control.handle),
    });
    epoch.setEpoch(epoch.now());
    return epoch;
  }
}
